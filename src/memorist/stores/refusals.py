"""Defines the errors for changes that every store refuses, so that all stores raise the same errors."""

from __future__ import annotations

from ..errors import Conflict, InvalidValue, NotFound
from ..records import StateEntry
from .base import Append, Expect


def wrong_version(change: Expect, actual: int) -> Conflict:
    """Return the error for an Expect whose row has a different version. Version 0 means that there is no live row."""
    return Conflict(
        f"a row of {change.kind.table.name} has version {actual}, expected {change.version}; read it again",
        expected=change.version,
        actual=actual,
        table=change.kind.table.name,
        key=change.key,
    )


def no_thread(change: Append) -> NotFound:
    """Return the error for an Append to a thread that does not exist, has expired or is in another namespace."""
    return NotFound("no such thread; create it first", thread=change.thread)


def not_an_integer(entry: StateEntry) -> InvalidValue:
    """Return the error for an Increment of an entry that is not an integer."""
    return InvalidValue("the entry is not an integer; only integers can be incremented", key=entry.key)


def counter_overflow(entry: StateEntry) -> InvalidValue:
    """Return the error for an Increment whose result would not fit in 64 bits."""
    return InvalidValue("the counter would exceed 64 bits", key=entry.key)
