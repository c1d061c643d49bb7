"""Sends a transaction in libpq's pipeline mode: every statement at once, one Sync, then every reply is read.

A pipeline without BEGIN is one implicit transaction, committed by its Sync: so a transaction costs one round trip, and
a failing statement undoes all before it. This uses libpq through psycopg's `pq`, because psycopg's cursors cost more
time than the server does.
"""

from __future__ import annotations

import hashlib
import os
import select
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import psycopg
from psycopg import pq, waiting
from psycopg.abc import PQGen
from psycopg.adapt import Transformer

from ...errors import InvalidValue

Cell = bytes | None
_OK = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)
_BINARY = int(pq.Format.BINARY)
STALE = ("0A000", "26000", "42P05")
"""SQLSTATEs of prepared statements that no longer fit: the result type changed, no such statement, it exists
already."""
MOST_PREPARED = 500
"""Statements a channel keeps prepared; there are a few dozen in ordinary use. Those of users' filters get no more than
half of the places."""


class Step(NamedTuple):
    """A statement and its encoded parameters; `binary` has 1 for each that is raw bytes."""

    sql: bytes
    cells: Sequence[Cell]
    binary: Sequence[int] | None = None
    ours: bool = True
    """False if its text depends on a user's filter. There is no end of such texts, so they may take only half of the
    prepared statements."""


class Failed(Exception):
    """The server refused a statement; the transaction was rolled back."""

    def __init__(self, place: int, state: str, message: str, detail: str, fatal: bool) -> None:
        super().__init__(f"{state}: {message}")
        self.place = place
        self.state = state
        self.message = message
        self.detail = detail
        self.fatal = fatal


class Lost(Exception):
    """The connection broke. `sent`: whether the server may have received the whole transaction and committed it."""

    def __init__(self, reason: str, sent: bool, slow: bool = False) -> None:
        super().__init__(reason)
        self.sent = sent
        self.slow = slow


class Reply:
    """The result of one statement."""

    __slots__ = ("_result", "_transformer")

    def __init__(self, result: Any, transformer: Any) -> None:
        self._result = result
        self._transformer = transformer

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows, as Python values."""
        self._transformer.set_pgresult(self._result)
        rows: list[tuple[Any, ...]] = self._transformer.load_rows(0, self._result.ntuples, tuple)
        return rows

    @property
    def count(self) -> int:
        """How many rows the statement touched."""
        return self._result.command_tuples or 0


@lru_cache(maxsize=10 * MOST_PREPARED)
def statement_name(sql: bytes) -> bytes:
    """The name under which a statement is prepared: a hash of its text. Behind a pooler many clients share one server
    connection, and a statement that another client prepared under this name is the same statement."""
    return b"memorist_" + hashlib.sha1(sql, usedforsecurity=False).hexdigest()[:24].encode()


class Channel:
    """One connection, always in pipeline mode, and the statements it has prepared."""

    def __init__(self, connection: psycopg.BaseConnection[Any], prepare: bool) -> None:
        self.connection = connection
        self.pgconn = connection.pgconn
        self.used_at = time.monotonic()
        self.broken = False
        self._prepare = prepare
        self._names: dict[bytes, bytes] = {}
        self._transformer = Transformer(connection)
        self._poll = select.poll()
        self._poll.register(self.pgconn.socket, select.POLLIN)
        self._process = os.getpid()
        self.pgconn.enter_pipeline_mode()

    def __del__(self) -> None:
        # For a memory that was dropped without `close()`. A forked child must not end its parent's connection.
        if getattr(self, "_process", 0) == os.getpid():
            self.pgconn.finish()

    def readable(self) -> bool:
        """Whether the socket has something to read; on an idle channel that means that the server closed it."""
        return bool(self._poll.poll(0))

    def close(self) -> None:
        """Close the connection."""
        self.broken = True
        self.pgconn.finish()

    def exchange(self, steps: Sequence[Step], patience: float) -> PQGen[list[Reply]]:
        """Send the steps and read their replies; raises Failed or Lost."""
        # Any exit but the last line leaves replies unread, so the channel counts as broken until then.
        self.broken = True
        preparing = self._send(steps)
        results = yield from self._receive(len(steps) + len(preparing), patience)
        self.used_at = time.monotonic()
        try:
            replies = self._sorted(results, preparing)
        except Failed as failed:
            # A channel whose prepared statements no longer fit the tables is not worth keeping.
            self.broken = failed.state in STALE
            raise
        self.broken = False
        return replies

    def script(self, sql: bytes, patience: float) -> PQGen[None]:
        """Run a text of several statements in a transaction of their own; raises Failed or Lost."""
        self.broken = True
        self.pgconn.exit_pipeline_mode()
        try:
            self.pgconn.send_query(sql)
        except psycopg.Error as cause:
            raise Lost(str(cause), sent=False) from cause
        results = yield from self._receive(None, patience)
        self.pgconn.enter_pipeline_mode()
        self.broken = False
        self._sorted(results, {})

    def _send(self, steps: Sequence[Step]) -> dict[int, bytes]:
        """Queue every statement; returns which places of the reply list answer a prepare, and of which text."""
        preparing: dict[int, bytes] = {}
        place, pgconn, names = 0, self.pgconn, self._names
        try:
            for sql, cells, binary, ours in steps:
                name = names.get(sql)
                room = MOST_PREPARED if ours else MOST_PREPARED // 2
                if name is None and (not self._prepare or len(names) >= room):
                    pgconn.send_query_params(sql, cells, None, binary, _BINARY)
                else:
                    if name is None:
                        name = names[sql] = statement_name(sql)
                        pgconn.send_prepare(name, sql)
                        preparing[place] = sql
                        place += 1
                    pgconn.send_query_prepared(name, cells, binary, _BINARY)
                place += 1
            pgconn.pipeline_sync()
        except psycopg.Error as cause:
            raise Lost(str(cause), sent=False) from cause
        return preparing

    def _receive(self, wanted: int | None, patience: float) -> PQGen[list[Any]]:
        pgconn, nothing = self.pgconn, 0
        results: list[Any] = []
        deadline = time.monotonic() + patience
        sent = False
        try:
            while True:
                if not sent:
                    sent = pgconn.flush() == 0
                ready = yield (waiting.WAIT_R if sent else waiting.WAIT_RW)
                if not ready:
                    if time.monotonic() > deadline:
                        raise Lost(f"no answer within {patience:.0f} s", sent, slow=True)
                    continue
                if not ready & waiting.READY_R:
                    continue
                pgconn.consume_input()
                while not pgconn.is_busy():
                    result = pgconn.get_result()
                    if result is None:
                        nothing += 1
                        if wanted is None:
                            return results
                        if nothing > 1:
                            raise Lost("the server closed the connection", sent)
                        continue
                    nothing = 0
                    if result.status == pq.ExecStatus.PIPELINE_SYNC:
                        return results
                    results.append(result)
        except psycopg.Error as cause:
            fatal = next((r for r in results if r.status == pq.ExecStatus.FATAL_ERROR), None)
            if fatal is not None and (wanted is None or len(results) <= wanted):
                # The error stands in the place of a statement, so it came before the commit: nothing was done.
                raise _failed(fatal, len(results) - 1, fatal_link=True) from cause
            raise Lost(str(cause).strip(), sent) from cause

    def _sorted(self, results: list[Any], preparing: dict[int, bytes]) -> list[Reply]:
        replies: list[Reply] = []
        failed: Failed | None = None
        for place, result in enumerate(results):
            fine = result.status in _OK
            if not fine and place in preparing:
                del self._names[preparing[place]]
            if not fine and failed is None:
                failed = _failed(result, len(replies), fatal_link=False)
            if place not in preparing:
                replies.append(Reply(result, self._transformer))
        if failed is not None:
            raise failed
        return replies


def _failed(result: Any, place: int, fatal_link: bool) -> Failed:
    def field(code: pq.DiagnosticField) -> str:
        return bytes(result.error_field(code) or b"").decode("utf-8", "replace")

    severity = field(pq.DiagnosticField.SEVERITY_NONLOCALIZED)
    return Failed(
        place,
        field(pq.DiagnosticField.SQLSTATE),
        field(pq.DiagnosticField.MESSAGE_PRIMARY),
        field(pq.DiagnosticField.MESSAGE_DETAIL),
        fatal_link or severity in ("FATAL", "PANIC"),
    )


def cell(value: Any) -> Cell:
    """A value encoded as a parameter: in text format, except bytes."""
    kind = type(value)
    if kind is str:
        return text_cell(value)
    if kind is int:
        return b"%d" % value
    if value is None or kind is bytes:
        return value  # type: ignore[no-any-return]  # None or bytes
    if kind is float:
        return repr(value).encode()
    if kind is bool:
        return b"t" if value else b"f"
    raise InvalidValue(f"a {kind.__name__} cannot be kept in a column")


def text_cell(value: str) -> bytes:
    """A text encoded as a parameter. A NUL is refused, because libpq would silently cut the text there."""
    try:
        data = value.encode()
    except UnicodeEncodeError as cause:
        raise InvalidValue("a text holds a lone surrogate, which no store can keep") from cause
    if b"\0" in data:
        raise InvalidValue("a text holds a NUL, which no store can keep")
    return data


def array_cell(values: Sequence[str | int]) -> bytes:
    """A one-dimensional array in Postgres' text form."""
    quoted = ('"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values)
    return text_cell("{" + ",".join(quoted) + "}")
