"""Blocking entities.

Made by scripts/generate-blocking from engine/entities.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..engine.entities import ENTITY_TTL, EntityStats, Loader
from ..engine.entities import Entities as EngineEntities
from ..ports import Ttl
from ..runtime import run_blocking
from ..values import Json


class Entities:
    """Reads through to a loader."""

    def __init__(self, engine: EngineEntities) -> None:
        self._engine = engine

    def register(self, type: str, load: Loader, ttl: Ttl = ENTITY_TTL, *, stale: Ttl | None = None) -> None:
        """Say how entities of a type are loaded: `load(id)` gives JSON, or None where there is no such entity.

        Examples:
            >>> memory.entities.register("customer", lambda id: {"id": id}, ttl=3600)
            >>> memory.entities.get("customer", "7")
            {'id': '7'}
        """
        self._engine.register(type, load, ttl, stale=stale)

    def get(
        self, type: str, id: str, load: Loader | None = None, *, ttl: Ttl | None = None, stale: Ttl | None = None
    ) -> Json:
        """The entity, from the cache or loaded; None where the loader knows none (kept for 30 s).

        With `stale`, one that is too old by up to so much is served at once and loaded again in the background.

        Raises what the loader raises; nothing is cached then.

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
    ) -> list[Json]:
        """Several entities of one type, in the order of their ids given; those not in the cache are loaded together.

        Examples:
            >>> memory.entities.get_many("customer", ["7", "8"], lambda id: {"id": id})
            [{'id': '7'}, {'id': '8'}]
        """
        return run_blocking(self._engine.get_many(type, ids, load, ttl=ttl, stale=stale))

    def invalidate(self, type: str, id: str | None = None) -> int:
        """Drop one entity, or all of a type; how many went.

        Examples:
            >>> customer = memory.entities.get("customer", "7", lambda id: {"id": id})
            >>> memory.entities.invalidate("customer", "7")
            1
        """
        return run_blocking(self._engine.invalidate(type, id))

    def stats(self) -> EntityStats:
        """Hits, misses and loads of this process, over all handles on this memory.

        Examples:
            >>> customer = memory.entities.get("customer", "7", lambda id: {"id": id})
            >>> memory.entities.stats().loads
            1
        """
        return self._engine.stats()
