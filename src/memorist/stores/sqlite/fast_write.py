"""Provides a fast path for the most common batches, which append a message or put a new record or fact. Each is
one SQL statement.

A new record is written with a plain insert, which fails if its key already exists. The other batches insert into a
temporary view whose trigger writes two or three rows under guards. A single statement is its own transaction and holds
the write lock from its start, so it needs no BEGIN, no earlier read and no COMMIT. The caller's assumptions (the
thread's length, the existence of the job) are guards that the statement checks, because other processes may have made
changes. If a guard fails, nothing is written, and the changes use the general path, which also raises the appropriate
error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

import apsw

from ...messages.message import Message
from ...ports import to_micros
from ...records import AuditEvent, Fact, Job, Key, Record, RecordPiece, StoredRecord
from ..base import Append, Appended, Change, ChangeResult, DeleteRange, Put, Stored
from ..codec import codec, encoder, pack
from .statements import column_names, statements

if TYPE_CHECKING:
    from .connection import Connections

MAX_CACHED_ROWS = 10_000
"""The maximum number of cached threads, and of cached facts. When it is reached, the cache is cleared."""
_MESSAGE_SUM, _FACT_SUM, _RECORD_SUM = (codec(record_type).sum_base for record_type in (Message, Fact, StoredRecord))
_CREATED = codec(Message).position_of["created_at"]
_message_row = encoder(Message, "org", "thread", "seq", "expires_at")
"""The row of an appended message. The store assigns its number, and the other missing cells come from its thread."""
_record_row = encoder(StoredRecord, "version")
_PUT_NEW = statements(StoredRecord).insert
_NEW_FACT: list[type[Record]] = [Fact, Job, AuditEvent]
"""The rows written when a fact is set, in this order."""
_fact_row, _job_row, _event_row = encoder(Fact, "version"), encoder(Job, "version"), codec(AuditEvent).encode

_messages = column_names(Message)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _guarded(names: Sequence[str]) -> str:
    """Return the new values.

    Inside a trigger, changes() counts the rows of the preceding statement. If the update found no row, the checksum is
    NULL, and its NOT NULL constraint makes the whole statement fail.
    """
    return ", ".join("CASE changes() WHEN 1 THEN new.crc END" if name == "crc" else f"new.{name}" for name in names)


def _view(name: str, columns: Sequence[str]) -> str:
    return f"CREATE TEMP VIEW {name} ({_listed(columns)}) AS SELECT {', '.join('0' * len(columns))}"


def _insert(record_type: type[Record], crc: str = "") -> str:
    """Insert a row whose columns are named `kind_column` in the view. `crc` is its checksum."""
    names, table = column_names(record_type), record_type.table.name
    values = [crc if crc and name == "crc" else f"new.{table}_{name}" for name in names]
    return f"INSERT INTO main.{table} ({_listed(names)}) VALUES ({', '.join(values)})"


_SET = [f"{record_type.table.name}_{name}" for record_type in _NEW_FACT for name in column_names(record_type)]
_NEVER_HELD = """CASE WHEN NOT EXISTS (
    SELECT 1 FROM main.fact_versions WHERE org = new.facts_org AND ns = new.facts_ns AND key = new.facts_key
  ) THEN new.facts_crc END"""
"""The checksum, or NULL if there are older versions, because the number of a new version must follow their numbers."""
SCHEMA = f"""
{_view("appended", (*_messages, "grown_at", "queue", "ns", "item"))};
CREATE TEMP TRIGGER append_message INSTEAD OF INSERT ON appended BEGIN
  UPDATE main.threads
    SET length = new.seq, tokens = tokens + coalesce(new.tokens, 0), updated_at = new.grown_at, version = version + 1
    WHERE org = new.org AND id = new.thread AND length = new.seq - 1 AND +ns = new.ns AND expires_at IS NULL
    AND EXISTS (
      SELECT 1 FROM main.jobs WHERE org = new.org AND queue = new.queue AND ns = new.ns AND item = new.item
    );
  INSERT INTO main.messages ({_listed(_messages)}) VALUES ({_guarded(_messages)});
END;
{_view("fact_set", _SET)};
CREATE TEMP TRIGGER set_fact INSTEAD OF INSERT ON fact_set BEGIN
  {_insert(Fact, _NEVER_HELD)};
  {_insert(Job)};
  {_insert(AuditEvent)};
END;
"""
"""Temporary views and triggers of the writer connection; they are not in the file.

`+ns` prevents SQLite from using the index on `ns`, which would mean searching one more B-tree than the primary key
needs.
"""

_APPEND = f"INSERT INTO temp.appended VALUES ({', '.join('?' * (len(_messages) + 4))})"
_SET_NEW = f"INSERT INTO temp.fact_set VALUES ({', '.join('?' * len(_SET))})"


Write = Callable[[str, Sequence[object]], bool]
"""Runs one statement, and returns False if one of its guards fails."""


def within(cursor: apsw.Cursor) -> Write:
    """Return a `Write` inside the open transaction. A statement whose guard fails is undone separately."""

    def write(sql: str, values: Sequence[object]) -> bool:
        try:
            cursor.execute(sql, values)
        except apsw.ConstraintError:
            return False
        return True

    return write


class FastWrite:
    """Tries the fast path, and caches the lengths of threads to which only this process has been appending."""

    def __init__(self, connections: Connections) -> None:
        self._write = connections.write_one
        self._known: dict[tuple[str, str], tuple[int, bool]] = {}
        """The last sequence number that this process assigned in each thread, and whether it also assigned the previous
        one."""
        self._facts: set[Key] = set()
        """Facts that this process has set before. A new version of any of them uses the general path immediately."""

    def apply(self, changes: Sequence[Change], write: Write | None = None) -> list[ChangeResult] | None:
        """Return the results. If the fast path does not apply or a guard failed, return None without writing anything.

        `write` runs the statement. By default, it is its own transaction.
        """
        first, write = changes[0] if changes else None, write or self._write
        if type(first) is Append:
            return self._append(first, changes, write)
        if type(first) is Put and not first.absent:
            if type(first.record) is StoredRecord and len(changes) == 2:
                return self._put_new(first.record, changes[1], write)
            if type(first.record) is Fact and len(changes) == 3:
                return self._set_new(changes, write)
        return None

    def _put_new(self, record: StoredRecord, pieces: Change, write: Write) -> list[ChangeResult] | None:
        """Insert a record under a new key. A new key has no pieces that need to be deleted."""
        # Setting a record always deletes the pieces of the value it replaces. A new record has none, so that change
        # needs no statement.
        if type(pieces) is not DeleteRange or pieces.kind is not RecordPiece or pieces.prefix != record.row_key:
            return None
        if pieces.after is not None or pieces.before is not None:
            return None
        # An expired row still occupies its key, so this insert fails and the general path continues its version
        # numbers.
        row = _record_row(record, 1)
        return [Stored(1, record.created_at), 0] if write(_PUT_NEW, (*row, _RECORD_SUM | crc32(pack(row)))) else None

    def _set_new(self, changes: Sequence[Change], write: Write) -> list[ChangeResult] | None:
        """Insert a fact that has never existed, with its index job and its audit event. Each insert fails if its key is
        taken."""
        records: list[Any] = [change.record for change in changes if type(change) is Put and not change.absent]
        if [type(record) for record in records] != _NEW_FACT:
            return None
        fact, job, event = records
        key = (fact.org, fact.ns, fact.key)
        if key in self._facts:
            return None
        if len(self._facts) >= MAX_CACHED_ROWS:
            self._facts.clear()
        # Add the key even if the write fails, because the fact then most likely exists.
        self._facts.add(key)
        row = _fact_row(fact, 1)
        # The three rows are written by one statement, so SQLite undoes all of them if one key is taken.
        if not write(_SET_NEW, (*row, _FACT_SUM | crc32(pack(row)), *_job_row(job, 1), *_event_row(event))):
            return None
        return [Stored(1, fact.created_at), Stored(1, job.created_at), Stored(0, event.created_at)]

    def _append(self, change: Append, changes: Sequence[Change], write: Write) -> list[ChangeResult] | None:
        org, thread = key = change.org, change.thread
        length, alone = self._known.get(key, (0, False))
        # An idempotency key needs a receipt, and several messages need several rows. The general path writes both.
        if not alone or len(changes) != 2 or len(change.messages) != 1 or change.key is not None:
            return None
        ensured = changes[1]
        job = ensured.record if type(ensured) is Put and ensured.absent else None
        if type(job) is not Job or job.org != org or (change.ns != job.ns and change.ns is not None):
            return None
        # `length` may be outdated, because other processes append too. The trigger compares it with the thread's row.
        seq, message = length + 1, change.messages[0]
        row = _message_row(message, org, thread, seq, None)
        grown_at = row[_CREATED] if message.created_at is change.at else to_micros(change.at)
        if not write(_APPEND, (*row, _MESSAGE_SUM | crc32(pack(row)), grown_at, job.queue, job.ns, job.item)):
            # The guard failed: another process has appended, or the thread was deleted, moved or given an expiry. The
            # general path reads the thread again.
            self._known.pop(key, None)
            return None
        self._known[key] = (seq, True)
        return [Appended(seq, 1), None]

    def learn(self, changes: Sequence[Change], results: Sequence[ChangeResult]) -> None:
        """Cache the thread's length after an append that used the general path.

        The fast path is tried after two consecutive appends by this process. On a thread to which several processes
        append, its guard would usually fail, and the append would wait for the write lock twice.
        """
        change = changes[0] if changes else None
        if type(change) is not Append or not isinstance(results[0], Appended):
            return
        appended = results[0]
        if appended.replayed or appended.expires_at is not None:
            return
        key, last = (change.org, change.thread), appended.first + appended.count - 1
        before, _ = self._known.get(key, (-1, False))
        if len(self._known) >= MAX_CACHED_ROWS:
            self._known.clear()
        self._known[key] = (last, before == appended.first - 1)
