"""The entity cache for clients whose loaders run on their side: a look, a lease to load, and what was loaded."""

from __future__ import annotations

from typing import Any

import msgspec

from ...engine.entities import ENTITY_TTL, Entities, Terms
from ...errors import Conflict
from ...ports import ttl_micros
from ...records import CachedEntity
from ...values import check_name, encode_json
from .asked import ServerNoun


class EntityView(msgspec.Struct, frozen=True, kw_only=True):
    """An entity as the cache has it."""

    value: Any = None
    fresh: bool = False
    """Whether it may be used as it is."""
    stale: bool = False
    """Whether there is a value that is too old."""
    leased: bool = False
    """Whether somebody is loading it right now."""
    owner: str | None = None
    """With a lease: what names it when the value is kept or the lease given back."""
    version: int = 0


class EntityCache(ServerNoun):
    """Looks, leases, keeps and drops."""

    async def look(self, type: str, id: str) -> EntityView | None:
        """What the cache has of an entity."""
        row = await self._row(type, id)
        return None if row is None else self._view(row)

    async def lease(self, type: str, id: str) -> EntityView:
        """Take the lease to load an entity: `owner` is set where it was taken, else look again in a moment."""
        row = await self._row(type, id)
        if row is not None and (self._entities._fresh(row) or self._entities._leased(row)):
            return self._view(row)
        taken = await self._entities._take((self._core.org, type, id), row)
        if taken is None:
            return EntityView(leased=True)
        return msgspec.structs.replace(self._view(taken), owner=taken.owner, version=taken.version)

    async def keep(
        self, type: str, id: str, owner: str, value: Any = None, ttl: float = ENTITY_TTL, stale: float = 0
    ) -> bool:
        """Keep what was loaded under a lease; whether the lease still held."""
        encode_json(value, "entity")
        row = await self._held(type, id, owner)
        if row is not None:
            await self._entities._keep(row, value, Terms(ttl_micros(ttl) or 0, ttl_micros(stale or None) or 0))
        return row is not None

    async def give_back(self, type: str, id: str, owner: str) -> bool:
        """Give a lease back after a failed load; whether it still held."""
        row = await self._held(type, id, owner)
        if row is not None:
            await self._entities._give_back(row, None if row.status == "loading" else _free(row))
        return row is not None

    async def invalidate(self, type: str, id: str | None = None) -> int:
        """Drop one entity, or all of a type; how many went."""
        return await self._entities.invalidate(type, id)

    async def again(self, call: str, type: str, id: str | None = None, **rest: Any) -> Any:
        """The answer to a request that was done before."""
        if call != "lease":
            return call != "invalidate" or 0
        row = await self._row(type, str(id))
        return EntityView(leased=True) if row is None else self._view(row, owned=True)

    @property
    def _entities(self) -> Entities:
        return self._memory.entities

    async def _row(self, type: str, id: str) -> CachedEntity | None:
        self._core.scope.whole_org("the entity cache")
        return await self._core.get(CachedEntity, check_name(type, "entity type"), check_name(id, "entity id"))

    async def _held(self, type: str, id: str, owner: str) -> CachedEntity | None:
        row = await self._row(type, id)
        if row is not None and row.owner != owner:
            raise Conflict("the lease on this entity is another's now", entity=id)
        return row

    def _view(self, row: CachedEntity, *, owned: bool = False) -> EntityView:
        fresh, there = self._entities._fresh(row), row.status != "loading"
        return EntityView(
            value=row.value if there else None, fresh=fresh, stale=there and not fresh,
            leased=self._entities._leased(row), owner=row.owner if owned else None, version=row.version,
        )  # fmt: skip


def _free(row: CachedEntity) -> CachedEntity:
    return msgspec.structs.replace(row, owner=None, leased_until=None)
