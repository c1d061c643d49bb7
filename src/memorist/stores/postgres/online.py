"""Runs online migrations: indexes of large tables are built while the tables are in use.

A migration that says `-- online` in its head is made of `CREATE INDEX CONCURRENTLY IF NOT EXISTS` and
`DROP INDEX CONCURRENTLY IF EXISTS`, one statement a line. Each runs by itself and holds no lock that a reader or writer
waits for; on a partitioned table the index is built partition by partition. After an interruption all of it runs again.

One process migrates at a time: it holds an advisory lock in a transaction on another connection. The others poll for
that lock instead of blocking on it, because `CONCURRENTLY` waits for every open transaction, theirs included.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from ...backoff import pause
from ...errors import StoreError, StoreUnavailable
from ...runtime import Runtime
from .clients import Pool
from .connection import Session
from .guarded import LOCK_MS, PATIENCE_SECONDS
from .wire import Failed, Lost, Step

_LOCK = 7_265_636_812
_BUSY = "MM010"
_HELD = f"""
BEGIN;
SET LOCAL idle_in_transaction_session_timeout = 0;
DO $memorist$ BEGIN
  IF NOT pg_try_advisory_xact_lock({_LOCK}) THEN RAISE EXCEPTION 'another migrates' USING ERRCODE = '{_BUSY}'; END IF;
END $memorist$;
"""
_CREATE = re.compile(r"CREATE INDEX CONCURRENTLY IF NOT EXISTS (\w+) ON memorist\.(\w+) (.+)")
_DROP = re.compile(r"DROP INDEX CONCURRENTLY IF EXISTS memorist\.(\w+)")
_PARTS = b"""
SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass($1) AND c.relkind = 'r' ORDER BY c.oid
"""
_INVALID = b"""
SELECT c.relname::text FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
WHERE NOT x.indisvalid AND c.relkind = 'i' AND c.relnamespace = 'memorist'::regnamespace
"""
_PARTED = (
    b"SELECT count(*) FROM pg_class WHERE oid = to_regclass('memorist.' || quote_ident($1)) AND relkind IN ('p', 'I')"
)


@asynccontextmanager
async def building(session: Session, runtime: Runtime) -> AsyncIterator[bool]:
    """Be the one process that builds indexes; False inside where another one is."""
    own = Pool(replace(session.options, pool_size=1), runtime)
    holder = await own.take()
    try:
        try:
            await own.script(holder, _HELD, 60.0)
        except Failed as busy:
            if busy.state != _BUSY:
                raise StoreError(f"a migration did not begin ({busy.state}: {busy.message})") from busy
            yield False
        else:
            yield True
    except Lost as lost:
        raise StoreUnavailable(f"the connection broke during a migration: {lost}; open again to go on") from lost
    finally:
        holder.broken = True  # which ends its transaction
        own.give(holder)


async def indexed(session: Session, runtime: Runtime, statements: Sequence[str]) -> None:
    """Build and drop indexes, one statement after the other; what an interrupted build left is removed first."""
    await drop_unfinished(session, runtime)
    for statement in statements:
        for part in await _expanded(session, statement):
            await alone(session, part, runtime)


async def drop_unfinished(session: Session, runtime: Runtime) -> None:
    """Drop the indexes that interrupted builds left invalid."""
    for (name,) in await ask(session, _INVALID):
        await alone(session, f"DROP INDEX CONCURRENTLY IF EXISTS memorist.{name}", runtime)


async def _expanded(session: Session, statement: str) -> list[str]:
    """The statement itself, or for a partitioned table the statements that do the same partition by partition."""
    create, drop = _CREATE.fullmatch(statement), _DROP.fullmatch(statement)
    if create is None and drop is None:
        raise StoreError(f"not a statement of an online migration: {statement[:60]}")
    named = create[2] if create is not None else drop[1] if drop is not None else ""
    if not (await ask(session, _PARTED, named.encode()))[0][0]:
        return [statement]
    if create is None:
        # Dropping the index of a partitioned table drops those of its partitions; it reads nothing, so it is quick.
        return [statement.replace(" CONCURRENTLY", "")]
    index, table, what = create.groups()
    return await part_by_part(session, "memorist", index, table, what)


async def part_by_part(session: Session, home: str, index: str, table: str, what: str) -> list[str]:
    """Statements that build an index on each partition of a table, whose schema is `home`; the partitions are in
    `memorist`."""
    made = [f"CREATE INDEX IF NOT EXISTS {index} ON ONLY {home}.{table} {what}"]
    for (part,) in await ask(session, _PARTS, f"{home}.{table}".encode()):
        own = f"{part}_{index.removeprefix(table + '_')}"
        made.append(f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {own} ON memorist.{part} {what}")
        made.append(f"ALTER INDEX {home}.{index} ATTACH PARTITION memorist.{own}")
    return made


async def alone(session: Session, statement: str, runtime: Runtime) -> None:
    """Run one statement by itself; when it does not get its lock in time, try again after a back-off."""
    tries, until = 0, time.monotonic() + PATIENCE_SECONDS
    # A concurrent build waits for old transactions while nobody waits for it, so it needs no lock timeout.
    limit = 0 if "CONCURRENTLY" in statement else LOCK_MS
    while True:
        tries += 1
        try:
            await _run_once(session, limit, statement)
            return
        except Failed as failed:
            if failed.state not in ("55P03", "40P01") or time.monotonic() > until:
                raise StoreError(f"a migration failed ({failed.state}: {failed.message})") from failed
        await runtime.sleep(pause(tries, first=0.1, longest=2.0))


async def _run_once(session: Session, limit: int, statement: str) -> None:
    channel = await session.pool.take()
    try:
        # Each text is its own transaction. The settings hold for the connection, which is closed afterwards.
        await session.pool.script(channel, f"SET statement_timeout = 0; SET lock_timeout = {limit}", 60.0)
        await session.pool.script(channel, statement, PATIENCE_SECONDS)
    finally:
        channel.broken = True
        session.pool.give(channel)


async def ask(session: Session, sql: bytes, *cells: bytes) -> list[tuple[Any, ...]]:
    """The rows of one reading statement."""
    return (await session.run([Step(sql, cells)], repeatable=True))[0].rows()
