"""Blocking documents."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ..engine import documents as engine
from ..records import Chunk, Document
from ..runtime import run_blocking
from ..scope import Namespace


class Documents:
    """Knowledge to recall from."""

    def __init__(self, engine: engine.Documents) -> None:
        self._engine = engine

    def add(
        self,
        ns: str | Namespace,
        text: str,
        *,
        title: str | None = None,
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        ttl: float | timedelta | None = None,
    ) -> Document:
        return run_blocking(self._engine.add(ns, text, title=title, source=source, metadata=metadata, id=id, ttl=ttl))

    def get(self, ns: str | Namespace, id: str) -> Document | None:
        return run_blocking(self._engine.get(ns, id))

    def chunks(self, ns: str | Namespace, id: str) -> builtins.list[Chunk]:
        return run_blocking(self._engine.chunks(ns, id))

    def delete(self, ns: str | Namespace, id: str) -> bool:
        return run_blocking(self._engine.delete(ns, id))

    # Last: the name hides the builtin for annotations below it.
    def list(
        self,
        ns: str | Namespace,
        *,
        where: Mapping[str, Any] | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> builtins.list[Document]:
        return run_blocking(self._engine.list(ns, where=where, limit=limit, after=after))
