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
        """Remove events older than this many seconds (or timedelta); returns how many.

        Raises `Forbidden` on a user's handle.

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
        """List events by time (or `reverse`), of one subject if given; the next page is `after` an event's id or a
        time.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [event.action for event in memory.audit.list(subject="user:ada/city")]
            ['set']
        """
        return run_blocking(self._engine.list(subject=subject, kind=kind, limit=limit, after=after, reverse=reverse))
