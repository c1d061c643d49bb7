"""Physically removes deleted bytes from a Postgres server by rewriting tables without dead rows and removing the old
write-ahead log.

This is for operators. It needs an exclusive lock on each table in turn, and as much free disk space as the largest
table uses. Removing the log requires a superuser, because segments belong to the whole server.
"""

from __future__ import annotations

from typing import Any

from ...backoff import pause
from ...errors import StoreError, StoreUnavailable, Unsupported
from ...runtime import Runtime
from ..base import Scrubbed
from .pipeline import Failed, Lost
from .session import Session

_TABLES_SQL = b"""
SELECT relname::text, pg_has_role(relowner, 'USAGE') FROM pg_class
WHERE relnamespace = 'memorist'::regnamespace AND relkind = 'r' AND relname <> 'migrations' ORDER BY relname
"""
_NOT_ALLOWED_SQLSTATE = "42501"
_MAX_LOG_SWITCHES = 20
# Counts the segments of the write-ahead log after and before the current one. Earlier segments contain old rows. Later
# ones are recycled segments, renamed for future use, which still have their old content.
_SEGMENTS_SQL = """
SELECT count(*) FILTER (WHERE name > pg_walfile_name(pg_current_wal_lsn())),
       count(*) FILTER (WHERE name < pg_walfile_name(pg_current_wal_lsn()))
FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'
"""


async def scrub(session: Session, runtime: Runtime) -> Scrubbed:
    """Rewrite all of our tables, then remove the log that still contains the dead rows, if this user is allowed to do
    so."""
    tables = await session.query(_TABLES_SQL)
    if not all(owned for _, owned in tables):
        raise Unsupported("only the owner of the tables can rewrite them; run `memorist scrub` as that user")
    for name, _ in tables:
        await _rewrite(session, name)
    report = Scrubbed([f"table {name}" for name, _ in tables])
    try:
        report += await _drop_log(session, runtime)
    except Failed as failed:
        if failed.state != _NOT_ALLOWED_SQLSTATE:
            raise StoreError(f"the log could not be dropped ({failed.state}: {failed.message})") from failed
        report += Scrubbed(left=["write-ahead log (only a superuser can remove it; the server reuses it in time)"])
    return report + await _copies(session)


async def _rewrite(session: Session, name: str) -> None:
    try:
        # A plain VACUUM only marks the space of dead rows as free, and their bytes stay in the file. FULL writes a new
        # one. ANALYZE replaces statistics that may quote deleted values.
        await _statement(session, f'VACUUM (FULL, ANALYZE) memorist."{name}"')
    except Failed as failed:
        raise StoreError(f"a table could not be rewritten ({failed.state}: {failed.message})") from failed


async def _drop_log(session: Session, runtime: Runtime) -> Scrubbed:
    """Turn off the recycling of log segments, then use up those already recycled. The setting is restored
    afterwards."""
    setting = (await _row(session, "SELECT current_setting('wal_recycle')"))[0]
    if setting == "on":
        await _statement(session, "ALTER SYSTEM SET wal_recycle = off")
        await _statement(session, "SELECT pg_reload_conf()")
    try:
        return await _until_one_segment(session, runtime)
    finally:
        if setting == "on":
            await _statement(session, "ALTER SYSTEM RESET wal_recycle")
            await _statement(session, "SELECT pg_reload_conf()")


async def _until_one_segment(session: Session, runtime: Runtime) -> Scrubbed:
    """Switch segments and create checkpoints until only the current segment is left. The checkpointer learns about the
    changed setting asynchronously, through a signal. Until then, a checkpoint renames segments instead of removing
    them. The segments are therefore counted again after each round.
    """
    waiting = old = 0
    for tries in range(1, _MAX_LOG_SWITCHES + 1):
        waiting = int((await _row(session, _SEGMENTS_SQL))[0])
        # A switch fills the rest of the segment with zeros. Directly after another switch it has no effect, so a
        # message is written in between.
        for _ in range(min(waiting, 200) + 1):
            await _statement(session, "SELECT pg_logical_emit_message(false, 'memorist', '')")
            await _statement(session, "SELECT pg_switch_wal()")
        for _ in range(2):
            await _statement(session, "CHECKPOINT")
        waiting, old = (int(count) for count in await _row(session, _SEGMENTS_SQL))
        if not waiting and not old:
            return Scrubbed(["write-ahead log"])
        await runtime.sleep(pause(tries, first=0.02, longest=1.0))
    reason = "a slot, a replica, the archive or wal_keep_size keeps them" if old else "the server will reuse them"
    return Scrubbed(left=[f"write-ahead log ({waiting + old} segments are left: {reason})"])


async def _copies(session: Session) -> Scrubbed:
    """Report copies of the log that this server cannot clean: those of replicas and those in the archive."""
    archives, replicas = await _row(
        session, "SELECT current_setting('archive_mode') <> 'off', (SELECT count(*) FROM pg_stat_replication)"
    )
    places = ["archived write-ahead log (archive_mode is on)"] if archives in (True, "t") else []
    if int(replicas):
        places.append(f"the log of {replicas} replicas")
    return Scrubbed(left=places)


async def _row(session: Session, sql: str) -> Any:
    return (await session.query(sql.encode()))[0]


async def _statement(session: Session, sql: str) -> None:
    """Run one statement outside any transaction, as the connecting user."""
    # VACUUM and ALTER SYSTEM refuse to run in a transaction, and the application's role may not run them.
    try:
        await session.pools.script(sql)
    except Lost as lost:
        raise StoreUnavailable(f"the connection broke during upkeep: {lost}") from lost
