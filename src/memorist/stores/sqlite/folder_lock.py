"""Locks a folder for one process at a time, using `flock` on the folder itself or, on Windows, a locked file."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def folder_lock(folder: str) -> Iterator[None]:
    """Hold the lock. The system releases it when the process ends, even after a crash."""
    handle = _open_lock_file(folder)
    try:
        _lock(handle)
        yield
    finally:
        # Closing the descriptor releases the lock on both systems.
        os.close(handle)


if sys.platform == "win32":
    import msvcrt
    import tempfile

    def _open_lock_file(folder: str) -> int:
        # Windows cannot open a folder, so an empty file takes its place. It is never removed, because a process that
        # still holds the old file and one that creates a new file would both have the lock.
        name = f"memorist-{zlib.crc32(os.path.normcase(os.path.realpath(folder)).encode()):08x}.lock"
        return os.open(os.path.join(tempfile.gettempdir(), name), os.O_RDWR | os.O_CREAT)

    def _lock(handle: int) -> None:
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
            except OSError:  # msvcrt gives up after ten seconds
                continue
            return

else:

    def _open_lock_file(folder: str) -> int:
        return os.open(folder, os.O_RDONLY)

    def _lock(handle: int) -> None:
        try:
            import fcntl
        except ImportError:  # this system (WebAssembly) has no flock, so only SQLite's own locks protect the file
            return
        fcntl.flock(handle, fcntl.LOCK_EX)
