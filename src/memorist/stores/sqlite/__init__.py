"""The SQLite store."""

from .store import SqliteStore

__all__ = ["SqliteStore"]
