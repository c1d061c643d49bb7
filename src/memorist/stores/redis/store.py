"""Implements the Redis store, which keeps rows as strings, and keys and indexes as sorted sets, and runs one Lua script
per batch of changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha1
from typing import Any

from msgspec.structs import replace

from ...backoff import pause
from ...errors import StoreUnavailable, UnknownOutcome, UsageError
from ...filters import document_of, matches
from ...records import Job, Key, StoreIdentity
from ...runtime import Runtime
from ...values import JsonObject
from ..base import Change, ChangeResult, R, Scan, Scrubbed, repeatable
from ..codec import codec, kinds
from . import changes as batch
from . import checks, health, schema
from .connection import Client
from .keys import AFTER_ALL, base_of, bounds, encode_key, stamp
from .registers import ExpiryRegister, OrgRegister, WorkRegister
from .rows import Argument, Layout, expiring_tables, layout, quoted
from .scripts import APPLY, BRING_IN, CLAIM, PURGE, SCAN, USE_INDEXES

PAGE_ROWS = 1000
TIDY_ROWS = 500
PAGE_BYTES = 8 * 1024 * 1024
# The server itself deletes a row this long after its expiry, so that clients whose clocks differ by up to a day never
# lose a live row.
SLACK_MS = 2 * 24 * 3600 * 1000
CACHE_SLACK_MS = 10 * 60 * 1000
# A slow hot tier is worse than none, because the durable store can answer in the meantime.
CACHE_CONNECT_SECONDS = 0.5
CACHE_SECONDS = 1.0
# With the pauses in between, this bridges some seconds, which is as long as a restart or a failover usually takes.
_MAX_ATTEMPTS = 8


class RedisStore:
    """Stores rows on Redis or Valkey, on one server or a Cluster. Every batch is one atomic script in one round
    trip."""

    name = "redis"
    owns_files = False

    def __init__(
        self,
        url: str,
        *,
        runtime: Runtime,
        durability: str = "full",
        on_risk: str = "warn",
        connect_timeout: float = 5.0,
        timeout: float = 30.0,
        connections: int = 32,
    ) -> None:
        if durability not in ("full", "normal"):
            raise UsageError(f"durability={durability!r} is not 'full' or 'normal'")
        checks.check_option(on_risk)
        self._url = url
        self._runtime = runtime
        self._connections = connections
        self._slack_ms = SLACK_MS
        self._durability = durability
        self._on_risk = on_risk
        self._announced_indexes: set[tuple[str, str]] = set()
        self._opened = False
        self._use_timeouts(connect_timeout, timeout)

    @property
    def round_trips(self) -> int:
        """This is the number of requests sent to servers so far."""
        return self._client.round_trips

    @property
    def connections_made(self) -> int:
        """This is the number of connections opened so far."""
        return self._client.connections_made

    def as_cache(self) -> None:
        """Serve as the hot tier: skip the durability checks, use short timeouts, and remove expired rows soon."""
        self._on_risk = "ignore"
        self._slack_ms = CACHE_SLACK_MS
        self._use_timeouts(CACHE_CONNECT_SECONDS, CACHE_SECONDS)

    def _use_timeouts(self, connect_timeout: float, timeout: float) -> None:
        self._client = Client(
            self._url,
            runtime=self._runtime,
            connect_timeout=connect_timeout,
            timeout=timeout,
            connections=self._connections,
        )
        self._orgs = OrgRegister(self._client)
        self._work = WorkRegister(self._client, self._orgs)
        self._expiries = ExpiryRegister(self._client, self._orgs)

    async def incarnation(self) -> str:
        """Return the run ids of the servers as one string, which changes after a restart or a failover."""
        infos = await checks.read_info(self._client, "server")
        return " ".join(sorted(str(info.get("run_id", "")) for _, info in infos))

    async def open(self) -> None:
        """Connect, and check the schema and the servers' durability settings."""
        if self._opened:
            return
        self._client.open()
        await schema.prepare(self._client)
        await checks.check(self._client, durability=self._durability, on_risk=self._on_risk)
        self._opened = True

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
        self._opened = False

    async def get(self, record_type: type[R], key: Key, *, now: int) -> R | None:
        """Return the live row under a key."""
        table, base = layout(record_type), base_of(str(key[0]))
        raw = await self._client.command(base, "GET", base + table.prefix + table.member(key))
        return None if raw is None else table.decode(raw, now)

    async def get_many(self, record_type: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        """Return the live rows under several keys, in the order of the keys."""
        table = layout(record_type)
        out: list[R | None] = [None] * len(keys)
        for org in dict.fromkeys(str(key[0]) for key in keys):
            base = base_of(org)
            numbers = [number for number, key in enumerate(keys) if key[0] == org]
            for start in range(0, len(numbers), PAGE_ROWS):
                page = numbers[start : start + PAGE_ROWS]
                names = [base + table.prefix + table.member(keys[number]) for number in page]
                rows = await self._client.command(base, "MGET", *names)
                for number, raw in zip(page, rows, strict=True):
                    out[number] = None if raw is None else table.decode(raw, now)
        return out

    async def scan(self, scan: Scan[R], *, now: int) -> list[R]:
        """Return the live rows within the bounds, in key (or index) order. Each page takes one round trip."""
        table = layout(scan.kind)
        number = 0 if scan.index is None else table.index_numbers[scan.index]
        if scan.columns[0] == "org" and scan.prefix:
            low, high = bounds(scan.prefix[1:], scan.after, scan.before, scan.starts)
            return await self._range(table, str(scan.prefix[0]), number, low, high, scan, now)
        # A scan that does not name an org scans every org and merges the rows. The limit applies to the merged rows.
        # Members do not contain their org, so bounds that begin with one are compared afterwards.
        records: list[R] = []
        whole = bounds(scan.prefix, None, None, None)
        low, high = whole if scan.columns[0] == "org" else bounds(scan.prefix, scan.after, scan.before, scan.starts)
        for org in await self.orgs():
            records += await self._range(table, org, number, low, high, replace(scan, limit=None), now)
        return _merge_orgs(scan, records)

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[ChangeResult]:
        """Apply the changes atomically, in one script."""
        if not changes:
            return []
        org = batch.require_one_org(changes)
        base = base_of(org)
        merges: batch.Merges = {}
        args = batch.arguments(changes, now, self._slack_ms, merges)
        if not batch.only_removes(changes):
            # Before the batch, never after it: see registers.py.
            for register in (self._orgs, self._work, self._expiries):
                await register.enter(org, changes)
        while True:
            # A Lua script runs alone on its node, so its checks and writes are one transaction. If the reply is lost,
            # the script is sent again only if the changes are idempotent.
            reply = await self._commit(base, args, again=repeatable(changes))
            if reply[0] != b"unknown":
                return batch.results(changes, reply)
            # The batch would replace rows that a newer version wrote. Merge their unknown cells, and try again.
            merges = batch.merge(changes, merges, reply)
            args = batch.arguments(changes, now, self._slack_ms, merges)

    async def purge(self, *, now: int, limit: int = 1000) -> dict[str, int]:
        """Remove expired rows permanently."""
        counts = Counter[str]()
        limits = dict.fromkeys(expiring_tables(), limit)
        await self._expiries.sweep()
        while orgs := await self._expiries.due(now):
            expiries = []
            for org in orgs:
                removed, next_expiry = await self._purge(org, now, limits)
                expiries.append((org, next_expiry))
                for name, count in removed.items():
                    limits[name] -= count
                    counts[name.decode()] += count
            await self._expiries.leave(expiries, now)
            if min(limits.values()) <= 0 or all(expiry and int(expiry) <= now for _, expiry in expiries):
                break  # a table reached its limit, so its remaining rows stay due and this loop would return to them
        return dict(counts)

    async def tidy(self, org: str, *, now: int) -> None:
        """Remove some expired rows of one org. The hot tier calls this from time to time, because no worker purges a
        hot store."""
        await self._purge(org, now, dict.fromkeys(expiring_tables(), TIDY_ROWS))

    async def claim(
        self, queue: str, *, owner: str, now: int, lease: int, limit: int = 1, org: str | None = None
    ) -> list[Job]:
        """Lease due jobs to one worker, starting with those that have been due the longest."""
        if org is not None:
            return await self._claim(org, queue, owner, now, lease, limit)
        orgs = await self._work.orgs()
        if len(orgs) == 1:
            # There is nothing to compare, so the common case of one org takes one request less.
            jobs = await self._claim(orgs[0], queue, owner, now, lease, limit)
            if jobs:
                return jobs
        # Orgs are in different slots, so no script can see the jobs of all. Ask each org when its jobs became due, and
        # then lease only from the orgs with the oldest ones.
        look = _claim_arguments(queue, owner, now, lease, 0, limit)
        replies = await self._client.ask_many([(base_of(name), CLAIM.command(base_of(name), look)) for name in orgs])
        due = [(bytes(rank), name) for name, ranks in zip(orgs, replies, strict=True) for rank in ranks]
        await self._work.leave(set(orgs) - {name for _, name in due})
        # No lease was taken yet, so another worker may claim these jobs first. `_claim` then returns fewer of them.
        oldest = [name for _, name in sorted(due)[:limit]]
        jobs = []
        for name in dict.fromkeys(oldest):
            jobs += await self._claim(name, queue, owner, now, lease, oldest.count(name))
        return sorted(jobs, key=lambda job: (job.run_at, job.row_key))

    async def orgs(self) -> list[str]:
        """Return every org that has rows."""
        tables = [kind.table.name.encode() for kind in kinds() if kind is not StoreIdentity]
        return await self._orgs.holders(b"@", tables)

    async def scrub(self) -> Scrubbed:
        """Rewrite the files of every server, so that they contain no deleted data."""
        from .scrub import scrub

        return await scrub(self._client, self._runtime)

    async def diagnose(self, *, deep: bool = False) -> JsonObject:
        """Return the servers' versions, settings and durability risks and, with `deep`, the number of damaged rows."""
        report = await health.diagnose(self._client, self._durability)
        if deep:
            await self._verify(report)
        return report

    # -- parts of the above

    async def _range(
        self, table: Layout, org: str, index: int, low: bytes, high: bytes, scan: Scan[R], now: int
    ) -> list[R]:
        """Return the rows of an org between two members of a sorted set. An `index` of 0 means the set of keys."""
        if index and table.has_late_indexes:
            await self._bring_in(org, table)
        out: list[R] = []
        base, limit, where, reverse = base_of(org), scan.limit, scan.where, scan.reverse
        while low < high and (limit is None or len(out) < limit):
            rows = PAGE_ROWS if limit is None else min(PAGE_ROWS, limit - len(out))
            if where is not None:
                # The server cannot evaluate filters, so fetch more rows than are needed.
                rows = min(PAGE_ROWS, max(2 * rows, 100))
            args = [*table.spec, index, low, high, int(reverse), rows, stamp(now), PAGE_BYTES, table.cells]
            last, *raw_rows = await self._client.script(SCAN, base, args, write=False)
            records = [
                table.decode_member(raw, org) if table.keys_only else table.decode(raw, None) for raw in raw_rows
            ]
            out += records if where is None else [record for record in records if matches(where, document_of(record))]
            if last is None:
                break
            # The next page begins after the last key instead of at an offset, so that no row is skipped or repeated if
            # others insert or delete rows between two pages.
            low, high = (low, last) if reverse else (last + b"\0", high)
        return out if limit is None else out[:limit]

    async def _bring_in(self, org: str, table: Layout) -> None:
        """Add every row to the indexes introduced after the first release before one of them is scanned.

        Rows written by an older version are missing from them. The first process that uses the new index queues them in
        the sorted set `~table`. After that, older versions queue each row they write.
        """
        base = base_of(org)
        # Announce the index before looking at the queue. In the other order, a row written by an older version in
        # between would be in neither.
        if (org, table.name) not in self._announced_indexes:
            await self._client.script(USE_INDEXES, base, [*table.spec, len(table.indexes)], write=True)
            self._announced_indexes.add((org, table.name))
        waiting = base + b"~" + table.name.encode()
        while members := await self._client.command(base, "ZRANGE", waiting, 0, PAGE_ROWS - 1):
            rows = await self._client.command(base, "MGET", *[base + table.prefix + member for member in members])
            args: list[Argument] = list(table.spec)
            for member, raw in zip(members, rows, strict=True):
                # Only Python can compute index members. The digest tells the script whether the row has changed since.
                digest = b"" if raw is None else sha1(raw, usedforsecurity=False).hexdigest()
                args += [member, digest, b"" if raw is None else table.index_members(table.decode(raw, None))]
            await self._client.script(BRING_IN, base, args, write=True)

    async def _commit(self, base: bytes, args: Sequence[object], *, again: bool) -> Any:
        """Run the script that applies a batch. With `again`, the batch is idempotent and may be sent repeatedly."""
        unknown: UnknownOutcome | None = None
        for attempt in range(_MAX_ATTEMPTS + 1):
            if attempt:
                await self._runtime.sleep(pause(attempt, first=0.02, longest=2.0))
            try:
                return await self._client.script(APPLY, base, args, write=True)
            except UnknownOutcome as lost:
                if not again:
                    raise
                unknown = unknown or lost
            except StoreUnavailable:
                # Nothing was done this time, but the first attempt may have been applied, so its outcome stays unknown.
                if unknown is None:
                    raise
        assert unknown is not None
        raise unknown

    async def _purge(self, org: str, now: int, limits: dict[bytes, int]) -> tuple[dict[bytes, int], bytes]:
        """Purge one org. Return the number of rows removed from each table, and the expiry of the next row (empty if
        there is none)."""
        args: list[Argument] = [stamp(now)]
        for name, limit in limits.items():
            args += [*expiring_tables()[name], limit]
        *counts, ends = await self._client.script(PURGE, base_of(org), args, write=False)
        return {name: count for name, count in zip(limits, counts, strict=True) if count}, bytes(ends)

    async def _claim(self, org: str, queue: str, owner: str, now: int, lease: int, limit: int) -> list[Job]:
        if limit < 1:  # to the script, this would mean that it must return the ranks of due jobs
            return []
        base, table = base_of(org), layout(Job)
        call = _claim_arguments(queue, owner, now, lease, limit, limit)
        return [table.decode(raw, None) for raw in await self._client.script(CLAIM, base, call, write=True)]

    async def _verify(self, report: JsonObject) -> None:
        rows: dict[str, int] = {}
        for org in await self.orgs():
            for kind in kinds():
                good, bad = await health.count_rows(self._client, base_of(org), layout(kind))
                rows[kind.table.name] = rows.get(kind.table.name, 0) + good + bad
                if bad:
                    report["problems"].append(f"{bad} damaged rows in {kind.table.name}")
        report["rows"] = {name: count for name, count in sorted(rows.items()) if count}


def _claim_arguments(queue: str, owner: str, now: int, lease: int, limit: int, look: int) -> list[Argument]:
    """Return the arguments of claim.lua."""
    ready, running = encode_key((queue, "ready")), encode_key((queue, "running"))
    due = encode_key((queue, "ready", now)) + AFTER_ALL
    leased = [quoted(owner), stamp(now + lease), quoted("running")]
    return [stamp(now), limit, look, ready, running, due, *leased, len(layout(Job).indexes)]


def _merge_orgs(scan: Scan[R], records: Iterable[R]) -> list[R]:
    """Return the rows of several orgs within the bounds of a scan, in its order."""
    low, high = bounds(scan.prefix, scan.after, scan.before, scan.starts)
    positions = [codec(scan.kind).position_of[name] for name in scan.columns]

    def rank(record: R) -> bytes:
        row = codec(scan.kind).encode(record)
        return encode_key([row[position] for position in positions])

    ranked = [(rank(record), record) for record in records]
    ranked = [item for item in ranked if low <= item[0] < high]
    ranked.sort(key=lambda item: item[0], reverse=scan.reverse)  # by rank alone, because records cannot be compared
    return [record for _, record in ranked][: scan.limit]
