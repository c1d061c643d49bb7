"""Implements the SQLite store, which uses one file in WAL mode and one writer. Each transaction is one plain function,
from BEGIN to COMMIT."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

import apsw
import msgspec

from ...errors import CorruptRecord, StoreTimeout, StoreUnavailable, UsageError
from ...filters import Filter, document_of, matches
from ...messages.message import Message
from ...records import (
    AuditEvent,
    Entry,
    Epoch,
    FactVersion,
    IndexProgress,
    Job,
    Key,
    Link,
    NamespaceStats,
    Record,
    StoreIdentity,
    Tombstone,
    Watermark,
)
from ...runtime import Runtime
from ...values import JsonObject
from ..base import (
    ALL_ENTRIES,
    Absence,
    Change,
    ChangeResult,
    Delete,
    DeleteRange,
    EntryFilter,
    Expect,
    Load,
    Put,
    R,
    Scan,
    Scrubbed,
    live,
)
from ..codec import Row, codec, kinds
from .changes import encode_changes, run_changes
from .changes import lease as lease_job
from .connection import Connections
from .fast_read import plain_columns, plain_messages
from .fast_write import FastWrite
from .group_commit import GroupCommit
from .rows import Reader
from .search import search_text, term_counts
from .statements import column_names, many_sql, scan_sql, statements

_DUE_JOBS_SQL = (
    "SELECT {columns} FROM jobs WHERE queue = ? AND status = ? AND {when} <= ? {org} "
    "ORDER BY run_at, org, ns, item LIMIT ?"
)


MAX_SINGLE_LOOKUPS = 3
"""Up to this many keys are looked up one by one."""
MAX_RICH_THREADS = 10_000
"""The maximum number of such threads in the cache. When it is reached, the cache is cleared."""
MAX_ROWS_IN_PLACE = 100
"""Reads of at most this many rows run on the event loop's own thread."""
T = TypeVar("T")


class Getter(NamedTuple):
    """Looks up rows of one kind by key."""

    sql: str
    expires: int | None
    """This is the position of the row's expiry."""
    key: Callable[[Row], Key]
    decode: Callable[[Row], Any]


class SqliteStore:
    """Stores records in one SQLite file."""

    name = "sqlite"
    owns_files = True

    def __init__(self, path: str, *, runtime: Runtime, durability: str = "full") -> None:
        if durability not in ("full", "normal"):
            raise UsageError("durability is 'full' (survives power loss) or 'normal' (survives a killed process)")
        self.path = path
        self.durability = durability
        self._runtime = runtime
        self._connections = Connections(path, durability)
        self._fast = FastWrite(self._connections)
        self._reader = Reader(self._connections)
        self._getters: dict[type[Record], Getter] = {}
        self._rich_threads: set[Key] = set()
        """Threads (org and id) whose pages are read in full immediately."""
        self._grouped = runtime.batched(GroupCommit(self._connections, self._fast, self._apply_alone).apply)

    async def open(self) -> None:
        """Create or check the file, and bring its schema up to date."""
        await self._runtime.call(self._connections.open)

    async def close(self) -> None:
        """Close this process's connections."""
        await self._runtime.call(self._connections.close)

    async def get(self, record_type: type[R], key: Key, *, now: int) -> R | None:
        """Return the live row under a key."""
        if self._runtime.blocking:
            return self._get(record_type, key, now)
        return await self._read_briefly(self._get, record_type, key, now)

    async def get_many(self, record_type: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        """Return the live rows under several keys, in the order of the keys."""
        if len(keys) <= MAX_ROWS_IN_PLACE:
            return await self._read_briefly(self._get_many, record_type, keys, now)
        return await self._runtime.call(self._get_many, record_type, keys, now)

    async def scan(self, scan: Scan[R], *, now: int) -> list[R]:
        """Return the live rows within the bounds, in key (or index) order."""
        if self._runtime.blocking:
            return self._scan(scan, now)
        if scan.where is None and scan.limit is not None and scan.limit <= MAX_ROWS_IN_PLACE:
            return await self._read_briefly(self._scan, scan, now)
        return await self._runtime.call(self._scan, scan, now)

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[ChangeResult]:
        """Apply the changes atomically, in one transaction."""
        # A unit of work is one function from BEGIN to COMMIT. The async runtime hands it to its worker thread in one
        # hop, so no other write comes in between, and a cancelled caller leaves nothing half done. A blocking caller
        # waits for its own commit anyway. Async callers share one with everyone who is waiting.
        if self._runtime.blocking:
            return self._apply_alone(changes, now)
        return await self._grouped((changes, now))

    async def purge(self, *, now: int, limit: int = 1000) -> dict[str, int]:
        """Remove expired rows permanently."""
        return await self._runtime.call(self._purge, now, limit)

    async def claim(
        self, queue: str, *, owner: str, now: int, lease: int, limit: int = 1, org: str | None = None
    ) -> list[Job]:
        """Lease ready jobs to one worker."""
        return await self._runtime.call(self._claim, queue, owner, now, lease, limit, org)

    async def orgs(self) -> list[str]:
        """Return every org that has rows."""
        return await self._runtime.call(self._orgs)

    async def search_text(
        self, org: str, ns: str, terms: Sequence[str], *, limit: int, now: int, only: EntryFilter = ALL_ENTRIES
    ) -> list[Entry]:
        """Return a namespace's live entries that contain any of the terms, best first."""
        read = self._connections.read
        return await self._runtime.call(
            lambda: read(lambda cursor: search_text(cursor, org, ns, terms, limit, now, only))
        )

    async def term_counts(self, org: str, ns: str, terms: Sequence[str]) -> dict[str, int]:
        """Return the document frequency of each term, which is the number of entries that contain it in their own
        text."""
        read = self._connections.read
        return await self._runtime.call(lambda: read(lambda cursor: term_counts(cursor, org, ns, terms)))

    async def scrub(self) -> Scrubbed:
        """Remove deleted bytes from the file and its WAL."""
        from .scrub import scrub

        await self._runtime.call(scrub, self._connections)
        return Scrubbed([self._connections.files()[0].name])

    async def verify_absent(self, needles: Sequence[bytes], *, org: str) -> Absence:
        """Search the database file, its log and the ballast for any of these bytes."""
        from .scrub import holding

        files = self._connections.files()
        return Absence(await self._runtime.call(holding, files, needles), [file.name for file in files])

    async def diagnose(self, *, deep: bool = False) -> JsonObject:
        """Return a report on SQLite's version, and on the file's schema, settings, size and health."""
        from .health import diagnose

        return await self._runtime.call(diagnose, self._connections, self._reader, self.durability, deep)

    # -- reads

    async def _read_briefly(self, read: Callable[..., T], *args: object) -> T:
        """Run a short read on the caller's thread, or on the worker thread if another process has locked the file."""
        try:
            return await self._runtime.brief(self._connections.read_at_once, read, *args)
        except StoreTimeout:
            # In WAL mode, readers wait only for a process that recovers the log after a crash, or that removes it as
            # the last one to close the file.
            return await self._runtime.call(read, *args)

    def _get(self, record_type: type[R], key: Key, now: int) -> R | None:
        sql, expires, key_of, decode = self._getters.get(record_type) or self._getter(record_type)
        for row in self._connections.read_rows(sql, key):
            if expires is not None and row[expires] is not None and row[expires] <= now:
                return None
            # A checksum proves that a row is intact, but not that the index led to the right one.
            if key_of(row) != key:
                _raise_misplaced(record_type, key)
            record: R = decode(row)
            return record
        return None

    def _getter(self, record_type: type[Record]) -> Getter:
        parts = codec(record_type)
        getter = Getter(
            statements(record_type).get,
            parts.position_of.get("expires_at"),
            parts.key,
            self._reader.decoder(record_type),
        )
        self._getters[record_type] = getter
        return getter

    def _get_many(self, record_type: type[R], keys: Sequence[Key], now: int) -> list[R | None]:
        if len(keys) <= MAX_SINGLE_LOOKUPS:
            return [self._get(record_type, key, now) for key in keys]
        # Use one statement for all keys, because a look-up inside SQLite takes a tenth of the time of a statement from
        # Python. Leading columns that all keys share are bound once instead of being extracted from each key.
        shared = _count_shared_columns(keys)
        sql, listed = many_sql(record_type, shared), msgspec.json.encode([key[shared:] for key in keys]).decode()
        bound = (listed, *keys[0][:shared])
        rows: list[Row] = self._connections.read_rows(sql, bound)
        _, expires, key_of, decode = self._getters.get(record_type) or self._getter(record_type)
        out: list[R | None] = [None] * len(keys)
        for row in rows:
            if expires is None or live(row[expires], now):
                at = row[-1]
                if key_of(row) != keys[at]:
                    _raise_misplaced(record_type, keys[at])
                out[at] = decode(row[:-1])
        return out

    def _scan(self, scan: Scan[R], now: int) -> list[R]:
        record_type, limit, where = scan.kind, scan.limit, scan.where
        after, before, starts = scan.after or (), scan.before or (), scan.starts_bounds
        sql = scan_sql(record_type, scan.index, len(scan.prefix), len(after), len(before), len(starts), scan.reverse)
        values = [*scan.prefix, *after, *before, *starts]
        if "expires_at" in codec(record_type).position_of:
            values.append(now)
        # In SQLite, a negative LIMIT means no limit. A filter runs in Python, so its limit is counted there.
        values.append(-1 if limit is None or where is not None else limit)
        if where is not None:
            # Consume the rows inside `read`: afterwards, the cursor is closed and its connection serves another thread.
            return self._connections.read(
                lambda cursor: list(self._passing(record_type, cursor.execute(sql, values), where, limit))
            )
        if record_type is Message and len(scan.prefix) == 2 and scan.prefix not in self._rich_threads:
            rows = self._connections.read_rows(plain_columns(sql), values)
            plain = plain_messages(scan.prefix, rows)
            if plain is not None:
                return plain  # type: ignore[return-value]  # record_type is Message
            # A thread that uses names, metadata or its own token counter usually has them in most messages. Trying the
            # fast path every time would cost as much as it gains elsewhere.
            if len(self._rich_threads) >= MAX_RICH_THREADS:
                self._rich_threads.clear()
            self._rich_threads.add(scan.prefix)
        return self._reader.decode_all(record_type, self._connections.read_rows(sql, values))

    def _passing(self, record_type: type[R], rows: Iterable[Row], where: Filter, limit: int | None) -> Iterator[R]:
        count, decode = 0, self._reader.decoder(record_type)
        for row in rows:
            if limit is not None and count >= limit:
                return
            record = decode(row)
            if matches(where, document_of(record)):
                count += 1
                yield record

    # -- writes

    def _apply_alone(self, changes: Sequence[Change], now: int) -> list[ChangeResult]:
        """Apply the changes in a transaction of their own."""
        results = self._fast.apply(changes)
        if results is not None:
            return results
        rows = encode_changes(changes)  # before the write lock is taken

        def work(cursor: apsw.Cursor) -> list[ChangeResult]:
            return run_changes(cursor, changes, rows, now)

        try:
            results = self._connections.write(work)
            self._fast.learn(changes, results)
            return results
        except StoreUnavailable:
            # A write that found the disk full was rolled back, so a deletion can run again in the space of the ballast
            # file.
            if not _only_deletes(changes):
                raise
            return self._connections.delete_on_full_disk(work)

    def _purge(self, now: int, limit: int) -> dict[str, int]:
        # Look without the write lock first, so that a purge costs only a few index look-ups if nothing has expired.
        dead = self._connections.read(
            lambda cursor: [table for table in _expiring_tables() if _any_dead(cursor, table[0], now)]
        )
        if not dead:
            return {}

        def work(cursor: apsw.Cursor) -> dict[str, int]:
            counts = {}
            for name, key in dead:
                columns = ", ".join(key)
                # DELETE has no LIMIT in SQLite's default build, so a subquery limits the rows.
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

        def due(cursor: apsw.Cursor) -> list[Job]:
            rows: list[Row] = []
            for status, when in (("ready", "run_at"), ("running", "leased_until")):
                sql = _DUE_JOBS_SQL.format(columns=columns, when=when, org=scope)
                rows += cursor.execute(sql, [queue, status, now, *extra, limit]).fetchall()
            jobs: list[Job] = [codec(Job).decode(row) for row in rows]
            return sorted(jobs, key=lambda job: (job.run_at, job.row_key))[:limit]

        def work(cursor: apsw.Cursor) -> list[Job]:
            return [lease_job(cursor, job, owner, now, lease) for job in due(cursor)]

        # Look without the write lock first, so that idle workers do not take it. `work` looks again under the lock,
        # because another worker may have leased the job in between.
        return self._connections.write(work) if self._connections.read(due) else []

    def _orgs(self) -> list[str]:
        def work(cursor: apsw.Cursor) -> list[str]:
            # Skip from org to org through the key's index, so that the cost depends on the number of orgs, not of rows.
            orgs: set[str] = set()
            for name in (kind.table.name for kind in kinds() if kind is not StoreIdentity):
                row = cursor.execute(f"SELECT min(org) FROM {name}").fetchone()
                while row is not None and row[0] is not None:
                    orgs.add(row[0])
                    row = cursor.execute(f"SELECT min(org) FROM {name} WHERE org > ?", (row[0],)).fetchone()
            return sorted(orgs)

        return self._connections.read(work)


def _raise_misplaced(record_type: type[Record], key: Key) -> NoReturn:
    """Raise the error for a damaged index, which led to a row with a different key (and a correct checksum)."""
    raise CorruptRecord(
        f"an index of {record_type.table.name} points to the wrong row; restore the file from a backup",
        table=record_type.table.name,
        key=key,
    )


def _any_dead(cursor: apsw.Cursor, table: str, now: int) -> bool:
    sql = f"SELECT 1 FROM {table} WHERE expires_at <= ? LIMIT 1"
    return cursor.execute(sql, (now,)).fetchone() is not None


def _is_removal(change: Delete | DeleteRange) -> bool:
    """Return whether a deletion removes stored data, or starts an erasure.

    A worker's deletion of a completed job is ordinary work and must not use the space reserved for deletions.
    """
    key = change.key if isinstance(change, Delete) else change.prefix
    return change.kind is not Job or "forget" in key[1:2]


def _only_deletes(changes: Sequence[Change]) -> bool:
    """Return whether a batch only deletes, and writes at most the audit event, tombstone or job that belongs to it."""
    traces = [change.record for change in changes if isinstance(change, Put | Load)]
    deletions = [change for change in changes if isinstance(change, Delete | DeleteRange)]
    deleted = {(change.kind, change.key) for change in deletions if isinstance(change, Delete)}
    others = len(changes) - len(traces) - len(deletions) - sum(isinstance(change, Expect) for change in changes)
    return (
        any(_is_removal(change) for change in deletions)
        and not others
        and all(
            isinstance(
                trace,
                AuditEvent | Epoch | FactVersion | IndexProgress | Job | Link | NamespaceStats | Tombstone | Watermark,
            )
            or (type(trace), trace.row_key) in deleted
            for trace in traces
        )
    )


def _expiring_tables() -> list[tuple[str, tuple[str, ...]]]:
    """Return tables whose rows may expire, with their keys."""
    return [(kind.table.name, kind.table.key) for kind in kinds() if "expires_at" in codec(kind).position_of]


def _count_shared_columns(keys: Sequence[Key]) -> int:
    """Return the number of leading columns, excluding the last one, that are the same in all keys."""
    least, most = min(keys), max(keys)  # a prefix that these two share is shared by all keys between them
    return next((i for i, (a, b) in enumerate(zip(least, most, strict=True)) if a != b), len(least) - 1)
