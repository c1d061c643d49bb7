"""The inspector's views: one function reads what one page shows, over a memory narrowed to the caller's key."""
