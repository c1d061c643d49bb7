"""Opening a file: is it ours, is it new, is it too new; and the connections of one process to it."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet, finalize

import apsw

from ...errors import SchemaError, StoreTimeout, StoreUnavailable, UnknownOutcome
from .errors import BUSY_SECONDS, driver_errors, translated
from .fast_append import SCHEMA
from .folder_lock import folder_lock
from .schema import migrate

T = TypeVar("T")
APPLICATION_ID = 0x5265636F  # "Reco"
_HEADER_BYTES, _MARK_AT = 100, 68
"""Of the SQLite file format: how long its header is, and where in it the application id lies."""
PAGE_BYTES = 8192
"""Twice SQLite's own: messages of a few hundred bytes waste half as much at the ends of pages; 3 µs more an append."""
BALLAST_BYTES = 1 << 20
_UNKNOWN = "the disk failed while committing; read back before writing it again"
"""A failed sync leaves the pages written or not: only a later read can tell."""
_MOVED = "the file was deleted or replaced while it was open: what was written is not in the file that lies there now"
_CLOSED = "the parent process closed the file while this one was forked from it; open the memory again in the child"
_abandoned: list[Any] = []
"""Connections that came over a fork: never used, never closed, so that the parent's locks stay its own."""
_open_here: dict[str, int] = {}
"""Files this process has open: looking into one with a second descriptor would drop its POSIX locks."""


_forks = 0
"""How often this process was forked from another: a number costs less to compare than the process id to ask for."""
_living: WeakSet[Connections] = WeakSet()
_connecting = threading.Lock()
"""Held by a fork, so that no thread begins with a new connection while one is being made."""
_held: list[tuple[Connections, list[apsw.Cursor], bool]] = []
"""What `_before_fork` took, for `_after_fork_in_parent` to give back."""
_hurry = threading.local()
"""`now` is true in a thread that must not wait for a lock."""
_FORK_SECONDS = 10.0
_SHARED_LOCK = (0x40000002, 510)
_SHM_LOCK = (128, 1)
"""Where SQLite's locks lie that say "somebody uses this file": in the database file and in the `-shm` file."""


def _before_fork() -> None:
    """Wait until no thread is inside SQLite, and keep them out until the process is forked.

    A child gets a copy of SQLite's own table of locks. A lock that the parent holds at that moment would stand in that
    copy for ever, and the child could never write; a mutex that another thread holds would hang it.
    """
    # A writer takes its own lock first and then, where it needs a connection, the other: so does this.
    locked = [(one, one._lock.acquire(timeout=_FORK_SECONDS)) for one in list(_living)]
    _connecting.acquire(timeout=_FORK_SECONDS)
    _held.extend((one, one._hold_readers(), got) for one, got in locked)


def _after_fork_in_parent() -> None:
    while _held:
        one, cursors, got = _held.pop()
        one._idle.extend(cursors)
        if got:
            one._lock.release()
    if _connecting.locked():
        _connecting.release()


def _after_fork_in_child() -> None:
    global _forks, _connecting
    _forks += 1
    _connecting = threading.Lock()
    for one, cursors, _ in _held:
        one._idle.extend(cursors)
        one._lock_as_child()
    _held.clear()


if hasattr(os, "register_at_fork"):  # where there is no fork, nothing comes over one
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


class Locked:
    """Another process holds the file, so that a read would have to wait."""


LOCKED = Locked()


class Connections:
    """One writer, and as many readers as are busy at once; made anew after a fork."""

    def __init__(self, path: str, durability: str) -> None:
        self.path = path
        self._real = os.path.realpath(path)
        self._synchronous = "FULL" if durability == "full" else "NORMAL"
        self._bytes = os.fsencode(self._real)
        """The path as the system takes it: it is looked at with every write."""
        self._file: tuple[int, ...] | None = None
        """The file that is open, by inode and device: another one may come to lie under its path."""
        self._stale = ""
        self._shm = 0
        self._forget()
        _living.add(self)
        finalize(self, _forget_open, self._real, self._all)

    def _forget(self) -> None:
        self._forks = _forks
        self._idle: list[apsw.Cursor] = []
        self._all: list[apsw.Connection] = getattr(self, "_all", [])
        self._writer: apsw.Cursor | None = None
        self._lock = threading.Lock()

    def _hold_readers(self) -> list[apsw.Cursor]:
        """Take the cursor of every reader, each when it is done."""
        taken: list[apsw.Cursor] = []
        try:
            self._shm = os.stat(self._real + "-shm").st_ino
        except OSError:
            self._shm = 0
        until = time.monotonic() + _FORK_SECONDS
        while len(taken) < len(self._all) - (self._writer is not None) and time.monotonic() < until:
            try:
                taken.append(self._idle.pop())
            except IndexError:
                time.sleep(0.0005)
        return taken

    def _lock_as_child(self) -> None:
        """Say to other processes that this child uses the file.

        POSIX locks are not inherited, and SQLite's copied table says that they are held. So the parent, closing, would
        take itself for the last one and remove the write-ahead log that the child writes to.
        """
        if not self._all:
            return
        try:
            import fcntl

            for path, (start, length) in ((self._real, _SHARED_LOCK), (self._real + "-shm", _SHM_LOCK)):
                # Never closed: that would drop every lock of this process on the file.
                handle = os.open(path, os.O_RDWR)
                fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB, length, start)
            self._stale = "" if os.fstat(handle).st_ino == self._shm else _CLOSED
        except OSError:
            self._stale = _CLOSED

    def _after_fork(self) -> None:
        if self._stale:
            raise StoreUnavailable(self._stale, path=self._real)
        _abandoned.extend((self._idle, list(self._all), self._writer))
        _open_here.pop(self._real, None)
        self._all.clear()
        self._forget()

    def _check_file(self) -> None:
        """Refuse to say "written" where the file that is open is no longer the one under its path."""
        try:
            if os.stat(self._bytes)[1:3] == self._file:
                return
        except OSError as cause:
            raise StoreUnavailable(_MOVED, path=self._real) from cause
        raise StoreUnavailable(_MOVED, path=self._real)

    def open(self) -> None:
        """Check, create and migrate under a lock."""
        self._forks = _forks
        with driver_errors("opening it"), _directory_lock(self._real):
            _refuse_strangers(self._real)
            created = _create(self._real)
            try:
                connection = self._connect()
                migrate(connection)
                if created:
                    _make_ballast(self._real)
            except BaseException:
                self._let_go()
                raise
            self._new_writer(connection)

    def _new_writer(self, connection: apsw.Connection | None = None) -> apsw.Cursor:
        """The one cursor that writes, on a connection that has the views of the fast way."""
        connection = connection or self._connect()
        connection.execute(SCHEMA)
        self._writer = connection.cursor()
        return self._writer

    def _connect(self) -> apsw.Connection:
        with _connecting:
            connection = apsw.Connection(self._real, flags=apsw.SQLITE_OPEN_READWRITE)
            self._all.append(connection)
        if self._file is None:
            self._file = os.stat(self._bytes)[1:3]
        _open_here[self._real] = _open_here.get(self._real, 0) + 1
        connection.set_busy_handler(_patience())
        connection.execute(
            f"PRAGMA journal_mode = WAL; PRAGMA synchronous = {self._synchronous}; PRAGMA secure_delete = ON; "
            "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000; PRAGMA journal_size_limit = 33554432; "
            "PRAGMA wal_autocheckpoint = 1000"
        ).fetchall()  # apsw runs a statement when the rows of the one before it have been read
        return connection

    def read(self, work: Callable[[apsw.Cursor], T], *, to_its_end: bool = False) -> T:
        """Run one unit of reading on a cursor that no one else uses meanwhile.

        `to_its_end` says that work which gives something has read all rows of its last statement.
        """
        if self._forks != _forks:
            self._after_fork()
        try:
            cursor = self._idle.pop()
        except IndexError:
            with driver_errors("opening it"):
                cursor = self._connect().cursor()
        ended = False
        try:
            result = work(cursor)
            ended = to_its_end and result is not None
            return result
        except (apsw.Error, UnicodeDecodeError) as cause:
            raise translated(cause, "reading") from cause
        finally:
            if ended:
                self._idle.append(cursor)
            else:
                # A statement not read to its end would keep its snapshot, and the log could never start over.
                self._idle.append(cursor.connection.cursor())
                cursor.close(True)

    def read_row(self, sql: str, values: Sequence[Any]) -> Any:
        """One row, or None: the shortest way through `read`."""
        if self._forks != _forks or not self._idle:
            return self.read(lambda cursor: cursor.execute(sql, values).fetchone())
        cursor = self._idle.pop()
        try:
            # `get` reads to the end, or the statement would keep its snapshot; a key has one row at most.
            return cursor.execute(sql, values).get
        except (apsw.Error, UnicodeDecodeError) as cause:
            raise translated(cause, "reading") from cause
        finally:
            self._idle.append(cursor)

    def read_at_once(self, function: Callable[..., T], *args: Any) -> T | Locked:
        """Run a function that reads, without waiting where the file is locked: an event loop may be behind it."""
        _hurry.now = True
        try:
            return function(*args)
        except StoreTimeout:
            return LOCKED
        finally:
            _hurry.now = False

    def write_one(self, sql: str, values: Sequence[Any]) -> bool:
        """Run one statement of the fast way, which is a transaction by itself; whether its guards let it."""
        if self._forks != _forks:
            self._after_fork()
        with self._lock:
            try:
                (self._writer or self._new_writer()).execute(sql, values)
                self._check_file()
                return True
            except apsw.ConstraintError:
                return False
            except apsw.IOError as cause:
                raise UnknownOutcome(_UNKNOWN) from cause
            except apsw.Error as cause:
                raise translated(cause, "writing") from cause

    def write(self, work: Callable[[apsw.Cursor], T]) -> T:
        """Run one unit of writing inside BEGIN IMMEDIATE … COMMIT; an error rolls everything back."""
        if self._forks != _forks:
            self._after_fork()
        with self._lock:
            try:
                cursor = self._writer or self._new_writer()
                cursor.execute("BEGIN IMMEDIATE")
                try:
                    result = work(cursor)
                except BaseException:
                    self._roll_back(cursor)
                    raise
                self._commit(cursor)
                self._check_file()
                return result
            except (apsw.Error, UnicodeDecodeError) as cause:
                raise translated(cause, "writing") from cause

    def _commit(self, cursor: apsw.Cursor) -> None:
        try:
            cursor.execute("COMMIT")
        except apsw.IOError as cause:
            self._roll_back(cursor)
            raise UnknownOutcome(_UNKNOWN) from cause
        except apsw.Error:
            self._roll_back(cursor)
            raise

    @staticmethod
    def _roll_back(cursor: apsw.Cursor) -> None:
        if cursor.connection.in_transaction:
            cursor.execute("ROLLBACK")

    def close(self) -> None:
        """Close what this process opened."""
        if self._forks == _forks:
            self._let_go()

    def _let_go(self) -> None:
        failed = None
        for connection in self._all:
            try:
                connection.close()
            except apsw.Error as cause:  # close the others too, then say so
                failed = cause
        left = _open_here.get(self._real, 0) - len(self._all)
        if left > 0:
            _open_here[self._real] = left
        else:
            _open_here.pop(self._real, None)
        self._all.clear()
        self._file = None
        self._forget()
        if failed is not None:
            raise translated(failed, "closing it") from failed

    def delete_on_full_disk(self, work: Callable[[apsw.Cursor], T]) -> T:
        """Run a deletion in the room kept for it; freed pages are left as they are, for zeroing them takes room too."""
        self.release_ballast()
        self._zero_what_is_freed("FAST")
        try:
            return self.write(work)
        finally:
            self._zero_what_is_freed("ON")
            self.keep_ballast()

    def _zero_what_is_freed(self, how: str) -> None:
        with self._lock, driver_errors("making room"):
            if self._writer is not None:
                self._writer.execute(f"PRAGMA secure_delete = {how}").fetchall()

    def release_ballast(self) -> bool:
        """Give the disk back the room kept for deleting on a full disk; whether there was any."""
        try:
            os.unlink(self._real + "-ballast")
        except FileNotFoundError:
            return False
        return True

    def keep_ballast(self) -> None:
        """Reserve it again, when there is room."""
        _make_ballast(self._real)

    def files(self) -> list[Path]:
        """Every file that may hold our bytes."""
        names = [self._real + end for end in ("", "-wal", "-shm", "-journal", "-ballast")]
        return [Path(name) for name in names if os.path.exists(name)]


def _forget_open(real: str, connections: list[apsw.Connection]) -> None:
    """A store that was dropped without `close()`: apsw closes its connections as they go."""
    left = _open_here.get(real, 0) - len(connections)
    if left > 0:
        _open_here[real] = left
    else:
        _open_here.pop(real, None)


def _patience() -> Any:
    """A busy handler with short random waits: SQLite's own sleeps up to 100 ms and starves the unlucky."""
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


@contextmanager
def _directory_lock(path: str) -> Iterator[None]:
    """One process at a time creates or migrates files of a folder."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise StoreUnavailable(f"the folder of {os.path.basename(path)!r} does not exist; create it first")
    with folder_lock(folder):
        yield


def _refuse_strangers(path: str) -> None:
    """Leave alone, untouched, what we did not make."""
    if path in _open_here or not os.path.exists(path) or os.path.getsize(path) == 0:
        return
    name = os.path.basename(path)
    try:
        # The header alone, not through SQLite: after a power cut the pages behind it may wait in the WAL.
        with open(path, "rb") as file:
            head = file.read(_HEADER_BYTES)
    except OSError as cause:
        raise StoreUnavailable(f"{name!r} cannot be read ({type(cause).__name__})") from cause
    if not head.startswith(b"SQLite format 3\0"):
        raise SchemaError(f"{name!r} is not a Recollect file; choose another path")
    mark = int.from_bytes(head[_MARK_AT : _MARK_AT + 4], "big")
    if mark != APPLICATION_ID and not os.path.exists(path + "-journal"):
        raise SchemaError(f"{name!r} is a SQLite database of another program; choose another path")


def _create(path: str) -> bool:
    """Make the file, readable by its owner alone, marked as ours before anything else is in it."""
    if os.path.exists(path) and os.path.getsize(path) > 0:
        return False
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        # In rollback mode, so that the mark is in the file itself and not in a WAL.
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}; PRAGMA application_id = {APPLICATION_ID}; VACUUM")
    finally:
        connection.close()
    return True


def _allocate(handle: int, size: int) -> bool:
    """Take room on the disk, and say whether there was any; macOS and Windows have no call for it, so it is written."""
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)
            return True
        return os.write(handle, bytes(size)) == size
    except OSError:
        return False


def _make_ballast(path: str) -> None:
    """Room to delete in when the disk is full: DELETE needs space too."""
    ballast = path + "-ballast"
    try:
        handle = os.open(ballast, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return
    try:
        full = _allocate(handle, BALLAST_BYTES)
    finally:
        os.close(handle)
    if not full:
        os.unlink(ballast)  # better none than a hole that promises room
