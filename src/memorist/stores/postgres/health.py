"""Reports on the server for `doctor`: its settings, the schema, row-level security, sizes, and damaged rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ...errors import CorruptRecord
from ...records import Record
from ...values import INT_MIN, JsonObject
from ..codec import Row, codec, kinds
from .pipeline import Step, cell
from .rows import Reader
from .schema import APP, Server, look, migrations, roles
from .session import Session
from .statements import Shape, can_expire, scan_sql
from .upkeep import UPKEEP

_SETTINGS = (
    "server_version", "synchronous_commit", "fsync", "full_page_writes", "data_checksums", "max_connections",
    "wal_recycle", "default_transaction_isolation", "max_locks_per_transaction",
)  # fmt: skip
_TABLES_SQL = b"""
SELECT c.relname::text, c.relrowsecurity AND c.relforcerowsecurity, c.relkind = 'p', part.rows, part.bytes
FROM pg_class c CROSS JOIN LATERAL (
  -- Before the first ANALYZE `reltuples` is -1, and after a crash of the server its counters are 0.
  SELECT sum(greatest(t.reltuples, pg_stat_get_live_tuples(t.oid)))::bigint AS rows,
    sum(pg_total_relation_size(t.oid))::bigint AS bytes
  FROM pg_class t WHERE t.relkind = 'r' AND (t.oid = c.oid OR EXISTS (
    SELECT FROM pg_inherits i WHERE i.inhrelid = t.oid AND i.inhparent = c.oid
  ))
) AS part
WHERE c.relnamespace = 'memorist'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname <> 'migrations'
ORDER BY c.relname
"""
_SEARCHER_SQL = b"""
SELECT r.rolsuper OR r.rolbypassrls FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner
WHERE p.pronamespace = 'memorist'::regnamespace AND p.proname = 'search_terms'
"""
_LOCKED_TABLES = 4
"""The number of tables that an ordinary transaction uses. A generic plan, which serves any org, locks all their
partitions."""
_CONNECTIONS_SQL = b"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
_PAGE_ROWS = 1000
MAX_COUNTED_ROWS = 10_000
"""Tables with at most this many rows are counted. For larger tables, the server's estimate is reported."""


async def diagnose(session: Session, deep: bool, orgs: Callable[[], Awaitable[list[str]]]) -> JsonObject:
    """Return a report on the server, its settings, the schema, row-level security, sizes and problems."""
    server = await look(session)
    # The second argument returns NULL for a setting that this version of the server does not have.
    columns = ", ".join(f"current_setting('{name}', true)" for name in _SETTINGS)
    steps = [Step(sql, ()) for sql in (f"SELECT {columns}".encode(), _TABLES_SQL, _SEARCHER_SQL, _CONNECTIONS_SQL)]
    replies = await session.run(steps, repeatable=True)
    settings: dict[str, str] = dict(zip(_SETTINGS, replies[0].rows[0], strict=True))
    tables = replies[1].rows
    searcher = replies[2].rows
    indexed = bool(searcher and searcher[0][0])
    report: JsonObject = {
        "store": "postgres",
        "server": session.options.address,
        "version": settings["server_version"],
        "user": server.user,
        "role": roles(server)[0] or server.user,
        "durability": session.options.durability,
        "settings": settings,
        "schema": server.schema,
        "latest_schema": migrations()[-1].number,
        "vectors": "pgvector" if server.vectors else "searched by the client",
        "text_search": "index" if indexed else "reads the namespace",
        "connections": f"{replies[3].rows[0][0]} of {settings['max_connections']}",
        "rows": {name: rows for name, _, _, rows, _ in tables} | await _count_rows(session, server, tables),
        "bytes": {name: size for name, _, _, _, size in tables},
        "partitioned": [name for name, _, parted, _, _ in tables if parted],
        "notes": _notes(server, indexed, settings),
        "problems": _problems(session, settings, tables, server),
    }
    if deep:
        damaged = await _find_damage(session, await orgs())
        report["damaged"] = damaged
        report["problems"] += [f"{count} damaged rows in {name}; restore a backup" for name, count in damaged.items()]
    return report


async def _count_rows(session: Session, server: Server, tables: list[Row]) -> dict[str, int]:
    """Return the number of rows in small tables, if this user may see the rows of all orgs."""
    if not (server.owner or server.superuser or server.bypasses):
        return {}
    part = "SELECT '{0}', count(*) FROM (SELECT FROM memorist.\"{0}\" LIMIT {1}) AS counted"
    counts = " UNION ALL ".join(part.format(name, MAX_COUNTED_ROWS + 1) for name, *_ in tables)
    rows = (await session.run([UPKEEP, Step(counts.encode(), ())], repeatable=True))[1].rows
    return {name: count for name, count in rows if count <= MAX_COUNTED_ROWS}


def _notes(server: Server, indexed: bool, settings: dict[str, str]) -> list[str]:
    notes = []
    locks = _LOCKED_TABLES * server.partitions
    if int(settings["max_locks_per_transaction"]) < locks:
        notes.append(f"with {server.partitions} partitions, writers need max_locks_per_transaction = {locks}; set it")
    if not server.vectors:
        notes.append("pgvector 0.7 or newer is not installed; once it is, run `memorist migrate` as the owner")
    if not indexed:
        notes.append("text search reads whole namespaces; let a role with BYPASSRLS own memorist.search_terms")
    return notes


def _problems(session: Session, settings: dict[str, str], tables: list[Row], server: Server) -> list[str]:
    problems = []
    if server.schema != migrations()[-1].number:
        problems.append(f"the schema is version {server.schema}; run `memorist migrate`")
    for name in ("fsync", "full_page_writes"):
        if settings[name] != "on":
            problems.append(f"{name} is {settings[name]}: a crash of the machine may lose or damage data")
    if session.options.durability == "normal":
        problems.append("durability is normal: a crash of the server may lose the last writes")
    # Row-level security without FORCE does not apply to the owner, who may well be the application's user.
    open_tables = [name for name, fenced, *_ in tables if not fenced]
    if open_tables:
        problems.append(f"row-level security is not forced on {', '.join(open_tables)}")
    if (server.superuser or server.bypasses) and not server.app:
        problems.append(f"user {server.user} bypasses row-level security and cannot switch to the role {APP}")
    return problems


async def _find_damage(session: Session, orgs: list[str]) -> dict[str, int]:
    """Return the number of rows in each table that do not match their checksums."""
    counts: dict[str, int] = {}
    for org in orgs:
        for record_type in (record_type for record_type in kinds() if record_type.table.checksum):
            bad = await _count_damaged(session, org, record_type)
            if bad:
                counts[record_type.table.name] = counts.get(record_type.table.name, 0) + bad
    return counts


async def _count_damaged(session: Session, org: str, record_type: type[Record]) -> int:
    bad, after, reader = 0, list[object](), Reader(session)
    while True:
        sql = scan_sql(record_type, Shape(None, prefix=1, after=len(after), limited=True))
        # Nothing has expired at the earliest time, so this reads expired rows too.
        values = [org, *after, *([INT_MIN] if can_expire(record_type) else []), _PAGE_ROWS]
        rows = (await session.read(org, Step(sql, [cell(value) for value in values]))).rows
        for row in rows:
            bad += not await _is_sound(reader, record_type, row)
        if len(rows) < _PAGE_ROWS:
            return bad
        positions = codec(record_type).position_of
        after = [rows[-1][positions[name]] for name in record_type.table.key[1:]]


async def _is_sound(reader: Reader, record_type: type[Record], row: Row) -> bool:
    try:
        await reader.records(record_type, [row])
    except CorruptRecord:
        return False
    return True
