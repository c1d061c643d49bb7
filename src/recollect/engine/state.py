"""State: small key-values and atomic counters, of the handle's user or of the whole org."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from ..errors import InvalidValue
from ..records import StateEntry
from ..stores.base import Change, Delete, Expect, Increment, Put
from ..values import check_name
from .core import Core
from .facts import _version


class State:
    """Keys and values beside the conversation."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def get(self, key: str, default: Any = None) -> Any:
        """The value, or `default` where there is none."""
        entry = await self.entry(key)
        return default if entry is None else entry.value

    async def entry(self, key: str) -> StateEntry | None:
        """The value with its version and times; the version is what `set(expect=)` takes."""
        return await self._core.get(StateEntry, self._core.scope.own(), check_name(key, "state key"))

    async def set(
        self, key: str, value: Any, *, ttl: float | timedelta | None = None, expect: int | None = None
    ) -> StateEntry:
        """Write a value; with `expect`, only over that version (0: only if there is none)."""
        entry = self._new(key, value, ttl)
        changes: list[Change] = [Put(entry)]
        if expect is not None:
            changes.insert(0, Expect(StateEntry, entry.row_key, _version(expect)))
        stored = (await self._core.apply(*changes))[-1]
        return msgspec.structs.replace(entry, version=stored.version, created_at=stored.created_at or entry.created_at)

    async def delete(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        key = check_name(key, "state key")
        done = await self._core.apply(Delete(StateEntry, (self._core.org, self._core.scope.own(), key)))
        return bool(done[0])

    async def increment(self, key: str, by: int = 1, *, ttl: float | timedelta | None = None) -> int:
        """Add to a counter in one step and give its new value; `ttl` counts from when the counter is made."""
        if isinstance(by, bool) or not isinstance(by, int):
            raise InvalidValue("a counter is incremented by a whole number")
        results = await self._core.apply(Increment(self._new(key, by, ttl)))
        total: int = results[0]
        return total

    def _new(self, key: str, value: Any, ttl: Any) -> StateEntry:
        now = self._core.now()
        at = self._core.at()
        return StateEntry(
            org=self._core.org,
            ns=self._core.scope.own(),
            key=check_name(key, "state key"),
            value=value,
            created_at=at,
            updated_at=at,
            expires_at=self._core.expiry(ttl, now),
        )
