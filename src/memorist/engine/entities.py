"""Entities are a read-through cache of records from other systems, kept for an hour by default.

Concurrent callers share one load. Within a process, they queue on a lock. Between processes, one caller gets a lease to
load the row, and the others poll until it is loaded. A value whose row was invalidated while it was loading is not
cached, because the load may have read the old data.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

from ..backoff import pause
from ..errors import Conflict, UsageError
from ..ports import Ttl, to_datetime, to_micros, ttl_micros
from ..records import CachedEntity, Key, as_dict
from ..stores.base import Delete, DeleteRange, Expect, Put
from ..values import Json, as_list, as_name, check_name, encode_json
from .core import Core
from .shared import Shared

Loader = Callable[..., object]
"""A sync or async function that accepts an id and returns JSON, or None if there is no such entity."""

ENTITY_TTL_SECONDS = 3600
MISSING_TTL_SECONDS = 30
LOAD_LEASE_SECONDS = 30
_MAX_CACHED_FAILURES = 256


class EntityStats(msgspec.Struct):
    """Counts the cache's hits, misses and loads in this process."""

    to_dict = as_dict

    hits: int = 0
    misses: int = 0
    loads: int = 0
    stale: int = 0
    failures: int = 0


class Terms(msgspec.Struct, frozen=True):
    """Defines how long a cached entity is fresh, and for how long after that it may still be served, in
    microseconds.
    """

    ttl: int
    stale: int = 0


class _Source(Terms, frozen=True, kw_only=True):
    """Holds the loader for one type of entity, and its terms."""

    load: Loader


class EntityCache(msgspec.Struct):
    """Holds the data that all handles on one memory share: loaders by org and type, counts, and recently failed
    loads.
    """

    sources: dict[tuple[str, str], _Source] = {}
    stats: EntityStats = msgspec.field(default_factory=EntityStats)
    failed: dict[Key, tuple[int, BaseException]] = {}
    finished: int = 0


def entity_cache(shared: Shared) -> EntityCache:
    """Return a memory's loaders and counts, created on first use."""
    if shared.entity_cache is None:
        shared.entity_cache = EntityCache()
    return shared.entity_cache


class EntityLeases:
    """Manages the cached rows, and the leases that let only one caller at a time load an entity.

    The server uses it too, because its clients load entities themselves.
    """

    def __init__(self, core: Core) -> None:
        # The cache is written at once, even inside a batch.
        self._core = core.committed()

    async def row(self, type: str, id: str) -> CachedEntity | None:
        """Return the cached row of an entity, fresh or not."""
        return await self._core.get(CachedEntity, type, id)

    def is_fresh(self, row: CachedEntity) -> bool:
        """Return whether a row contains a value that may be returned."""
        return row.status != "loading" and to_micros(row.fresh_until) > self._core.now()

    def is_leased(self, row: CachedEntity) -> bool:
        """Return whether somebody is currently loading the entity."""
        until = row.leased_until
        return row.owner is not None and until is not None and to_micros(until) > self._core.now()

    async def take(self, key: tuple[str, str, str], row: CachedEntity | None) -> CachedEntity | None:
        """Acquire the lease by compare-and-set. Return the leased row, or None if another process got the lease
        first.
        """
        now, at = self._core.now(), self._core.at()
        until = to_datetime(now + LOAD_LEASE_SECONDS * 1_000_000)
        if row is None:
            row = CachedEntity(
                org=key[0], type=key[1], id=key[2], status="loading", fresh_until=at, created_at=at, updated_at=at
            )
        # The row must not expire before its lease, or others would load the entity at the same time.
        expires = row.expires_at if row.expires_at is not None and row.expires_at > until else until
        owner = f"{os.getpid()}-{os.urandom(4).hex()}"
        lease = msgspec.structs.replace(row, owner=owner, leased_until=until, updated_at=at, expires_at=expires)
        try:
            results = await self._core.apply(Expect(CachedEntity, key, row.version), Put(lease))
        except Conflict:
            return None
        except BaseException:
            # Cancelled, or the outcome is unknown: release the lease in case it was taken, or others would wait for it.
            await self.abandon(lease, row)
            raise
        return msgspec.structs.replace(lease, version=results.stored(lease).version)

    async def keep(self, lease: CachedEntity, value: object, source: Terms) -> None:
        """Write a value loaded under a lease."""
        now = self._core.now()
        # What is missing may be created at any moment, so that is not remembered for long.
        ttl = source.ttl if value is not None else min(source.ttl, MISSING_TTL_SECONDS * 1_000_000)
        row = msgspec.structs.replace(
            lease,
            value=value,
            status="missing" if value is None else "found",
            owner=None,
            leased_until=None,
            fresh_until=to_datetime(now + ttl),
            updated_at=to_datetime(now),
            expires_at=to_datetime(now + ttl + (source.stale if value is not None else 0)),
        )
        await self._write_over(lease, Put(row))

    async def give_back(self, lease: CachedEntity, before: CachedEntity | None) -> None:
        """Release the lease after a failed load by restoring the previous row or deleting the row."""
        empty = before is None or before.status == "loading"
        await self._write_over(lease, Delete(CachedEntity, lease.row_key) if before is None or empty else Put(before))

    async def abandon(self, lease: CachedEntity, before: CachedEntity | None) -> None:
        """Release a lease that may or may not have been acquired."""
        row = await self.row(lease.type, lease.id)
        if row is not None and row.owner == lease.owner:
            await self.give_back(row, before)

    async def _write_over(self, lease: CachedEntity, change: Put | Delete) -> None:
        try:
            await self._core.apply(Expect(CachedEntity, lease.row_key, lease.version), change)
        except Conflict:
            # Invalidated or taken over while loading: the loaded value may be outdated.
            return


class Entities:
    """Reads entities from the cache, or through a loader."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._leases = EntityLeases(core)
        self._state = entity_cache(core.shared)

    def register(self, type: str, load: Loader, ttl: Ttl = ENTITY_TTL_SECONDS, *, stale: Ttl | None = None) -> None:
        """Register the loader for a type, so that `get` does not need `load`.

        Args:
            type: The type, such as `customer`.
            load: A function that accepts an id and returns JSON, or None if there is no such entity.
            ttl: How long to cache a value; an hour by default.
            stale: If a value expired less than this long ago, return it immediately and reload it in the background.

        Examples:
            >>> memory.entities.register("customer", lambda id: {"id": id}, ttl=3600)
            >>> memory.entities.get("customer", "7")
            {'id': '7'}
        """
        self._core.scope.whole_org("the entity cache")
        self._state.sources[(self._core.org, check_name(type, "entity type"))] = _source(load, ttl, stale)

    async def get(
        self,
        type: str,
        id: str,
        load: Loader | None = None,
        *,
        ttl: Ttl | None = None,
        stale: Ttl | None = None,
    ) -> Json:
        """Return an entity from the cache or through its loader, or None if the loader returns None.

        A missing entity is remembered for 30 seconds. If the loader raises an error, it is passed on and nothing is
        cached.

        Args:
            type: The type.
            id: The id, as your loader knows it.
            load: The loader, if the type is not registered.
            ttl: How long to cache the value.
            stale: If a value expired less than this long ago, return it immediately and reload it in the background.

        Returns:
            The entity as JSON, or None.

        Examples:
            >>> memory.entities.get("customer", "7", lambda id: {"id": id})
            {'id': '7'}
        """
        self._core.scope.whole_org("the entity cache")
        key = (self._core.org, check_name(type, "entity type"), as_name(id, "entity id"))
        source = self._source(type, load, ttl, stale)
        row = await self._leases.row(*key[1:])
        stats = self._state.stats
        if row is not None and self._core.batch is not None and await self._core.get(CachedEntity, *key[1:]) is None:
            # This batch has invalidated it. Others see that once the batch is committed, so nothing is cached until
            # then.
            stats.misses += 1
            return cast(Json, await self._call(source.load, key[2]))
        if row is not None and row.status != "loading":
            if self._leases.is_fresh(row):
                stats.hits += 1
                return cast(Json, row.value)
            if source.stale:
                stats.stale += 1
                if not self._leases.is_leased(row):
                    self._reload(key, source)
                return cast(Json, row.value)
        stats.misses += 1
        return cast(Json, await self._shared_load(key, source))

    async def get_many(
        self,
        type: str,
        ids: Iterable[str],
        load: Loader | None = None,
        *,
        ttl: Ttl | None = None,
        stale: Ttl | None = None,
    ) -> list[Any]:
        """Return several entities of one type, in the order of the ids. Missing ones are loaded concurrently.

        Args:
            type: The type.
            ids: The ids, as your loader knows them.
            load: The loader, if the type is not registered.
            ttl: How long to cache each value.
            stale: If a value expired less than this long ago, return it immediately and reload it in the background.

        Returns:
            One entity or None per id.

        Examples:
            >>> memory.entities.get_many("customer", ["7", "8"], lambda id: {"id": id})
            [{'id': '7'}, {'id': '8'}]
        """
        self._core.scope.whole_org("the entity cache")
        loads = [self.get(type, id, load, ttl=ttl, stale=stale) for id in as_list(ids, "ids")]
        return await self._core.runtime.gather(loads)

    async def invalidate(self, type: str, id: str | None = None) -> int:
        """Remove one entity, or all entities of a type, from the cache, and return how many were removed.

        Args:
            type: The type.
            id: The id; by default all entities of the type.

        Returns:
            How many entities were removed from the cache.

        Examples:
            >>> customer = memory.entities.get("customer", "7", lambda id: {"id": id})
            >>> memory.entities.invalidate("customer", "7")
            1
        """
        self._core.scope.whole_org("the entity cache")
        prefix = (self._core.org, check_name(type, "entity type"))
        if id is None:
            every = DeleteRange(CachedEntity, prefix)
            return (await self._core.apply(every)).total(every)
        deletion = Delete(CachedEntity, (*prefix, check_name(str(id), "entity id")))
        return int((await self._core.apply(deletion)).existed(deletion))

    def stats(self) -> EntityStats:
        """Count this process's hits, misses and loads across all handles on this memory.

        Returns:
            The counts.

        Examples:
            >>> customer = memory.entities.get("customer", "7", lambda id: {"id": id})
            >>> memory.entities.stats().loads
            1
        """
        self._core.scope.whole_org("the entity cache")
        return msgspec.structs.replace(self._state.stats)

    # -- loading

    def _source(self, type: str, load: Loader | None, ttl: Ttl | None, stale: Ttl | None) -> _Source:
        if load is not None:
            return _source(load, ENTITY_TTL_SECONDS if ttl is None else ttl, stale)
        source = self._state.sources.get((self._core.org, type))
        if source is None:
            raise UsageError(f"no loader for entities of type {type!r}; pass load=… or register one")
        return _Source(
            ttl=source.ttl if ttl is None else ttl_micros(ttl) or 0,
            stale=source.stale if stale is None else ttl_micros(stale) or 0,
            load=source.load,
        )

    async def _shared_load(self, key: tuple[str, str, str], source: _Source) -> object:
        # Counted before waiting for the lock: only a load that failed after this call arrived is one it has waited for.
        arrived = self._state.finished
        async with self._core.shared.entity_locks.hold(key):
            failed = self._state.failed.get(key)
            if failed is not None and failed[0] > arrived:
                # The load that this caller waited for has failed: it gets the error as it would have got the value.
                raise failed[1]
            return await self._load_once(key, source)

    async def _load_once(self, key: tuple[str, str, str], source: _Source) -> object:
        """Load under the row's lease, or wait for the value that another process is loading."""
        tries = 0
        while True:
            # Read again under the lock, because the caller before may have loaded it.
            row = await self._leases.row(*key[1:])
            if row is not None and self._leases.is_fresh(row):
                return row.value
            if row is not None and self._leases.is_leased(row):
                tries += 1
                await self._core.runtime.sleep(pause(tries, first=0.005, longest=0.25))
                continue
            lease = await self._leases.take(key, row)
            if lease is not None:
                return await self._load(lease, row, source)

    async def _load(self, lease: CachedEntity, before: CachedEntity | None, source: _Source) -> object:
        state = self._state
        state.stats.loads += 1
        try:
            value = await self._call(source.load, lease.id)
            encode_json(value, "entity")
        except BaseException as error:
            self._failed(lease.row_key, error)
            await self._leases.give_back(lease, before)
            raise
        state.finished += 1
        state.failed.pop(lease.row_key, None)
        try:
            await self._leases.keep(lease, value, source)
        except BaseException:
            await self._leases.abandon(lease, before)
            raise
        return value

    def _failed(self, key: Key, error: BaseException) -> None:
        """Count a failed load, and keep its error for callers that were waiting for it."""
        state = self._state
        state.stats.failures += 1
        state.finished += 1
        # A cancelled load says nothing about the entity, so those who waited for it load it themselves.
        if isinstance(error, Exception):
            state.failed[key] = (state.finished, error)
            while len(state.failed) > _MAX_CACHED_FAILURES:
                state.failed.pop(next(iter(state.failed)))

    async def _call(self, load: Loader, id: str) -> object:
        arguments = (id,) if _takes_id(load) else ()
        if inspect.iscoroutinefunction(load):
            return await self._core.runtime.resolve(load(*arguments))
        return await self._core.runtime.resolve(await self._core.runtime.offload(load, *arguments))

    def _reload(self, key: tuple[str, str, str], source: _Source) -> None:
        """Load in the background."""

        async def reload() -> None:
            try:
                await self._shared_load(key, source)
            except Exception:
                # Counted in `failures`. The stale value is served until it is too old; then a caller gets the error.
                return

        self._core.runtime.start(reload, "memorist-entity")


def _source(load: Loader, ttl: Ttl, stale: Ttl | None) -> _Source:
    if not callable(load):
        raise UsageError("a loader is a function of an id")
    return _Source(ttl=ttl_micros(ttl) or 0, stale=ttl_micros(stale) or 0, load=load)


def _takes_id(load: Loader) -> bool:
    """Return whether the loader accepts the id as an argument. A loader for a single entity does not have to accept
    it.
    """
    try:
        parameters = inspect.signature(load).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)
