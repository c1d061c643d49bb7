"""Runs the statements of one transaction in pipeline mode. They are all sent at once with one Sync, and then all
replies are read.

A pipeline without BEGIN is one implicit transaction, committed by its Sync. A transaction therefore takes one round
trip. A failing statement undoes all statements before it, and so does a cancellation before the Sync is sent. The
statements use psycopg's `pq` and its generators, because its cursors would about double the client's CPU time.
"""

from __future__ import annotations

import hashlib
import select
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import psycopg
from psycopg import pq
from psycopg.abc import PQGen
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, send
from psycopg.rows import TupleRow

from ...errors import InvalidValue

Cell = bytes | None
MAX_PREPARED = 500
"""The number of prepared statements after which a connection is replaced. The server keeps each of them in memory, and
users' filters can produce any number of different statements. Ordinary use needs a few dozen."""
IDLE_CHECK_SECONDS = 60.0
"""A connection that was idle for longer is probed before it is used. A firewall may have dropped it silently."""
POOLER_SQLSTATES = ("26000", "42P05")
"""SQLSTATEs for a prepared statement that does not exist or already exists because a pooler switched to another server
connection."""
_STALE_STATEMENT_SQLSTATES = ("0A000", *POOLER_SQLSTATES)
"""SQLSTATEs of prepared statements that can no longer be used. `0A000` means that the result type has changed."""
_OK = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)
_BINARY = int(pq.Format.BINARY)


class Step(NamedTuple):
    """Holds a statement and its encoded parameters. `binary` contains a 1 for each parameter that consists of raw
    bytes."""

    sql: bytes
    cells: Sequence[Cell]
    binary: Sequence[int] | None = None


class Reply(NamedTuple):
    """Holds the result of one statement."""

    rows: list[tuple[Any, ...]]
    touched: int
    """This is the number of rows that the statement affected."""


class Failed(Exception):
    """Raised if the server refused a statement. The transaction was rolled back."""

    def __init__(self, error: psycopg.Error, index: int = 0) -> None:
        self.index = index
        """The index of the failed step, or the number of steps if the commit failed."""
        self.state = error.sqlstate or ""
        # The primary message and our own details contain no values from rows. The driver's own text would quote them.
        self.message = error.diag.message_primary or ""
        self.detail = error.diag.message_detail or ""
        self.fatal = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
        super().__init__(f"{self.state}: {self.message}")


class Lost(Exception):
    """Raised if the connection broke. `sent` says whether the server may have received the whole transaction and
    committed it."""

    def __init__(self, reason: str, was_sent: bool, slow: bool = False) -> None:
        super().__init__(reason)
        self.sent = was_sent
        self.slow = slow


class State:
    """Holds the state of a connection: its prepared statements, the way to read its results, and the time of its last
    use."""

    def __init__(self, connection: psycopg.BaseConnection[TupleRow]) -> None:
        self.pgconn = connection.pgconn
        self.pgconn.enter_pipeline_mode()  # the connection stays in this mode until it is closed
        self.names: dict[bytes, bytes] = {}
        self.transformer = Transformer(connection)
        self.used_at = time.monotonic()
        self._readable = _readable_test(self.pgconn.socket)

    def may_be_dead(self) -> bool:
        """Return whether an idle connection must be probed. Raises an error if it is dead. A dead connection has data
        to read, because a server sends a message before it closes a connection.
        """
        # Nothing was sent, so a healthy connection has nothing to read. psycopg's own check asks the server, which
        # would cost every transaction a second round trip.
        if self._readable():
            self.pgconn.finish()
            raise psycopg.OperationalError("the server closed the connection")
        return time.monotonic() - self.used_at > IDLE_CHECK_SECONDS

    def settle(self, error: BaseException | None) -> None:
        """Close the connection after an exchange, unless all replies were read and its statements can still be used."""
        self.used_at = time.monotonic()
        stale = isinstance(error, Failed) and error.state in _STALE_STATEMENT_SQLSTATES
        # If the connection is not idle, replies are still on their way, and the next caller would read them as its own.
        unread = self.pgconn.transaction_status != pq.TransactionStatus.IDLE
        # Closing frees all statements. DEALLOCATE would confuse a pooler that shares prepared statements.
        if stale or unread or len(self.names) >= MAX_PREPARED:
            self.pgconn.finish()


def _readable_test(socket: int) -> Callable[[], bool]:
    if hasattr(select, "poll"):  # select() cannot watch descriptors beyond 1,023
        poll = select.poll()
        poll.register(socket, select.POLLIN)
        return lambda: bool(poll.poll(0))
    return lambda: bool(select.select([socket], [], [], 0)[0])


class Exchange:
    """Runs one transaction on one connection, as a context manager. Its errors become Failed or Lost, and the
    connection is closed if it cannot be used again."""

    def __init__(self, state: State, steps: Sequence[Step], prepare: bool, seconds: float) -> None:
        self._state = state
        self._steps = steps
        self._prepare = prepare
        self._deadline = time.monotonic() + seconds
        self._sent = False
        self._results: list[Any] = []
        self._preparing: dict[int, bytes] = {}
        """The results that answer a prepare, with the text of each statement."""

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._state.settle(error)
        if isinstance(error, psycopg.Error):
            raise self._failure(error) from error

    def run(self) -> PQGen[list[Reply]]:
        """Send the steps and read their replies."""
        self._queue()
        yield from send(self._state.pgconn)
        # From here on, the server may commit even if its reply is lost, so a failure means an unknown outcome.
        self._sent = True
        while True:
            for result in (yield from fetch_many(self._state.pgconn)):
                if result.status == pq.ExecStatus.PIPELINE_SYNC:
                    return self._replies()
                self._results.append(result)

    def _failure(self, error: psycopg.Error) -> Exception:
        """Return the error for a broken connection."""
        expected = len(self._steps) + len(self._preparing)
        refused = self._results and self._results[-1].status == pq.ExecStatus.FATAL_ERROR
        if refused and len(self._results) <= expected:
            # The server's last message answers a statement, so it was sent before the commit. Nothing was done.
            failed = self._failed(len(self._results) - 1)
            failed.fatal = True
            return failed
        slow = time.monotonic() >= self._deadline
        return Lost(str(error).strip() or type(error).__name__, self._sent, slow)

    def _queue(self) -> None:
        pgconn, names, position = self._state.pgconn, self._state.names, 0
        for sql, cells, binary in self._steps:
            if self._prepare:
                name = names.get(sql)
                if name is None:
                    name = names[sql] = statement_name(sql)
                    pgconn.send_prepare(name, sql)
                    self._preparing[position] = sql
                    position += 1
                pgconn.send_query_prepared(name, cells, binary, _BINARY)
            else:
                pgconn.send_query_params(sql, cells, None, binary, _BINARY)
            position += 1
        # No BEGIN or COMMIT is needed. In pipeline mode, the server runs all statements up to a sync message as one
        # implicit transaction. It commits at the sync, or rolls back and skips the rest after the first error.
        pgconn.pipeline_sync()

    def _replies(self) -> list[Reply]:
        replies: list[Reply] = []
        failed: int | None = None
        transformer = self._state.transformer
        for position, result in enumerate(self._results):
            if result.status not in _OK:
                # After an error, the server skips everything up to the sync, so this statement was not prepared.
                self._state.names.pop(self._preparing.get(position, b""), None)
                failed = position if failed is None else failed
            elif failed is None and position not in self._preparing:
                rows: list[tuple[object, ...]] = []
                if result.ntuples:
                    transformer.set_pgresult(result)
                    rows = transformer.load_rows(0, result.ntuples, tuple)
                replies.append(Reply(rows, result.command_tuples or 0))
        if failed is not None:
            raise self._failed(failed)
        return replies

    def _failed(self, position: int) -> Failed:
        # Preparing a statement has its own result, which belongs to no step.
        prepares = sum(other < position for other in self._preparing)
        return Failed(error_from_result(self._results[position]), position - prepares)


@lru_cache(maxsize=10 * MAX_PREPARED)
def statement_name(sql: bytes) -> bytes:
    """Return the name under which a statement is prepared, which is a hash of its text.

    Behind a pooler, many clients share one server connection. Another client's statement under this name is then the
    same statement. psycopg numbers its statements, so one client could run another client's statement there.
    """
    return b"memorist_" + hashlib.sha1(sql, usedforsecurity=False).hexdigest()[:24].encode()


def cell(value: Any) -> Cell:
    """Return a value encoded as a parameter, in text format except for bytes."""
    value_type = type(value)
    if value_type is str:
        return text_cell(value)
    if value_type is int:
        return b"%d" % value
    if value is None or value_type is bytes:
        return value  # type: ignore[no-any-return]  # None or bytes
    if value_type is float:
        # Unlike str.format, repr() always returns enough digits to restore the same float.
        return repr(value).encode()
    if value_type is bool:
        return b"t" if value else b"f"
    raise InvalidValue(f"a {value_type.__name__} cannot be stored in a column")


def text_cell(value: str) -> bytes:
    """Return a string encoded as a parameter. A NUL is refused, because libpq would silently truncate the string
    there."""
    try:
        data = value.encode()
    except UnicodeEncodeError as cause:
        raise InvalidValue("a text contains a lone surrogate, which no store can keep") from cause
    if b"\0" in data:
        raise InvalidValue("a text contains a NUL, which no store can keep")
    return data


def array_cell(values: Sequence[str | int]) -> bytes:
    """Return a one-dimensional array in Postgres's text format."""
    # Quoting every element also protects commas, braces, spaces and the word NULL, which are syntax in an array.
    quoted = ('"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values)
    return text_cell("{" + ",".join(quoted) + "}")
