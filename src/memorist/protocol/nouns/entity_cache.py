"""Implements the entity cache for remote clients, whose loaders run on the client.

A client looks up an entity, acquires a lease to load it (so that only one of many callers loads it), and stores the
value.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ...engine.entities import ENTITY_TTL_SECONDS, EntityLeases, Terms
from ...errors import Conflict
from ...ports import ttl_micros
from ...records import CachedEntity
from ...values import check_name, encode_json
from ..server_nouns import EntityView
from .caller import ServerNoun


class EntityCache(ServerNoun):
    """Implements a read-through cache whose loads are coordinated by leases."""

    async def look(self, type: str, id: str) -> EntityView | None:
        """Return the cached entity, whether fresh or stale."""
        row = await self._row(type, id)
        return None if row is None else self._view(row)

    async def lease(self, type: str, id: str) -> EntityView:
        """Acquire the lease to load an entity. `owner` is set if you acquired it; otherwise, try again in a moment."""
        row = await self._row(type, id)
        if row is not None and (self._leases.is_fresh(row) or self._leases.is_leased(row)):
            return self._view(row)
        taken = await self._leases.take((self._core.org, type, id), row)
        if taken is None:
            return EntityView(leased=True)
        return msgspec.structs.replace(self._view(taken), owner=taken.owner, version=taken.version)

    async def keep(
        self, type: str, id: str, owner: str, value: Any = None, ttl: float = ENTITY_TTL_SECONDS, stale: float = 0
    ) -> bool:
        """Store a value loaded under a lease. Returns False if the entity is no longer cached."""
        encode_json(value, "entity")
        row = await self._held(type, id, owner)
        if row is not None:
            await self._leases.keep(row, value, Terms(ttl_micros(ttl) or 0, ttl_micros(stale or None) or 0))
        return row is not None

    async def give_back(self, type: str, id: str, owner: str) -> bool:
        """Release a lease after a failed load. Returns False if the entity is no longer cached."""
        row = await self._held(type, id, owner)
        if row is not None:
            await self._leases.give_back(row, None if row.status == "loading" else _free(row))
        return row is not None

    async def invalidate(self, type: str, id: str | None = None) -> int:
        """Remove one entity, or all entities of a type, and return how many were removed."""
        return await self._memory.entities.invalidate(type, id)

    async def again(self, call: str, type: str, id: str | None = None, **rest: object) -> Any:
        """Return the answer to a request whose idempotency key was used before."""
        if call != "lease":
            return call != "invalidate" or 0
        row = await self._row(type, str(id))
        return EntityView(leased=True) if row is None else self._view(row, owned=True)

    @property
    def _leases(self) -> EntityLeases:
        return EntityLeases(self._core)

    async def _row(self, type: str, id: str) -> CachedEntity | None:
        self._core.scope.whole_org("the entity cache")
        return await self._leases.row(check_name(type, "entity type"), check_name(id, "entity id"))

    async def _held(self, type: str, id: str, owner: str) -> CachedEntity | None:
        row = await self._row(type, id)
        if row is not None and row.owner != owner:
            raise Conflict("another client holds the lease on this entity now; take a new lease", entity=id)
        return row

    def _view(self, row: CachedEntity, *, owned: bool = False) -> EntityView:
        fresh, there = self._leases.is_fresh(row), row.status != "loading"
        return EntityView(
            value=row.value if there else None, fresh=fresh, stale=there and not fresh,
            leased=self._leases.is_leased(row), owner=row.owner if owned else None, version=row.version,
        )  # fmt: skip


def _free(row: CachedEntity) -> CachedEntity:
    return msgspec.structs.replace(row, owner=None, leased_until=None)
