"""Implements tasks: their checkpoints, their leases, and the saved steps from which a state is rebuilt."""
