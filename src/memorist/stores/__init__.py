"""Contains the store implementations, one per kind of database, behind the `Store` protocol.

A store only reads and writes rows. All other behaviour is in the engine.
"""
