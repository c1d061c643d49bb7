"""Blocking entities.

Made by scripts/generate-blocking from engine/entities.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..engine.entities import ENTITY_TTL_SECONDS, EntityStats, Loader
from ..engine.entities import Entities as EngineEntities
from ..ports import Ttl
from ..runtime import run_blocking
from ..values import Json


class Entities:
    """Reads entities from the cache, or through a loader."""

    def __init__(self, engine: EngineEntities) -> None:
        self._engine = engine

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
        self._engine.register(type, load, ttl, stale=stale)

    def get(
        self, type: str, id: str, load: Loader | None = None, *, ttl: Ttl | None = None, stale: Ttl | None = None
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
        return run_blocking(self._engine.get(type, id, load, ttl=ttl, stale=stale))

    def get_many(
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
        return run_blocking(self._engine.get_many(type, ids, load, ttl=ttl, stale=stale))

    def invalidate(self, type: str, id: str | None = None) -> int:
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
        return run_blocking(self._engine.invalidate(type, id))

    def stats(self) -> EntityStats:
        """Count this process's hits, misses and loads across all handles on this memory.

        Returns:
            The counts.

        Examples:
            >>> customer = memory.entities.get("customer", "7", lambda id: {"id": id})
            >>> memory.entities.stats().loads
            1
        """
        return self._engine.stats()
