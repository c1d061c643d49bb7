"""Translates apsw's errors into ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from ...errors import CorruptRecord, StoreError, StoreTimeout, StoreUnavailable

BUSY_SECONDS = 60.0
"""The time that a connection waits for a locked file."""


def translated(cause: apsw.Error | UnicodeDecodeError, doing: str) -> StoreError:
    """Return our error for one of apsw's errors, or for stored text that is not valid UTF-8."""
    # SQLite raises these only after the busy handler has given up.
    if isinstance(cause, apsw.BusyError | apsw.LockedError):
        return StoreTimeout(f"the file stayed locked for {BUSY_SECONDS:.0f} s while {doing}; another process holds it")
    if isinstance(cause, apsw.FullError):
        full = f"the disk is full while {doing}; nothing was written; free some space"
        return StoreUnavailable(full, refuses_writes=True)
    if isinstance(cause, apsw.CorruptError | apsw.NotADBError | apsw.FormatError | UnicodeDecodeError):
        return CorruptRecord(f"the file is damaged ({type(cause).__name__}) while {doing}; restore a backup")
    if isinstance(cause, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError):
        # A file on a disk that was remounted read-only can still be read, so reads go on without their own writes.
        text = f"the file cannot be opened or written ({type(cause).__name__}) while {doing}"
        return StoreUnavailable(text, **({"refuses_writes": True} if isinstance(cause, apsw.ReadOnlyError) else {}))
    # Only the type: the text of an apsw error may quote values.
    return StoreError(f"SQLite failed while {doing}: {type(cause).__name__}")


@contextmanager
def driver_errors(doing: str) -> Iterator[None]:
    """Turn apsw's errors into ours, with the original as the cause."""
    try:
        yield
    except apsw.Error as cause:
        raise translated(cause, doing) from cause
