"""Runs each change as SQL statements inside one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import apsw
import msgspec

from ...messages.message import Message
from ...ports import to_datetime, to_micros
from ...records import Entry, Job, Receipt, Record, StateEntry
from ...values import INT_MAX, INT_MIN
from ..base import (
    Append,
    Appended,
    Change,
    ChangeResult,
    Delete,
    DeleteRange,
    Expect,
    Increment,
    Load,
    Put,
    Stored,
    leased,
    live,
)
from ..codec import Row, codec
from ..refusals import counter_overflow, no_thread, not_an_integer, wrong_version
from .search import add_text
from .statements import delete_range_sql, statements

_GROW_SQL = (
    "UPDATE threads SET length = length + ?, tokens = tokens + ?, updated_at = ?, version = version + 1 "
    "WHERE org = ? AND id = ? AND (expires_at IS NULL OR expires_at > ?) AND ns = coalesce(?, ns) "
    "RETURNING length, expires_at"
)
_RECEIPT_SQL = (
    "SELECT r.first, r.count FROM receipts r JOIN threads t ON t.org = r.org AND t.id = r.thread "
    'WHERE r.org = ? AND r.thread = ? AND r."key" = ? AND (t.expires_at IS NULL OR t.expires_at > ?) '
    "AND t.ns = coalesce(?, t.ns)"
)
_MESSAGE_CODEC = codec(Message)
_ORG, _THREAD, _SEQ, _EXPIRES = (_MESSAGE_CODEC.position_of[name] for name in ("org", "thread", "seq", "expires_at"))
_INSERT_SQL = statements(Message).insert


def encode_changes(changes: Sequence[Change]) -> list[object]:
    """Encode the rows of each change before the transaction begins, so that invalid input raises an error before a lock
    is acquired."""
    return [_ENCODERS[type(change)](change) for change in changes]


def run_changes(cursor: apsw.Cursor, changes: Sequence[Change], rows: Sequence[object], now: int) -> list[ChangeResult]:
    """Run the changes inside the open transaction, and return one result per change."""
    return [_RUNNERS[type(change)](cursor, change, row, now) for change, row in zip(changes, rows, strict=True)]


def lease(cursor: apsw.Cursor, job: Job, owner: str, now: int, length: int) -> Job:
    """Lease a job to a worker for `length` microseconds."""
    lease_row = leased(job, owner, now, length)
    _write(cursor, Put(lease_row), codec(Job).encode(lease_row))
    return lease_row


def _append(cursor: apsw.Cursor, change: Append, rows: list[Row], now: int) -> Appended:
    if change.key is not None:
        # The join with the live thread keeps a replay from returning the numbers of a deleted thread.
        seen: Any = cursor.execute(_RECEIPT_SQL, (change.org, change.thread, change.key, now, change.ns)).fetchone()
        if seen is not None:
            return Appended(seen[0], seen[1], replayed=True)
    count, tokens = len(rows), 0
    for message in change.messages:
        tokens += message.tokens or 0
    values = (count, tokens, to_micros(change.at), change.org, change.thread, now, change.ns)
    # BEGIN IMMEDIATE has locked the file for writing, so no other writer can assign these numbers before the commit.
    grown = cursor.execute(_GROW_SQL, values).fetchone()
    if grown is None:
        raise no_thread(change)
    length, expires = grown
    first = seq = length - count + 1
    for row in rows:
        cells: list[object] = list(row)
        cells[_ORG], cells[_THREAD], cells[_SEQ], cells[_EXPIRES] = change.org, change.thread, seq, expires
        # The checksum covers the cells that the store assigns, so it is computed last.
        cells.append(_MESSAGE_CODEC.sum(cells))
        cursor.execute(_INSERT_SQL, cells)
        seq += 1
    if change.key is not None:
        receipt = Receipt(
            org=change.org, thread=change.thread, key=change.key, first=first, count=count, created_at=change.at
        )
        cursor.execute(statements(Receipt).insert, codec(Receipt).encode(receipt))
    return Appended(first, count, expires_at=None if expires is None else to_datetime(expires))


def _put(cursor: apsw.Cursor, change: Put, row: Row, now: int) -> Stored | None:
    if not change.absent:
        return _write(cursor, change, row)
    record_type = type(change.record)
    stored: Any = cursor.execute(statements(record_type).state, change.record.row_key).fetchone()
    if stored is not None and live(stored[1], now):
        return None
    # An expired row counts as absent, but it still exists: replace it, and continue its version numbers.
    return _write(cursor, change, codec(record_type).encode(change.record))


def _write(cursor: apsw.Cursor, change: Put, row: Row) -> Stored:
    record_type = type(change.record)
    table, sql, positions = record_type.table, statements(record_type), codec(record_type).position_of
    key = codec(record_type).key(row)
    if not sql.old:
        cursor.execute(sql.upsert, _with_sum(record_type, row))
        return _stored(record_type, row)
    old: Any = cursor.execute(sql.old, key).fetchone()
    versioned = codec(record_type).versioned
    before: int = old[0] if old and versioned else 0
    if table.history and not old:
        # A new row continues the version numbers in the history of the deleted one, so that no version is reused.
        last: Any = cursor.execute(sql.last_version, key).fetchone()
        before = last[0] or 0
    version = before + 1 if versioned else 0
    created = old[-1] if old and "created_at" in positions else None
    if old and table.history:
        cursor.execute(sql.to_history, key)
    row = _with_version(record_type, row, version, created)
    # The upsert keeps the rowid under which the text index lists the entry. INSERT OR REPLACE would assign a new one.
    cursor.execute(sql.upsert, row)
    if isinstance(change.record, Entry):
        add_text(cursor, change.record)
    return _stored(record_type, row)


def _with_version(record_type: type[Record], row: Row, version: int, created: int | None) -> Row:
    positions = codec(record_type).position_of
    cells = list(row)
    if codec(record_type).versioned:
        cells[positions["version"]] = version
    if created is not None:
        cells[positions["created_at"]] = created
    return _with_sum(record_type, tuple(cells))


def _with_sum(record_type: type[Record], row: Row) -> Row:
    """Return the row, with its checksum if the table has one."""
    return (*row, codec(record_type).sum(row)) if record_type.table.checksum else row


def _stored(record_type: type[Record], row: Row) -> Stored:
    """Return the result of a Put that wrote this row."""
    positions = codec(record_type).position_of
    created = row[positions["created_at"]] if "created_at" in positions else None
    return Stored(
        row[positions["version"]] if "version" in positions else 0, None if created is None else to_datetime(created)
    )


def _increment(cursor: apsw.Cursor, change: Increment, row: Row, now: int) -> int:
    record = change.record
    total, expires = int(record.value), record.expires_at
    # BEGIN IMMEDIATE holds the write lock, so nobody changes the counter between this read and the write below.
    stored = cursor.execute(statements(StateEntry).get, record.row_key).fetchone()
    if stored is not None:
        old: StateEntry = codec(StateEntry).decode(stored)
        if live(stored[codec(StateEntry).position_of["expires_at"]], now):
            if type(old.value) is not int:
                raise not_an_integer(record)
            total, expires = total + old.value, old.expires_at
    if not INT_MIN <= total <= INT_MAX:
        raise counter_overflow(record)
    new = msgspec.structs.replace(record, value=total, expires_at=expires)
    _write(cursor, Put(new), codec(StateEntry).encode(new))
    return total


def _expect(cursor: apsw.Cursor, change: Expect, _: None, now: int) -> None:
    record_type = change.kind
    stored: Any = cursor.execute(statements(record_type).state, change.key).fetchone()
    # The row cannot change before the commit, because BEGIN IMMEDIATE keeps other writers out.
    actual = stored[0] if stored is not None and live(stored[1], now) else 0
    if actual != change.version:
        raise wrong_version(change, actual)


def _load(cursor: apsw.Cursor, change: Load, row: Row, now: int) -> None:
    record_type = type(change.record)
    cursor.execute(statements(record_type).upsert, _with_sum(record_type, row))
    # A trigger removes deleted entries from the text index. Only the program can add them, because it codes the terms.
    if isinstance(change.record, Entry):
        add_text(cursor, change.record)


def _delete(cursor: apsw.Cursor, change: Delete, _: None, now: int) -> bool:
    cursor.execute(statements(change.kind).delete, change.key)
    # changes() counts the rows of this statement, but not those that a trigger removes from the text index.
    return cursor.connection.changes() > 0


def _delete_range(cursor: apsw.Cursor, change: DeleteRange, _: None, now: int) -> int:
    sql = delete_range_sql(change.kind, len(change.prefix), len(change.after or ()), len(change.before or ()))
    cursor.execute(sql, [*change.prefix, *(change.after or ()), *(change.before or ())])
    return cursor.connection.changes()


def _no_row(change: Change) -> None:
    return None


def _record_row(change: Put | Load | Increment) -> Row:
    return codec(type(change.record)).encode(change.record)


def _put_row(change: Put) -> Row | None:
    # With `absent`, the row usually exists already, so it is encoded only if it turns out to be missing.
    return None if change.absent else codec(type(change.record)).encode(change.record)


def _message_rows(change: Append) -> list[Row]:
    return [_MESSAGE_CODEC.encode(message) for message in change.messages]


_ENCODERS: dict[type, Callable[[Any], object]] = {
    Append: _message_rows,
    Put: _put_row,
    Load: _record_row,
    Increment: _record_row,
    Delete: _no_row,
    DeleteRange: _no_row,
    Expect: _no_row,
}
_RUNNERS: dict[type, Callable[[apsw.Cursor, Any, Any, int], Any]] = {
    Append: _append,
    Put: _put,
    Load: _load,
    Increment: _increment,
    Delete: _delete,
    DeleteRange: _delete_range,
    Expect: _expect,
}
