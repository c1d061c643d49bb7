"""Stores: each keeps records in one kind of database, behind the `Store` protocol; behaviour is the engine's."""
