"""Brings namespaces up to date before they are read: it indexes new records and lets the local rules read new messages.

As a result, the next recall, context or profile includes what a user has just said, even if no worker has run. This
never calls a language model, because that takes seconds. Facts that need the model appear once the worker has run.
While the model cannot be reached, the rules read the messages here too. A backlog of more than `MAX_MESSAGES`, such as
an import, is left to the worker.

This covers everything written before the call. Anything written during the call is left for the next call. A reader
that tried to keep up with a busy writer would never return. While somebody keeps writing to a thread, recalls index
only part of it, spend at most a twentieth of their time on that, and search the rest by words (`unindexed_drafts`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from itertools import count
from time import monotonic

from ...backoff import pause
from ...errors import Conflict, StoreError
from ...filters import parse_filter
from ...records import Derivation, Job, Key, Thread
from ...scope import Scope
from ..core import Core
from .deriving import Deriver
from .indexing import INDEX, Indexer
from .limits import OverLimit

MAX_MESSAGES = 2_000
"""The maximum number of messages to read before answering; the rules need about half a second to read that many."""
MAX_THREADS = 200
MAX_SECONDS = 30.0
"""After this time, the answer uses only what is already indexed, however much is left."""
MAX_WAIT_SECONDS = 5.0
"""How long to wait while this process's own worker reads the same messages. This takes milliseconds, except the first
time, when the worker loads the rules."""
MAX_SECONDS_BESIDE_WRITER = 0.02
"""How long the rules may read messages in a namespace where a thread is growing; the rest waits for the worker or for a
pause."""
REST_FACTOR = 30
"""After recall has caught up with a busy thread, it leaves the thread alone for this many times as long as catching up
took."""
MAX_BUSY_THREADS = 10_000
_ALIVE = parse_filter({"status": {"$ne": "dead"}})


async def catch_up(core: Core, namespaces: Sequence[str]) -> dict[str, int]:
    """Index everything new in these namespaces, extract facts and learnings from it, and index those.

    If the store refuses to write, for example because the disk is full, the answer uses only what is already indexed.
        Returns: The threads that others keep writing to and that are only partly indexed, with the number of the last
            indexed message.
    """
    if core.moment is not None:  # the past is read from what the present knows
        core = Core(core.shared, core.scope)
    began, indexer = monotonic(), Indexer(core, until=monotonic() + MAX_SECONDS)
    try:
        await _caught_up(core, namespaces, indexer)
    except StoreError as problem:
        core.shared.unwritten(INDEX, problem)
    busy = core.shared.busy_threads
    if len(busy) > MAX_BUSY_THREADS:
        busy.clear()
    rests_until = monotonic() + REST_FACTOR * (monotonic() - began)
    busy.update(((core.org, id), (rests_until, grew)) for id, grew in indexer.busy.items())
    return indexer.left


async def _caught_up(core: Core, namespaces: Sequence[str], indexer: Indexer) -> None:
    """Bring namespaces up to date. In a shared org, this only indexes, because that org's own handles derive its
    facts.
    """
    await indexer.catch_up(namespaces)
    if core.scope.foreign or not core.shared.derives:
        return
    until = monotonic() + (MAX_SECONDS_BESIDE_WRITER if any(indexer.busy.values()) else MAX_SECONDS)
    read = _read if core.shared.reads_by_rules else _stand_in
    if any([await read(core, ns, until, indexer.left) for ns in namespaces]):
        await Indexer(core, until=until).catch_up(namespaces, threads=False)


async def _read(core: Core, ns: str, until: float, busy: Collection[str]) -> bool:
    """Run a namespace's waiting derivations unless there are too many, and return whether there were any."""
    waiting = await core.scan(Job, "derive", ns, where=_ALIVE, limit=MAX_THREADS + 1)
    jobs = [job for job in waiting if job.item.partition(":")[2] not in busy]
    if not jobs or len(jobs) > MAX_THREADS or await _backlog(core, jobs) > MAX_MESSAGES:
        return False
    deriver = Deriver(Core(core.shared, Scope(core.org, None, "processor")))
    until = min(until, monotonic() + MAX_WAIT_SECONDS)
    # The jobs are not claimed: a claim costs a write, and the first commit of whoever reads a batch settles the race.
    for attempt in count():
        left = [job for job in jobs if monotonic() > until or not await _done(core, deriver, job, until)]
        if not left or monotonic() > until:
            break
        # A worker may have claimed a job since it was read.
        rows = await core.get_many(Job, [job.row_key[1:] for job in left])
        jobs = [job for job in rows if job is not None and job.status != "dead"]
        # Only the worker of this process is waited for; one elsewhere may be slow, or dead.
        is_ours = any((job.owner or "").startswith(f"{os.getpid()}-") for job in jobs)
        is_free = attempt == 0 and any(job.status == "ready" and not job.error for job in jobs)
        if not is_ours and not is_free:
            break
        await core.runtime.sleep(pause(attempt, first=0.005, longest=0.1))
    return True


async def _stand_in(core: Core, ns: str, until: float, busy: Collection[str]) -> bool:
    """Let the rules read the messages waiting for an unreachable model, and return whether there were any."""
    waiting = await core.scan(Job, "derive", ns, where=_ALIVE, limit=MAX_THREADS + 1)
    failed = [job for job in waiting if job.status == "ready" and job.error]
    jobs = [job for job in failed if job.item.partition(":")[2] not in busy]
    if not jobs or len(waiting) > MAX_THREADS or await _backlog(core, jobs) > MAX_MESSAGES:
        return False
    deriver = Deriver(Core(core.shared, Scope(core.org, None, "processor")))
    for job in jobs:
        # Beyond the daily limit of tokens the application decides whether the rules read instead.
        if monotonic() > until or (job.error or "").startswith(OverLimit.__name__):
            continue
        try:
            await deriver.stand_in(job)
        except Conflict:  # a worker has just read them
            continue
    return True


async def _backlog(core: Core, jobs: Sequence[Job]) -> int:
    """Return how many messages the jobs cover."""
    ids: list[Key] = [(job.item.partition(":")[2],) for job in jobs]
    threads, derivations = await core.get_many(Thread, ids), await core.get_many(Derivation, ids)
    return sum(
        thread.length - (derivation.position if derivation is not None else 0)
        for thread, derivation in zip(threads, derivations, strict=True)
        if thread is not None
    )


async def _done(core: Core, deriver: Deriver, job: Job, until: float) -> bool:
    """Run a job that is unclaimed and has not failed before, and return whether it is done."""
    if job.status != "ready" or job.error:
        return False
    try:
        await deriver.run(job, until=until)
    except Conflict:  # an append or a worker interfered: the job's version has changed
        return False
    except StoreError:
        raise
    except Exception as problem:
        # The worker meets the same problem, retries, and reports it as a dead letter; an answer must not fail for it.
        core.shared.note("extractor", problem)
        return False
    return True
