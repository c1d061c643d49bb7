"""The transactional outbox: jobs are committed with the rows they concern, and workers run them at least once.

A job is leased to one worker. A failed job is retried with exponential back-off. After `ATTEMPTS`, a derivation becomes
a dead letter, and `memorist doctor` shows the reason. `retry_dead` or the next append to its thread revives it. If the
model's answer for a message is unusable, or if a message crashes workers, it becomes a dead letter in the `reread`
queue, and the rest of its thread continues. Two kinds of jobs are retried forever, unless they crash workers. The first
is index jobs, because everything else waits for them. The second is jobs whose model is down or too slow, because the
rules read the messages in the meantime.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

import msgspec

from ...backoff import pause, spread
from ...errors import Conflict, CorruptRecord, InvalidValue, MemoristError, ModelError, StoreError
from ...ids import new_id
from ...ports import Model, to_datetime, to_micros
from ...records import Derivation, Job, as_dict
from ...scope import Scope
from ...stores.base import Change, Expect, Put
from ..core import Core
from ..index_jobs import job_end, ready_job
from ..shared import Shared
from ..statistics import COUNT_QUEUE, recount
from ..threads.receipts import MessageReceipt, receipt_states
from .deriving import REREAD, Deriver, failure_reason, is_permanent
from .indexing import Indexer
from .limits import OverLimit
from .progress import derivation_of

QUEUES = ("index", "derive", REREAD, COUNT_QUEUE)
SHOWN = {"index": ("index",), "derive": ("derive", REREAD)}
"""The queues, in the groups that `backlog` uses."""
MAX_ATTEMPTS = 5
POISON = "poison: its workers stopped before they could finish or fail"
JOB_LEASE_MICROSECONDS = 60_000_000
MAX_LEASE_SECONDS = 86_400
CLAIMED_JOBS = 8
"""How many jobs to claim at once from a queue."""
FIRST_DELAY_MICROSECONDS = 1_000_000
MAX_DELAY_MICROSECONDS = 3600 * 1_000_000
QUIET_SECONDS = 0.25
"""How long the in-process worker waits for writes to pause, so that it does not slow down a burst of appends."""
JOIN_SECONDS = 30.0
"""How long to wait for the worker to finish its current batch or model call when closing."""
CLOSE_STEPS = 4
"""How many more steps to run when closing: enough for the last few messages, but not for a backlog."""
POLL_SECONDS = 15.0
"""How often the worker wakes by itself to look for jobs that another process has left behind."""
AGAIN_SECONDS = 1.0
BUSY_SECONDS = 0.01
"""How often `drain` checks whether the in-process worker has finished its job."""
CONFLICT_DELAY_MICROSECONDS = 50_000
"""The maximum wait before a job that conflicted with a concurrent write is claimed again."""
MAX_CONFLICT_WAITS = 20
"""How many times one `drain` waits for such jobs. Without a limit, it would never end if the clock stopped."""


class Backlog(msgspec.Struct, frozen=True):
    """Describes the state of one queue: how many jobs are waiting, failing or dead, and how long they have been
    waiting.
    """

    to_dict = as_dict

    queue: str
    waiting: int
    dead: int
    lag_seconds: float
    errors: tuple[str, ...] = ()
    """These are the reasons for the dead letters."""
    failing: int = 0
    """This says how many of the waiting jobs have failed and will be retried."""
    reasons: tuple[str, ...] = ()
    """These are the reasons why they failed."""


class Outbox:
    """Claims and runs a store's jobs, for all orgs or for one."""

    def __init__(
        self, shared: Shared, org: str | None = None, *, lease: int = JOB_LEASE_MICROSECONDS, model: Model | None = None
    ) -> None:
        self._shared = shared
        self._org = org
        self._lease = max(lease, needed_lease(shared, model))
        self._model = model
        # `catch_up` recognises the jobs of this process's own worker by the pid.
        self._owner = f"{os.getpid()}-{new_id()}"
        self._take = 1
        """How many jobs to claim. This is one at first, and again after a worker has died, because a job claimed
        together with one that crashes workers would also lose an attempt."""
        self.due: int | None = None
        """The time when the first of the jobs sent back is due again."""

    async def step(self, queues: Sequence[str] = QUEUES) -> int:
        """Claim a few jobs and run them, and return how many were claimed."""
        shared, done = self._shared, 0
        await shared.open()
        store: Any = shared.store
        if self.due is not None and self.due <= shared.now():
            self.due = None  # the claims below find that job, or another worker has taken it
        for queue in queues:
            jobs: list[Job] = await store.claim(
                queue, owner=self._owner, now=shared.now(), lease=self._lease, limit=self._take, org=self._org
            )
            # Claimed before, but neither finished nor failed: its worker died, perhaps of this job.
            if any(job.attempts > 1 and not job.error for job in jobs):
                self._take = 1
            for job in jobs:
                await self._do(job)
            done += len(jobs)
        self._take = min(2 * self._take, CLAIMED_JOBS)
        return done

    async def drain(self, queues: Sequence[str] = QUEUES, *, seconds: float | None = None) -> int:
        """Work until no job is due, or for at most `seconds`, and return how many jobs were claimed.

        It waits for jobs that this process's own worker has claimed, because the worker may add others when it is done
        (deriving follows indexing). It also waits for a job that conflicted with a concurrent write and will soon be
        due again.
        """
        total, end, waits = 0, None if seconds is None else monotonic() + seconds, 0
        while end is None or monotonic() < end:
            if claimed := await self.step(queues):
                total += claimed
            elif self._is_due_soon() and waits < MAX_CONFLICT_WAITS:
                waits += 1
                await self._shared.runtime.sleep(BUSY_SECONDS)
            elif self._worker_is_busy():
                await self._shared.runtime.sleep(BUSY_SECONDS)
            else:
                break
        return total

    def _is_due_soon(self) -> bool:
        return self.due is not None and self.due - self._shared.now() <= CONFLICT_DELAY_MICROSECONDS

    def _worker_is_busy(self) -> bool:
        """Return whether a worker in this process, blocking or async, has claimed jobs."""
        variants = (self._shared, self._shared.other)
        return any(each is not None and each.worker is not None and each.worker.busy for each in variants)

    async def _do(self, job: Job) -> None:
        shared, core = self._shared, Core(self._shared, Scope(job.org, None, "processor"))
        # Claiming counts the attempt, so workers that die while they work on a job are counted too.
        if job.attempts > MAX_ATTEMPTS:
            await self._give_up(core, job, POISON, skip=job.queue != COUNT_QUEUE)
            return
        status = "done"
        try:
            with shared.events.span("job", org=job.org, queue=job.queue, attempt=job.attempts):
                await self._work(core, job)
        except Conflict:
            # An append or another worker interfered: release the job to be done again at once. That is nobody's fault,
            # so it does not count as an attempt.
            status = "conflict"
            delay = int(spread(CONFLICT_DELAY_MICROSECONDS))
            await self._release(core, job, job.error, delay=delay, attempts=job.attempts - 1)
        except Exception as problem:
            # The store itself fails, so the job could not be released either. It is claimed again when its lease ends.
            if isinstance(problem, StoreError) and not isinstance(problem, CorruptRecord):
                raise
            status = await self._failed(core, job, problem)
        if shared.events.listening:
            shared.emit("job", org=job.org, queue=job.queue, item=job.item, status=status, attempts=job.attempts)

    async def _work(self, core: Core, job: Job) -> None:
        if job.queue == COUNT_QUEUE:
            await recount(core, job.ns, job_end(job))
            return
        if job.queue != "index":
            await self._deriver(core).run(job)
            return
        await Indexer(core).run(job.ns, [job])
        # The indexer shares its code with recalls, which leave a lost race to others, so it does not raise.
        job_row = await core.get(Job, *job.row_key[1:])
        if job_row is not None and job_row.owner == self._owner:
            # The indexer lost against a concurrent write; without this the job would wait for its lease to end.
            raise Conflict("the thread has changed")

    def _deriver(self, core: Core) -> Deriver:
        return Deriver(core, self._model, self._lease)

    async def _failed(self, core: Core, job: Job, problem: Exception) -> str:
        reason = failure_reason(problem)
        if isinstance(problem, OverLimit):
            # The model may be asked again tomorrow; until then the messages wait.
            wait = to_micros(problem.until) - core.now()
            await self._release(core, job, reason, delay=wait, attempts=job.attempts - 1)
            return "waiting"
        is_unreachable = isinstance(problem, ModelError) and not is_permanent(problem)
        if is_unreachable and job.queue == "derive":
            # On a conflict, the job is retried anyway.
            with suppress(Conflict):
                await self._deriver(core).stand_in(job)
        waits = is_unreachable or job.queue in ("index", COUNT_QUEUE)
        if not waits and (is_permanent(problem) or job.attempts >= MAX_ATTEMPTS):
            # An unexpected error was caused by a message and would recur with each append, so that message is skipped.
            await self._give_up(core, job, reason, skip=not isinstance(problem, MemoristError))
            return "dead"
        # The delay quadruples with each attempt, so that a part that is away for long is not asked often.
        delay = pause(2 * job.attempts - 1, first=FIRST_DELAY_MICROSECONDS, longest=MAX_DELAY_MICROSECONDS)
        # Below the limit, because `_do` takes a job over it for one that kills its worker.
        await self._release(core, job, reason, delay=int(delay), attempts=min(job.attempts, MAX_ATTEMPTS - 1))
        return "failed"

    async def _give_up(self, core: Core, job: Job, reason: str, *, skip: bool) -> None:
        """Make the next message of a derivation (with `skip`), or otherwise the whole job, a dead letter."""
        try:
            if skip and await self._deriver(core).skip(job, reason):
                return
        except Conflict:
            return  # an append or another worker interfered: the job is claimed again
        await self._bury(core, job, reason)

    async def _release(self, core: Core, job: Job, error: str | None, *, delay: int, attempts: int) -> None:
        now = core.now()
        # So that `drain` and the worker's loop wake for it instead of waiting for the next poll.
        self.due = min(self.due or now + delay, now + delay)
        await self._update(
            core, job, status="ready", owner=None, leased_until=None, attempts=max(attempts, 0), error=error,
            run_at=to_datetime(now + delay), updated_at=to_datetime(now),
        )  # fmt: skip

    async def _bury(self, core: Core, job: Job, reason: str) -> None:
        """Mark a job as dead. The receipts of messages that were not processed then say `failed`."""
        await self._update(core, job, status="dead", owner=None, leased_until=None, error=reason, updated_at=core.at())

    async def _update(self, core: Core, job: Job, **fields: object) -> None:
        while True:
            job_row = await core.get(Job, *job.row_key[1:])
            if job_row is None or job_row.owner != self._owner:
                # Our lease ended and another worker has the job, or it was deleted with its thread.
                return
            changes: list[Change] = [
                Expect(Job, job_row.row_key, job_row.version),
                Put(msgspec.structs.replace(job_row, **fields)),
            ]
            if fields["status"] == "dead":
                # In the same commit, so that no receipt stays `pending` for a job that nobody will run.
                changes += await _receipt_changes(core, job, given_up=True)
            try:
                await core.apply(*changes)
            except Conflict:
                # The row changed between the read and the write: check again whether the lease is still ours.
                continue
            return


def needed_lease(shared: Shared, model: object) -> int:
    """Return how many microseconds a model needs to answer twice (the second time to repair its answer), or 0 if there
    is no model.

    """
    spec = model if model is not None else None if shared.parts.extract in (None, "rules") else shared.parts.model
    if spec is None:
        return 0
    from ...models import answer_seconds

    return int(answer_seconds(spec) * 2.2e6)


async def _receipt_changes(core: Core, job: Job, *, given_up: bool) -> list[Change]:
    """Return changes that record, for receipts, that a derivation has failed for good or is being retried."""
    if job.queue == COUNT_QUEUE or (
        job.queue == "index" and not (core.shared.derives and job.item.startswith("thread:"))
    ):
        return []
    thread, rereads = job.item.partition(":")[2], job.queue == REREAD
    # Created if it is missing, because a job that died before its first commit has no watermark yet.
    derivation = await derivation_of(core, thread)
    stuck, again = given_up and not rereads, rereads and not given_up
    return [
        Expect(Derivation, derivation.row_key, derivation.version),
        Put(msgspec.structs.replace(derivation, stuck=stuck, again=again, updated_at=core.at())),
    ]


class Jobs:
    """Shows the jobs that writes leave behind, including failed ones, and runs them."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def backlog(self) -> list[Backlog]:
        """Return the state of each of this org's queues, as far as this handle can see it.

        Returns:
            One entry per queue.

        Examples:
            >>> jobs = memory.jobs.drain()
            >>> [queue.waiting for queue in memory.jobs.backlog()]
            [0, 0]
        """
        now = self._core.now()
        out = []
        for name, queues in SHOWN.items():
            jobs = await self._jobs(queues)
            waiting = [job for job in jobs if job.status != "dead"]
            failing = [job for job in waiting if job.error]
            dead = [job for job in jobs if job.status == "dead"]
            oldest = min((to_micros(job.created_at) for job in waiting), default=now)
            lag = max(now - oldest, 0) / 1e6
            out.append(
                Backlog(
                    name, len(waiting), sum(_letters(job) for job in dead), lag, _errors(dead), len(failing),
                    _errors(failing),
                )
            )  # fmt: skip
        return out

    async def dead(self) -> list[Job]:
        """List the abandoned jobs that this handle can see, and why they were abandoned.

        Returns:
            The jobs, each with its error.

        Examples:
            >>> memory.jobs.dead()
            []
        """
        return [job for job in await self._jobs(QUEUES) if job.status == "dead"]

    async def retry_dead(self, *, item: str | None = None) -> int:
        """Retry abandoned jobs, and return how many there were.

        Args:
            item: Retry only the jobs of this item, such as `thread:<id>`; all by default.

        Returns:
            How many jobs will be retried.

        Examples:
            >>> memory.jobs.retry_dead()
            0
        """
        core, revived = self._core, 0
        for job in await self.dead():
            if item is not None and job.item != item:
                continue
            notices = await _receipt_changes(core, job, given_up=False)
            try:
                await core.apply(Expect(Job, job.row_key, job.version), Put(ready_job(job, core.at())), *notices)
            except Conflict:
                continue  # it was deleted with its thread, or another process revived it
            revived += _letters(job)
        core.shared.wrote()
        return revived

    async def drain(self, *, seconds: float | None = None, lease: float = JOB_LEASE_MICROSECONDS / 1e6) -> int:
        """Run waiting jobs now, and return how many were claimed.

        A handle for all orgs runs the jobs of all of them, as a worker does; any other handle runs those of its own
        org.

        Args:
            seconds: The maximum number of seconds to work.
            lease: How many seconds a job is reserved for this call.

        Returns:
            How many jobs were claimed.

        Raises:
            Forbidden: This is a user's handle.

        Examples:
            >>> memory.jobs.drain(seconds=5) > 0
            True
        """
        self._core.scope.whole_org("working through the outbox")
        if not 0 < lease <= MAX_LEASE_SECONDS:
            raise InvalidValue("a lease must be longer than 0 seconds and at most a day")
        org = None if self._core.scope.all_orgs else self._core.org
        return await Outbox(self._core.shared, org, lease=int(lease * 1e6)).drain(seconds=seconds)

    async def _jobs(self, queues: Sequence[str]) -> list[Job]:
        jobs = [job for queue in queues for job in await self._core.scan(Job, queue)]
        return [job for job in jobs if self._core.scope.may_write(job.ns)]


class Waiting:
    """Waits for the results of messages."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def wait(
        self, receipts: MessageReceipt | Iterable[MessageReceipt], *, timeout: float | None = 30.0, retries: bool = True
    ) -> list[MessageReceipt]:
        """Work until messages have been indexed and facts derived from them, or until that has failed.

        With `retries=False`, an attempt that failed and will be repeated later, such as a call to a model that is down,
        also ends the wait.
        """
        many = [receipts] if isinstance(receipts, MessageReceipt) else list(receipts)
        deadline = None if timeout is None else monotonic() + timeout
        outbox, tries = Outbox(self._core.shared, self._core.org), 0
        while True:
            settled = await self._settle_receipts(many)
            open_ = [receipt for receipt in settled if receipt.derived == "pending" or not receipt.indexed]
            if not open_ or (deadline is not None and monotonic() >= deadline):
                return settled
            if await outbox.step():
                continue
            if not retries and await self._has_failed(open_):
                return settled
            # Nothing is waiting any more: another worker has finished, or given up, since the receipts were read.
            if not sum(queue.waiting for queue in await Jobs(self._core).backlog()):
                return await self._settle_receipts(many)
            # Another worker is doing it, or it waits for its next attempt.
            tries += 1
            await self._core.runtime.sleep(pause(tries, first=0.01, longest=0.2))

    async def _has_failed(self, receipts: Sequence[MessageReceipt]) -> bool:
        """Return whether every job left for these messages has failed and waits for its next attempt."""
        items = {f"thread:{receipt.message.thread}" for receipt in receipts}
        jobs = [job for job in await Jobs(self._core)._jobs(QUEUES) if job.item in items and job.status != "dead"]
        return bool(jobs) and all(job.status == "ready" and job.error for job in jobs)

    async def _settle_receipts(self, receipts: Sequence[MessageReceipt]) -> list[MessageReceipt]:
        states = {
            thread: await receipt_states(self._core, thread)
            for thread in {receipt.message.thread for receipt in receipts}
        }
        return [
            msgspec.structs.replace(receipt, durable=True, **states[receipt.message.thread](receipt.message.seq))
            for receipt in receipts
        ]


_imports = threading.Lock()
"""Held while the worker's thread imports modules. A fork waits for it, because the child would otherwise inherit a
locked, half-imported module."""


def _forked() -> None:
    global _imports
    _imports = threading.Lock()


def _imported() -> None:
    if _imports.locked():
        _imports.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        # With a limit, because a fork must not hang behind an import that does.
        before=lambda: _imports.acquire(timeout=10.0), after_in_parent=_imported, after_in_child=_forked
    )  # fmt: skip


def _preload() -> None:
    """Import the modules that indexing and deriving import lazily."""
    with _imports:
        from ...context import measure, tokens  # noqa: F401
        from ...recall import candidates, lexical, vectors  # noqa: F401
        from . import reading  # noqa: F401


class InProcess:
    """The in-process worker is a background thread or task.

    The first append starts it, and closing the memory stops it.
    """

    def __init__(self, shared: Shared, org: str | None = None) -> None:
        # A weak reference, so that a memory dropped without `close()` is collected and its worker ends.
        self._found = weakref.ref(shared)
        self._runtime = shared.runtime
        self._org = org
        self._running: Any = None
        self._pid = 0
        self._stop = False
        self._woken = threading.Event()
        self._look_at = 0.0
        self._catching_up = False

    @property
    def busy(self) -> bool:
        """This is True while the worker has claimed jobs."""
        return self._catching_up and self._pid == os.getpid() and self._running is not None and self._running.alive()

    def wake(self) -> None:
        """Start or wake the worker after a write. This is cheap if it is already awake."""
        if self._pid != os.getpid() or self._running is None or not self._running.alive():
            # A thread does not survive a fork, nor a task its loop, so the event is made anew as well.
            self._pid, self._stop, self._woken = os.getpid(), False, threading.Event()
            self._running = self._runtime.start(self._loop, "memorist-worker")
        # This runs after every append, and setting an event takes its lock, while looking at it does not.
        if not self._woken.is_set():
            self._woken.set()

    async def _loop(self) -> None:
        if self._runtime.blocking:
            _preload()
        woken, due = self._woken, None
        self._look_at = monotonic() + POLL_SECONDS
        while not self._stop:
            if not woken.is_set() and not self._is_time(due):
                await self._runtime.sleep(QUIET_SECONDS)
                if self._found() is None:
                    return
                continue
            # Wait until the writing pauses, then catch up in one go. The event is cleared before the sleep, so that an
            # append during the sleep sets it again and no wake-up is lost.
            while woken.is_set() and not self._stop:
                woken.clear()
                await self._runtime.sleep(QUIET_SECONDS)
            # A strong reference for the time of the work only.
            shared = self._found()
            if shared is None:
                return
            due = await self._catch_up(shared, woken)
            del shared  # or this loop would keep it

    def _is_time(self, due: int | None) -> bool:
        """Return whether a job sent back earlier is due, or whether it is time to poll."""
        shared = self._found()
        return monotonic() >= self._look_at or (due is not None and shared is not None and due <= shared.now())

    async def _catch_up(self, shared: Shared, woken: threading.Event) -> int | None:
        """Work until no job is due, and return when the next one will be, if known."""
        self._look_at = monotonic() + POLL_SECONDS
        outbox = Outbox(shared, self._org)
        self._catching_up = True
        try:
            # A new write interrupts the work until the writing pauses again.
            while not self._stop and not woken.is_set() and await outbox.step():
                pass
            shared.problems.pop("worker", None)
        except Exception as problem:  # whatever it is, the next append must find a worker
            shared.note("worker", problem)
            self._look_at = monotonic() + AGAIN_SECONDS
        finally:
            self._catching_up = False
        return outbox.due

    async def close(self) -> None:
        """Stop the loop, then run a few remaining jobs. The rest stays in the outbox for the next worker."""
        if self._running is None or self._pid != os.getpid():
            return
        shared = self._found()
        if shared is None:
            return
        # `closing` also stops the job that is running, after its current batch.
        self._stop = shared.closing = True
        await self._running.join(JOIN_SECONDS)
        self._running = None
        try:
            outbox, turns = Outbox(shared, self._org), CLOSE_STEPS
            while turns and await outbox.step():
                turns -= 1
        except MemoristError as problem:
            # The remaining jobs stay in the outbox for the next worker.
            shared.note("worker", problem)


def _letters(job: Job) -> int:
    """Return how many dead letters a job represents: one for each message that it names."""
    return len(job.payload["seqs"]) if job.queue == REREAD else 1


def _errors(jobs: Iterable[Job]) -> tuple[str, ...]:
    return tuple(sorted({job.error for job in jobs if job.error}))[:5]
