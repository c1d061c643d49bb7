"""Creates the outbox rows that request work from a worker."""

from __future__ import annotations

from datetime import datetime

from ..records import Job

THREAD_QUEUES = ("index", "derive", "reread", "fold", "archive")
"""Queues whose jobs belong to a thread or to another indexed thing."""
NAMESPACE_QUEUES = (*THREAD_QUEUES, "embed", "dedup", "tidy", "count", "uploads")
"""All queues with jobs that belong to a namespace. Forgetting the namespace deletes these jobs."""


def index_job(org: str, ns: str, item: str, at: datetime, queue: str = "index") -> Job:
    """Return the outbox row that asks a worker to index an item (or, with another queue, to derive from it)."""
    return Job(org=org, queue=queue, ns=ns, item=item, run_at=at, created_at=at, updated_at=at)
