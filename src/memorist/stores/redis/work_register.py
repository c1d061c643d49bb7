"""Keeps a register of the orgs that have jobs, so that a worker examines only these orgs, however many there are in
total.

An org is entered with the current time before one of its jobs is written. A worker that finds no jobs for an org
removes it, unless it was entered less than five minutes ago, because its job may not have been written yet. The rows
and the register are in different slots of a Cluster, so they cannot change atomically. A daily sweep over all orgs
finds the entries that a stalled writer or an older version omitted. It examines one page at a time, so that no worker
has to wait.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

from ...errors import StoreError
from ...records import Job
from ..base import Change, Load, Put
from .connection import Client
from .keys import WORK_KEY
from .scripts import DONE

ENTER_SECONDS = 20.0
"""The minimum time before a process enters the same org again."""
KEEP_SECONDS = 300.0
SWEEP_SECONDS = 24 * 3600.0
_SWEPT = b""
"""A member that is not the name of an org. A register without it has never been swept or has been flushed."""


class WorkRegister:
    """Provides access to the register for one process."""

    def __init__(self, client: Client, holders: Callable[[int], Awaitable[tuple[int, list[str]]]]) -> None:
        self._client = client
        self._holders = holders
        """Maps a cursor to the next one and to the orgs with jobs on that page. The last cursor is followed by 0."""
        self._entered: dict[str, float] = {}
        self._swept: float | None = None
        self._cursor = 0

    async def enter(self, org: str, changes: Sequence[Change]) -> None:
        """Enter an org in the register if its changes write a job."""
        if not any(isinstance(change, Put | Load) and isinstance(change.record, Job) for change in changes):
            return
        if time.monotonic() - self._entered.get(org, -ENTER_SECONDS) < ENTER_SECONDS:
            return
        try:
            await self._client.command(WORK_KEY, "ZADD", WORK_KEY, b"%.3f" % time.time(), org)
        except StoreError as full:
            # A server that is out of memory still accepts batches that delete, which may also write a job. The sweep
            # finds it.
            if full.facts.get("code") != "OOM":
                raise
            return
        if len(self._entered) > 10_000:
            self._entered.clear()
        self._entered[org] = time.monotonic()

    async def orgs(self) -> list[str]:
        """Return the orgs that may have jobs."""
        orgs = await self._client.command(WORK_KEY, "ZRANGE", WORK_KEY, 0, -1)
        stale = self._swept is not None and time.monotonic() - self._swept > SWEEP_SECONDS
        if stale or self._cursor or _SWEPT not in orgs:
            orgs = [*orgs, *(org.encode() for org in await self._sweep())]
        self._swept = self._swept or time.monotonic()
        return sorted({bytes(org).decode() for org in orgs} - {_SWEPT.decode()})

    async def _sweep(self) -> list[str]:
        """Examine the next page of all orgs, and enter those that have jobs."""
        self._cursor, orgs = await self._holders(self._cursor)
        now = b"%.3f" % time.time()
        entered = [part for org in orgs for part in (now, org)]
        # Only after the last page: a register with this marker counts as complete.
        if not self._cursor:
            entered += [b"+inf", _SWEPT]
            self._swept = time.monotonic()
        if entered:
            await self._client.command(WORK_KEY, "ZADD", WORK_KEY, *entered)
        return orgs

    async def done(self, orgs: Sequence[str]) -> None:
        """Remove orgs that turned out to have no jobs."""
        if orgs:
            before = b"%.3f" % (time.time() - KEEP_SECONDS)
            await self._client.script(DONE, WORK_KEY, [before, *orgs], write=False)
