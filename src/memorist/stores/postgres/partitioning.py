"""Splits tables by org into hash partitions while programs read and write them.

For each table, one after the other:

1. An empty partitioned table is made beside it, in a schema of its own, `memorist_split`.
2. A trigger makes every later change of the old table in the new one too, in the same transaction.
3. The rows there are follow in batches, each a short transaction that also records how far it came.
4. Indexes are built concurrently, partition by partition.
5. The rows of both tables are compared, as of one moment.
6. One transaction moves the old table away and the new one to its name. It waits for its lock at most LOCK_MS at a
   time, and holds it for as long as a few entries of the catalogue take. Then the old table is dropped.

The programs see one table of that name all the time: statements that waited for the lock, and prepared ones, are
resolved by name again. A split that was interrupted goes on when it is run again, at the step that it had reached.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ...backoff import pause
from ...errors import MemoristError, StoreError, Unsupported, UsageError
from ...runtime import Runtime
from ..base import Split
from .connection import Session
from .guarded import MIGRATING, PATIENCE_SECONDS, patiently
from .online import alone, ask, building, drop_unfinished, part_by_part
from .wire import Failed, Step, cell

MOST_PARTS = 1024
LOCK_MS = 500
"""How long the transactions that lock a whole table wait for it; others queue up behind them meanwhile."""
ROW_LOCK_MS = 200
"""How long a batch waits for a row. It is less than the server's `deadlock_timeout`, so that in a deadlock between a
batch and a writer the batch always gives up, and not the writer."""
BATCH = 500
"""Rows in the first batch; later ones have more or fewer, to take about BATCH_SECONDS."""
BATCH_SECONDS = 0.1
WAIT_SECONDS = 30.0
"""How long to wait for another process that changes tables."""
_MOST_ROWS = 5_000
_RESTARTS = 3
_CHANGED = ("MM011", "42703")
"""SQLSTATEs that say that the columns of both tables are no longer the same."""
_DIFFERS, _NOT_ALLOWED = "MM012", "42501"
_FILE = Path(__file__).parent / "migrations" / "split.sql"
_TABLES = b"""
SELECT relname::text FROM pg_class
WHERE relnamespace = 'memorist'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  AND relname <> 'migrations' AND ($1::boolean OR relkind = 'r')
ORDER BY relname
"""
_PROGRESS = b"SELECT name, parts, step FROM memorist_split.progress ORDER BY name"
_INDEXES = b"""
SELECT pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = to_regclass('memorist.' || quote_ident($1)) AND NOT indisprimary AND indisvalid ORDER BY indexrelid
"""
_INDEX = re.compile(r"CREATE INDEX (\w+) ON memorist\.(\w+) (.+)")
_OWNER = b"SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = 'memorist.migrations'::regclass"
_SCHEMAS = ("memorist_split", "memorist_split_old")
_DROP_SCHEMAS = f"DROP SCHEMA {', '.join(_SCHEMAS)} CASCADE"
_STARTED = b"SELECT count(*) FROM pg_namespace WHERE nspname = 'memorist_split'"


async def partition(
    session: Session, parts: int, *, table: str | None = None, progress: Callable[[int], Any] | None = None
) -> list[Split]:
    """Split one table, or all that are not split yet; also goes on with what was interrupted."""
    if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= MOST_PARTS:
        raise UsageError(f"the number of partitions is from 1 to {MOST_PARTS}")
    async with _working(session):
        owner = (await ask(session, _OWNER))[0][0]
        try:
            return await _Splitting(session, parts, owner, progress).all(table)
        except Failed as failed:
            raise _error(failed) from failed


async def undo(session: Session) -> list[str]:
    """Give up splits that have not ended, and remove the copies; returns the names of their tables."""
    async with _working(session):
        if not (await ask(session, _STARTED))[0][0]:
            return []
        reached = {name: step for name, _, step in await ask(session, _PROGRESS)}
        owner = (await ask(session, _OWNER))[0][0]
        try:
            for name, step in reached.items():
                way = "retire" if step == "switched" else "discard"
                await patiently(session, _transaction(f"SELECT memorist_split.{way}('{name}')", owner))
            await session.script(_DROP_SCHEMAS, PATIENCE_SECONDS)
        except Failed as failed:
            raise _error(failed) from failed
        return [name for name, step in reached.items() if step != "switched"]


@asynccontextmanager
async def _working(session: Session) -> AsyncIterator[None]:
    """Be the one process that changes tables. The server may need a moment to see that one before was killed."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        async with building(session, session.runtime) as ours:
            if ours:
                yield
                return
        if time.monotonic() > until:
            raise StoreError("another process changes the tables of this database; run this again when it has ended")
        await session.runtime.sleep(0.1)


def _error(failed: Failed) -> MemoristError:
    if failed.state == _NOT_ALLOWED:
        return Unsupported("only the owner of the tables, who may also create a schema, can split them")
    if failed.state == _DIFFERS:
        return StoreError("a copy differs from its table, so it was not used; `memorist partition --undo` removes it")
    return StoreError(f"a table was not split ({failed.state}: {failed.message}); its rows are as they were")


class _Splitting:
    """Splits tables, one after the other."""

    def __init__(self, session: Session, parts: int, owner: str, progress: Callable[[int], Any] | None) -> None:
        self._session = session
        self._runtime: Runtime = session.runtime
        self._parts = parts
        self._owner = owner
        """Who owns the tables, and will own the new ones, also if a superuser splits them."""
        self._progress = progress or (lambda _: None)

    async def all(self, only: str | None) -> list[Split]:
        names = [name for (name,) in await ask(self._session, _TABLES, b"false")]
        if only is not None:
            if only not in [name for (name,) in await ask(self._session, _TABLES, b"true")]:
                raise UsageError(f"there is no table {only!r}")
            names = [name for name in names if name == only]
        await self._begin(names)
        made = [await self._split(name) for name in names]
        if not await self._reached():
            await self._session.script(_DROP_SCHEMAS, PATIENCE_SECONDS)
        return made

    async def _begin(self, names: list[str]) -> None:
        """Make our own schema, and forget copies of tables that someone else has split."""
        made = "; ".join(f"CREATE SCHEMA IF NOT EXISTS {name} AUTHORIZATION {self._owner}" for name in _SCHEMAS)
        await self._session.script(f"SET client_min_messages = warning; {made}; RESET client_min_messages", 60.0)
        await self._transact(_FILE.read_text())
        whole = {name for (name,) in await ask(self._session, _TABLES, b"false")}
        for name, (parts, step) in (await self._reached()).items():
            if step == "switched":
                await self._retire(name)
            elif name not in whole:
                await self._transact(f"SELECT memorist_split.discard('{name}')")
            elif name in names and parts != self._parts:
                raise UsageError(
                    f"{name} is being split into {parts} already: name that number, or give up with --undo"
                )

    async def _reached(self) -> dict[str, tuple[int, str]]:
        """The tables whose split has begun, with the number of partitions and the step."""
        return {name: (parts, step) for name, parts, step in await ask(self._session, _PROGRESS)}

    async def _split(self, name: str) -> Split:
        """Do one table; from its start again if a migration changes it meanwhile."""
        for _ in range(_RESTARTS):
            try:
                return await self._once(name)
            except Failed as failed:
                if failed.state not in _CHANGED:
                    raise
            await self._transact(f"SELECT memorist_split.discard('{name}')")
        raise StoreError(f"{name} kept changing while it was split; run this again after the migrations")

    async def _once(self, name: str) -> Split:
        session, locked = self._session, 0.0
        if name not in await self._reached():
            await self._transact(f"SELECT memorist_split.make('{name}', {self._parts})")
        if (await self._reached())[name][1] == "made":
            locked = await self._transact(f"SELECT memorist_split.watch('{name}')")
        rows = await self._copy(name)
        await self._index(name)
        await alone(session, f"ANALYZE memorist_split.{name}", self._runtime)
        await self._transact(f"SELECT memorist_split.compare('{name}')")
        # A statement that began before the copy ended, and reads the table after the switch, would miss rows. Building
        # an index concurrently waits for all such statements, whatever its table.
        await alone(session, "REINDEX INDEX CONCURRENTLY memorist_split.progress_pkey", self._runtime)
        # No migration may change the table between the look at its columns and the switch.
        unchanging = f"SELECT pg_advisory_xact_lock({MIGRATING}); SELECT memorist_split.switch('{name}')"
        locked = max(locked, await self._transact(unchanging))
        await self._retire(name)
        return Split(name, self._parts, rows, locked)

    async def _retire(self, name: str) -> None:
        """Drop the old table, which nobody uses any more."""
        await self._transact(f"SELECT memorist_split.retire('{name}')")

    async def _transact(self, sql: str) -> float:
        """Run a transaction, again if it did not get its lock in time. Others waited for it at most these seconds."""
        return await patiently(self._session, _transaction(sql, self._owner))

    # -- rows

    async def _copy(self, name: str) -> int:
        size, total, tries = BATCH, 0, 0
        while True:
            began = time.monotonic()
            try:
                taken = await self._batch(name, size)
            except Failed as failed:
                if failed.state not in ("55P03", "40P01"):
                    raise
                # A writer holds one of the rows, or waits for one of ours.
                tries += 1
                size = max(1, size // 4)
                await self._runtime.sleep(pause(tries, first=0.01, longest=1.0))
                continue
            if not taken:
                return total
            tries, total = 0, total + taken
            self._progress(taken)
            spent = max(time.monotonic() - began, 0.001)
            size = max(1, min(_MOST_ROWS, 2 * size, int(size * BATCH_SECONDS / spent) + 1))

    async def _batch(self, name: str, size: int) -> int:
        """Copy the next rows; 0 at the end. A commit that a crash of the server undoes takes its record with it, so it
        need not wait for the disk."""
        settings = (
            f"SELECT set_config('lock_timeout', '{ROW_LOCK_MS}', true), set_config('synchronous_commit', 'off', true)"
        )
        steps = [
            Step(settings.encode(), ()),
            Step(b"SELECT memorist_split.copy($1, $2)", [cell(name), cell(size)]),
        ]
        channel = await self._session.pool.take()
        try:
            replies = await self._session.pool.exchange(channel, steps)
        finally:
            self._session.pool.give(channel)
        return int(replies[1].rows()[0][0])

    async def _index(self, name: str) -> None:
        await drop_unfinished(self._session, self._runtime)
        for (text,) in await ask(self._session, _INDEXES, name.encode()):
            found = _INDEX.fullmatch(text)
            if found is None:
                raise StoreError(f"not an index of ours: {text[:60]}")
            index, table, what = found.groups()
            for statement in await part_by_part(self._session, "memorist_split", index, table, what):
                await alone(self._session, statement, self._runtime)


def _transaction(sql: str, owner: str) -> str:
    return (
        f"BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = {LOCK_MS}; "
        f"SET LOCAL client_min_messages = warning; SET LOCAL ROLE {owner}; {sql}; COMMIT;"
    )
