"""One process at a time in a folder: `flock` on the folder itself where there is one, a locked file on Windows."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def folder_lock(folder: str) -> Iterator[None]:
    """Hold the lock; it goes with the process, however that ends."""
    handle = _opened(folder)
    try:
        _lock(handle)
        yield
    finally:
        # Closing gives the lock back, on both.
        os.close(handle)


if sys.platform == "win32":
    import msvcrt
    import tempfile

    def _opened(folder: str) -> int:
        # A folder cannot be opened there; the file stands for it and stays, empty.
        name = f"recollect-{zlib.crc32(os.path.normcase(os.path.realpath(folder)).encode()):08x}.lock"
        return os.open(os.path.join(tempfile.gettempdir(), name), os.O_RDWR | os.O_CREAT)

    def _lock(handle: int) -> None:
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
            except OSError:  # it gives up after ten seconds
                continue
            return

else:

    def _opened(folder: str) -> int:
        return os.open(folder, os.O_RDONLY)

    def _lock(handle: int) -> None:
        try:
            import fcntl
        except ImportError:  # no flock on this system (WebAssembly): SQLite's own lock has to do
            return
        fcntl.flock(handle, fcntl.LOCK_EX)
