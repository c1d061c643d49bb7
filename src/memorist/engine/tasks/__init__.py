"""Tasks: checkpoints, leases, and the saved steps a state is rebuilt from."""
