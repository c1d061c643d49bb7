"""Checks, creates and locks the files of a database: the database itself, and the ballast beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from ...errors import SchemaError, StoreUnavailable
from .folder_lock import folder_lock

APPLICATION_ID = 0x4D656D6F  # "Memo"
_HEADER_BYTES, _MARK_AT = 100, 68
"""The size of an SQLite file's header, and the offset of the application id in it."""
PAGE_BYTES = 8192
"""The page size, which is twice SQLite's default. Rows of a few hundred bytes then waste half as much space at the ends
of pages, and an append takes 3 µs longer."""
BALLAST_BYTES = 1 << 20


@contextmanager
def directory_lock(path: str) -> Iterator[None]:
    """Let only one process at a time create or migrate files in a folder."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise StoreUnavailable(f"the folder of {os.path.basename(path)!r} does not exist; create it first")
    with folder_lock(folder):
        yield


def refuse_strangers(path: str) -> None:
    """Raise SchemaError for a file that is not ours, without changing it."""
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return
    name = os.path.basename(path)
    try:
        # Read the header directly. Opening the file with SQLite would recover its log and so change a file that may not
        # be ours, and opening it as immutable would miss pages that, after a power cut, are only in the log.
        with open(path, "rb") as file:
            head = file.read(_HEADER_BYTES)
    except OSError as cause:
        raise StoreUnavailable(f"{name!r} cannot be read ({type(cause).__name__})") from cause
    if not head.startswith(b"SQLite format 3\0"):
        raise SchemaError(f"{name!r} is not a Memorist file; choose another path")
    mark = int.from_bytes(head[_MARK_AT : _MARK_AT + 4], "big")
    # A rollback journal beside the file may be left over from an interrupted `create_file`.
    if mark != APPLICATION_ID and not os.path.exists(path + "-journal"):
        raise SchemaError(f"{name!r} is a SQLite database of another program; choose another path")


def create_file(path: str) -> bool:
    """Create the file, readable only by its owner, and set our application id before anything else is written."""
    if os.path.exists(path) and os.path.getsize(path) > 0:
        return False
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as cause:
        name = os.path.basename(path)[:100]
        raise StoreUnavailable(f"{name!r} cannot be created ({type(cause).__name__}: {cause.strerror})") from cause
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        # In rollback-journal mode, so that the application id is in the file itself and not in a WAL.
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}; PRAGMA application_id = {APPLICATION_ID}; VACUUM")
    finally:
        connection.close()
    return True


def _allocate(handle: int, size: int) -> bool:
    """Reserve disk space; where posix_fallocate is not available (macOS, Windows), write zeros. Return False if the
    disk is full."""
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)
            return True
        return os.write(handle, bytes(size)) == size
    except OSError:
        return False


def make_ballast(path: str) -> None:
    """Create the ballast file, which reserves space in case the disk is full, because a DELETE needs space too."""
    ballast = path + "-ballast"
    try:
        handle = os.open(ballast, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return
    # Its blocks must really be allocated: a sparse file would reserve nothing.
    try:
        is_reserved = _allocate(handle, BALLAST_BYTES)
    finally:
        os.close(handle)
    if not is_reserved:
        os.unlink(ballast)
