"""Searches entries by terms with a `tsvector` index, and by vectors with pgvector if it is installed on the server."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ...errors import MemoristError
from ...records import Entry
from ..base import ALL_ENTRIES, FILTERED, EntryFilter
from ..codec import Row
from .filters import Condition, cannot_compare, translate
from .pipeline import Cell, Step, array_cell, cell
from .rows import records_of
from .session import Session
from .statements import select_list

T = TypeVar("T")

MAX_EXACT_ENTRIES = 5_000
"""A namespace with at most this many entries is searched exactly, by comparing every vector."""
MIN_INDEXED_FRACTION = 20
"""A namespace that contains less than one in this many of its table's (or partition's) entries is also searched
exactly, because the index covers all namespaces and would mostly find entries from others."""
INDEXED_DIMENSIONS = (256, 384, 512, 768, 1024, 1536)
"""The numbers of dimensions for which there is an index; see migrations/vectors.sql."""
INDEX_TUPLES = 60_000
"""The maximum number of entries that an index search examines to find enough that pass a filter."""
_SIZE_SECONDS = 30.0
_SIZE_SQL = (
    b"SELECT count(*), (SELECT reltuples::bigint FROM pg_class WHERE oid = memorist.entries_of($1)) "
    b"FROM (SELECT FROM memorist.entries WHERE org = $1 AND ns = $2 LIMIT $3) AS counted"
)
_TERM_COUNTS_SQL = b"SELECT * FROM memorist.count_terms($1, $2::text[])"
_FIRST_FILTER_PARAMETER = 8
"""The number of a filter's first parameter; both searches have seven parameters of their own."""
# By itself, an HNSW search stops after `ef_search` candidates, even if a filter rejects all of them. An iterative scan
# continues until enough of them pass.
_WIDEN_INDEX_SCAN = (
    b"SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', $1, true), "
    b"set_config('hnsw.max_scan_tuples', '%d', true), set_config('enable_sort', 'off', true)" % INDEX_TUPLES
)


class Search:
    """Runs the searches of one store, with a short-lived cache of the number of entries in each namespace."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.home = "public"
        """The schema that contains pgvector."""
        self._sizes: dict[tuple[str, str], tuple[float, tuple[int, int]]] = {}

    async def text(
        self, org: str, ns: str, terms: Sequence[str], limit: int, now: int, only: EntryFilter
    ) -> list[Entry]:
        """Return live entries that contain any of the terms, best first."""
        if not terms or limit < 1:
            return []
        total, _ = await self._count_entries(org, ns)

        async def ask(condition: Condition, count: int) -> list[Entry]:
            cells = [cell(ns), array_cell(terms), _kinds(only), cell(now), cell(total), cell(count), cell(org)]
            rows = await self._rows(org, _text_sql(condition), cells, condition)
            entries: list[Entry] = records_of(Entry, rows)
            return entries

        return await _passing(only, limit, ask, lambda entry: entry)

    async def counts(self, org: str, ns: str, terms: Sequence[str]) -> dict[str, int]:
        """Return the document frequency of each term, which is the number of entries that contain it in their own
        text."""
        if not terms:
            return {}
        reply = await self._session.read(org, Step(_TERM_COUNTS_SQL, [cell(ns), array_cell(terms)]))
        return dict(reply.rows)

    async def near(
        self, org: str, ns: str, embedder: str, vector: Sequence[float], limit: int, now: int, only: EntryFilter
    ) -> list[tuple[Entry, float]]:
        """Return live entries from the embedder, nearest first, with their cosine similarity.

        The index is tried first, even with a filter. The search continues to more distant entries until enough of them
        pass, or until it has examined INDEX_TUPLES entries. If too few passed, the filter is selective, and every entry
        that passes is compared. The planner cannot choose, because it has no statistics about the contents of metadata.
        """
        if not vector or limit < 1:
            return []
        width = len(vector)
        size, everything = await self._count_entries(org, ns)
        indexed = width in INDEXED_DIMENSIONS and size > MAX_EXACT_ENTRIES and size * MIN_INDEXED_FRACTION >= everything
        text = "[" + ",".join(map(repr, map(float, vector))) + "]"

        async def ask(condition: Condition, count: int, by_index: bool = indexed) -> list[tuple[Entry, float]]:
            cells = [cell(org), cell(ns), cell(embedder), cell(text), _kinds(only), cell(now), cell(count)]
            # pgvector allows at most 1,000 candidates.
            before = [Step(_WIDEN_INDEX_SCAN, [cell(max(400, min(1000, count)))])] if by_index else []
            sql = _near_sql(width, by_index, self.home, condition)
            rows = await self._rows(org, sql, cells, condition, *before)
            if by_index and len(rows) < count and only != ALL_ENTRIES:
                return await ask(condition, count, False)
            records = records_of(Entry, [row[1:] for row in rows])
            return [(record, 1.0 - row[0]) for record, row in zip(records, rows, strict=True)]

        pairs = await _passing(only, limit, ask, lambda pair: pair[0])
        # With `relaxed_order`, an HNSW index returns entries only approximately in order.
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0].row_key))

    async def _rows(
        self, org: str, sql: bytes, cells: Sequence[Cell], condition: Condition, *before: Step
    ) -> list[Row]:
        step = Step(sql, [*cells, *condition.cells])
        return (await self._session.read(org, *before, step)).rows

    async def _count_entries(self, org: str, ns: str) -> tuple[int, int]:
        """Return the approximate number of entries in a namespace, and in total."""
        # These only choose between the index and an exact search, and weigh terms. Half a minute old is good enough,
        # and saves a round trip before most searches.
        at = time.monotonic()
        estimate = self._sizes.get((org, ns))
        if estimate is not None and at - estimate[0] < _SIZE_SECONDS:
            return estimate[1]
        reply = await self._session.read(org, Step(_SIZE_SQL, [cell(org), cell(ns), cell(20 * MAX_EXACT_ENTRIES)]))
        size, everything = reply.rows[0]
        if len(self._sizes) > 10_000:  # a server may see any number of namespaces, so bound the memory
            self._sizes.clear()
        self._sizes[(org, ns)] = (at, (size, everything))
        return size, everything


async def _passing(
    only: EntryFilter,
    limit: int,
    ask: Callable[[Condition, int], Awaitable[list[T]]],
    entry_of: Callable[[T], Entry],
) -> list[T]:
    """Return the first results that pass a filter.

    Conditions that the server cannot evaluate in the same way as Python are checked here, and more rows are fetched
    while too few pass.
    """
    condition, count = _condition(only), limit
    while True:
        try:
            candidates = await ask(condition, count)
        except MemoristError as refused:
            if not condition.source or not cannot_compare(refused):
                raise
            # An entry is damaged: let the server apply only the other conditions.
            condition = _condition(EntryFilter(only.kinds, only.after, only.before))
            continue
        passed = (
            [candidate for candidate in candidates if only.allows(entry_of(candidate))]
            if only.beyond_kinds
            else candidates
        )
        if len(passed) >= limit or len(candidates) < count:
            return passed[:limit]
        count *= 4


def _condition(only: EntryFilter) -> Condition:
    """Return a filter as SQL over the entry `t`, without its kinds, for which both statements have a parameter."""
    if not only.beyond_kinds:
        return _NO_CONDITION
    parts: list[str] = []
    cells: list[Cell] = []
    for sign, bound in ((">", only.after), ("<", only.before)):
        if bound is not None:
            parts.append(f't."created_at" {sign} ${_FIRST_FILTER_PARAMETER + len(cells)}::bigint')
            cells.append(b"%d" % bound)
    if only.where is None:
        return Condition("", " AND ".join(parts), cells, True)
    translation = translate(only.where, Entry, _FIRST_FILTER_PARAMETER + len(cells), FILTERED)
    return Condition(
        translation.source, " AND ".join([*parts, translation.sql]), [*cells, *translation.cells], translation.exact
    )


def _kinds(only: EntryFilter) -> Cell:
    return None if only.kinds is None else array_cell(only.kinds)


def _text_sql(condition: Condition) -> bytes:
    """Return SQL that ranks all entries that contain a term, and looks them up in that order until enough pass the
    condition.
    """
    # Without a condition, every ranked entry passes, so the ranking itself can stop at the limit.
    limit = "$6" if condition == _NO_CONDITION else "NULL"
    key = "t.org = $7 AND t.ns = $1 AND t.kind = r.kind AND t.parent = r.parent AND t.id = r.id"
    return (
        f"SELECT e.* FROM memorist.search_terms($1, $2::text[], $3::text[], $4, $5, {limit}) "
        f"WITH ORDINALITY AS r(kind, parent, id, place) {_look_up(key, condition)} ORDER BY r.place LIMIT $6"
    ).encode()


def _near_sql(width: int, indexed: bool, home: str, condition: Condition) -> bytes:
    """Return SQL that finds the nearest entries, from the index or by comparing all of the namespace."""
    half = f'"{home}".halfvec({width})'
    # The cast and the test of the width repeat the index's own expressions. Otherwise the planner would not use it.
    distance = f't.embedding::{half} OPERATOR("{home}".<=>) $4::{half}'
    live = (
        f't.org = $1 AND t.ns = $2 AND t.embedder = $3 AND "{home}".vector_dims(t.embedding) = {width} '
        "AND ($5::text[] IS NULL OR t.kind = ANY ($5::text[])) AND (t.expires_at IS NULL OR t.expires_at > $6) "
        f"AND {condition.sql}"
    )
    rows = f"FROM memorist.entries AS t{condition.source} WHERE {live}"
    if indexed:
        inner = f"SELECT {distance} AS d, t.* {rows} ORDER BY {distance} LIMIT $7"
        return f"SELECT d, {select_list(Entry)} FROM ({inner}) AS near".encode()
    # Sorting keys and distances alone keeps the large columns of rows that are not among the nearest out of the sort.
    inner = f"SELECT t.kind, t.parent, t.id, {distance} AS d {rows}"
    best = "SELECT * FROM here ORDER BY d, kind, parent, id LIMIT $7"
    key = "t.org = $1 AND t.ns = $2 AND t.kind = best.kind AND t.parent = best.parent AND t.id = best.id"
    return (
        f"WITH here AS MATERIALIZED ({inner}), best AS MATERIALIZED ({best}) "
        f"SELECT d, e.* FROM best {_look_up(key, _NO_CONDITION)} ORDER BY d, e.kind, e.parent, e.id"
    ).encode()


def _look_up(key: str, condition: Condition) -> str:
    """Fetch whole rows, each by its key, if they pass.

    OFFSET 0 prevents the planner from merging this into the outer query. Without statistics, it would scan the
    namespace once per row.
    """
    rows = f"SELECT {select_list(Entry)} FROM memorist.entries AS t{condition.source}"
    return f"CROSS JOIN LATERAL ({rows} WHERE {key} AND {condition.sql} OFFSET 0) AS e"


_NO_CONDITION = Condition("", "true", [], True)
