"""The audit trail records who did what to which item, when, and from which source.

It contains only ids, never content, and is append-only.
"""

from __future__ import annotations

import os
import re
from datetime import datetime
from itertools import count

from ..filters import Filter
from ..ports import Ttl, When, as_datetime, to_micros, ttl_micros
from ..records import AuditEvent
from ..stores.base import DeleteRange, Put
from ..values import JsonObject, check_name
from .core import Bounds, Core
from .options import checked_limit

_order = count()


_process = os.urandom(4).hex()
"""This is random so that two processes generate different ids."""


def _after_fork() -> None:
    global _process
    _process = os.urandom(4).hex()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_after_fork)


def audit(
    core: Core,
    action: str,
    kind: str,
    subject: str,
    source: str | None = None,
    detail: JsonObject | None = None,
    at: datetime | None = None,
) -> Put:
    """Return an audit event, which must be applied together with the change it records.

    `detail` contains ids and numbers, but no content.
    """
    at = at or core.at()
    return Put(
        AuditEvent(
            org=core.org,
            # A counter orders events of the same microsecond.
            id=f"{event_id(to_micros(at))}{next(_order) & 0xFFFFFF:06x}{_process}",
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
    """Return the lowest id for a given time. Ids sort by time."""
    return f"{max(micros, 0):016d}"


class Audit:
    """Reads the audit trail, and deletes old events."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def list(
        self,
        *,
        subject: str | None = None,
        kind: str | None = None,
        limit: int | None = None,
        after: When | None = None,
        reverse: bool = False,
    ) -> list[AuditEvent]:
        """List events in chronological order.

        Args:
            subject: Return only events about this id, such as `user:ada/city`.
            kind: Return only events of this kind.
            limit: The maximum number to return.
            after: The id or time of the last event of the previous page.
            reverse: Whether to list the newest events first.

        Returns:
            The events.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [event.action for event in memory.audit.list(subject="user:ada/city")]
            ['set']
        """

        bounds: Bounds = {"limit": checked_limit(limit), "reverse": reverse}
        if after is not None:
            bounds["before" if reverse else "after"] = (_event_bound(after, reverse),)
        user = self._core.scope.user
        if kind is not None or user is not None:
            bounds["where"] = _only(kind, user)
        if subject is None:
            return await self._core.listed(AuditEvent, **bounds)
        bounds["index"] = "by_subject"
        return await self._core.listed(AuditEvent, check_name(subject, "subject"), **bounds)

    async def expire(self, older_than: Ttl) -> int:
        """Delete events older than a given age, and return how many were deleted.

        Args:
            older_than: Seconds or a timedelta.

        Returns:
            How many events were deleted.

        Raises:
            Forbidden: This is a user's handle.

        Examples:
            >>> memory.audit.expire(older_than=90 * 24 * 3600)
            0
        """
        self._core.scope.whole_org("expiring the audit trail")
        before = self._core.now() - (ttl_micros(older_than) or 0)
        old = DeleteRange(AuditEvent, (self._core.org,), before=(event_id(before),))
        return (await self._core.apply(old)).total(old)


_ID = re.compile(r"\d{16}[0-9a-f]{14}")


def _event_bound(after: When, reverse: bool) -> str:
    """Return an event's id unchanged, or convert a time to the id after (or before) all events in that microsecond."""
    if isinstance(after, str) and _ID.fullmatch(after):
        return after
    return event_id(to_micros(as_datetime(after, "after"))) + ("" if reverse else "g")


def _only(kind: str | None, user: str | None) -> Filter | None:
    from ..filters import parse_filter

    wanted = {"kind": kind, "user": user}
    return parse_filter({name: value for name, value in wanted.items() if value is not None})
