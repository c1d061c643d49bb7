"""Blocking facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from ..engine import facts as engine
from ..engine.facts import Ns
from ..records import Fact
from ..runtime import run_blocking


class Facts:
    """What is known, under `namespace` and `key`."""

    def __init__(self, engine: engine.Facts) -> None:
        self._engine = engine

    def set(
        self,
        ns: Ns,
        key: str,
        value: Any,
        *,
        ttl: float | timedelta | None = None,
        confidence: float = 1.0,
        source: str | None = None,
        expect: int | None = None,
    ) -> Fact:
        return run_blocking(
            self._engine.set(ns, key, value, ttl=ttl, confidence=confidence, source=source, expect=expect)
        )

    def set_many(self, ns: Ns, items: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> list[Fact]:
        return run_blocking(self._engine.set_many(ns, items))

    def get(self, ns: Ns, key: str, *, as_of: datetime | None = None) -> Fact | None:
        return run_blocking(self._engine.get(ns, key, as_of=as_of))

    def delete(self, ns: Ns, key: str) -> bool:
        return run_blocking(self._engine.delete(ns, key))

    def reject(self, ns: Ns, key: str, *, reason: str | None = None) -> Fact:
        return run_blocking(self._engine.reject(ns, key, reason=reason))

    def correct(self, ns: Ns, key: str, value: Any, *, reason: str | None = None) -> Fact:
        return run_blocking(self._engine.correct(ns, key, value, reason=reason))

    def history(self, ns: Ns, key: str) -> list[Fact]:
        return run_blocking(self._engine.history(ns, key))

    def delete_expired(self) -> int:
        return run_blocking(self._engine.delete_expired())

    # Last: the name hides the builtin for annotations below it.
    def list(
        self,
        ns: Ns,
        *,
        prefix: str | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> list[Fact]:
        return run_blocking(self._engine.list(ns, prefix=prefix, where=where, limit=limit, after=after))
