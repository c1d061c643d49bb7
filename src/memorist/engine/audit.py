"""The audit trail records who did what to which item, when, and from which source.

It contains only ids, never content, and is append-only.
"""

from __future__ import annotations

import os
import re
from datetime import datetime
from itertools import count

from ..filters import parse_filter
from ..ids import fingerprint
from ..messages.message import split_message_id
from ..ports import Ttl, When, as_datetime, to_micros, ttl_micros
from ..records import AuditEvent, Task, Thread
from ..stores.base import DeleteRange, Put
from ..values import JsonObject, check_name
from .core import Bounds, Core
from .options import checked_limit

_order = count()
PAGE_EVENTS = 500
"""How many events to read at a time for a user, of which only those about the user are returned."""


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

        A user's handle lists the events about the user's own records, whoever caused them, and what the handle itself
        did. Events about a thread or a task that has since been deleted are listed only if the user deleted it.

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
        if kind is not None:
            bounds["where"] = parse_filter({"kind": kind})
        prefix: tuple[str, ...] = ()
        if subject is not None:
            bounds["index"], prefix = "by_subject", (check_name(subject, "subject"),)
        user = self._core.scope.user
        if user is None:
            return await self._core.listed(AuditEvent, *prefix, **bounds)
        return await _listed_for(self._core, user, prefix, bounds)

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


async def _listed_for(core: Core, user: str, prefix: tuple[str, ...], bounds: Bounds) -> list[AuditEvent]:
    """Return the events that concern a user, up to the limit. The trail is read in pages."""
    limit = bounds.get("limit")
    events: list[AuditEvent] = []
    owners: dict[tuple[str, str], str | None] = {}
    bounds["limit"] = PAGE_EVENTS
    while limit is None or len(events) < limit:
        page = await core.listed(AuditEvent, *prefix, **bounds)
        events += [event for event in page if await _concerns(core, event, user, owners)]
        if len(page) < PAGE_EVENTS:
            break
        bounds["before" if bounds.get("reverse") else "after"] = (page[-1].id,)
    return events[:limit]


async def _concerns(core: Core, event: AuditEvent, user: str, owners: dict[tuple[str, str], str | None]) -> bool:
    """Return whether an event is about a user's record, or was caused by the user.

    `owners` collects the namespaces of threads and tasks.
    """
    space = f"user:{user}"
    if event.user == user or event.subject == space or event.subject.startswith(f"{space}/"):
        return True
    if event.action == "forget":
        return event.subject == fingerprint(space)
    if event.kind not in ("thread", "message", "task"):
        return False
    parts = split_message_id(event.subject) if event.kind == "message" else None
    item = event.subject if parts is None else parts[0]
    if (event.kind, item) not in owners:
        row = await core.get(Task, item) if event.kind == "task" else await core.get(Thread, item)
        owners[event.kind, item] = None if row is None else row.ns
    return owners[event.kind, item] == space
