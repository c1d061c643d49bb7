"""Recall over a store: indexing, candidates, and the ranking of what was found."""
