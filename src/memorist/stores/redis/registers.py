"""Keeps three registers of orgs: all orgs, those with jobs, and those with rows that expire. Workers and `purge` read
them, so that they examine only orgs with something to do, however many there are in total.

The rows of an org and the registers are in different slots of a Cluster, so they cannot change atomically. Therefore,
a writer enters its org before it writes the row: an entry without a row only costs a request, but nobody would find a
row without an entry. For the same reason, an org that turns out to have no rows is kept until its last entry is five
minutes old, because its row may not have been written yet. A daily sweep over all orgs finds the entries that a stalled
writer or an older version omitted. It examines one page at a time, so that no worker has to wait.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from ...errors import StoreError
from ...ports import to_micros
from ...records import Job
from ..base import Change, Increment, Load, Put
from .changes import removes
from .connection import Client
from .keys import EMPTY_KEY, ENDING_KEY, ENDING_SEEN_KEY, ORGS_KEY, WORK_KEY, base_of
from .rows import Argument, expiring_tables
from .scripts import DONE, ENDING_ENTER, ENDING_LEAVE, RETIRE

MIN_ENTRY_SECONDS = 300.0
SWEEP_SECONDS = 24 * 3600.0
SWEEP_PART_SECONDS = 0.5
"""After this time, a sweep for expiries stops at the end of a page and continues at the next purge."""
LEAVE_INTERVAL_SECONDS = 30.0
ORGS_PER_LOOK = 2_000
"""The number of orgs in the register to check in one round trip."""
DUE_ORGS = 1000
"""The number of orgs that `purge` reads from the register at a time."""
_MAX_REMEMBERED_ORGS = 10_000
_SWEPT_MARKER = b""
"""A member that is not the name of an org. Its presence (or its score) shows that the register has been swept."""


class _Register:
    """Enters orgs in a register, and remembers for a while which orgs this process has entered."""

    enter_seconds = 20.0
    """The minimum time before a process enters the same org again, in case the register was flushed."""
    is_swept = True

    def __init__(self, client: Client) -> None:
        self._client = client
        self._cursor = 0
        """The position of a sweep that is not complete yet."""
        self._entered: dict[str, tuple[float, int]] = {}

    async def enter(self, org: str, changes: Sequence[Change]) -> None:
        """Enter an org if its changes write rows that concern this register."""
        score = self._score(changes)
        if score is None:
            return
        at, entered_score = self._entered.get(org, (-self.enter_seconds, 0))
        if entered_score <= score and time.monotonic() - at < self.enter_seconds:
            return
        try:
            await self._send_entry(org, score)
        except StoreError as error:
            # A server that is out of memory still accepts batches that delete, and their org must not be in the way. If
            # it has rows to delete, it was entered before. A sweep repairs the other registers, but the one of all orgs
            # is what sweeps read.
            if error.facts.get("code") != "OOM" or not (self.is_swept or removes(changes)):
                raise
            return
        if len(self._entered) > _MAX_REMEMBERED_ORGS:
            self._entered.clear()
        self._entered[org] = (time.monotonic(), score)

    def _score(self, changes: Sequence[Change]) -> int | None:
        """Return a number that is lower the sooner the org must be visited, or None if it need not be entered."""
        raise NotImplementedError

    async def _send_entry(self, org: str, score: int) -> None:
        raise NotImplementedError


class OrgRegister(_Register):
    """Contains every org that has rows, in `mm:orgs`, and possibly some that have none."""

    enter_seconds = 60.0
    is_swept = False

    def _score(self, changes: Sequence[Change]) -> int | None:
        return 0

    async def _send_entry(self, org: str, score: int) -> None:
        # First remove the note that the org is empty, so that retire.lua starts its waiting period again.
        await self._client.ask_many([(EMPTY_KEY, ["ZREM", EMPTY_KEY, org]), (ORGS_KEY, ["SADD", ORGS_KEY, org])])

    async def holders(self, mark: bytes, tables: Sequence[bytes]) -> list[str]:
        """Return the orgs in which any of these sorted sets exist. Orgs that have none are removed later."""
        holders: set[str] = set()
        cursor = 0
        while True:
            cursor, orgs = await self.holders_page(cursor, mark, tables, retire=True)
            holders.update(orgs)
            if cursor == 0:
                return sorted(holders)

    async def holders_page(
        self, cursor: int, mark: bytes, tables: Collection[bytes], *, retire: bool = False
    ) -> tuple[int, list[str]]:
        """Return the next cursor (0 after the last page), and the holders on one page of all orgs."""
        # In pages, because a single reply with a million names would block all other clients of the server.
        following, members = await self._client.command(ORGS_KEY, "SSCAN", ORGS_KEY, cursor, "COUNT", ORGS_PER_LOOK)
        orgs = sorted(bytes(member).decode() for member in members)
        bases = [base_of(org) for org in orgs]
        counts = await self._client.ask_many(
            [(base, ["EXISTS", *[base + mark + table for table in tables]]) for base in bases]
        )
        empty = [org for org, count in zip(orgs, counts, strict=True) if not count]
        if retire and empty:
            times = [b"%.3f" % time.time(), b"%.3f" % (time.time() - MIN_ENTRY_SECONDS)]
            await self._client.script(RETIRE, ORGS_KEY, [*times, *empty], write=False)
        return int(following), [org for org, count in zip(orgs, counts, strict=True) if count]


class WorkRegister(_Register):
    """Contains the orgs that have jobs, in `mm:work`, each with the time at which it was last entered."""

    def __init__(self, client: Client, orgs: OrgRegister) -> None:
        super().__init__(client)
        self._orgs = orgs
        self._swept_at: float | None = None
        self._left_at = 0.0

    def _score(self, changes: Sequence[Change]) -> int | None:
        jobs = (isinstance(change, Put | Load) and isinstance(change.record, Job) for change in changes)
        return 0 if any(jobs) else None

    async def _send_entry(self, org: str, score: int) -> None:
        await self._client.command(WORK_KEY, "ZADD", WORK_KEY, b"%.3f" % time.time(), org)

    async def orgs(self) -> list[str]:
        """Return the orgs that may have jobs."""
        members = await self._client.command(WORK_KEY, "ZRANGE", WORK_KEY, 0, -1)
        orgs = {bytes(member).decode() for member in members if member != _SWEPT_MARKER}
        is_stale = self._swept_at is not None and time.monotonic() - self._swept_at > SWEEP_SECONDS
        # A register without the marker has never been swept, or it was lost in a flush.
        if is_stale or self._cursor or _SWEPT_MARKER not in members:
            orgs.update(await self._sweep())
        self._swept_at = self._swept_at or time.monotonic()
        return sorted(orgs)

    async def _sweep(self) -> list[str]:
        """Examine the next page of all orgs, and enter those that have jobs."""
        self._cursor, orgs = await self._orgs.holders_page(self._cursor, b"@", [b"jobs"])
        now = b"%.3f" % time.time()
        entries = [part for org in orgs for part in (now, org)]
        # Only after the last page: a register with this marker counts as complete.
        if not self._cursor:
            entries += [b"+inf", _SWEPT_MARKER]
            self._swept_at = time.monotonic()
        if entries:
            await self._client.command(WORK_KEY, "ZADD", WORK_KEY, *entries)
        return orgs

    async def leave(self, orgs: Collection[str]) -> None:
        """Remove orgs in which a worker has found no due jobs, if they have no jobs at all."""
        # Not after every claim, because this takes two requests.
        if time.monotonic() - self._left_at < LEAVE_INTERVAL_SECONDS:
            return
        self._left_at = time.monotonic()
        orgs = sorted(orgs)
        counts = await self._client.ask_many([(base_of(org), ["EXISTS", base_of(org) + b"@jobs"]) for org in orgs])
        without_jobs = [org for org, count in zip(orgs, counts, strict=True) if not count]
        if without_jobs:
            entered_before = b"%.3f" % (time.time() - MIN_ENTRY_SECONDS)
            await self._client.script(DONE, WORK_KEY, [entered_before, *without_jobs], write=False)


class ExpiryRegister(_Register):
    """Contains the orgs with rows that expire, in `mm:ending` by their earliest expiry, and in `mm:{mm:ending}:seen` by
    the time at which they were last entered."""

    def __init__(self, client: Client, orgs: OrgRegister) -> None:
        super().__init__(client)
        self._orgs = orgs

    def _score(self, changes: Sequence[Change]) -> int | None:
        # Messages expire with their thread, and the org was entered for the thread.
        written = [change.record for change in changes if isinstance(change, Put | Load | Increment)]
        ends = [to_micros(at) for record in written if (at := getattr(record, "expires_at", None)) is not None]
        return min(ends, default=None)

    async def _send_entry(self, org: str, score: int) -> None:
        await self._client.script(ENDING_ENTER, ENDING_KEY, [b"%.3f" % time.time(), score, org], write=False)

    async def due(self, now: int) -> list[str]:
        """Return up to DUE_ORGS orgs that may have expired rows."""
        orgs = await self._client.command(
            ENDING_KEY, "ZRANGE", ENDING_KEY, b"-inf", now, "BYSCORE", "LIMIT", 0, DUE_ORGS
        )
        return [bytes(org).decode() for org in orgs]

    async def sweep(self) -> None:
        """Enter every org that has rows with an expiry, unless this was done within the last day. If there are very
        many orgs, each call handles only some of them, so that no purge takes long."""
        began = time.monotonic()
        if not self._cursor:
            last = await self._client.command(ENDING_KEY, "ZSCORE", ENDING_SEEN_KEY, _SWEPT_MARKER)
            if last is not None and time.time() - float(last) < SWEEP_SECONDS:
                return
        now = b"%.3f" % time.time()
        while True:
            self._cursor, orgs = await self._orgs.holders_page(self._cursor, b"!", expiring_tables())
            for org in orgs:
                # An expiry in the past makes the next purge visit the org, which finds out its real one.
                await self._client.script(ENDING_ENTER, ENDING_KEY, [now, 0, org], write=False)
            if not self._cursor:
                await self._client.command(ENDING_KEY, "ZADD", ENDING_SEEN_KEY, now, _SWEPT_MARKER)
                return
            if time.monotonic() - began > SWEEP_PART_SECONDS:
                return

    async def leave(self, ends: Sequence[tuple[str, bytes]], now: int) -> None:
        """Set the next expiry of each purged org. An empty expiry removes the org."""
        if not ends:
            return
        for org, _ in ends:
            # The register may contain a later expiry from now on, so the next writer must enter its row again.
            self._entered.pop(org, None)
        next_visit = now + int(MIN_ENTRY_SECONDS * 1e6)
        args: list[Argument] = [b"%.3f" % (time.time() - MIN_ENTRY_SECONDS), next_visit]
        for pair in ends:
            args += pair
        await self._client.script(ENDING_LEAVE, ENDING_KEY, args, write=False)
