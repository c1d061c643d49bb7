"""Adds the vector index where pgvector can be had, also to a table of many entries that others use meanwhile.

A small table is done in one transaction. On a large one the column is added empty under another name, with the trigger
that fills it for rows written from now on; the rows there are follow in batches, each a short transaction that locks
its rows alone; then the indexes are built concurrently. Renaming the column is the last step, and until then every
program, of this version or of one before, searches vectors in its own process. What was interrupted goes on at the next
open.
"""

from __future__ import annotations

import logging
from pathlib import Path

from ...errors import StoreUnavailable
from .connection import Session
from .guarded import guarded, patiently
from .online import building, indexed
from .search import INDEXED
from .wire import Failed, Lost, Step, cell

SMALL = 10_000
"""Up to so many entries are copied in one transaction."""
BATCH = 500
"""Entries copied in a transaction of a large table."""
_FILE = Path(__file__).parent / "migrations" / "vectors.sql"
_THERE = "SELECT FROM pg_attribute WHERE attrelid = to_regclass('memorist.entries') AND attname = '{}'"
_FILLING = "embedding_filling"
_AVAILABLE = Step(b"SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'", ())
_UPKEEP = Step(b"SELECT set_config('memorist.upkeep', 'on', true)", ())
_MANY = (
    b"SELECT count(*) > $1::bigint OR EXISTS (" + _THERE.format(_FILLING).encode() + b") "
    b"FROM (SELECT FROM memorist.entries LIMIT $1::bigint + 1) AS counted"
)
_KEY = "org, ns, kind, parent, id"
_COPY = f"""
WITH page AS MATERIALIZED (
  SELECT {_KEY}, {_FILLING} IS NULL AND length(vector) > 4 AS wanted FROM memorist.entries
  WHERE ({_KEY}) > ($1, $2, $3, $4, $5) ORDER BY {_KEY} LIMIT {BATCH}
), copied AS (
  UPDATE memorist.entries AS e SET vector = e.vector FROM page AS p
  WHERE p.wanted AND (e.org, e.ns, e.kind, e.parent, e.id) = (p.org, p.ns, p.kind, p.parent, p.id)
)
SELECT {_KEY} FROM page ORDER BY org DESC, ns DESC, kind DESC, parent DESC, id DESC LIMIT 1
""".encode()
_FINISH = f"ALTER TABLE memorist.entries RENAME COLUMN {_FILLING} TO embedding;\n"
_log = logging.getLogger("memorist.postgres")


async def add_vectors(session: Session, home: str | None) -> bool:
    """Make the copy and its indexes; False where it cannot be or another process is at it."""
    if not (await session.run([_AVAILABLE], repeatable=True))[0].rows()[0][0]:
        return False
    place = '"' + (home or "public").replace('"', '""') + '"'
    try:
        many = (await session.run([_UPKEEP, Step(_MANY, [cell(SMALL)])], repeatable=True))[1].rows()[0][0]
        return await (_online if many else _at_once)(session, place)
    except Failed as failed:
        # Too old, or not for this user to create: recall works without, and `doctor` says why.
        _log.info("pgvector cannot be used (%s)", failed.state)
        return False
    except Lost as lost:
        raise StoreUnavailable(f"the connection broke during a migration: {lost}") from lost


async def _at_once(session: Session, home: str) -> bool:
    copied = (
        "PERFORM set_config('memorist.upkeep', 'on', true);"
        "UPDATE memorist.entries SET vector = vector WHERE length(vector) > 4;"
        "PERFORM set_config('memorist.upkeep', 'off', true);"
    )
    indexes = "".join(f"{one.replace(' CONCURRENTLY', '')};\n" for one in _indexes(home, "embedding"))
    await patiently(session, guarded(_missing("embedding"), _column(home), copied + indexes))
    return True


async def _online(session: Session, home: str) -> bool:
    async with building(session, session.runtime) as ours:
        if not ours:
            return False
        added = _column(home).replace("embedding", _FILLING)
        missing = f"{_missing('embedding')} AND {_missing(_FILLING)}"
        await patiently(session, guarded(missing, added, ""))
        await _copy(session)
        await indexed(session, session.runtime, _indexes(home, _FILLING))
        there = f"EXISTS ({_THERE.format(_FILLING)})"
        await patiently(session, guarded(there, _FINISH + _trigger_function(home), ""))
    return True


async def _copy(session: Session) -> None:
    """Fill the column of the rows there are, in the order of their keys."""
    last: tuple[str, ...] | None = ("", "", "", "", "")
    while last is not None:
        step = Step(_COPY, [cell(value) for value in last])
        rows = (await session.run([_UPKEEP, step], repeatable=True))[1].rows()
        last = rows[0] if rows else None


def _missing(column: str) -> str:
    return f"NOT EXISTS ({_THERE.format(column)})"


def _column(home: str) -> str:
    return _FILE.read_text(encoding="utf-8").replace("public", home)


def _trigger_function(home: str) -> str:
    """The function of the trigger alone, for a column that was renamed."""
    text = _column(home)
    start = text.index("CREATE OR REPLACE FUNCTION memorist.copy_vector")
    return text[start : text.index("ALTER TABLE")]


def _indexes(home: str, column: str) -> list[str]:
    """One index for each number of dimensions in common use, since an index needs a fixed one; others are searched
    exactly."""
    return [
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS entries_near_{width} ON memorist.entries "
        f"USING hnsw (({column}::{home}.halfvec({width})) {home}.halfvec_cosine_ops) "
        f"WITH (m = 12, ef_construction = 48) WHERE {home}.vector_dims({column}) = {width}"
        for width in INDEXED
    ]
