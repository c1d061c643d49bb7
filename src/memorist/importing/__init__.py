"""Imports data from the files and databases of other tools.

A reader turns one format into items (threads, messages, facts, documents). It opens nothing for writing, executes
nothing and deserialises no objects. The importer reads and checks everything before it writes anything, so that a
damaged file changes nothing. Then it writes in batches and stores a digest of each message's original id. So importing
again, or resuming after a kill, adds only the missing items.
"""
