"""Implements the reference store, which keeps plain sorted rows in RAM. Read this first, because the other stores are
translations of it.

A row is a dict that maps column names to cells, without empty cells. A record type may therefore have more or fewer
columns than the row it reads. Missing cells are set to their defaults, and unknown cells are kept when the row is
written again.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from ..filters import document_of, matches
from ..messages.message import Message
from ..ports import to_datetime, to_micros
from ..records import Job, Key, Receipt, Record, StateEntry, StoreIdentity, Thread
from ..values import INT_MAX, INT_MIN, JsonObject
from .base import (
    Absence,
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
    R,
    Scan,
    Scrubbed,
    Stored,
    leased,
    live,
)
from .codec import cells_of, codec, row_of, unknown_cells
from .refusals import counter_overflow, no_thread, not_an_integer, wrong_version

Cells = dict[str, Any]
Undo: TypeAlias = "list[tuple[_Rows, Key, Cells | None]]"
"""The undo log of one `apply`, which contains the previous row under each written key for a rollback."""


class MemoryStore:
    """Keeps every row in the RAM of this process, so nothing survives when the process ends."""

    name = "memory"
    owns_files = True

    def __init__(self) -> None:
        self._tables: dict[str, _Rows] = {}
        # Blocking and async callers share this store, so a thread lock guards it. Never await while holding it: a
        # suspended coroutine would block every other thread.
        self._lock = threading.RLock()

    async def open(self) -> None:
        """Do nothing, because there is nothing to open."""

    async def close(self) -> None:
        """Do nothing, because there is nothing to close."""

    async def get(self, record_type: type[R], key: Key, *, now: int) -> R | None:
        """Return the live row under a key."""
        with self._lock:
            row = self._rows(record_type).live_row(key, now)
        return None if row is None else _record(record_type, row)

    async def get_many(self, record_type: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        """Return the live rows under several keys, in the order of these keys."""
        return [await self.get(record_type, key, now=now) for key in keys]

    async def scan(self, scan: Scan[R], *, now: int) -> list[R]:
        """Return the live rows within the bounds, in key (or index) order."""
        out: list[R] = []
        # The lock covers the whole scan, so that its rows all belong to one state, as in a database's snapshot.
        with self._lock:
            rows = self._rows(scan.kind)
            for key in rows.keys_between(scan):
                if scan.limit is not None and len(out) >= scan.limit:
                    break
                row = rows.live_row(key, now)
                if row is None:
                    continue
                record = _record(scan.kind, row)
                if scan.where is None or matches(scan.where, document_of(record)):
                    out.append(record)
        return out

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[ChangeResult]:
        """Apply the changes atomically."""
        with self._lock:
            undo: Undo = []
            try:
                return [self._apply_change(change, now, undo) for change in changes]
            except BaseException:
                # Undo the newest write first, so that a key that was written twice gets its original row back.
                for rows, key, before in reversed(undo):
                    rows.put(key, before)
                raise

    async def purge(self, *, now: int, limit: int = 1000) -> dict[str, int]:
        """Remove expired rows permanently."""
        counts: dict[str, int] = {}
        with self._lock:
            for name, rows in self._tables.items():
                dead = rows.expired(now, limit)
                for key in dead:
                    rows.put(key, None)
                if dead:
                    counts[name] = len(dead)
        return counts

    async def claim(
        self, queue: str, *, owner: str, now: int, lease: int, limit: int = 1, org: str | None = None
    ) -> list[Job]:
        """Lease ready jobs to one worker."""
        with self._lock:
            rows = self._rows(Job)
            jobs = [_record(Job, row) for row in rows.by_key.values()]
            due = sorted(
                (job for job in jobs if job.queue == queue and (org is None or job.org == org) and _is_due(job, now)),
                key=lambda job: (job.run_at, job.row_key),
            )
            return [self._lease(rows, job, owner, now, lease) for job in due[:limit]]

    async def orgs(self) -> list[str]:
        """Return every org that has rows."""
        with self._lock:
            names = {
                key[0] for name, rows in self._tables.items() if name != StoreIdentity.table.name for key in rows.by_key
            }
        return sorted(str(org) for org in names)

    async def scrub(self) -> Scrubbed:
        """Do nothing, because RAM has no files to rewrite."""
        return Scrubbed()

    async def verify_absent(self, needles: Sequence[bytes], *, org: str) -> Absence:
        """Return the tables that still contain any of these bytes."""
        from .byte_search import rows_holding

        return Absence([f"rows of {name}" for name in await rows_holding(self, org, needles)], ["rows in RAM"])

    async def diagnose(self, *, deep: bool = False) -> JsonObject:
        """Return the number of rows per table. Nothing in RAM can be damaged."""
        rows = {name: len(table.by_key) for name, table in sorted(self._tables.items())}
        return {"store": "memory", "durability": "none: gone when the process ends", "rows": rows, "problems": []}

    # -- changes, one method each

    def _apply_change(self, change: Change, now: int, undo: Undo) -> Any:
        if isinstance(change, Put):
            return self._put(change, now, undo)
        if isinstance(change, Append):
            return self._append(change, now, undo)
        if isinstance(change, Load):
            rows, key = self._rows(type(change.record)), change.record.row_key
            self._write(rows, key, _cells(change.record, rows.by_key.get(key)), undo)
            return None
        if isinstance(change, Delete):
            return self._write(self._rows(change.kind), change.key, None, undo) is not None
        if isinstance(change, DeleteRange):
            rows = self._rows(change.kind)
            # A list, because each write changes the sorted keys that the iterator reads.
            deleted_keys = list(
                rows.keys_between(Scan(change.kind, change.prefix, after=change.after, before=change.before))
            )
            for key in deleted_keys:
                self._write(rows, key, None, undo)
            return len(deleted_keys)
        if isinstance(change, Increment):
            return self._increment(change.record, now, undo)
        return self._expect(change, now)

    def _write(self, rows: _Rows, key: Key, row: Cells | None, undo: Undo) -> Cells | None:
        old = rows.put(key, row)
        undo.append((rows, key, old))
        return old

    def _put(self, change: Put, now: int, undo: Undo) -> Stored | None:
        record = change.record
        record_type, table = type(record), record.table
        rows, key = self._rows(record_type), record.row_key
        old = rows.by_key.get(key)
        if change.absent and rows.live_row(key, now) is not None:
            return None
        row = _cells(record, old)
        # An expired row counts as absent, but its version number continues, because no version may identify two
        # different contents.
        if codec(record_type).versioned:
            row["version"] = 1 + (self._last_version(record_type, key) if old is None else old["version"])
        if old is not None and "created_at" in old:
            row["created_at"] = old["created_at"]
        if old is not None and table.history:
            self._write(self._named(table.history, record_type), (*key, old["version"]), old, undo)
        self._write(rows, key, row, undo)
        created = row.get("created_at")
        return Stored(row.get("version", 0), None if created is None else to_datetime(created))

    def _last_version(self, record_type: type[Record], key: Key) -> int:
        """Return the last version in the history of a deleted row.

        A new row continues from it, so that no version is reused.
        """
        if not record_type.table.history:
            return 0
        history = self._named(record_type.table.history, record_type)
        return next((int(past[-1]) for past in history.keys_between(Scan(record_type, key, reverse=True))), 0)

    def _append(self, change: Append, now: int, undo: Undo) -> Appended:
        key = (change.org, change.thread)
        row = self._rows(Thread).live_row(key, now)
        if row is None or change.ns not in (None, row["ns"]):
            raise no_thread(change)
        # Look for the receipt only after the thread, because a replay must not return the numbers of a deleted thread.
        seen = None if change.key is None else self._rows(Receipt).by_key.get((*key, change.key))
        if seen is not None:
            return Appended(seen["first"], seen["count"], replayed=True)
        thread: Thread = _record(Thread, row)
        first = thread.length + 1
        messages = self._rows(Message)
        tokens = 0
        for seq, message in enumerate(change.messages, first):
            # The Append decides where a message is stored. A wrong org in the message must not reach another tenant.
            merged = msgspec.structs.replace(
                message, org=change.org, thread=change.thread, seq=seq, expires_at=thread.expires_at
            )
            tokens += message.tokens or 0
            self._write(messages, merged.row_key, _cells(merged, None), undo)
        count = len(change.messages)
        if change.key is not None:
            receipt = Receipt(
                org=change.org, thread=change.thread, key=change.key, first=first, count=count, created_at=change.at
            )
            self._write(self._rows(Receipt), receipt.row_key, _cells(receipt, None), undo)
        grown = msgspec.structs.replace(
            thread, length=thread.length + count, tokens=thread.tokens + tokens, updated_at=change.at
        )
        self._put(Put(grown), now, undo)
        return Appended(first, count, expires_at=thread.expires_at)

    def _increment(self, record: StateEntry, now: int, undo: Undo) -> int:
        old_row = self._rows(StateEntry).live_row(record.row_key, now)
        total = int(record.value)
        if old_row is not None:
            old: StateEntry = _record(StateEntry, old_row)
            if type(old.value) is not int:
                raise not_an_integer(record)
            total += old.value
            record = msgspec.structs.replace(record, expires_at=old.expires_at)
        if not INT_MIN <= total <= INT_MAX:
            raise counter_overflow(record)
        # An expired counter starts again from 0, and `_put` continues its version number.
        self._put(Put(msgspec.structs.replace(record, value=total)), now, undo)
        return total

    def _expect(self, change: Expect, now: int) -> None:
        row = self._rows(change.kind).live_row(change.key, now)
        actual = 0 if row is None else row.get("version", 0)
        if actual != change.version:
            raise wrong_version(change, actual)

    def _lease(self, rows: _Rows, job: Job, owner: str, now: int, lease: int) -> Job:
        taken = leased(job, owner, now, lease)
        rows.put(job.row_key, _cells(taken, rows.by_key[job.row_key]))
        return taken

    def _rows(self, record_type: type[Record]) -> _Rows:
        return self._named(record_type.table.name, record_type)

    def _named(self, name: str, record_type: type[Record]) -> _Rows:
        rows = self._tables.get(name)
        if rows is None:
            key = record_type.table.key if name == record_type.table.name else (*record_type.table.key, "version")
            rows = self._tables[name] = _Rows(name, key)
        if name == record_type.table.name:
            rows.follow(record_type)
        return rows


class Replayed(MemoryStore):
    """Holds the rows that a batch touches. They are copied from another store and then changed in the same way as rows
    of this store."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: dict[str, set[Key]] = {}
        """Keys of the rows that were copied, written or deleted here, by table."""

    def seed(self, record_type: type[Record], key: Key, record: Record | None) -> None:
        """Copy a row of the other store. `record` is None if that store has no row under this key."""
        rows = self._rows(record_type)
        rows.put(key, None if record is None else _cells(record, None))
        self.touched.setdefault(rows.name, set()).add(key)

    def _write(self, rows: _Rows, key: Key, row: Cells | None, undo: Undo) -> Cells | None:
        self.touched.setdefault(rows.name, set()).add(key)
        return super()._write(rows, key, row, undo)


def _record(record_type: type[R], row: Cells) -> R:
    record: R = codec(record_type).decode(row_of(record_type, row))
    return record


def _cells(record: Record, old: Cells | None) -> Cells:
    """Return a record as a row.

    Cells of `old` in columns that this version of the record does not know are kept.
    """
    record_type = type(record)
    cells = cells_of(record_type, codec(record_type).encode(record))
    return {**unknown_cells(record_type, old), **cells} if old else cells


def _is_due(job: Job, now: int) -> bool:
    if job.status == "ready":
        return to_micros(job.run_at) <= now
    return job.status == "running" and job.leased_until is not None and to_micros(job.leased_until) <= now


class _Rows:
    """Holds one table: rows by key, and sorted keys per partition, so that the cost of a scan depends only on the rows
    it returns."""

    def __init__(self, name: str, key: tuple[str, ...]) -> None:
        self.name = name
        self.by_key: dict[Key, Cells] = {}
        self._orders: dict[str | None, _Order] = {None: _Order(key, {})}

    def follow(self, record_type: type[Record]) -> None:
        """Create every index of a kind that is missing here, and fill it from the existing rows."""
        for name, columns in record_type.table.indexes.items():
            if name not in self._orders:
                positions, missing = codec(record_type).position_of, codec(record_type).missing
                order = self._orders[name] = _Order(columns, {column: missing[positions[column]] for column in columns})
                for key, row in self.by_key.items():
                    order.add(order.key_of(row), key)

    def live_row(self, key: Key, now: int) -> Cells | None:
        row = self.by_key.get(key)
        return row if row is not None and live(row.get("expires_at"), now) else None

    def put(self, key: Key, row: Cells | None) -> Cells | None:
        """Set a row, or remove it (with None), and return the previous row."""
        old = self.by_key.pop(key, None)
        # An index is updated only if the row moves in it, because most writes leave the indexed columns as they are.
        for order in self._orders.values():
            if old is not None and (row is None or order.key_of(old) != order.key_of(row)):
                order.remove(order.key_of(old))
            if row is not None and (old is None or order.key_of(old) != order.key_of(row)):
                order.add(order.key_of(row), key)
        if row is not None:
            self.by_key[key] = row
        return old

    def keys_between(self, scan: Scan[Any]) -> Iterator[Key]:
        return self._orders[scan.index].between(scan)

    def expired(self, now: int, limit: int) -> list[Key]:
        return [key for key, row in self.by_key.items() if not live(row.get("expires_at"), now)][:limit]


class _Order:
    """Keeps keys sorted within partitions (defined by all columns except the last), so that appending to a partition is
    cheap."""

    def __init__(self, columns: tuple[str, ...], missing: Cells) -> None:
        self._columns = columns
        self._missing = missing
        self._parts: dict[Key, list[Any]] = {}
        self._names: list[Key] = []
        self._row_key: dict[Key, Key] = {}

    def key_of(self, row: Cells) -> Key:
        return tuple([row[name] if name in row else self._missing[name] for name in self._columns])

    def add(self, ordered: Key, row_key: Key) -> None:
        part, last = ordered[:-1], ordered[-1]
        # One row per entry: every index ends with enough of the key to be unique.
        self._row_key[ordered] = row_key
        items = self._parts.get(part)
        if items is None:
            self._parts[part] = [last]
            insort(self._names, part)
        elif last > items[-1]:
            items.append(last)
        else:
            insort(items, last)

    def remove(self, ordered: Key) -> None:
        part, last = ordered[:-1], ordered[-1]
        del self._row_key[ordered]
        items = self._parts[part]
        del items[bisect_left(items, last)]
        if not items:
            del self._parts[part]
            del self._names[bisect_left(self._names, part)]

    def between(self, scan: Scan[Any]) -> Iterator[Key]:
        is_single_column = all(bound is None or len(bound) == 1 for bound in (scan.after, scan.before))
        within = len(scan.prefix) == len(self._columns) - 1 and is_single_column
        rows = self._within(scan) if within else self._across(scan)
        return (self._row_key[ordered] for ordered in rows)

    def _within(self, scan: Scan[Any]) -> Iterator[Key]:
        part, starts, reverse = scan.prefix, scan.starts, scan.reverse
        items = self._parts.get(part, [])
        low = 0 if scan.after is None else bisect_right(items, scan.after[0])
        high = len(items) if scan.before is None else bisect_left(items, scan.before[0])
        if starts:
            low = max(low, bisect_left(items, starts))
        span = range(high - 1, low - 1, -1) if reverse else range(low, high)
        for i in span:
            # Matching items are contiguous. Forwards, the first mismatch ends the scan; backwards, greater items come
            # first.
            if starts and not items[i].startswith(starts):
                if reverse:
                    continue
                break
            yield (*part, items[i])

    def _across(self, scan: Scan[Any]) -> Iterator[Key]:
        prefix, after, before, reverse = scan.prefix, scan.after, scan.before, scan.reverse
        n = len(prefix)
        names = [name for name in self._names if name[:n] == prefix[: len(name)]]
        for name in reversed(names) if reverse else names:
            for item in reversed(self._parts[name]) if reverse else self._parts[name]:
                ordered = (*name, item)
                rest = ordered[n:]
                if ordered[:n] != prefix:
                    continue
                if after is not None and not rest[: len(after)] > after:
                    continue
                if before is not None and not rest[: len(before)] < before:
                    continue
                if scan.starts and not str(rest[0]).startswith(scan.starts):
                    continue
                yield ordered
