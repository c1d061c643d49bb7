"""Implements the inspector's views. One function reads what one page shows, over a memory narrowed to the caller's
key."""
