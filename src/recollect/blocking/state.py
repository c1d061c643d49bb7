"""Blocking state."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ..engine import state as engine
from ..records import StateEntry
from ..runtime import run_blocking


class State:
    """Keys and values beside the conversation."""

    def __init__(self, engine: engine.State) -> None:
        self._engine = engine

    def get(self, key: str, default: Any = None) -> Any:
        return run_blocking(self._engine.get(key, default))

    def entry(self, key: str) -> StateEntry | None:
        return run_blocking(self._engine.entry(key))

    def set(
        self, key: str, value: Any, *, ttl: float | timedelta | None = None, expect: int | None = None
    ) -> StateEntry:
        return run_blocking(self._engine.set(key, value, ttl=ttl, expect=expect))

    def delete(self, key: str) -> bool:
        return run_blocking(self._engine.delete(key))

    def increment(self, key: str, by: int = 1, *, ttl: float | timedelta | None = None) -> int:
        return run_blocking(self._engine.increment(key, by, ttl=ttl))
