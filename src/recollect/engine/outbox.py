"""The outbox: jobs committed with their evidence, done at least once, each result written once.

A job is leased to one worker. A failure sends it back with a growing delay; after `ATTEMPTS` it becomes a dead letter
with its reason, which `recollect doctor` shows and `retry_dead` revives. A job whose workers keep dying is dead too.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..errors import Conflict, RecollectError, StoreError
from ..ids import new_id
from ..ports import to_datetime, to_micros
from ..records import Job
from ..scope import Scope
from ..stores.base import Expect, Put
from .core import Core, Shared
from .derive import Deriver, permanent
from .indexing import Indexer
from .threads import MessageReceipt, receipt_states

QUEUES = ("index", "derive")
ATTEMPTS = 5
LEASE = 60_000_000
FIRST_DELAY = 1_000_000
QUIET_SECONDS = 0.25
"""The in-process worker waits for a pause this long, so that it does not slow a burst of appends."""
DRAIN_SECONDS = 30.0


class Backlog(msgspec.Struct, frozen=True):
    """How one queue stands: what waits, for how long, and what was given up."""

    queue: str
    waiting: int
    dead: int
    lag_seconds: float
    errors: tuple[str, ...] = ()


class Outbox:
    """Works through jobs of one store, of all orgs or of one."""

    def __init__(self, shared: Shared, org: str | None = None) -> None:
        self._shared = shared
        self._org = org
        self._owner = f"{os.getpid()}-{new_id()}"

    async def step(self, queues: Sequence[str] = QUEUES, limit: int = 8) -> int:
        """Claim a few jobs and do them; how many were claimed."""
        shared, done = self._shared, 0
        await shared.open()
        store: Any = shared.store
        for queue in queues:
            jobs: list[Job] = await store.claim(
                queue, owner=self._owner, now=shared.now(), lease=LEASE, limit=limit, org=self._org
            )
            for job in jobs:
                await self._do(job)
            done += len(jobs)
        return done

    async def drain(self, queues: Sequence[str] = QUEUES) -> int:
        """Work until nothing is ready; how many jobs were claimed."""
        total = 0
        while claimed := await self.step(queues):
            total += claimed
        return total

    async def _do(self, job: Job) -> None:
        core = Core(self._shared, Scope(job.org, None, "processor"))
        if job.attempts > ATTEMPTS:
            await self._bury(core, job, "poison: its workers stopped before they could finish or fail")
            return
        try:
            if job.queue == "index":
                await Indexer(core).run(job.ns, [job])
            else:
                await Deriver(core).run(job)
        except Conflict:
            # An append or another worker came between: the job is still there and ready for the next turn.
            await self._release(core, job, job.error, delay=random.randrange(50_000), attempts=job.attempts - 1)
        except StoreError:
            raise
        except Exception as problem:
            reason = _reason(problem)
            if permanent(problem) or job.attempts >= ATTEMPTS:
                await self._bury(core, job, reason)
            else:
                delay = FIRST_DELAY * 4 ** (job.attempts - 1) * random.uniform(0.75, 1.25)
                await self._release(core, job, reason, delay=int(delay), attempts=job.attempts)

    async def _release(self, core: Core, job: Job, error: str | None, *, delay: int, attempts: int) -> None:
        now = core.now()
        await self._update(
            core, job, status="ready", owner=None, leased_until=None, attempts=max(attempts, 0), error=error,
            run_at=to_datetime(now + delay), updated_at=to_datetime(now),
        )  # fmt: skip

    async def _bury(self, core: Core, job: Job, reason: str) -> None:
        await self._update(core, job, status="dead", owner=None, leased_until=None, error=reason, updated_at=core.at())

    @staticmethod
    async def _update(core: Core, job: Job, **fields: Any) -> None:
        try:
            await core.apply(Expect(Job, job.row_key, job.version), Put(msgspec.structs.replace(job, **fields)))
        except Conflict:
            # Our lease ended and someone else has it, or the job is gone with its thread: theirs to say.
            return


class Jobs:
    """What users see of the outbox: how it stands, waiting for a message, and reviving dead letters."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def backlog(self) -> list[Backlog]:
        """How each queue of this org stands."""
        now = self._core.now()
        out = []
        for queue in QUEUES:
            jobs = await self._core.scan(Job, queue)
            waiting = [job for job in jobs if job.status != "dead"]
            oldest = min((to_micros(job.created_at) for job in waiting), default=now)
            dead = [job for job in jobs if job.status == "dead"]
            errors = tuple(sorted({job.error for job in dead if job.error}))[:5]
            out.append(Backlog(queue, len(waiting), len(dead), max(now - oldest, 0) / 1e6, errors))
        return out

    async def dead(self) -> list[Job]:
        """The dead letters of this org, with their reasons."""
        found = [job for queue in QUEUES for job in await self._core.scan(Job, queue)]
        return [job for job in found if job.status == "dead" and self._core.scope.may_touch(job.ns)]

    async def retry_dead(self) -> int:
        """Give every dead letter another chance; how many."""
        dead = await self.dead()
        at = self._core.at()
        for job in dead:
            fresh = msgspec.structs.replace(job, status="ready", attempts=0, run_at=at, updated_at=at)
            await self._core.apply(Expect(Job, job.row_key, job.version), Put(fresh))
        self._core.shared.wrote()
        return len(dead)

    async def wait(
        self, receipts: MessageReceipt | Iterable[MessageReceipt], *, timeout: float | None = 30.0
    ) -> list[MessageReceipt]:
        """Work until the messages are indexed and derived from (or given up), and say how they stand then."""
        many = [receipts] if isinstance(receipts, MessageReceipt) else list(receipts)
        deadline = None if timeout is None else self._core.now() + int(timeout * 1e6)
        while True:
            settled = await self._settled(many)
            open_ = [one for one in settled if one.derived == "pending" or not one.indexed]
            if not open_ or (deadline is not None and self._core.now() >= deadline):
                return settled
            if not await Outbox(self._core.shared, self._core.org).step():
                if not sum([one.waiting for one in await self.backlog()]):
                    return await self._settled(many)
                await self._core.runtime.sleep(0.01)

    async def _settled(self, receipts: Sequence[MessageReceipt]) -> list[MessageReceipt]:
        states = {
            thread: await receipt_states(self._core, thread) for thread in {one.message.thread for one in receipts}
        }
        out = []
        for one in receipts:
            indexed, derived = states[one.message.thread](one.message.seq)
            out.append(msgspec.structs.replace(one, durable=True, indexed=indexed, derived=derived))
        return out


class InProcess:
    """The worker beside the caller: started by the first append, drained when the memory closes."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._running: Any = None
        self._pid = 0
        self._stop = False
        self._woken = threading.Event()

    def wake(self) -> None:
        """Something was written: work soon. Costs next to nothing when the worker is already up."""
        if self._pid != os.getpid() or self._running is None or not self._running.alive():
            self._pid, self._stop = os.getpid(), False
            self._running = self._shared.runtime.start(self._loop, "recollect-worker")
        if not self._woken.is_set():
            self._woken.set()

    async def _loop(self) -> None:
        outbox = Outbox(self._shared)
        while not self._stop:
            if not self._woken.is_set():
                await self._shared.runtime.sleep(QUIET_SECONDS)
                continue
            # Wait until the writing pauses, then catch up in one go.
            while self._woken.is_set() and not self._stop:
                self._woken.clear()
                await self._shared.runtime.sleep(QUIET_SECONDS)
            try:
                while not self._stop and not self._woken.is_set() and await outbox.step():
                    pass
            except RecollectError as problem:
                self._shared.note("worker", problem)

    async def close(self) -> None:
        """Stop the loop, then do what is left, in the caller's time."""
        if self._running is None or self._pid != os.getpid():
            return
        self._stop = True
        await self._running.join(DRAIN_SECONDS)
        self._running = None
        try:
            await Outbox(self._shared).drain()
        except RecollectError as problem:
            # What is left stays in the outbox for the next worker.
            self._shared.note("worker", problem)


def _reason(problem: Exception) -> str:
    reason = getattr(problem, "reason", None)
    return f"{type(problem).__name__}: {reason or problem}"[:500]
