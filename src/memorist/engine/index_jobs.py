"""The outbox row that asks a worker for something."""

from __future__ import annotations

from datetime import datetime

from ..records import Job


def index_job(org: str, ns: str, item: str, at: datetime, queue: str = "index") -> Job:
    """The outbox row that asks a worker to index a thing (or, with another queue, to derive from it)."""
    return Job(org=org, queue=queue, ns=ns, item=item, run_at=at, created_at=at, updated_at=at)
