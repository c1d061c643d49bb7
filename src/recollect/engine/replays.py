"""Requests that were done before: their idempotency keys, each committed by the very transaction that did the work.

A row holds a digest of the request, at most a number of what was done, and no content. It lasts a day at least: keys of
the day before yesterday are gone.
"""

from __future__ import annotations

from ..errors import InvalidValue
from ..records import Mark
from ..stores.base import DeleteRange, Expect, Put
from .core import Core

REPLAY = "replay"
"""The name of the marks that keys are kept as."""
DAY_MICROS = 24 * 3600 * 1_000_000


class Replays:
    """One idempotency key, in the org of the one who used it."""

    def __init__(self, core: Core, key: str, digest: str) -> None:
        self._core = core
        self._key = key
        self._digest = digest
        self.outcome: int | None = None
        """The number that was kept with the key, once it was seen."""

    async def seen(self) -> bool:
        """Whether the key was used for this very request; for another one it is refused."""
        today = _day(self._core)
        rows = await self._core.get_many(Mark, [(REPLAY, self._item(day)) for day in (today, today - 1)])
        found = next((row for row in rows if row is not None), None)
        if found is None:
            return False
        digest, _, outcome = str(found.detail).partition(" ")
        self.outcome = int(outcome) if outcome else None
        if digest != self._digest:
            raise InvalidValue("this Idempotency-Key was used for another request; take a new one")
        return True

    def commit_with(self, handle: Core) -> None:
        """Let the next write through the handle carry the row in its own transaction."""
        core, item = self._core, self._item(_day(self._core))
        row = Mark(org=core.org, name=REPLAY, item=item, detail=self._digest, updated_at=core.at())
        handle.companions.extend([Expect(Mark, row.row_key, 0), Put(row)])

    async def keep(self, outcome: int) -> None:
        """Add a number to the row that was committed: an answer that cannot be read from the store afterwards."""
        core, item = self._core, self._item(_day(self._core))
        detail = f"{self._digest} {int(outcome)}"
        await core.apply(Put(Mark(org=core.org, name=REPLAY, item=item, detail=detail, updated_at=core.at())))

    def _item(self, day: int) -> str:
        # The day comes first, so that old rows are removed by their range.
        return f"{day:08}:{self._key}"


async def collect_replays(core: Core) -> int:
    """Remove the keys of the day before yesterday and older; how many went."""
    oldest = f"{_day(core) - 1:08}"
    removed = await core.apply(DeleteRange(Mark, (core.org, REPLAY), before=(oldest,)))
    return int(removed[0] or 0)


def _day(core: Core) -> int:
    return core.now() // DAY_MICROS
