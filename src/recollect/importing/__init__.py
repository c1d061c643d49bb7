"""Moving in: what people have today, read from the files and databases of other tools.

A reader turns one format into items (threads, messages, facts, documents); it opens nothing for writing, executes
nothing and rebuilds no object. The importer reads everything once before it writes anything, so that a damaged file
changes nothing; then it writes in batches and remembers each message by a digest of its original id, so that doing it
again, or going on after a kill, adds only what is missing.
"""
