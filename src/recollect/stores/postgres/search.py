"""Searches entries: terms through a `tsvector` index, vectors through pgvector where the server has it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache

from ...records import Entry
from ..codec import codec
from .connection import Session
from .rows import records_of
from .statements import selected
from .wire import Step, array_cell, cell

EXACT = 5_000
"""A namespace with at most so many entries is searched exactly: every vector is compared."""
SHARE = 20
"""So is a namespace that has less than one in so many of all entries (of its partition, where tables are split): the
index, which covers all namespaces, would mostly find entries of others."""
INDEXED = (256, 384, 512, 768, 1024, 1536)
"""Numbers of dimensions that have an index; see migrations/vectors.sql."""
_SIZE_SECONDS = 30.0
_OWN = ", ".join(f'e."{column.name}"' for column in codec(Entry).columns)
_SIZE = (
    b"SELECT count(*), (SELECT reltuples::bigint FROM pg_class WHERE oid = recollect.entries_of($1)) "
    b"FROM (SELECT FROM recollect.entries WHERE org = $1 AND ns = $2 LIMIT $3) AS counted"
)
_COUNTS = b"SELECT * FROM recollect.count_terms($1, $2::text[])"
_WHOLE = f"CROSS JOIN LATERAL (SELECT {_OWN} FROM recollect.entries AS e WHERE {{}} OFFSET 0) AS e"
"""Fetches whole rows, each by its key. OFFSET 0 keeps the planner from merging this into the outer query: without
statistics it would scan the namespace once per row."""
_FOUND = (
    "SELECT e.* FROM recollect.search_terms($1, $2::text[], $3::text[], $4, $5, $6) "
    "WITH ORDINALITY AS f(kind, parent, id, place) "
    + _WHOLE.format("e.org = $7 AND e.ns = $1 AND e.kind = f.kind AND e.parent = f.parent AND e.id = f.id")
    + " ORDER BY place"
).encode()
_WIDER_INDEX_SCAN = Step(
    b"SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', $1, true), "
    b"set_config('hnsw.max_scan_tuples', '60000', true), set_config('enable_sort', 'off', true)",
    [b"400"],
)


class Search:
    """The searches of one store, with a short-lived cache of how many entries each namespace has."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.home = "public"
        """The schema that pgvector lives in."""
        self._sizes: dict[tuple[str, str], tuple[float, tuple[int, int]]] = {}

    async def text(
        self, org: str, ns: str, terms: Sequence[str], limit: int, now: int, kinds: Sequence[str] | None
    ) -> list[Entry]:
        """Live entries that hold any of the terms, best first."""
        if not terms or limit < 1:
            return []
        total, _ = await self._size(org, ns)
        wanted = None if kinds is None else array_cell(kinds)
        cells = [cell(ns), array_cell(terms), wanted, cell(now), cell(total), cell(limit), cell(org)]
        found: list[Entry] = records_of(Entry, (await self._session.read(org, Step(_FOUND, cells))).rows())
        return found

    async def counts(self, org: str, ns: str, terms: Sequence[str]) -> dict[str, int]:
        """The document frequency of each term: how many entries hold it in their own text."""
        if not terms:
            return {}
        reply = await self._session.read(org, Step(_COUNTS, [cell(ns), array_cell(terms)]))
        return dict(reply.rows())

    async def near(
        self,
        org: str,
        ns: str,
        embedder: str,
        vector: Sequence[float],
        limit: int,
        now: int,
        kinds: Sequence[str] | None,
    ) -> list[tuple[Entry, float]]:
        """Live entries of the embedder, nearest first, with their cosine."""
        if not vector or limit < 1:
            return []
        width = len(vector)
        size, everything = await self._size(org, ns)
        indexed = width in INDEXED and size > EXACT and size * SHARE >= everything
        wanted = None if kinds is None else array_cell(kinds)
        text = "[" + ",".join(map(repr, map(float, vector))) + "]"
        cells = [cell(org), cell(ns), cell(embedder), cell(text), wanted, cell(now), cell(limit)]
        step = Step(_near_sql(width, indexed, self.home), cells)
        before = [_WIDER_INDEX_SCAN._replace(cells=[b"%d" % max(400, min(1000, limit))])] if indexed else []
        rows = (await self._session.read(org, *before, step)).rows()
        records = records_of(Entry, [row[1:] for row in rows])
        found = [(record, 1.0 - row[0]) for record, row in zip(records, rows, strict=True)]
        # An HNSW index returns them only nearly in order.
        return sorted(found, key=lambda pair: (-pair[1], pair[0].row_key))

    async def _size(self, org: str, ns: str) -> tuple[int, int]:
        """About how many entries a namespace has, and how many there are in all."""
        at = time.monotonic()
        known = self._sizes.get((org, ns))
        if known is not None and at - known[0] < _SIZE_SECONDS:
            return known[1]
        reply = await self._session.read(org, Step(_SIZE, [cell(org), cell(ns), cell(20 * EXACT)]))
        size, everything = reply.rows()[0]
        if len(self._sizes) > 10_000:
            self._sizes.clear()
        self._sizes[(org, ns)] = (at, (size, everything))
        return size, everything


@cache
def _near_sql(width: int, indexed: bool, home: str) -> bytes:
    half = f'"{home}".halfvec({width})'
    distance = f'embedding::{half} OPERATOR("{home}".<=>) $4::{half}'
    live = (
        f'org = $1 AND ns = $2 AND embedder = $3 AND "{home}".vector_dims(embedding) = {width} '
        "AND ($5::text[] IS NULL OR kind = ANY ($5::text[])) AND (expires_at IS NULL OR expires_at > $6)"
    )
    columns = selected(Entry)
    if indexed:
        inner = f"SELECT {distance} AS d, * FROM recollect.entries WHERE {live} ORDER BY {distance} LIMIT $7"
        return f"SELECT d, {columns} FROM ({inner}) AS near".encode()
    inner = f"SELECT kind, parent, id, {distance} AS d FROM recollect.entries WHERE {live}"
    best = "SELECT * FROM here ORDER BY d, kind, parent, id LIMIT $7"
    key = "e.org = $1 AND e.ns = $2 AND e.kind = best.kind AND e.parent = best.parent AND e.id = best.id"
    return (
        f"WITH here AS MATERIALIZED ({inner}), best AS MATERIALIZED ({best}) "
        f"SELECT d, e.* FROM best {_WHOLE.format(key)} ORDER BY d, e.kind, e.parent, e.id"
    ).encode()
