"""Implements the entity cache of a server, with loaders that run on the client."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from ..engine.entities import Entities, EntityCache, EntityStats, Loader, _Source
from ..errors import Conflict
from ..ports import Ttl
from ..values import check_name, encode_json

if TYPE_CHECKING:
    from ..engine.core import Core
    from .core import RemoteCore


class RemoteEntities(Entities):
    """Implements a read-through cache. Rows and leases are kept on the server, and loader functions run on the
    client."""

    def __init__(self, core: RemoteCore) -> None:
        self._core = cast("Core", core)
        self._state: EntityCache = core.shared.entity_cache

    async def get(
        self, type: str, id: str, load: Loader | None = None, *, ttl: Ttl | None = None, stale: Ttl | None = None
    ) -> Any:
        """Return the entity from the cache, or load it."""
        self._core.scope.whole_org("the entity cache")
        key = (self._core.org, check_name(type, "entity type"), check_name(str(id), "entity id"))
        source = self._source(type, load, ttl, stale)
        if self._is_invalidated(key):
            self._state.stats.misses += 1
            return await self._call(source.load, key[2])
        view = await self._remote.call("entity_cache.look", type=type, id=key[2])
        stats: EntityStats = self._state.stats
        if view is not None and view.fresh:
            stats.hits += 1
            return view.value
        if view is not None and view.stale and source.stale:
            stats.stale += 1
            if not view.leased:
                self._reload(key, source)
            return view.value
        stats.misses += 1
        return await self._shared_load(key, source)

    async def invalidate(self, type: str, id: str | None = None) -> int:
        """Remove one entity, or all entities of a type, and return how many were removed."""
        self._core.scope.whole_org("the entity cache")
        check_name(type, "entity type")
        fields = {"type": type} if id is None else {"type": type, "id": check_name(str(id), "entity id")}
        remote = cast("RemoteCore", self._core)
        return int(await remote.call("entity_cache.invalidate", **fields) or 0)

    @property
    def _remote(self) -> RemoteCore:
        # The cache is read and written at once, even inside a batch.
        return cast("RemoteCore", self._core).committed()

    def _is_invalidated(self, key: tuple[str, str, str]) -> bool:
        """Return whether this batch has invalidated an entity. Others see that once it is committed, so nothing is
        cached until then."""
        steps = cast("list[Any]", self._core.batch or [])
        removed = [step["arguments"] for step in steps if step["operation"] == "entity_cache.invalidate"]
        return any(each["type"] == key[1] and each.get("id", key[2]) == key[2] for each in removed)

    async def _load_once(self, key: tuple[str, str, str], source: _Source) -> object:
        pause = 0.005
        while True:
            view = await self._remote.call("entity_cache.lease", type=key[1], id=key[2])
            if view.owner is not None:
                return await self._load_under(key, view.owner, source)
            if view.fresh:
                return view.value
            await self._core.runtime.sleep(pause)
            pause = min(0.25, pause * 1.5)

    async def _load_under(self, key: tuple[str, str, str], owner: str, source: _Source) -> object:
        office, lease = self._state, {"type": key[1], "id": key[2], "owner": owner}
        office.stats.loads += 1
        try:
            value = await self._call(source.load, key[2])
            encode_json(value, "entity")
        except BaseException as error:
            self._failed(key, error)
            # If another client has taken over the lease, there is nothing to release.
            with suppress(Conflict):
                await self._remote.call("entity_cache.give_back", **lease)
            raise
        office.finished += 1
        office.failed.pop(key, None)
        terms = {"ttl": source.ttl / 1e6, "stale": source.stale / 1e6}
        try:
            await self._remote.call("entity_cache.keep", value=value, **lease, **terms)
        except Conflict:
            # The entity was invalidated or taken over while it was loading, so the value is too old to be cached.
            return value
        return value
