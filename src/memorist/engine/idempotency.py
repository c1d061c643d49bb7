"""Idempotency keys of HTTP requests, each committed in the same transaction as the work of its request.

A row holds a digest of the request, at most one number of the outcome, and no content. It is kept for at least a day:
keys from before yesterday are deleted.
"""

from __future__ import annotations

from ..errors import InvalidValue
from ..records import Mark
from ..stores.base import DeleteRange, Expect, Put
from .core import Core

REPLAY = "replay"
"""The name of the marks that hold the keys."""
DAY_MICROS = 24 * 3600 * 1_000_000


class IdempotencyKey:
    """One idempotency key, in the org of its user."""

    def __init__(self, core: Core, key: str, digest: str) -> None:
        self._core = core
        self._key = key
        self._digest = digest
        self.outcome: int | None = None
        """The number stored with the key, once `seen` found it."""

    async def seen(self) -> bool:
        """Whether the key was used for this request before; raises InvalidValue if it was used for another one."""
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
        """Commit the row in the same transaction as the next write through the handle."""
        core, item = self._core, self._item(_day(self._core))
        row = Mark(org=core.org, name=REPLAY, item=item, detail=self._digest, updated_at=core.at())
        handle.companions.extend([Expect(Mark, row.row_key, 0), Put(row)])

    async def keep(self, outcome: int) -> None:
        """Add a number to the committed row: an outcome that cannot be read from the store afterwards."""
        core, item = self._core, self._item(_day(self._core))
        detail = f"{self._digest} {int(outcome)}"
        await core.apply(Put(Mark(org=core.org, name=REPLAY, item=item, detail=detail, updated_at=core.at())))

    def _item(self, day: int) -> str:
        # The day comes first, so that old rows can be deleted as a range.
        return f"{day:08}:{self._key}"


async def collect_keys(core: Core) -> int:
    """Delete the keys from before yesterday; returns how many."""
    oldest = f"{_day(core) - 1:08}"
    old = DeleteRange(Mark, (core.org, REPLAY), before=(oldest,))
    return (await core.apply(old)).total(old)


def _day(core: Core) -> int:
    return core.now() // DAY_MICROS
