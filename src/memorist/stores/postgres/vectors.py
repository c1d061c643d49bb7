"""Adds the vector index if pgvector is available, even to a large table in use.

A small table is converted in one transaction. On a large table, the column is added empty, with a trigger that fills it
for new rows. Existing rows are then filled in batches, in short transactions that lock only their own rows. Then the
indexes are built concurrently. Until the last of them is valid, every program searches vectors in its own process. An
interrupted conversion continues at the next open.
"""

from __future__ import annotations

import logging
from pathlib import Path

from ...errors import StoreUnavailable
from .pipeline import Failed, Lost, Step, cell
from .search import INDEXED_DIMENSIONS
from .session import Session
from .upkeep import LOCK_TIMEOUT_MS, UPKEEP, make_once_script, only_builder, run_patiently

MAX_ENTRIES_AT_ONCE = 10_000
"""The maximum number of entries copied in a single transaction."""
BATCH_ENTRIES = 500
"""The number of entries of a large table to copy per transaction."""
_FILE = Path(__file__).parent / "migrations" / "vectors.sql"
_COLUMN_SQL = "SELECT FROM pg_attribute WHERE attrelid = to_regclass('memorist.entries') AND attname = 'embedding'"
_AVAILABLE_SQL = b"SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"
_MANY_ROWS_SQL = (
    f"SELECT count(*) > $1::bigint OR EXISTS ({_COLUMN_SQL}) "
    "FROM (SELECT FROM memorist.entries LIMIT $1::bigint + 1) AS counted"
).encode()
_KEY_COLUMNS = "org, ns, kind, parent, id"
# Setting `vector` to itself fires the trigger that fills `embedding`.
_COPY_SQL = f"""
WITH page AS MATERIALIZED (
  SELECT {_KEY_COLUMNS}, embedding IS NULL AND length(vector) > 4 AS wanted FROM memorist.entries
  WHERE ({_KEY_COLUMNS}) > ($1, $2, $3, $4, $5) ORDER BY {_KEY_COLUMNS} LIMIT {BATCH_ENTRIES}
), copied AS (
  UPDATE memorist.entries AS e SET vector = e.vector FROM page AS p
  WHERE p.wanted AND (e.org, e.ns, e.kind, e.parent, e.id) = (p.org, p.ns, p.kind, p.parent, p.id)
)
SELECT {_KEY_COLUMNS} FROM page ORDER BY org DESC, ns DESC, kind DESC, parent DESC, id DESC LIMIT 1
""".encode()
_FILL_SQL = (
    "PERFORM set_config('memorist.upkeep', 'on', true);"
    "UPDATE memorist.entries SET vector = vector WHERE length(vector) > 4;"
    "PERFORM set_config('memorist.upkeep', 'off', true);"
)
_PARTITIONS_SQL = b"SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'memorist.entries'::regclass"
_INVALID_INDEXES_SQL = (
    b"SELECT c.oid::regclass::text FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid "
    b"WHERE NOT x.indisvalid AND c.relkind = 'i' AND c.relnamespace = 'memorist'::regnamespace"
)
_log = logging.getLogger("memorist.postgres")


async def add_vectors(session: Session, home: str | None) -> bool:
    """Create the copy and its indexes. Return False if this is impossible or another process is already doing it."""
    if not (await session.query(_AVAILABLE_SQL))[0][0]:
        return False
    schema = '"' + (home or "public").replace('"', '""') + '"'
    missing, column = f"NOT EXISTS ({_COLUMN_SQL})", _FILE.read_text(encoding="utf-8").replace("public", schema)
    try:
        many = (await session.run([UPKEEP, Step(_MANY_ROWS_SQL, [cell(MAX_ENTRIES_AT_ONCE)])], repeatable=True))[
            1
        ].rows[0][0]
        if not many:
            indexes = [
                f"CREATE INDEX {_index_name(width)} ON memorist.entries {_index_definition(schema, width)};"
                for width in INDEXED_DIMENSIONS
            ]
            await run_patiently(session, make_once_script(missing, column, "\n".join([_FILL_SQL, *indexes])))
            return True
        async with only_builder(session) as ours:
            if ours:
                await run_patiently(session, make_once_script(missing, column))
                await _copy(session)
                await _build(session, schema)
            return ours
    except Failed as failed:
        # pgvector is too old, or this user may not create it. Recall works without it, and `doctor` reports why.
        _log.info("pgvector cannot be used (%s)", failed.state)
        return False
    except Lost as lost:
        raise StoreUnavailable(f"the connection broke during a migration: {lost}") from lost


async def _copy(session: Session) -> None:
    """Fill the column for the existing rows, in key order."""
    # The batches are short transactions, so no writer waits for long. A batch may run twice, because it only fills rows
    # that are still empty.
    last: tuple[str, ...] | None = ("", "", "", "", "")
    while last is not None:
        step = Step(_COPY_SQL, [cell(value) for value in last])
        rows = (await session.run([UPKEEP, step], repeatable=True))[1].rows
        last = rows[0] if rows else None


async def _build(session: Session, schema: str) -> None:
    """Build the indexes concurrently, partition by partition if the table has partitions."""
    for (name,) in await session.query(_INVALID_INDEXES_SQL):  # left by an interrupted build
        await _run_alone(session, f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
    parts = [name for (name,) in await session.query(_PARTITIONS_SQL)]
    # Keep this order: `schema.look` takes the last index as the sign that all of them are built.
    for width in INDEXED_DIMENSIONS:
        index, what = _index_name(width), _index_definition(schema, width)
        if not parts:
            await _run_alone(session, f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {index} ON memorist.entries {what}")
            continue
        # An index on the partitioned table alone stays invalid until the index of every partition is attached. Postgres
        # cannot build it concurrently in one statement.
        await _run_alone(session, f"CREATE INDEX IF NOT EXISTS {index} ON ONLY memorist.entries {what}")
        for part in parts:
            own = f"{part.removeprefix('memorist.')}_near_{width}"
            await _run_alone(session, f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {own} ON {part} {what}")
            await _run_alone(session, f"ALTER INDEX memorist.{index} ATTACH PARTITION memorist.{own}")


async def _run_alone(session: Session, statement: str) -> None:
    # A concurrent build waits for old transactions, but nothing waits for it, so it needs no lock timeout.
    limit = 0 if "CONCURRENTLY" in statement else LOCK_TIMEOUT_MS
    await run_patiently(session, f"SET statement_timeout = 0; SET lock_timeout = {limit}", statement)


def _index_name(width: int) -> str:
    return f"entries_near_{width}"


def _index_definition(schema: str, width: int) -> str:
    """Return the expressions to index. An index requires a fixed number of dimensions, so there is one index for each
    common number. Other vectors are searched exactly."""
    return (
        f"USING hnsw ((embedding::{schema}.halfvec({width})) {schema}.halfvec_cosine_ops) "
        f"WITH (m = 12, ef_construction = 48) WHERE {schema}.vector_dims(embedding) = {width}"
    )
