"""Blocking audit trail."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..engine import audit as engine
from ..records import AuditEvent
from ..runtime import run_blocking


class Audit:
    """Reads the trail, and cuts its old end by policy."""

    def __init__(self, engine: engine.Audit) -> None:
        self._engine = engine

    def expire(self, older_than: float | timedelta) -> int:
        return run_blocking(self._engine.expire(older_than))

    # Last: the name hides the builtin for annotations below it.
    def list(
        self,
        *,
        subject: str | None = None,
        kind: str | None = None,
        after: str | datetime | None = None,
        limit: int | None = 100,
        reverse: bool = False,
    ) -> list[AuditEvent]:
        return run_blocking(self._engine.list(subject=subject, kind=kind, after=after, limit=limit, reverse=reverse))
