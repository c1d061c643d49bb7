"""The SQLite store: one file, WAL, one writer; each unit of work is one plain function, begin to commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw
import msgspec

from ...errors import Conflict, InvalidValue, NotFound, StoreUnavailable, UsageError
from ...filters import Filter, document_of, matches
from ...messages import Message
from ...ports import to_datetime, to_micros
from ...records import Job, Key, Receipt, Record, StateEntry
from ...runtime import Runtime
from ...values import INT_MAX, INT_MIN
from ..base import Append, Appended, Change, Delete, DeleteRange, Expect, Increment, Load, Put, R, Stored, live
from ..codec import Row, checksum, codec, decoded, verify
from .connection import Connections
from .statements import column_names, delete_range_sql, scan_sql, statements, successor

_GROW = (
    "UPDATE threads SET length = length + ?, tokens = tokens + ?, updated_at = ?, version = version + 1 "
    "WHERE org = ? AND id = ? AND (expires_at IS NULL OR expires_at > ?) RETURNING length, expires_at"
)
_SEEN = 'SELECT first, count FROM receipts WHERE org = ? AND thread = ? AND "key" = ?'
_DUE = (
    "SELECT {columns} FROM jobs WHERE queue = ? AND status = ? AND {when} <= ? {org} ORDER BY run_at LIMIT ?"
)


class SqliteStore:
    """Records in one SQLite file."""

    name = "sqlite"

    def __init__(self, path: str, *, runtime: Runtime, durability: str = "full") -> None:
        if durability not in ("full", "normal"):
            raise UsageError("durability is 'full' (survives power loss) or 'normal' (survives a killed process)")
        self.path = path
        self.durability = durability
        self._runtime = runtime
        self._connections = Connections(path, durability)

    async def open(self) -> None:
        """Create or check the file, and bring its schema up to date."""
        await self._runtime.call(self._connections.open)

    async def close(self) -> None:
        """Close this process's connections."""
        await self._runtime.call(self._connections.close)

    async def get(self, kind: type[R], key: Key, *, now: int) -> R | None:
        """The live row under a key."""
        return await self._runtime.call(self._get, kind, key, now)

    async def get_many(self, kind: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        """The live rows under several keys, in their order."""
        return await self._runtime.call(lambda: [self._get(kind, key, now) for key in keys])

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
        return await self._runtime.call(
            self._scan, kind, prefix, now, index, after, before, starts, reverse, limit, where
        )

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[Any]:
        """Do all of the changes or none, in one transaction."""
        return await self._runtime.call(self._apply, changes, now)

    async def purge(self, *, now: int, limit: int = 1000) -> dict[str, int]:
        """Remove expired rows for good."""
        return await self._runtime.call(self._purge, now, limit)

    async def claim(
        self, queue: str, *, owner: str, now: int, lease: int, limit: int = 1, org: str | None = None
    ) -> list[Job]:
        """Lease ready jobs to one worker."""
        return await self._runtime.call(self._claim, queue, owner, now, lease, limit, org)

    async def orgs(self) -> list[str]:
        """Every org that has rows."""
        return await self._runtime.call(self._orgs)

    async def scrub(self) -> None:
        """Remove deleted bytes from the file and its WAL."""
        from .care import scrub

        await self._runtime.call(scrub, self._connections)

    async def verify_absent(self, needles: Sequence[bytes]) -> list[str]:
        """The names of files that still hold any of these bytes."""
        from .care import holding

        return await self._runtime.call(holding, self._connections.files(), needles)

    async def diagnose(self, *, deep: bool = False) -> dict[str, Any]:
        """SQLite's version, the file, its schema, settings, size and health."""
        from .care import diagnose

        return await self._runtime.call(diagnose, self._connections, self.durability, deep)

    # -- reads

    def _get(self, kind: type[R], key: Key, now: int) -> R | None:
        row = self._connections.read(lambda cursor: cursor.execute(statements(kind).get, key).fetchone())
        if row is None:
            return None
        expires = codec(kind).place.get("expires_at")
        if expires is not None and not live(row[expires], now):
            return None
        record: R = _decode(kind, row)
        return record

    def _scan(
        self,
        kind: type[R],
        prefix: Key,
        now: int,
        index: str | None,
        after: Key | None,
        before: Key | None,
        starts: str | None,
        reverse: bool,
        limit: int | None,
        where: Filter | None,
    ) -> list[R]:
        top = successor(starts) if starts else None
        bounds = 0 if not starts else 1 if top is None else 2
        sql = scan_sql(kind, index, len(prefix), len(after or ()), len(before or ()), bounds, reverse)
        values = [*prefix, *(after or ()), *(before or ())]
        if starts:
            values += [starts] if top is None else [starts, top]
        if "expires_at" in codec(kind).place:
            values.append(now)
        values.append(-1 if limit is None or where is not None else limit)
        if where is not None:
            return self._connections.read(
                lambda cursor: list(_passing(kind, cursor.execute(sql, values), where, limit))
            )
        rows = self._connections.read(lambda cursor: cursor.execute(sql, values).fetchall())
        return _decode_all(kind, rows)

    # -- writes

    def _apply(self, changes: Sequence[Change], now: int) -> list[Any]:
        # Encoding raises before anything is begun, so that bad input costs no lock.
        rows = [_encoded(change) for change in changes]

        def work(cursor: apsw.Cursor) -> list[Any]:
            replay = _replayed(cursor, changes)
            if replay is not None:
                return replay
            return [_one(cursor, change, row, now) for change, row in zip(changes, rows, strict=True)]

        try:
            return self._connections.write(work)
        except StoreUnavailable:
            only_deletes = all(isinstance(change, Delete | DeleteRange) for change in changes)
            if not only_deletes or not self._connections.release_ballast():
                raise
        results = self._connections.write(work)
        self._connections.keep_ballast()
        return results

    def _purge(self, now: int, limit: int) -> dict[str, int]:
        # Looked for without the write lock first: with nothing expired, purging costs a few index look-ups.
        dead = self._connections.read(lambda cursor: [table for table in expiring_tables() if _any_dead(cursor, table[0], now)])
        if not dead:
            return {}

        def work(cursor: apsw.Cursor) -> dict[str, int]:
            counts = {}
            for name, key in dead:
                columns = ", ".join(key)
                cursor.execute(
                    f"DELETE FROM {name} WHERE ({columns}) IN "
                    f"(SELECT {columns} FROM {name} WHERE expires_at <= ? LIMIT ?)",
                    (now, limit),
                )
                if changed := cursor.connection.changes():
                    counts[name] = changed
            return counts

        return self._connections.write(work)

    def _claim(self, queue: str, owner: str, now: int, lease: int, limit: int, org: str | None) -> list[Job]:
        columns = ", ".join(column_names(Job))
        scope, extra = ("AND org = ?", [org]) if org is not None else ("", [])

        def due(cursor: apsw.Cursor) -> list[Row]:
            found: list[Row] = []
            for status, when in (("ready", "run_at"), ("running", "leased_until")):
                sql = _DUE.format(columns=columns, when=when, org=scope)
                found += cursor.execute(sql, [queue, status, now, *extra, limit - len(found)]).fetchall()
            return found

        def work(cursor: apsw.Cursor) -> list[Job]:
            return [_lease(cursor, codec(Job).decode(row), owner, now, lease) for row in due(cursor)]

        # An idle worker looks without taking the write lock.
        return self._connections.write(work) if self._connections.read(due) else []

    def _orgs(self) -> list[str]:
        def work(cursor: apsw.Cursor) -> list[str]:
            # Walks from org to org over the key: the cost follows the orgs, not the rows.
            found: set[str] = set()
            for name in (kind.table.name for kind in all_records() if kind.table.name != "marks"):
                row = cursor.execute(f"SELECT min(org) FROM {name}").fetchone()
                while row is not None and row[0] is not None:
                    found.add(row[0])
                    row = cursor.execute(f"SELECT min(org) FROM {name} WHERE org > ?", (row[0],)).fetchone()
            return sorted(found)

        return self._connections.read(work)


def _any_dead(cursor: apsw.Cursor, table: str, now: int) -> bool:
    sql = f"SELECT 1 FROM {table} WHERE expires_at <= ? LIMIT 1"
    return cursor.execute(sql, (now,)).fetchone() is not None


def expiring_tables() -> list[tuple[str, tuple[str, ...]]]:
    """Tables whose rows may expire, with their keys."""
    return [(kind.table.name, kind.table.key) for kind in all_records() if "expires_at" in codec(kind).place]


def all_records() -> list[type[Record]]:
    """Every record that has a table."""
    found, left = [], [Record]
    while left:
        for kind in left.pop().__subclasses__():
            left.append(kind)
            if kind.__module__.startswith("recollect."):
                found.append(kind)
    return sorted(set(found), key=lambda kind: kind.table.name)


def _decode(kind: type[R], row: Row) -> Any:
    if kind.table.checksum:
        stored, row = row[-1], row[:-1]
        verify(kind, row, stored)
    return decoded(kind, row)


def _decode_all(kind: type[R], rows: list[Row]) -> list[R]:
    if not kind.table.checksum:
        return [decoded(kind, row) for row in rows]
    decode, out = codec(kind).decode, []
    try:
        for row in rows:
            bare = row[:-1]
            if checksum(bare) != row[-1]:
                verify(kind, bare, row[-1])
            out.append(decode(bare))
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError, ValueError, OverflowError):
        return [_decode(kind, row) for row in rows]  # says which
    return out


def _passing(kind: type[R], rows: Any, where: Filter, limit: int | None) -> Iterator[R]:
    count = 0
    for row in rows:
        if limit is not None and count >= limit:
            return
        record = _decode(kind, row)
        if matches(where, document_of(record)):
            count += 1
            yield record


def _encoded(change: Change) -> Any:
    if isinstance(change, Put) and change.absent:
        return None  # mostly there already: encoded only when it is not
    if isinstance(change, Put | Load | Increment):
        return codec(type(change.record)).encode(change.record)
    if isinstance(change, Append):
        encode = codec(Message).encode
        return [encode(message) for message in change.messages]
    return None


def _replayed(cursor: apsw.Cursor, changes: Sequence[Change]) -> list[Any] | None:
    for change in changes:
        if isinstance(change, Append) and change.key is not None:
            row = cursor.execute(_SEEN, (change.org, change.thread, change.key)).fetchone()
            if row is not None:
                done = Appended(row[0], row[1], replayed=True)
                return [done if item is change else None for item in changes]
    return None


def _one(cursor: apsw.Cursor, change: Change, row: Any, now: int) -> Any:
    if isinstance(change, Append):
        return _append(cursor, change, row, now)
    if isinstance(change, Put):
        return _ensure(cursor, change, now) if change.absent else _put(cursor, change, row)
    if isinstance(change, Load):
        kind = type(change.record)
        cursor.execute(statements(kind).upsert, _summed(kind, row))
        return None
    if isinstance(change, Delete):
        cursor.execute(statements(change.kind).delete, change.key)
        return cursor.connection.changes() > 0
    if isinstance(change, DeleteRange):
        sql = delete_range_sql(change.kind, len(change.prefix), len(change.after or ()), len(change.before or ()))
        cursor.execute(sql, [*change.prefix, *(change.after or ()), *(change.before or ())])
        return cursor.connection.changes()
    if isinstance(change, Increment):
        return _increment(cursor, change.record, now)
    return _expect(cursor, change, now)


def _ensure(cursor: apsw.Cursor, change: Put, now: int) -> Stored | None:
    kind = type(change.record)
    held = cursor.execute(statements(kind).there, change.record.row_key).fetchone()
    if held is not None and live(held[0], now):
        return None
    return _put(cursor, change, codec(kind).encode(change.record))


def _put(cursor: apsw.Cursor, change: Put, row: Row) -> Stored:
    kind = type(change.record)
    table, sql, place = kind.table, statements(kind), codec(kind).place
    key = tuple(row[place[name]] for name in table.key)
    if not sql.old:
        cursor.execute(sql.upsert, _summed(kind, row))
        return _stored(row, place)
    old = cursor.execute(sql.old, key).fetchone()
    versioned = "version" in place and "version" not in table.key
    before = old[0] if old and versioned else 0
    if table.history and not old:
        # Numbers go on after those of a deleted row, so that none is used twice.
        before = cursor.execute(sql.last_version, key).fetchone()[0] or 0
    version = before + 1 if versioned else 0
    created = old[-1] if old and "created_at" in place else None
    if old and table.history:
        cursor.execute(sql.to_history, key)
    row = _with_version(kind, row, version, created)
    cursor.execute(sql.upsert, row)
    return _stored(row, place)


def _with_version(kind: type[Record], row: Row, version: int, created: int | None) -> Row:
    place = codec(kind).place
    cells = list(row)
    if "version" in place and "version" not in kind.table.key:
        cells[place["version"]] = version
    if created is not None:
        cells[place["created_at"]] = created
    return _summed(kind, tuple(cells))


def _summed(kind: type[Record], row: Row) -> Row:
    return (*row, checksum(row)) if kind.table.checksum else row


def _stored(row: Row, place: dict[str, int]) -> Stored:
    created = row[place["created_at"]] if "created_at" in place else None
    return Stored(row[place["version"]] if "version" in place else 0, None if created is None else to_datetime(created))


_EXPIRES = codec(Message).place["expires_at"]


def _append(cursor: apsw.Cursor, change: Append, rows: list[Row], now: int) -> Appended:
    count, at = len(rows), to_micros(change.at)
    tokens = sum(message.tokens or 0 for message in change.messages)
    grown = cursor.execute(_GROW, (count, tokens, at, change.org, change.thread, now)).fetchone()
    if grown is None:
        raise NotFound("no such thread; create it first", thread=change.thread)
    length, expires = grown
    first, insert = length - count + 1, statements(Message).insert
    for seq, row in enumerate(rows, first):
        full = (change.org, change.thread, seq, *row[3:_EXPIRES], expires, *row[_EXPIRES + 1 :])
        cursor.execute(insert, (*full, checksum(full)))
    if change.key is not None:
        receipt = Receipt(
            org=change.org, thread=change.thread, key=change.key, first=first, count=count, created_at=change.at
        )
        cursor.execute(statements(Receipt).insert, codec(Receipt).encode(receipt))
    return Appended(first, count, expires_at=None if expires is None else to_datetime(expires))


def _increment(cursor: apsw.Cursor, record: StateEntry, now: int) -> int:
    total, expires = int(record.value), record.expires_at
    row = cursor.execute(statements(StateEntry).get, record.row_key).fetchone()
    if row is not None:
        old: StateEntry = codec(StateEntry).decode(row)
        if live(row[codec(StateEntry).place["expires_at"]], now):
            if type(old.value) is not int:
                raise InvalidValue("the entry is not an integer; only integers can be incremented", key=record.key)
            total, expires = total + old.value, old.expires_at
    if not INT_MIN <= total <= INT_MAX:
        raise InvalidValue("the counter would pass 64 bits", key=record.key)
    new = msgspec.structs.replace(record, value=total, expires_at=expires)
    _put(cursor, Put(new), codec(StateEntry).encode(new))
    return total


def _expect(cursor: apsw.Cursor, change: Expect, now: int) -> None:
    kind = change.kind
    row = cursor.execute(statements(kind).get, change.key).fetchone()
    place = codec(kind).place
    if row is not None and "expires_at" in place and not live(row[place["expires_at"]], now):
        row = None
    actual = 0 if row is None else row[place["version"]]
    if actual != change.version:
        raise Conflict(
            f"a row of {kind.table.name} has version {actual}, expected {change.version}; read it again",
            expected=change.version,
            actual=actual,
            key=change.key,
        )


def _lease(cursor: apsw.Cursor, job: Job, owner: str, now: int, lease: int) -> Job:
    taken = msgspec.structs.replace(
        job,
        status="running",
        attempts=job.attempts + 1,
        owner=owner,
        leased_until=to_datetime(now + lease),
        updated_at=to_datetime(now),
    )
    stored = _put(cursor, Put(taken), codec(Job).encode(taken))
    return msgspec.structs.replace(taken, version=stored.version)


