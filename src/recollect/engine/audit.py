"""The audit trail: who did what to which thing, when, from which source. Ids only, never content; append-only."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from ..ports import to_micros, ttl_micros
from ..records import AuditEvent
from ..stores.base import DeleteRange, Put
from ..values import check_name
from .core import Core

_order = count()


def audit(
    core: Core, action: str, kind: str, subject: str, source: str | None = None, detail: dict[str, Any] | None = None
) -> Put:
    """The event to put into the same `apply` as the change it tells of; `detail` holds ids and numbers, no content."""
    at = core.at()
    return Put(
        AuditEvent(
            org=core.org,
            # Events of one moment keep their order within a process, and are told apart between processes.
            id=f"{event_id(to_micros(at))}{next(_order) & 0xFFFFFF:06x}{os.urandom(4).hex()}",
            action=action,
            kind=kind,
            subject=subject,
            actor=core.scope.actor,
            user=core.scope.user,
            source=source,
            detail=detail,
            created_at=at,
        )
    )


def event_id(micros: int) -> str:
    """The first id of a moment: ids sort by time."""
    return f"{max(micros, 0):016d}"


class Audit:
    """Reads the trail, and cuts its old end by policy."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def list(
        self,
        *,
        subject: str | None = None,
        kind: str | None = None,
        after: str | datetime | None = None,
        limit: int | None = 100,
        reverse: bool = False,
    ) -> list[AuditEvent]:
        """Events in the order of time, of one subject if named, after an event's id or a moment.

        With `reverse` the newest come first, and `after` goes on towards the older ones.
        """
        if isinstance(after, datetime):
            # The last possible id of that very microsecond; the first, towards the older ones.
            after = event_id(to_micros(after)) + ("" if reverse else "g")
        bound = None if after is None else (after,)
        bounds: dict[str, Any] = {"before" if reverse else "after": bound, "limit": limit, "reverse": reverse}
        user = self._core.scope.user
        if kind is not None or user is not None:
            bounds["where"] = _only(kind, user)
        if subject is None:
            return await self._core.scan(AuditEvent, **bounds)
        return await self._core.scan(AuditEvent, check_name(subject, "subject"), index="by_subject", **bounds)

    async def expire(self, older_than: float | timedelta) -> int:
        """Remove events older than this many seconds (or timedelta); how many went."""
        before = self._core.now() - (ttl_micros(older_than) or 0)
        removed: list[int] = await self._core.apply(
            DeleteRange(AuditEvent, (self._core.org,), before=(event_id(before),))
        )
        return removed[0] or 0


def _only(kind: str | None, user: str | None) -> Any:
    from ..filters import parse_filter

    wanted = {"kind": kind, "user": user}
    return parse_filter({name: value for name, value in wanted.items() if value is not None})
