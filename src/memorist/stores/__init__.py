"""Contains the stores. Each stores records in one kind of database, behind the `Store` protocol.

The engine implements the behaviour.
"""
