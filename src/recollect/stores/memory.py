"""The reference store: plain sorted rows in RAM. Read this first; the other stores are translations of it."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ..errors import Conflict, InvalidValue, NotFound
from ..filters import Filter, document_of, matches
from ..messages import Message
from ..ports import to_datetime, to_micros
from ..records import Job, Key, Receipt, Record, StateEntry, Thread
from ..values import INT_MAX, INT_MIN
from .base import (
    Absence,
    Append,
    Appended,
    Change,
    Delete,
    DeleteRange,
    Expect,
    Increment,
    Load,
    Put,
    R,
    Stored,
    live,
)
from .codec import Row, codec


class MemoryStore:
    """Everything in this process, gone with it."""

    name = "memory"

    def __init__(self) -> None:
        self._tables: dict[str, _Rows] = {}
        self._lock = threading.RLock()

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def get(self, kind: type[R], key: Key, *, now: int) -> R | None:
        """The live row under a key."""
        with self._lock:
            row = self._rows(kind).live_row(key, now)
        return None if row is None else codec(kind).decode(row)

    async def get_many(self, kind: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        """The live rows under several keys, in their order."""
        return [await self.get(kind, key, now=now) for key in keys]

    async def scan(
        self,
        kind: type[R],
        prefix: Key,
        *,
        now: int,
        index: str | None = None,
        after: Key | None = None,
        before: Key | None = None,
        starts: str | None = None,
        reverse: bool = False,
        limit: int | None = None,
        where: Filter | None = None,
    ) -> list[R]:
        """Live rows in key (or index) order within the bounds."""
        out: list[R] = []
        decode = codec(kind).decode
        with self._lock:
            rows = self._rows(kind)
            for key in rows.keys_between(index, prefix, after, before, starts, reverse):
                if limit is not None and len(out) >= limit:
                    break
                row = rows.live_row(key, now)
                if row is None:
                    continue
                record = decode(row)
                if where is None or matches(where, document_of(record)):
                    out.append(record)
        return out

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[Any]:
        """Do all of the changes or none."""
        with self._lock:
            replay = self._replayed(changes)
            if replay is not None:
                return replay
            undo: list[tuple[_Rows, Key, Row | None]] = []
            try:
                return [self._one(change, now, undo) for change in changes]
            except BaseException:
                for rows, key, before in reversed(undo):
                    rows.put(key, before)
                raise

    async def purge(self, *, now: int, limit: int = 1000) -> dict[str, int]:
        """Remove expired rows for good."""
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
            jobs = [codec(Job).decode(row) for row in rows.by_key.values()]
            due = sorted(
                (job for job in jobs if job.queue == queue and (org is None or job.org == org) and _due(job, now)),
                key=lambda job: (job.run_at, job.row_key),
            )
            return [self._lease(rows, job, owner, now, lease) for job in due[:limit]]

    async def orgs(self) -> list[str]:
        """Every org that has rows."""
        with self._lock:
            found = {key[0] for name, rows in self._tables.items() if name != "marks" for key in rows.by_key}
        return sorted(str(org) for org in found)

    async def scrub(self, org: str | None = None) -> None:
        """RAM keeps no deleted bytes that another process could read."""

    async def verify_absent(self, needles: Sequence[bytes], *, org: str) -> Absence:
        """The tables that still hold any of these bytes."""
        from .looking import rows_holding

        return Absence([f"rows of {name}" for name in await rows_holding(self, org, needles)], ["rows in RAM"])

    async def diagnose(self, *, deep: bool = False) -> dict[str, Any]:
        """What there is to know of RAM."""
        rows = {name: len(table.by_key) for name, table in sorted(self._tables.items())}
        return {"store": "memory", "durability": "none: gone when the process ends", "rows": rows, "problems": []}

    # -- changes, one method each

    def _replayed(self, changes: Sequence[Change]) -> list[Any] | None:
        for change in changes:
            if isinstance(change, Append) and change.key is not None:
                row = self._rows(Receipt).by_key.get((change.org, change.thread, change.key))
                if row is not None:
                    receipt = codec(Receipt).decode(row)
                    done = Appended(receipt.first, receipt.count, replayed=True)
                    return [done if item is change else None for item in changes]
        return None

    def _one(self, change: Change, now: int, undo: list[tuple[_Rows, Key, Row | None]]) -> Any:
        if isinstance(change, Put):
            return self._put(change, now, undo)
        if isinstance(change, Append):
            return self._append(change, now, undo)
        if isinstance(change, Load):
            kind = type(change.record)
            self._write(self._rows(kind), change.record.row_key, codec(kind).encode(change.record), undo)
            return None
        if isinstance(change, Delete):
            return self._write(self._rows(change.kind), change.key, None, undo) is not None
        if isinstance(change, DeleteRange):
            rows = self._rows(change.kind)
            doomed = list(rows.keys_between(None, change.prefix, change.after, change.before, None, False))
            for key in doomed:
                self._write(rows, key, None, undo)
            return len(doomed)
        if isinstance(change, Increment):
            return self._increment(change.record, now, undo)
        return self._expect(change, now)

    def _write(self, rows: _Rows, key: Key, row: Row | None, undo: list[tuple[_Rows, Key, Row | None]]) -> Row | None:
        old = rows.put(key, row)
        undo.append((rows, key, old))
        return old

    def _put(self, change: Put, now: int, undo: list[tuple[_Rows, Key, Row | None]]) -> Stored | None:
        record = change.record
        kind, table = type(record), record.table
        rows, key, row, place = self._rows(kind), record.row_key, list(codec(kind).encode(record)), codec(kind).place
        old = rows.by_key.get(key)
        if change.absent and rows.live_row(key, now) is not None:
            return None
        if "version" in place and "version" not in table.key:
            before = self._last_version(kind, key) if old is None else old[place["version"]]
            row[place["version"]] = before + 1
        if old is not None and "created_at" in place:
            row[place["created_at"]] = old[place["created_at"]]
        if old is not None and table.history:
            self._write(self._named(table.history, kind), (*key, old[place["version"]]), old, undo)
        self._write(rows, key, tuple(row), undo)
        created = row[place["created_at"]] if "created_at" in place else None
        version = row[place["version"]] if "version" in place else 0
        return Stored(version, None if created is None else to_datetime(created))

    def _last_version(self, kind: type[Record], key: Key) -> int:
        """The last version in the history of a deleted row: numbers go on after it, so that none is used twice."""
        if not kind.table.history:
            return 0
        history = self._named(kind.table.history, kind)
        return next((int(past[-1]) for past in history.keys_between(None, key, None, None, None, True)), 0)

    def _append(self, change: Append, now: int, undo: list[tuple[_Rows, Key, Row | None]]) -> Appended:
        threads, key = self._rows(Thread), (change.org, change.thread)
        row = threads.live_row(key, now)
        if row is None:
            raise NotFound("no such thread; create it first", thread=change.thread)
        thread: Thread = codec(Thread).decode(row)
        first = thread.length + 1
        messages = self._rows(Message)
        encode, place = codec(Message).encode, codec(Message).place
        expires = row[codec(Thread).place["expires_at"]]
        tokens = 0
        for seq, message in enumerate(change.messages, first):
            cells = list(encode(message))
            # Where a message goes is said by the append alone: a stray org in it must not lead into another tenant.
            cells[place["org"]], cells[place["thread"]] = change.org, change.thread
            cells[place["seq"]], cells[place["expires_at"]] = seq, expires
            tokens += message.tokens or 0
            self._write(messages, (change.org, change.thread, seq), tuple(cells), undo)
        count = len(change.messages)
        if change.key is not None:
            receipt = Receipt(
                org=change.org, thread=change.thread, key=change.key, first=first, count=count, created_at=change.at
            )
            self._write(self._rows(Receipt), receipt.row_key, codec(Receipt).encode(receipt), undo)
        grown = msgspec.structs.replace(
            thread,
            length=thread.length + count,
            tokens=thread.tokens + tokens,
            updated_at=change.at,
            version=thread.version + 1,
        )
        self._write(threads, key, codec(Thread).encode(grown), undo)
        return Appended(first, count, expires_at=thread.expires_at)

    def _increment(self, record: StateEntry, now: int, undo: list[tuple[_Rows, Key, Row | None]]) -> int:
        rows, key, place = self._rows(StateEntry), record.row_key, codec(StateEntry).place
        old_row = rows.live_row(key, now)
        total = int(record.value)
        if old_row is not None:
            old: StateEntry = codec(StateEntry).decode(old_row)
            if type(old.value) is not int:
                raise InvalidValue("the entry is not an integer; only integers can be incremented", key=record.key)
            total += old.value
            record = msgspec.structs.replace(record, expires_at=old.expires_at)
        if not INT_MIN <= total <= INT_MAX:
            raise InvalidValue("the counter would pass 64 bits", key=record.key)
        row = list(codec(StateEntry).encode(msgspec.structs.replace(record, value=total)))
        stale = rows.by_key.get(key)
        row[place["version"]] = 1 if stale is None else stale[place["version"]] + 1
        if stale is not None:
            row[place["created_at"]] = stale[place["created_at"]]
        self._write(rows, key, tuple(row), undo)
        return total

    def _expect(self, change: Expect, now: int) -> None:
        row = self._rows(change.kind).live_row(change.key, now)
        actual = 0 if row is None else row[codec(change.kind).place["version"]]
        if actual != change.version:
            raise Conflict(
                f"a row of {change.kind.table.name} has version {actual}, expected {change.version}; read it again",
                expected=change.version,
                actual=actual,
                key=change.key,
            )

    def _lease(self, rows: _Rows, job: Job, owner: str, now: int, lease: int) -> Job:
        taken = msgspec.structs.replace(
            job,
            status="running",
            attempts=job.attempts + 1,
            owner=owner,
            leased_until=to_datetime(now + lease),
            updated_at=to_datetime(now),
            version=job.version + 1,
        )
        rows.put(job.row_key, codec(Job).encode(taken))
        return taken

    def _rows(self, kind: type[Record]) -> _Rows:
        return self._named(kind.table.name, kind)

    def _named(self, name: str, kind: type[Record]) -> _Rows:
        rows = self._tables.get(name)
        if rows is None:
            history = name != kind.table.name
            key = (*kind.table.key, "version") if history else kind.table.key
            rows = self._tables[name] = _Rows(kind, key, {} if history else kind.table.indexes)
        return rows


def _due(job: Job, now: int) -> bool:
    if job.status == "ready":
        return to_micros(job.run_at) <= now
    return job.status == "running" and job.leased_until is not None and to_micros(job.leased_until) <= now


class _Rows:
    """One table: rows by key, and sorted keys per partition, so that a scan costs what it returns."""

    def __init__(self, kind: type[Record], key: tuple[str, ...], indexes: dict[str, tuple[str, ...]]) -> None:
        place = codec(kind).place
        self.by_key: dict[Key, Row] = {}
        self._expires = place.get("expires_at")
        orders: dict[str | None, tuple[str, ...]] = {None: key}
        orders.update(indexes)
        self._orders = {name: _Order(tuple(place[c] for c in columns)) for name, columns in orders.items()}
        self._key_places = tuple(place[c] for c in key)

    def live_row(self, key: Key, now: int) -> Row | None:
        row = self.by_key.get(key)
        if row is None or (self._expires is not None and not live(row[self._expires], now)):
            return None
        return row

    def put(self, key: Key, row: Row | None) -> Row | None:
        """Set or remove (None) a row; the one that was there comes back."""
        old = self.by_key.pop(key, None)
        for order in self._orders.values():
            if old is not None and (row is None or order.key_of(old) != order.key_of(row)):
                order.remove(order.key_of(old))
            if row is not None and (old is None or order.key_of(old) != order.key_of(row)):
                order.add(order.key_of(row), key)
        if row is not None:
            self.by_key[key] = row
        return old

    def keys_between(
        self, index: str | None, prefix: Key, after: Key | None, before: Key | None, starts: str | None, reverse: bool
    ) -> Iterator[Key]:
        return self._orders[index].between(prefix, after, before, starts, reverse)

    def expired(self, now: int, limit: int) -> list[Key]:
        if self._expires is None:
            return []
        place = self._expires
        return [key for key, row in self.by_key.items() if not live(row[place], now)][:limit]


class _Order:
    """Keys sorted inside partitions (all but the last column), so that appending to a partition is cheap."""

    def __init__(self, places: tuple[int, ...]) -> None:
        self._places = places
        self._parts: dict[Key, list[Any]] = {}
        self._names: list[Key] = []
        self._row_key: dict[Key, Key] = {}

    def key_of(self, row: Row) -> Key:
        return tuple(row[place] for place in self._places)

    def add(self, ordered: Key, row_key: Key) -> None:
        part, last = ordered[:-1], ordered[-1]
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

    def between(
        self, prefix: Key, after: Key | None, before: Key | None, starts: str | None, reverse: bool
    ) -> Iterator[Key]:
        width = len(self._places) - 1
        if len(prefix) == width and (after is None or len(after) == 1) and (before is None or len(before) == 1):
            found = self._within(prefix, after, before, starts, reverse)
        else:
            found = self._across(prefix, after, before, starts, reverse)
        return (self._row_key[ordered] for ordered in found)

    def _within(
        self, part: Key, after: Key | None, before: Key | None, starts: str | None, reverse: bool
    ) -> Iterator[Key]:
        items = self._parts.get(part, [])
        low = 0 if after is None else bisect_right(items, after[0])
        high = len(items) if before is None else bisect_left(items, before[0])
        if starts:
            low = max(low, bisect_left(items, starts))
        span = range(high - 1, low - 1, -1) if reverse else range(low, high)
        for i in span:
            if starts and not items[i].startswith(starts):
                if reverse:
                    continue
                break
            yield (*part, items[i])

    def _across(
        self, prefix: Key, after: Key | None, before: Key | None, starts: str | None, reverse: bool
    ) -> Iterator[Key]:
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
                if starts and not str(rest[0]).startswith(starts):
                    continue
                yield ordered
