"""Blocking records."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from ..engine import records as engine
from ..engine.records import OpaqueRecord, RecordPut
from ..ordered_keys import RecordKey
from ..runtime import run_blocking
from ..scope import Namespace


class Records:
    """Bytes and JSON values under tuples of texts and numbers."""

    def __init__(self, engine: engine.Records) -> None:
        self._engine = engine

    def put(
        self,
        ns: str | Namespace,
        key: Sequence[str | int | float],
        data: Any,
        *,
        meta: Mapping[str, Any] | None = None,
        ttl: float | timedelta | None = None,
        expect: int | None = None,
        absent: bool = False,
    ) -> OpaqueRecord:
        return run_blocking(self._engine.put(ns, key, data, meta=meta, ttl=ttl, expect=expect, absent=absent))

    def put_many(
        self,
        ns: str | Namespace,
        items: Mapping[RecordKey, Any] | Iterable[tuple[RecordKey, Any] | RecordPut],
        *,
        ttl: float | timedelta | None = None,
        absent: bool = False,
    ) -> builtins.list[OpaqueRecord]:
        return run_blocking(self._engine.put_many(ns, items, ttl=ttl, absent=absent))

    def get(self, ns: str | Namespace, key: Sequence[str | int | float]) -> OpaqueRecord | None:
        return run_blocking(self._engine.get(ns, key))

    def get_many(
        self, ns: str | Namespace, keys: Iterable[Sequence[str | int | float]]
    ) -> builtins.list[OpaqueRecord | None]:
        return run_blocking(self._engine.get_many(ns, keys))

    def scan(
        self,
        ns: str | Namespace,
        prefix: Sequence[str | int | float] = (),
        *,
        after: Sequence[str | int | float] | None = None,
        before: Sequence[str | int | float] | None = None,
        reverse: bool = False,
        limit: int | None = None,
        where: Mapping[str, Any] | None = None,
        keys_only: bool = False,
    ) -> builtins.list[OpaqueRecord]:
        return run_blocking(
            self._engine.scan(
                ns, prefix, after=after, before=before, reverse=reverse, limit=limit, where=where, keys_only=keys_only
            )
        )

    def delete(self, ns: str | Namespace, key: Sequence[str | int | float], *, expect: int | None = None) -> bool:
        return run_blocking(self._engine.delete(ns, key, expect=expect))

    def delete_range(
        self,
        ns: str | Namespace,
        prefix: Sequence[str | int | float] = (),
        *,
        after: Sequence[str | int | float] | None = None,
        before: Sequence[str | int | float] | None = None,
    ) -> int:
        return run_blocking(self._engine.delete_range(ns, prefix, after=after, before=before))
