"""Caches the retrievals of a session: the same question with nothing written since reuses the earlier hits."""

from __future__ import annotations

from typing import Any

from ...messages.message import Message, message_id
from ...records import AuditEvent, Fact, Job, Learning, Mark
from ..core import Core
from ..sessions.assembling import Assembling, Recall

KEPT = 16


class CachedAssembling(Assembling):
    """Assembles requests with a small cache of hits, valid until something is written."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._kept: dict[tuple[str, str], tuple[Any, list[Any]]] = {}
        self.reused = 0

    async def _hits(self, query: str, spec: Recall) -> list[Any]:
        key = (query, repr(spec))
        known = self._kept.get(key)
        if known is not None and known[0] == await self._state() and await self._alive(known[1]):
            self.reused += 1
            return known[1]
        found = await super()._hits(query, spec)
        # Recall itself indexes waiting messages, so the state to compare with is read after it.
        state = await self._state()
        if state is not None:
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = (state, found)
        return found

    async def _state(self) -> Any:
        """A value that changes with every write that recall can see; None while writes wait to be indexed."""
        core = self._core
        if [job for job in await core.scan(Job, "index", limit=20) if job.status != "dead"]:
            return None
        marks = await core.scan(Mark, "scope")
        newest = await core.scan(AuditEvent, reverse=True, limit=1)
        return [(mark.item, mark.version) for mark in marks], newest[0].id if newest else None

    async def _alive(self, hits: list[Any]) -> bool:
        """Whether all hits still exist: they may have expired, or been deleted without an audit event."""
        return all([await self._lives(hit) for hit in hits])

    async def _lives(self, hit: Any) -> bool:
        core = self._core
        if hit.kind == "message":
            return await core.get(Message, *message_id(hit.id)) is not None
        if hit.kind == "fact":
            return await core.get(Fact, hit.namespace, hit.id[len(hit.namespace) + 1 :]) is not None
        if hit.kind == "learning":
            return await core.get(Learning, hit.namespace, hit.id) is not None
        return bool(hit.kind == "summary")
