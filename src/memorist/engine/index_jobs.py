"""Creates the outbox rows that request work from a worker."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ..records import Entry, IndexProgress, Job, Thread
from ..stores.base import Change, Delete, Expect, Put

THREAD_QUEUES = ("index", "derive", "reread", "fold", "archive")
"""Queues whose jobs belong to a thread or to another indexed thing."""
NAMESPACE_QUEUES = (*THREAD_QUEUES, "embed", "dedup", "tidy", "count", "uploads")
"""All queues with jobs that belong to a namespace. Forgetting the namespace deletes these jobs."""
INDEXED_NEIGHBOURS = 3
"""How many messages before and after a message have its terms in their index entries."""


def index_job(org: str, ns: str, item: str, at: datetime, queue: str = "index") -> Job:
    """Return the outbox row that asks a worker to index an item (or, with another queue, to derive from it)."""
    return Job(org=org, queue=queue, ns=ns, item=item, run_at=at, created_at=at, updated_at=at)


def ready_job(job: Job, at: datetime, *, due: datetime | None = None) -> Job:
    """Return a job as it is given back to its queue, without its lease, its attempts and its error."""
    return msgspec.structs.replace(
        job, status="ready", owner=None, leased_until=None, attempts=0, error=None, run_at=due or at, updated_at=at
    )


def job_end(job: Job) -> list[Change]:
    """Return changes that delete a job, and fail if it was claimed again or written since this worker read it."""
    return [Expect(Job, job.row_key, job.version), Delete(Job, job.row_key)]


def reindex_changes(thread: Thread, seq: int, progress: IndexProgress | None, at: datetime) -> list[Change]:
    """Return changes that delete the entries of a message and its neighbours, which also contain its terms, and index
    the neighbours again: the watermark moves back before them. Writing the job makes a running indexer fail.
    """
    first = max(1, seq - INDEXED_NEIGHBOURS)
    ids = [f"{thread.id}#{number}" for number in range(first, seq + INDEXED_NEIGHBOURS + 1)]
    changes: list[Change] = [Delete(Entry, (thread.org, thread.ns, "message", thread.id, id)) for id in ids]
    if progress is not None:
        position = min(progress.position, first - 1)
        changes.append(Put(msgspec.structs.replace(progress, position=position, updated_at=at)))
    # Not `absent`: an existing job must get a new version, which is what the running indexer expects to be unchanged.
    return [*changes, Put(index_job(thread.org, thread.ns, f"thread:{thread.id}", at))]
