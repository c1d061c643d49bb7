"""Nouns that only a server has: what a remote client needs to run batches, tasks, sessions and loaders on its side."""
