"""Blocking entities."""

from __future__ import annotations

from typing import Any

from ..engine import entities as engine
from ..engine.entities import ENTITY_TTL, EntityStats, Loader, Seconds
from ..runtime import run_blocking


class Entities:
    """Reads through to a loader."""

    def __init__(self, engine: engine.Entities) -> None:
        self._engine = engine

    def register(self, type: str, load: Loader, ttl: Seconds = ENTITY_TTL, *, stale: Seconds | None = None) -> None:
        self._engine.register(type, load, ttl, stale=stale)

    def get(
        self,
        type: str,
        id: str,
        load: Loader | None = None,
        *,
        ttl: Seconds | None = None,
        stale: Seconds | None = None,
    ) -> Any:
        return run_blocking(self._engine.get(type, id, load, ttl=ttl, stale=stale))

    def invalidate(self, type: str, id: str | None = None) -> int:
        return run_blocking(self._engine.invalidate(type, id))

    def stats(self) -> EntityStats:
        return self._engine.stats()
