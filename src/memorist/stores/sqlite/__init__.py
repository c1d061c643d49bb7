"""Implements the SQLite store."""

from .store import SqliteStore

__all__ = ["SqliteStore"]
