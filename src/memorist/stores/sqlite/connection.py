"""Opens, creates and migrates a file, and manages one process's connections to it: one writer and several readers."""

from __future__ import annotations

import os
import random
import threading
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet, finalize

import apsw

from ...errors import StoreUnavailable, UnknownOutcome, UsageError
from .errors import BUSY_SECONDS, driver_errors, translated
from .fast_write import SCHEMA
from .files import create_file, directory_lock, make_ballast, refuse_strangers
from .schema import migrate

T = TypeVar("T")
_UNKNOWN_OUTCOME = "the disk failed while committing; read back before writing it again"
"""After a failed fsync, only a later read can show whether the pages were written."""
_FILE_MOVED = (
    "the file was deleted or replaced while it was open: what was written is not in the file that lies there now"
)
_CLOSED_BY_FORK = (
    "the parent process closed the file while this one was forked from it; open the memory again in the child"
)
_abandoned: list[object] = []
"""Connections inherited through a fork. The child keeps them referenced, unused and open, because closing them would
break the parent's connections."""
_open_here: dict[str, int] = {}
"""The number of connections that this process has to each file. Opening a file a second time and closing that
descriptor would drop all POSIX locks that the process holds on it."""


_forks = 0
"""The number of forks between the first process and this one. Comparing a number is cheaper than querying the pid."""
_living: WeakSet[Connections] = WeakSet()
_connecting = threading.Lock()
"""Held while a connection is opened and during a fork, so that the two never overlap."""
_held: list[tuple[Connections, list[apsw.Cursor], bool]] = []
"""The cursors and locks that `_before_fork` acquired and `_after_fork_in_parent` releases."""
_hurry = threading.local()
"""`now` is true in a thread that must not wait for a lock."""
_FORK_SECONDS = 10.0
"""The time that a fork and `close()` wait for other threads that are inside SQLite."""
_SHARED_LOCK = (0x40000002, 510)
_SHM_LOCK = (128, 1)
"""The offset and length of the locks, in the database and in its `-shm` file, that show SQLite that a file is in
use."""


def _before_fork() -> None:
    """Wait until no thread is inside SQLite, and keep threads out until the process has forked.

    A child receives a copy of SQLite's lock table. If the parent holds a lock at that moment, the lock remains in the
    copy forever, and the child can never write. If another thread holds a mutex, it is never released in the child.
    """
    # The same lock order as in a writer, which takes its own lock and then, for a new connection, `_connecting`. Any
    # other order could deadlock.
    locked = [(connections, connections._lock.acquire(timeout=_FORK_SECONDS)) for connections in list(_living)]
    _connecting.acquire(timeout=_FORK_SECONDS)
    for connections, is_locked in locked:
        _held.append((connections, connections._hold_readers(), is_locked))
        connections._note_shm()


def _after_fork_in_parent() -> None:
    while _held:
        connections, cursors, is_locked = _held.pop()
        connections._idle.extend(cursors)
        if is_locked:
            connections._lock.release()
    if _connecting.locked():
        _connecting.release()


def _after_fork_in_child() -> None:
    global _forks, _connecting
    _forks += 1
    # The inherited lock may be held by a thread that does not exist in the child.
    _connecting = threading.Lock()
    for connections, cursors, _ in _held:
        connections._idle.extend(cursors)
        connections._lock_as_child()
    _held.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


class Connections:
    """Holds a writer connection and a pool of readers, one per concurrent read. A forked child opens its own
    connections."""

    def __init__(self, path: str, durability: str) -> None:
        self._real = os.path.realpath(path)
        self._synchronous = "FULL" if durability == "full" else "NORMAL"
        self._file: tuple[int, ...] | None = None
        """The inode and device of the open file, used to detect when another file replaces it."""
        self._moved = array("i", (0,))
        """The integer in which SQLite stores whether the file was moved; see `_check_file`."""
        self._moved_at = self._moved.buffer_info()[0]
        self._stale = ""
        self._shm = 0
        self._closed = False
        self._reset()
        _living.add(self)
        finalize(self, _uncount, self._real, self._all)

    def _reset(self) -> None:
        self._forks = _forks
        self._idle: list[apsw.Cursor] = []
        self._all: list[apsw.Connection] = getattr(self, "_all", [])
        self._writer: apsw.Cursor | None = None
        self._lock = threading.Lock()

    # -- forks

    def _note_shm(self) -> None:
        """Note which -shm file is in use, for `_lock_as_child` to compare."""
        try:
            self._shm = os.stat(self._real + "-shm").st_ino
        except OSError:
            self._shm = 0

    def _hold_readers(self) -> list[apsw.Cursor]:
        """Take all readers' cursors from the pool, waiting for those in use."""
        cursors: list[apsw.Cursor] = []
        until = time.monotonic() + _FORK_SECONDS
        while len(cursors) < len(self._all) - (self._writer is not None) and time.monotonic() < until:
            try:
                cursors.append(self._idle.pop())
            except IndexError:
                time.sleep(0.0005)
        return cursors

    def _lock_as_child(self) -> None:
        """Acquire the shared locks that show other processes that this child uses the file.

        POSIX locks are not inherited, although they are listed as held in the child's copy of SQLite's table. Without
        them, the parent would consider itself the last user when it closes the file, and remove the write-ahead log
        that the child uses.
        """
        if not self._all:
            return
        try:
            import fcntl

            for path, (start, length) in ((self._real, _SHARED_LOCK), (self._real + "-shm", _SHM_LOCK)):
                # The descriptor stays open: closing it would drop every lock of this process on the file.
                handle = os.open(path, os.O_RDWR)
                fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB, length, start)
            # A different -shm file means that the parent closed the database, and deleted its log, before we had the
            # lock.
            self._stale = "" if os.fstat(handle).st_ino == self._shm else _CLOSED_BY_FORK
        except OSError:
            self._stale = _CLOSED_BY_FORK

    def _after_fork(self) -> None:
        if self._stale:
            raise StoreUnavailable(self._stale, path=self._real)
        # Closing one of the parent's connections would drop its POSIX locks and could reset its log, so the child never
        # releases these objects and opens its own.
        _abandoned.extend((self._idle, list(self._all), self._writer))
        _open_here.pop(self._real, None)
        self._all.clear()
        self._reset()

    # -- opening

    def open(self) -> None:
        """Check, create and migrate the file under a lock on its folder. If it is already open, this has no effect."""
        if self._writer is not None and self._forks == _forks:
            return
        self._forks = _forks
        self._closed = False
        with driver_errors("opening it"), directory_lock(self._real):
            # Without the folder lock, two processes that open a new file at once would both create and migrate it.
            if self._real not in _open_here:
                # Reading the header closes a descriptor, which would drop the locks of this process's connections.
                refuse_strangers(self._real)
            created = create_file(self._real)
            try:
                connection = self._connect()
                migrate(connection)
                if created:
                    make_ballast(self._real)
            except BaseException:
                self._close_all()
                raise
            self._new_writer(connection)

    def _new_writer(self, connection: apsw.Connection | None = None) -> apsw.Cursor:
        """Return the only cursor that writes, on a connection with the temporary views of fast_write.py."""
        connection = connection or self._connect()
        connection.execute(SCHEMA)
        self._writer = connection.cursor()
        return self._writer

    def _connect(self) -> apsw.Connection:
        # A thread that waited for the writer's lock while another one called `close` ends up here.
        if self._closed:
            raise UsageError("this memory was closed in the meantime; open another one")
        with _connecting:
            # NOMUTEX is safe because no two threads use one connection at once: readers are taken from a pool, and the
            # writer has a lock. SQLite would otherwise take its mutex for every cell that is read.
            connection = apsw.Connection(self._real, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX)
            self._all.append(connection)
            _open_here[self._real] = _open_here.get(self._real, 0) + 1
        try:
            self._set_up(connection)
        except BaseException:
            # `close` and a fork wait until every connection in `_all` is back in the pool, so remove this one, which
            # would never come back.
            self._all.remove(connection)
            _uncount(self._real, [connection])
            connection.close()
            raise
        return connection

    def _set_up(self, connection: apsw.Connection) -> None:
        file = os.stat(self._real)[1:3]
        if self._file not in (None, file):
            raise StoreUnavailable(_FILE_MOVED, path=self._real)
        self._file = file
        # Before the pragmas, because switching to WAL may have to wait for another process.
        connection.set_busy_handler(_patience())
        # Otherwise SQLite plans for the value of `LIMIT ?`, and prepares the statement again on every call.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.execute(
            # Readers and the writer of a WAL file never wait for each other.
            "PRAGMA journal_mode = WAL; "
            # FULL syncs the log at every commit. NORMAL syncs it only before a checkpoint, so that a power cut may undo
            # the last commits, but never damages the file.
            f"PRAGMA synchronous = {self._synchronous}; "
            # Deleted content is overwritten with zeros. SQLite would otherwise leave it in free pages.
            "PRAGMA secure_delete = ON; "
            # Large sorts would otherwise write content to temporary files, outside the files that a scrub rewrites.
            "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000; "
            # A log that has grown once, for example behind a long read, would otherwise keep that size.
            "PRAGMA journal_size_limit = 33554432; "
            # The commit that takes the log over this many pages also copies them into the file, and takes longer.
            "PRAGMA wal_autocheckpoint = 1000"
        ).fetchall()  # apsw runs each statement only when the rows of the one before it have been fetched

    # -- reads

    def read(self, work: Callable[[apsw.Cursor], T]) -> T:
        """Call a function with the cursor of a reader, which no other thread uses at the same time."""
        cursor = self._take_reader()
        try:
            return work(cursor)
        except (apsw.Error, UnicodeDecodeError) as cause:
            raise translated(cause, "reading") from cause
        finally:
            self._renew(cursor)

    def read_rows(self, sql: str, values: Sequence[object]) -> list[Any]:
        """Return all rows of one statement. This is faster than `read`, because a statement that was read to its end
        leaves a cursor that can be used again."""
        cursor = self._take_reader()
        try:
            rows = cursor.execute(sql, values).fetchall()
        except BaseException as cause:
            self._renew(cursor)
            if isinstance(cause, apsw.Error | UnicodeDecodeError):
                raise translated(cause, "reading") from cause
            raise
        self._idle.append(cursor)
        return rows

    def _take_reader(self) -> apsw.Cursor:
        """Take a reader's cursor from the pool, or open another connection if all are in use."""
        if self._forks != _forks:
            self._after_fork()
        try:
            # `list.pop` and `list.append` are atomic, so the pool of readers needs no lock.
            return self._idle.pop()
        except IndexError:
            with driver_errors("opening it"):
                return self._connect().cursor()

    def _renew(self, cursor: apsw.Cursor) -> None:
        """Return a connection to the pool with a new cursor.

        A statement that was not read to the end would keep its snapshot, and the log could never be reset.
        """
        connection = cursor.connection
        cursor.close(True)
        self._idle.append(connection.cursor())

    def read_at_once(self, function: Callable[..., T], *args: object) -> T:
        """Run a read function on the caller's thread. If the file is locked, raise StoreTimeout at once, because
        waiting would block the event loop."""
        _hurry.now = True
        try:
            return function(*args)
        finally:
            _hurry.now = False

    # -- writes

    def write_one(self, sql: str, values: Sequence[object]) -> bool:
        """Run one statement of fast_write.py as its own transaction. Return False if one of its guards failed."""
        if self._forks != _forks:
            self._after_fork()
        with self._lock:
            try:
                cursor = self._writer or self._new_writer()
                # The file check comes after the commit: a file replaced just before it would otherwise go unnoticed.
                cursor.execute(sql, values)
                self._check_file(cursor)
                return True
            except apsw.ConstraintError:
                return False
            except apsw.IOError as cause:
                # The statement commits by itself, so the disk may have failed before or after the commit record
                # reached the log.
                raise UnknownOutcome(_UNKNOWN_OUTCOME) from cause
            except apsw.Error as cause:
                raise translated(cause, "writing") from cause

    def write(self, work: Callable[[apsw.Cursor], T]) -> T:
        """Run a write transaction, BEGIN IMMEDIATE … COMMIT. An error rolls it back."""
        if self._forks != _forks:
            self._after_fork()
        with self._lock:
            try:
                cursor = self._writer or self._new_writer()
                # A plain BEGIN takes the write lock only at the first write. If another process had committed since the
                # first read, SQLite could not upgrade the snapshot and would fail immediately instead of waiting.
                cursor.execute("BEGIN IMMEDIATE")
                try:
                    result = work(cursor)
                except BaseException:
                    self._roll_back(cursor)
                    raise
                self._commit(cursor)
                self._check_file(cursor)
                return result
            except (apsw.Error, UnicodeDecodeError) as cause:
                raise translated(cause, "writing") from cause

    def _check_file(self, cursor: apsw.Cursor) -> None:
        """Raise StoreUnavailable after a commit if the open file is no longer the file at its path.

        SQLite compares the inode at the path with that of the open file, in less time than os.stat() takes.
        """
        cursor.connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, self._moved_at)
        if self._moved[0]:
            raise StoreUnavailable(_FILE_MOVED, path=self._real)

    def _commit(self, cursor: apsw.Cursor) -> None:
        try:
            cursor.execute("COMMIT")
        except apsw.IOError as cause:
            # After a failed fsync, Linux marks the pages as clean, so syncing again would report success without
            # writing them. The commit record may or may not have reached the disk.
            self._roll_back(cursor)
            raise UnknownOutcome(_UNKNOWN_OUTCOME) from cause
        except apsw.Error:
            self._roll_back(cursor)
            raise

    @staticmethod
    def _roll_back(cursor: apsw.Cursor) -> None:
        # After some errors (a full disk, a failed read or write), SQLite has already rolled back, and ROLLBACK would
        # fail.
        if cursor.connection.in_transaction:
            cursor.execute("ROLLBACK")

    # -- closing

    def close(self) -> None:
        """Close the connections that this process opened, once the threads that use them have finished."""
        # Connections inherited from the parent must stay open; see `_abandoned`.
        if self._forks == _forks:
            with self._lock:
                # Set first: a reader that finds the pool empty from here on must not open another connection.
                self._closed = True
                self._hold_readers()
                # Closing the last connection to a file checkpoints it and deletes its log.
                self._close_all()

    def _close_all(self) -> None:
        failed = None
        for connection in self._all:
            try:
                connection.close()
            except apsw.Error as cause:  # close the others too, then raise
                failed = cause
        _uncount(self._real, self._all)
        self._all.clear()
        self._file = None
        self._reset()
        if failed is not None:
            raise translated(failed, "closing it") from failed

    # -- full disks

    def delete_on_full_disk(self, work: Callable[[apsw.Cursor], T]) -> T:
        """Run a deletion on a full disk, using the space freed by removing the ballast file. Freed pages are not
        zeroed, because that would need space too."""
        self.release_ballast()
        # FAST overwrites deleted content only where that needs no additional writes. A scrub removes the rest.
        self._secure_delete("FAST")
        try:
            return self.write(work)
        finally:
            self._secure_delete("ON")
            self.keep_ballast()

    def _secure_delete(self, how: str) -> None:
        with self._lock, driver_errors("making room"):
            if self._writer is not None:
                self._writer.execute(f"PRAGMA secure_delete = {how}").fetchall()

    def release_ballast(self) -> bool:
        """Remove the ballast file, whose space lets a deletion succeed on a full disk. Return False if there was no
        such file."""
        try:
            os.unlink(self._real + "-ballast")
        except FileNotFoundError:
            return False
        return True

    def keep_ballast(self) -> None:
        """Create the ballast file again if the disk has space."""
        make_ballast(self._real)

    def files(self) -> list[Path]:
        """Return the existing files of the database: the database itself, its logs and the ballast."""
        names = [self._real + end for end in ("", "-wal", "-shm", "-journal", "-ballast")]
        return [Path(name) for name in names if os.path.exists(name)]


def _uncount(real: str, connections: list[apsw.Connection]) -> None:
    """Subtract closed connections from `_open_here`. If a store is dropped without `close()`, its finalizer does
    this."""
    count = _open_here.get(real, 0) - len(connections)
    if count > 0:
        _open_here[real] = count
    else:
        _open_here.pop(real, None)


def _patience() -> Callable[[int], bool]:
    """Return a busy handler with short random waits. SQLite's own handler sleeps for up to 100 ms, which starves some
    writers."""
    started = [0.0]

    def wait(count: int) -> bool:
        if getattr(_hurry, "now", False):
            return False
        if count == 0:
            started[0] = time.monotonic()
        elif time.monotonic() - started[0] > BUSY_SECONDS:
            return False
        time.sleep(random.uniform(0.0001, 0.001 if count < 20 else 0.005))
        return True

    return wait
