"""Implements the Postgres store, which uses real tables. Each unit of work is one transaction, for one org, in one
round trip."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ...errors import MemoristError
from ...filters import document_of, matches
from ...records import Entry, Job, Key
from ...runtime import Runtime
from ...values import JsonObject
from ..base import (
    ALL_ENTRIES,
    Change,
    ChangeResult,
    EntryFilter,
    R,
    Scan,
    Scrubbed,
    repeatable,
)
from ..codec import Row, codec, row_of
from . import statements as sql
from .changes import plan, refusal
from .filters import cannot_compare, translate
from .options import options_of
from .pipeline import Failed, Step, array_cell, cell
from .replica import ReplicatedSession
from .rows import Reader, records_of
from .schema import prepare
from .search import Search
from .session import Session

_PAGE_ROWS = 1024


class PostgresStore:
    """Stores records in the schema `memorist` of a Postgres database."""

    name = "postgres"
    owns_files = False

    def __init__(
        self,
        url: str,
        *,
        runtime: Runtime,
        durability: str | None = None,
        pool_size: int | None = None,
        prepare: bool | None = None,
        statement_timeout: float | None = None,
        lock_timeout: float | None = None,
        connect_timeout: float | None = None,
        read_url: str | None = None,
    ) -> None:
        self.options = options_of(
            url,
            durability=durability,
            pool_size=pool_size,
            prepare=prepare,
            statement_timeout=statement_timeout,
            lock_timeout=lock_timeout,
            connect_timeout=connect_timeout,
        )
        self.durability = self.options.durability
        self._runtime = runtime
        self._session = (
            Session(self.options, runtime)
            if read_url is None
            else ReplicatedSession(self.options, options_of(read_url), runtime)
        )
        self._reader = Reader(self._session)
        self._search = Search(self._session)
        self._opened = False

    @property
    def round_trips(self) -> int:
        """This is the number of round trips between this store and its server."""
        return self._session.pools.round_trips

    async def open(self) -> None:
        """Connect to the server, check it and migrate its schema."""
        if not self._opened:
            await self._open(0)

    async def create_partitioned(self, partitions: int) -> None:
        """Create the schema with this many hash partitions per table, and open the store."""
        await self._open(partitions)

    async def _open(self, partitions: int) -> None:
        self._session.open()
        try:
            server = await prepare(self._session, partitions=partitions)
        except BaseException:
            await self._session.close()
            raise
        if server.vectors and server.vector_home:
            # The instance implements SearchesVectors only if the server has pgvector. Otherwise the engine searches.
            self._search.home = server.vector_home
            self.search_vector = self._search_vector
        self._opened = True

    async def close(self) -> None:
        """Close this process's connections."""
        await self._session.close()
        self._opened = False

    async def get(self, record_type: type[R], key: Key, *, now: int) -> R | None:
        """Return the live row under a key."""
        cells = [cell(value) for value in key]
        if sql.can_expire(record_type):
            cells.append(b"%d" % now)
        rows = (await self._session.read(str(key[0]), Step(sql.get_sql(record_type), cells))).rows
        return (await self._reader.records(record_type, rows))[0] if rows else None

    async def get_many(self, record_type: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        """Return the live rows under several keys, in the order of the keys."""
        records: list[R | None] = [None] * len(keys)
        orgs: dict[str, list[int]] = {}
        for position, key in enumerate(keys):
            orgs.setdefault(str(key[0]), []).append(position)
        # Row-level security shows one org at a time, so each org takes a round trip of its own.
        for org, positions in orgs.items():
            columns = range(1, len(record_type.table.key))
            cells = [cell(org), *(array_cell([keys[position][i] for position in positions]) for i in columns)]
            if sql.can_expire(record_type):
                cells.append(b"%d" % now)
            rows = (await self._session.read(org, Step(sql.get_many_sql(record_type), cells))).rows
            for (n, *_), record in zip(
                rows, await self._reader.records(record_type, [row[1:] for row in rows]), strict=True
            ):
                records[positions[n - 1]] = record
        return records

    async def scan(self, scan: Scan[R], *, now: int) -> list[R]:
        """Return the live rows within the bounds, in key (or index) order."""
        if scan.limit is not None and scan.limit <= 0:
            return []
        if scan.columns[0] == "org" and scan.prefix:
            return await self._scan_org(str(scan.prefix[0]), scan, now)
        # Row-level security shows one org at a time, so a scan across orgs runs one statement per org and merges.
        results = [await self._scan_org(org, scan, now) for org in await self.orgs()]
        merged = heapq.merge(*results, key=_order_key(scan.columns), reverse=scan.reverse)
        return list(merged)[: scan.limit]

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[ChangeResult]:
        """Apply the changes atomically, in one transaction and one round trip. A replayed append rolls that
        transaction back, and the other changes are then sent again without it."""
        remaining, results = list(changes), dict[int, Any]()
        while remaining:
            planned = plan(remaining, now, self._session.writing)
            positions = [position for position in range(len(changes)) if position not in results]
            try:
                replies = await self._session.run(planned.steps, repeatable=repeatable(remaining))
            except Failed as failed:
                # Postgres aborts the whole transaction at the first error. Only a replayed Append has a known result,
                # so the others are sent again without it. For any other error, `refusal` raises.
                # `run` raises Failed only for the refusals of our own functions, which some step has called.
                owner = planned.owners[failed.index]
                before = refusal(failed, remaining, owner)
                assert owner is not None
                results[positions[owner]] = before
                del remaining[owner]
            else:
                results.update(zip(positions, planned.results(replies), strict=True))
                break
        return [results[position] for position in range(len(changes))]

    async def purge(self, *, now: int, limit: int = 1000) -> dict[str, int]:
        """Remove expired rows permanently."""
        step = Step(sql.PURGE, [cell(now), cell(limit)])
        # Repeatable: a second attempt only fails to count the rows that the first one removed.
        replies = await self._session.run([self._session.across(), step], repeatable=True)
        return dict(replies[1].rows)

    async def claim(
        self, queue: str, *, owner: str, now: int, lease: int, limit: int = 1, org: str | None = None
    ) -> list[Job]:
        """Lease ready jobs to one worker."""
        cells = [cell(value) for value in (queue, owner, now, lease, limit)]
        if org is None:
            steps = [self._session.across(), Step(sql.CLAIM_ANY, cells)]
        else:
            steps = [self._session.writing(org), Step(sql.claim_sql(), [*cells, cell(org)])]
        # Repeatable: if the reply is lost, the claimed jobs become due again when their leases expire.
        rows = (await self._session.run(steps, repeatable=True))[1].rows
        if org is None:
            rows = [row_of(Job, msgspec.json.decode(text)) for (text,) in rows]
        jobs: list[Job] = records_of(Job, rows)
        return sorted(jobs, key=lambda job: (job.run_at, job.row_key))

    async def orgs(self) -> list[str]:
        """Return every org that has rows."""
        replies = await self._session.run([self._session.across(), Step(sql.ORGS, ())], repeatable=True)
        return [org for (org,) in replies[1].rows]

    async def search_text(
        self, org: str, ns: str, terms: Sequence[str], *, limit: int, now: int, only: EntryFilter = ALL_ENTRIES
    ) -> list[Entry]:
        """Return a namespace's live entries that contain any of the terms, best first."""
        return await self._search.text(org, ns, terms, limit, now, only)

    async def term_counts(self, org: str, ns: str, terms: Sequence[str]) -> dict[str, int]:
        """Return the document frequency of each term, which is the number of entries that contain it in their own
        text."""
        return await self._search.counts(org, ns, terms)

    async def _search_vector(
        self,
        org: str,
        ns: str,
        embedder: str,
        vector: Sequence[float],
        *,
        limit: int,
        now: int,
        only: EntryFilter = ALL_ENTRIES,
    ) -> list[tuple[Entry, float]]:
        """Return a namespace's live entries from this embedder, nearest first, with their cosine similarity."""
        return await self._search.near(org, ns, embedder, vector, limit, now, only)

    async def scrub(self) -> Scrubbed:
        """Rewrite the tables without dead rows, and remove the write-ahead log that contains them."""
        from .scrub import scrub

        return await scrub(self._session, self._runtime)

    async def diagnose(self, *, deep: bool = False) -> JsonObject:
        """Return a report on the server, its settings, the schema, row-level security, sizes and problems."""
        from .health import diagnose

        report = await diagnose(self._session, deep, self.orgs)
        return await self._session.add_to_report(report) if isinstance(self._session, ReplicatedSession) else report

    async def _scan_org(self, org: str, scan: Scan[R], now: int) -> list[R]:
        if scan.where is None:
            rows = (await self._session.read(org, _scan_step(scan, now))).rows
            return await self._reader.records(scan.kind, rows)
        matching: list[R] = []
        page, more = scan, True
        while more:
            rows, more = await self._filtered(org, page, now)
            records = await self._reader.records(scan.kind, rows)
            matching += [record for record in records if matches(scan.where, document_of(record))]
            more = more and (scan.limit is None or len(matching) < scan.limit)
            # Continue after the last row instead of using OFFSET: rows written meanwhile shift no page.
            page = _scan_after(page, records[-1]) if more else page
        return matching[: scan.limit]

    async def _filtered(self, org: str, scan: Scan[R], now: int) -> tuple[list[Row], bool]:
        """Return rows that the filter's SQL condition accepts, and whether there may be more."""
        step, limit = _filtered_step(scan, now)
        try:
            rows = (await self._session.read(org, step)).rows
        except MemoristError as refused:
            if not cannot_compare(refused):
                raise
            # A row is damaged. Read the page without the filter, so that the error names that row.
            step = _scan_step(replace(scan, limit=_PAGE_ROWS), now)
            rows, limit = (await self._session.read(org, step)).rows, _PAGE_ROWS
        return rows, limit is not None and len(rows) == limit


def _scan_step(scan: Scan[R], now: int) -> Step:
    """Return the statement for a scan without its filter."""
    shape, values = _scan_parts(scan, now)
    return Step(sql.scan_sql(scan.kind, shape), [cell(value) for value in values])


def _filtered_step(scan: Scan[R], now: int) -> tuple[Step, int | None]:
    """Return the statement for one page of a filtered scan, and the maximum number of rows it returns."""
    assert scan.where is not None
    shape, values = _scan_parts(replace(scan, limit=_PAGE_ROWS), now)
    condition = translate(scan.where, scan.kind, len(values) + 1)
    # An inexact condition lets other rows through, so its page may contain fewer matches than `scan.limit`.
    limit = values[-1] = scan.limit if condition.exact else _PAGE_ROWS  # LIMIT NULL means no limit
    text = sql.filtered_sql(scan.kind, shape, condition.source, condition.sql)
    return Step(text, [*(cell(value) for value in values), *condition.cells]), limit


def _scan_parts(scan: Scan[R], now: int) -> tuple[sql.Shape, list[object]]:
    after, before, starts = scan.after or (), scan.before or (), scan.starts_bounds
    widths = (len(scan.prefix), len(after), len(before), len(starts))
    shape = sql.Shape(scan.index, *widths, scan.reverse, scan.limit is not None)
    values: list[object] = [*scan.prefix, *after, *before, *starts]
    if sql.can_expire(scan.kind):
        values.append(now)
    if scan.limit is not None:
        values.append(scan.limit)
    return shape, values


def _scan_after(scan: Scan[R], record: R) -> Scan[R]:
    """Return the same scan, starting after this record."""
    row, positions = codec(scan.kind).encode(record), codec(scan.kind).position_of
    last = tuple(row[positions[name]] for name in scan.columns[len(scan.prefix) :])
    return replace(scan, before=last) if scan.reverse else replace(scan, after=last)


def _order_key(order: tuple[str, ...]) -> Any:
    return lambda record: tuple(getattr(record, name) for name in order)
