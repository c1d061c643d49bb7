"""Implements the inspector's views. Each function reads the data for one page from a memory narrowed to the rights of
the caller's key."""
