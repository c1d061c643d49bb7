"""Implements the inspector's views. Each function reads the data for one page, from a memory narrowed to the caller's
key."""
