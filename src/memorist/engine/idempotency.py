"""Stores the idempotency keys of HTTP requests, each in the same transaction as the work that its request does.

A row contains a digest of the request and at most one number from the outcome, but no content. It is kept for at least
a day; keys older than yesterday are deleted.
"""

from __future__ import annotations

from ..errors import InvalidValue
from ..records import RequestKey
from ..stores.base import DeleteRange, Expect, Put
from .core import Core

DAY_MICROS = 24 * 3600 * 1_000_000


class IdempotencyKey:
    """Represents an idempotency key in its user's org."""

    def __init__(self, core: Core, key: str, digest: str) -> None:
        self._core = core
        self._key = key
        self._digest = digest
        self.outcome: int | None = None
        """The number stored with the key, once `seen` has found it."""

    async def seen(self) -> bool:
        """Return whether the key was already used for this request.

        Raises InvalidValue if it was used for another request.
        """
        today = _day(self._core)
        # Rows are filed by day, so a key that was used just before midnight is under yesterday.
        rows = await self._core.get_many(RequestKey, [(day, self._key) for day in (today, today - 1)])
        row = next((row for row in rows if row is not None), None)
        if row is None:
            return False
        self.outcome = row.outcome
        if row.digest != self._digest:
            raise InvalidValue("this Idempotency-Key was used for another request; use a new one")
        return True

    def commit_with(self, handle: Core) -> None:
        """Commit the row in the same transaction as the next write through the handle."""
        row = self._row()
        # Of two requests that arrive with one key at the same time, the second commit fails instead of doing the work
        # again.
        handle.companions.extend([Expect(RequestKey, row.row_key, 0), Put(row)])

    async def keep(self, outcome: int) -> None:
        """Add a number to the committed row, for an outcome that the store cannot return later."""
        await self._core.apply(Put(self._row(int(outcome))))

    def _row(self, outcome: int | None = None) -> RequestKey:
        core = self._core
        return RequestKey(
            org=core.org, day=_day(core), key=self._key, digest=self._digest, outcome=outcome, updated_at=core.at()
        )


async def collect_keys(core: Core) -> int:
    """Delete the keys older than yesterday, and return how many were deleted."""
    old = DeleteRange(RequestKey, (core.org,), before=(_day(core) - 1,))
    return (await core.apply(old)).total(old)


def _day(core: Core) -> int:
    return core.now() // DAY_MICROS
