"""Blocking audit.

Made by scripts/generate-blocking from engine/audit.py; change that, then run the script.
"""

from __future__ import annotations

from ..engine.audit import Audit as EngineAudit
from ..ports import Ttl, When
from ..records import AuditEvent
from ..runtime import run_blocking


class Audit:
    """Reads the audit trail, and deletes old events."""

    def __init__(self, engine: EngineAudit) -> None:
        self._engine = engine

    def expire(self, older_than: Ttl) -> int:
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
        return run_blocking(self._engine.expire(older_than))

    def list(
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
        return run_blocking(self._engine.list(subject=subject, kind=kind, limit=limit, after=after, reverse=reverse))
