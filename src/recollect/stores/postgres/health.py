"""Upkeep: what `doctor` asks, and removing deleted bytes from the server's files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ...errors import CorruptRecord, SchemaError, StoreError, StoreUnavailable, Unsupported
from ...records import Record
from ..base import Absence
from ..codec import Row, codec, kinds
from .rows import Reader
from .schema import APP, look, migrations, roles
from .session import Session
from .statements import quoted, selected, table
from .wire import Failed, Lost, Step, cell

_SETTINGS = (
    "server_version", "synchronous_commit", "fsync", "full_page_writes", "data_checksums", "max_connections",
    "wal_recycle", "default_transaction_isolation",
)  # fmt: skip
_TABLES = b"""
SELECT c.relname::text, c.relrowsecurity AND c.relforcerowsecurity, c.relkind = 'p', part.rows, part.bytes
FROM pg_class c CROSS JOIN LATERAL (
  SELECT sum(greatest(t.reltuples, 0))::bigint AS rows, sum(pg_total_relation_size(t.oid))::bigint AS bytes
  FROM pg_class t WHERE t.relkind = 'r' AND (t.oid = c.oid OR EXISTS (
    SELECT FROM pg_inherits i WHERE i.inhrelid = t.oid AND i.inhparent = c.oid
  ))
) AS part
WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname <> 'migrations'
ORDER BY c.relname
"""
_SEARCHER = b"""
SELECT r.rolsuper OR r.rolbypassrls FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner
WHERE p.pronamespace = 'recollect'::regnamespace AND p.proname = 'search_terms'
"""
_USED = b"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
_PAGE = 1000


async def diagnose(session: Session, deep: bool, orgs: Callable[[], Awaitable[list[str]]]) -> dict[str, Any]:
    """The server, its settings, the schema, the fence, sizes and problems."""
    server = await look(session)
    wanted = ", ".join(f"current_setting('{name}', true)" for name in _SETTINGS)
    steps = [Step(f"SELECT {wanted}".encode(), ()), Step(_TABLES, ()), Step(_SEARCHER, ()), Step(_USED, ())]
    replies = await session.run(steps, repeatable=True)
    settings: dict[str, str] = dict(zip(_SETTINGS, replies[0].rows()[0], strict=True))
    tables = replies[1].rows()
    searcher = replies[2].rows()
    found: dict[str, Any] = {
        "store": "postgres",
        "server": session.options.place,
        "version": settings["server_version"],
        "user": server.user,
        "role": roles(server)[0] or server.user,
        "durability": session.options.durability,
        "settings": settings,
        "schema": server.schema,
        "latest_schema": migrations()[-1].number,
        "vectors": "pgvector" if server.vectors else "searched by the client",
        "text_search": "index" if searcher and searcher[0][0] else "reads the namespace",
        "connections": f"{replies[3].rows()[0][0]} of {settings['max_connections']}",
        "rows": {name: rows for name, _, _, rows, _ in tables},
        "bytes": {name: size for name, _, _, _, size in tables},
        "partitioned": [name for name, _, parted, _, _ in tables if parted],
        "notes": _notes(server, bool(searcher and searcher[0][0])),
        "problems": _problems(session, settings, tables, server),
    }
    if deep:
        damaged = await _damaged(session, await orgs())
        found["damaged"] = damaged
        found["problems"] += [f"{count} damaged rows in {name}; restore a backup" for name, count in damaged.items()]
    return found


def _notes(server: Any, indexed: bool) -> list[str]:
    notes = []
    if not server.vectors:
        notes.append("pgvector 0.7 or newer is not there; the owner runs `recollect migrate` once it is")
    if not indexed:
        notes.append("text search reads whole namespaces: give recollect.search_terms to a role with BYPASSRLS")
    return notes


def _problems(session: Session, settings: dict[str, str], tables: list[Row], server: Any) -> list[str]:
    problems = []
    if server.schema != migrations()[-1].number:
        problems.append(f"the schema is version {server.schema}; run `recollect migrate`")
    for name in ("fsync", "full_page_writes"):
        if settings[name] != "on":
            problems.append(f"{name} is {settings[name]}: a crash of the machine may lose or damage data")
    if session.options.durability == "normal":
        problems.append("durability is normal: a crash of the server may lose the last writes")
    open_tables = [name for name, fenced, *_ in tables if not fenced]
    if open_tables:
        problems.append(f"row-level security is not forced on {', '.join(open_tables)}")
    if (server.superuser or server.bypasses) and not server.app:
        problems.append(f"user {server.user} stands above row-level security and cannot take on {APP}")
    return problems


async def _damaged(session: Session, orgs: list[str]) -> dict[str, int]:
    """How many rows of evidence do not match their checksum, by table."""
    counts: dict[str, int] = {}
    for org in orgs:
        for kind in (kind for kind in kinds() if kind.table.checksum):
            bad = await _damaged_rows(session, org, kind)
            if bad:
                counts[kind.table.name] = counts.get(kind.table.name, 0) + bad
    return counts


async def _damaged_rows(session: Session, org: str, kind: type[Record]) -> int:
    key = kind.table.key
    after = ", ".join(f"${i}" for i in range(2, len(key) + 1))
    head = f"SELECT {selected(kind)} FROM {table(kind)} WHERE org = $1"
    tail = f"ORDER BY {quoted(key)} LIMIT {_PAGE}"
    bad, cells, reader = 0, [cell(org)], Reader(session)
    while True:
        beyond = f" AND ({quoted(key[1:])}) > ({after})" if len(cells) > 1 else ""
        rows = (await session.read(org, Step(f"{head}{beyond} {tail}".encode(), cells))).rows()
        for row in rows:
            bad += not await _sound(reader, kind, row)
        if len(rows) < _PAGE:
            return bad
        place = codec(kind).place
        cells = [cell(org), *(cell(rows[-1][place[name]]) for name in key[1:])]


async def _sound(reader: Reader, kind: type[Record], row: Row) -> bool:
    try:
        await reader.records(kind, [row])
    except CorruptRecord:
        return False
    return True


async def scrub(session: Session) -> None:
    """Rewrite every table without its dead rows, then get rid of the log that still has them.

    The first needs the owner, the second a superuser; it takes exclusive locks and as much free disk as the data.
    """
    for name, *_rest in (await session.run([Step(_TABLES, ())], repeatable=True))[0].rows():
        await _alone(session, f'VACUUM (FULL, ANALYZE) recollect."{name}"')
    try:
        await _drop_log(session)
    except Failed as failed:
        if failed.state != "42501":
            raise StoreError(f"the log could not be dropped ({failed.state}: {failed.message})") from failed
        raise Unsupported(
            "tables are rewritten, but only a superuser can drop the write-ahead log that still holds deleted rows; "
            "open the store as one and scrub again, or wait until it is recycled"
        ) from failed


async def _drop_log(session: Session) -> None:
    """Use up the segments that wait to be recycled (a switched one is filled with zeros), and remove the old ones."""
    kept = await _value(session, "SELECT current_setting('wal_recycle')")
    if kept == "on":
        await _statement(session, "ALTER SYSTEM SET wal_recycle = off")
        await _statement(session, "SELECT pg_reload_conf()")
    try:
        waiting = await _value(
            session,
            "SELECT count(*) FROM pg_ls_waldir() "
            "WHERE name ~ '^[0-9A-F]{24}$' AND name > pg_walfile_name(pg_current_wal_lsn())",
        )
        for _ in range(min(int(waiting), 200) + 1):
            await _statement(session, "SELECT pg_logical_emit_message(false, 'recollect', '')")
            await _statement(session, "SELECT pg_switch_wal()")
        for _ in range(2):
            await _statement(session, "CHECKPOINT")
    finally:
        if kept == "on":
            await _statement(session, "ALTER SYSTEM RESET wal_recycle")
            await _statement(session, "SELECT pg_reload_conf()")


_FILES = b"""
WITH needle AS (SELECT unnest($1::bytea[]) AS bytes), folder AS (
  SELECT 'base/' || oid AS path FROM pg_database WHERE datname = current_database() UNION ALL SELECT 'pg_wal'
), file AS (
  SELECT f.path || '/' || name AS path FROM folder f CROSS JOIN LATERAL pg_ls_dir(f.path) AS name
), spot AS (
  SELECT path, generate_series(0, (s).size, 8388608) AS start
  FROM (SELECT path, pg_stat_file(path, true) AS s FROM file) AS each WHERE NOT (s).isdir
)
SELECT DISTINCT path FROM spot
WHERE EXISTS (SELECT FROM needle WHERE position(bytes IN pg_read_binary_file(path, start, 8388608 + 65536, true)) > 0)
ORDER BY path
"""


async def holding(session: Session, needles: Sequence[bytes]) -> list[str]:
    """Files of this database and of the log that still hold any of these bytes; asked of the server, by a superuser."""
    quoted_bytes = ",".join(f'"\\\\x{needle.hex()}"' for needle in needles if needle)
    if not quoted_bytes:
        return []
    try:
        await _statement(session, "CHECKPOINT")
        replies = await session.run([Step(_FILES, [f"{{{quoted_bytes}}}".encode()])], repeatable=True)
    except (SchemaError, Failed) as cause:
        if isinstance(cause, Failed) and cause.state != "42501":
            raise StoreError(f"the files could not be searched ({cause.state}: {cause.message})") from cause
        raise Unsupported("only a superuser can look into the server's files") from cause
    return [path for (path,) in replies[0].rows()]


async def look_into_files(session: Session, needles: Sequence[bytes]) -> Absence:
    """The same as a report; where this user may not look, it says so."""
    try:
        found = await holding(session, needles)
    except Unsupported as refused:
        return Absence(unchecked=[f"files of {session.options.place} ({refused})"])
    return Absence(found, ["files of this database and of the write-ahead log (what is not compressed in them)"])


async def _value(session: Session, sql: str) -> Any:
    return (await session.run([Step(sql.encode(), ())], repeatable=True))[0].rows()[0][0]


async def _alone(session: Session, sql: str) -> None:
    try:
        await _statement(session, sql)
    except Failed as failed:
        raise StoreError(f"a table could not be rewritten ({failed.state}: {failed.message})") from failed


async def _statement(session: Session, sql: str) -> None:
    """One statement outside any transaction, as the connecting user."""
    try:
        await session.script(sql, patience=3600)
    except Lost as lost:
        raise StoreUnavailable(f"the connection broke during upkeep: {lost}") from lost
