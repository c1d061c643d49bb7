"""Nouns that only a server has, with which a remote client runs batches, tasks, sessions and entity loaders."""
