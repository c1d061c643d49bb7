"""Blocking threads."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from ..engine import threads as engine
from ..engine.threads import Given, MessageReceipt, Place
from ..messages import Message
from ..records import Summary, Thread
from ..runtime import run_blocking
from ..scope import Namespace


class Threads:
    """Conversations."""

    def __init__(self, engine: engine.Threads) -> None:
        self._engine = engine

    def create(
        self,
        ns: str | Namespace,
        title: str | None = None,
        *,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        ttl: float | timedelta | None = None,
    ) -> Thread:
        return run_blocking(self._engine.create(ns, title, id=id, metadata=metadata, ttl=ttl))

    def get(self, id: str) -> Thread | None:
        return run_blocking(self._engine.get(id))

    def list(self, ns: str | Namespace, *, limit: int | None = None, after: str | None = None) -> list[Thread]:
        return run_blocking(self._engine.list(ns, limit=limit, after=after))

    def append(self, id: str, *messages: Given, key: str | None = None) -> builtins.list[MessageReceipt]:
        return run_blocking(self._engine.append(id, *messages, key=key))

    def messages(
        self,
        id: str,
        limit: int | None = None,
        *,
        before: Place | None = None,
        after: Place | None = None,
        roles: Sequence[str] | None = None,
    ) -> builtins.list[Message]:
        return run_blocking(self._engine.messages(id, limit, before=before, after=after, roles=roles))

    def recent(self, id: str, n: int = 10) -> builtins.list[Message]:
        return run_blocking(self._engine.recent(id, n))

    def message(self, id: str) -> Message | None:
        return run_blocking(self._engine.message(id))

    def delete_messages(self, id: str, *, ids: Sequence[str] | None = None, before: Place | None = None) -> int:
        return run_blocking(self._engine.delete_messages(id, ids=ids, before=before))

    def delete(self, id: str) -> bool:
        return run_blocking(self._engine.delete(id))

    def summaries(self, id: str) -> builtins.list[Summary]:
        return run_blocking(self._engine.summaries(id))
