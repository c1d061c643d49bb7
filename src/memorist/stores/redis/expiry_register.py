"""Keeps a register of the times at which each org's rows expire, so that `purge` visits only orgs that have expired
rows.

`mm:ending` contains the orgs by their earliest expiry, and `mm:{mm:ending}:seen` contains them by the time at which
they were last entered. A writer enters its org before it writes a row that expires. `purge` then sets the next expiry,
or removes the org. An org that was entered less than five minutes ago is kept for that long, because its row may not
have been written yet. The rows and the register are in different slots of a Cluster and cannot change atomically.
Therefore, a daily sweep over all orgs finds the entries that a stalled writer or an older version omitted.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

from ...errors import StoreError
from ...ports import to_micros
from ..base import Change, Increment, Load, Put
from .connection import Client
from .keys import ENDING_KEY
from .rows import Argument
from .scripts import ENDING_ENTER, ENDING_LEAVE
from .work_register import ENTER_SECONDS, KEEP_SECONDS, SWEEP_SECONDS

_SWEPT = b""
"""A member that is not the name of an org. Its score is the time of the last sweep."""
DUE_ORGS = 1000
"""The number of orgs that `purge` reads from the register at a time."""

SWEEP_PART_SECONDS = 0.5
"""After this time, a sweep stops at the end of a page and continues at the next purge."""


class ExpiryRegister:
    """Provides access to the register for one process."""

    def __init__(self, client: Client, holders: Callable[[int], Awaitable[tuple[int, list[str]]]]) -> None:
        self._client = client
        self._holders = holders
        """Maps a cursor to the next one and to the orgs with rows on that page. The last cursor is followed by 0."""
        self._cursor = 0
        self._entered: dict[str, tuple[float, int]] = {}

    async def enter(self, org: str, changes: Sequence[Change]) -> None:
        """Enter an org in the register if its changes write rows that expire."""
        ends = _earliest(changes)
        if ends is None:
            return
        at, earliest = self._entered.get(org, (-ENTER_SECONDS, 0))
        if earliest <= ends and time.monotonic() - at < ENTER_SECONDS:
            return
        try:
            await self._client.script(ENDING_ENTER, ENDING_KEY, [b"%.3f" % time.time(), ends, org], write=False)
        except StoreError as full:
            # A server that is out of memory still accepts batches that delete. The daily sweep enters the orgs that
            # could not be entered here.
            if full.facts.get("code") != "OOM":
                raise
            return
        if len(self._entered) > 10_000:
            self._entered.clear()
        self._entered[org] = (time.monotonic(), ends)

    async def due(self, now: int) -> list[str]:
        """Return up to DUE_ORGS orgs that may have expired rows."""
        orgs = await self._client.command(
            ENDING_KEY, "ZRANGE", ENDING_KEY, b"-inf", now, "BYSCORE", "LIMIT", 0, DUE_ORGS
        )
        return [bytes(org).decode() for org in orgs]

    async def sweep(self) -> None:
        """Enter every org that has rows with an expiry, unless this was done within the last day. If there are very
        many orgs, each call handles only some of them, so that no purge takes long."""
        key, began = b"mm:{" + ENDING_KEY + b"}:seen", time.monotonic()
        if not self._cursor:
            last = await self._client.command(ENDING_KEY, "ZSCORE", key, _SWEPT)
            if last is not None and time.time() - float(last) < SWEEP_SECONDS:
                return
        now = b"%.3f" % time.time()
        while True:
            self._cursor, orgs = await self._holders(self._cursor)
            for org in orgs:
                # An expiry in the past makes the next purge visit the org.
                await self._client.script(ENDING_ENTER, ENDING_KEY, [now, 0, org], write=False)
            if not self._cursor:
                await self._client.command(ENDING_KEY, "ZADD", key, now, _SWEPT)
                return
            if time.monotonic() - began > SWEEP_PART_SECONDS:
                return

    async def leave(self, ends: Sequence[tuple[str, bytes]], now: int) -> None:
        """Set the next expiry of each purged org. An empty expiry removes the org."""
        if not ends:
            return
        for org, _ in ends:
            self._entered.pop(org, None)
        again = now + int(KEEP_SECONDS * 1e6)
        args: list[Argument] = [b"%.3f" % (time.time() - KEEP_SECONDS), again]
        for pair in ends:
            args += pair
        await self._client.script(ENDING_LEAVE, ENDING_KEY, args, write=False)


def _earliest(changes: Sequence[Change]) -> int | None:
    """Return the earliest expiry in a batch. Messages expire with their thread, and the org was entered for the
    thread."""
    ends = [
        to_micros(at)
        for change in changes
        if isinstance(change, Put | Load | Increment) and (at := getattr(change.record, "expires_at", None)) is not None
    ]
    return min(ends, default=None)
