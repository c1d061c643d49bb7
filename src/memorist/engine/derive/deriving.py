"""Derives memories from messages by running threads' `derive` jobs.

A single transaction writes the memories from several messages, their lineage and the watermark, and ends the job. As a
result, a killed worker leaves nothing half done, and nothing is derived twice. With a model, each call by the memory
writer (`writing.py`) covers several messages, and the thread's watermark records the total cost of the calls. Without a
model, the rules (`memorist.extract`) read the user's own words. If the model's answer for a message is unusable, or if
the message crashed workers, the rules read the message instead. The message becomes a dead letter in the `reread`
queue, and reading continues after it. While the model cannot be reached, the rules do its work. The rules always carry
out requests to forget, even if the model misunderstands them.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, cast

import msgspec

from ...errors import Conflict, MemoristError, ModelError
from ...kinds import thread_ref
from ...messages.message import Message
from ...ports import to_datetime
from ...records import Derivation, Job, Thread
from ...stores.base import Change, Expect, Put, refused_row
from ..core import Core
from ..forgetting.guard import epochs
from ..index_jobs import job_end, ready_job
from .progress import BatchResult, derivation_of

if TYPE_CHECKING:
    from ...extract.extraction import Extraction
    from ...ports import Model
    from .writing import Writer

BATCH_MESSAGES = 100
REREAD = "reread"
UNAVAILABLE_STATUS = frozenset({401, 402, 403, 404})
"""The key is refused or the model does not exist, which no message has caused. Messages wait until that is fixed."""
JOB_LEASE_MICROSECONDS = 60_000_000


class Step(msgspec.Struct, frozen=True):
    """Holds what became of a job after one batch."""

    written: int = 0
    job: Job | None = None
    """This is the job as this worker still holds it, or None if it is done or has been returned to the queue."""
    alone: int = 0
    """How many of the next messages to read one at a time, because the model failed when it read them together."""


class Deriver:
    """Derives facts and learnings from threads. It keeps nothing from one batch to the next but the model's cost."""

    def __init__(self, core: Core, model: Model | None = None, lease: int = JOB_LEASE_MICROSECONDS) -> None:
        self._core = core
        self._lease = lease
        self._writer: Writer | None = None
        extract = core.shared.parts.extract
        is_name = extract is None or isinstance(extract, str)
        self._extraction = None if is_name else cast("Extraction", extract)
        model = core.shared.extraction_model if model is None else model
        if model is not None:
            from ...extract.extraction import Extraction
            from .writing import Writer

            extraction = self._extraction or Extraction()
            # The writer may call twice, to repair an answer; both calls must end before the lease does.
            self._writer = Writer(core, model, extraction, timeout=lease / 2.2e6)

    async def run(self, job: Job, *, until: float | None = None) -> int:
        """Read a thread from its watermark to its current end, and return how many facts and learnings were written.

        If the thread grows in the meantime, or once the time `until` (monotonic) has passed, the job stays ready for
        the rest, because reading can never catch up with a busy writer.
        """
        if job.queue == REREAD:
            return await self._reread_dead_letters(job)
        # After a failed attempt, messages are read one at a time to isolate the one that fails.
        limit = BATCH_MESSAGES if job.attempts <= 1 else 1
        thread = await self._core.get(Thread, job.item.partition(":")[2])
        total, alone, goal = 0, 0, 0 if thread is None else thread.length
        while True:
            # Even a late call reads one batch, so that every call makes progress.
            is_late = until is not None and monotonic() > until
            step = await self._read_batch(job, 1 if alone else limit, 0 if is_late else goal)
            total, alone = total + step.written, step.alone or max(0, alone - 1)
            if step.job is None:
                return total
            if self._core.shared.closing:
                raise Conflict("the memory is being closed")  # returns the job to the queue for the next worker
            job = step.job

    async def stand_in(self, job: Job) -> None:
        """Read the rest of a thread with the local rules while the model cannot be reached.

        The watermark does not move, so the model reads everything when the job is retried.
        """
        core, id = self._core, job.item.partition(":")[2]
        thread, mark = await core.get(Thread, id), await derivation_of(core, id)
        # What the rules have read in the model's place before is not read again with every attempt.
        position = max((mark.position, *mark.by_rules))
        while thread is not None and (
            messages := await core.scan(Message, id, after=(position,), limit=BATCH_MESSAGES)
        ):
            guards = await epochs(core, thread_ref(id))
            result = await self._read(thread, messages, mark, by_rules=True)
            # Read again, because the last commit has raised its version.
            mark = await derivation_of(core, id)
            after = msgspec.structs.replace(result.noted_in(mark), updated_at=core.at())
            await core.apply(*guards, *result.changes, Expect(Derivation, mark.row_key, mark.version), Put(after))
            position = messages[-1].seq

    async def skip(self, job: Job, reason: str) -> bool:
        """Make the next message of a thread a dead letter, move the watermark past it, and return whether there was
        one.
        """
        core, id = self._core, job.item.partition(":")[2]
        mark = await derivation_of(core, id)
        unread = await core.scan(Message, id, after=(mark.position,), limit=1)
        if job.queue != "derive" or not unread:
            return False
        await core.apply(
            Expect(Job, job.row_key, job.version),
            *await self._dead_letter(job, unread, reason),
            *self._progress_changes(mark, BatchResult(), unread[0].seq, [*mark.failed, unread[0].seq]),
            # The messages after this one have not failed, so they begin with no attempts.
            Put(ready_job(job, core.at())),
        )
        return True

    async def _read_batch(self, job: Job, limit: int, goal: int) -> Step:
        """Derive from one batch of messages in one commit, and keep the job if there are more to read up to `goal`."""
        core, id = self._core, job.item.partition(":")[2]
        # Read before the thread and its messages: if part of it is forgotten after this line, the commit fails.
        guards = await epochs(core, thread_ref(id))
        thread, mark = await core.get(Thread, id), await derivation_of(core, id)
        if thread is None:
            await core.apply(*job_end(job))
            return Step()
        messages = await core.scan(Message, id, after=(mark.position,), limit=limit)
        messages = list(self._together(messages))
        # Deleted messages leave gaps: with nothing left to read, the watermark moves past them to the end.
        reached = messages[-1].seq if messages else thread.length
        is_partial = bool(messages) and reached < thread.length
        failed, letters = list(mark.failed), list[Change]()
        try:
            result = await self._read(thread, messages, mark)
        except ModelError as problem:
            if not is_permanent(problem):
                raise
            own = [message for message in messages if message.role == "user" and message.text.strip()]
            if len(own) > 1:
                # Nobody knows which message the model cannot read, so they are read again, one at a time.
                return Step(job=job, alone=len(messages))
            result = await self._read(thread, messages, mark, by_rules=True)
            letters = await self._dead_letter(job, own, failure_reason(problem))
            failed = [*failed, *(message.seq for message in own)]
        changes = [
            # Claiming raises the version, so if the lease ended and another worker has the job now, only that worker
            # commits.
            Expect(Job, job.row_key, job.version),
            *guards,
            *letters,
            *result.changes,
            *self._progress_changes(mark, result, reached if is_partial else thread.length, failed),
        ]
        if is_partial and reached < goal:
            longer = self._renew_job(job)
            await core.apply(*changes, Put(longer))
            # The Put has raised the version by one; the next commit expects that without reading the row again.
            return Step(result.written, msgspec.structs.replace(longer, version=job.version + 1))
        if is_partial or not await self._end_job(job, thread, changes):
            # Somebody keeps appending. The next claim goes on from here, and until then other threads have their turn.
            await core.apply(*changes, Put(ready_job(job, core.at())))
        return Step(result.written)

    async def _end_job(self, job: Job, thread: Thread, changes: Sequence[Change]) -> bool:
        """Commit the changes and delete the job.

        Write nothing and return False if the thread has grown since it was read.
        """
        try:
            # The indexer does not add a job where there is one, so the job may end only if nothing was appended since
            # the read.
            await self._core.apply(*changes, Expect(Thread, thread.row_key, thread.version), *job_end(job)[1:])
        except Conflict as conflict:
            if refused_row(conflict) != (Thread.table.name, thread.row_key):
                raise
            return False
        return True

    async def _reread_dead_letters(self, job: Job) -> int:
        """Let the model read a thread's dead letters again. If it fails again, they stay dead letters."""
        core, id = self._core, job.item.partition(":")[2]
        guards = await epochs(core, thread_ref(id))
        thread, mark = await core.get(Thread, id), await derivation_of(core, id)
        rows = [] if thread is None else await core.get_many(Message, [(id, seq) for seq in job.payload["seqs"]])
        result, left, error = BatchResult(), list[int](), None
        for message in rows:
            if message is None:  # deleted since
                continue
            assert thread is not None
            try:
                result.add(await self._read(thread, [message], mark))
            except ModelError as problem:
                if not is_permanent(problem):
                    raise
                left, error = [*left, message.seq], failure_reason(problem)
        changes: list[Change] = [Expect(Job, job.row_key, job.version), *guards, *result.changes]
        if left:
            dead = msgspec.structs.replace(
                job, status="dead", owner=None, leased_until=None, error=error, payload={"seqs": left}
            )
            changes.append(Put(dead))
        else:
            changes += job_end(job)[1:]
        if mark.version:
            changes += self._progress_changes(mark, result, mark.position, left)
        await core.apply(*changes)
        return result.written

    async def _dead_letter(self, job: Job, messages: Sequence[Message], reason: str) -> list[Change]:
        """Add messages to their thread's dead letter, a single job that lists all their numbers."""
        core, at = self._core, self._core.at()
        job_row = await core.get(Job, REREAD, job.ns, job.item)
        seqs = [*(job_row.payload["seqs"] if job_row else ()), *(message.seq for message in messages)]
        letter = Job(
            org=core.org, queue=REREAD, ns=job.ns, item=job.item, status="dead", attempts=1, run_at=at,
            payload={"seqs": list(dict.fromkeys(seqs))}, error=reason, created_at=at, updated_at=at,
        )  # fmt: skip
        return [Expect(Job, letter.row_key, job_row.version if job_row else 0), Put(letter)]

    def _progress_changes(
        self, before: Derivation, result: BatchResult, position: int, failed: Sequence[int]
    ) -> list[Change]:
        """Return changes that advance a thread's derivation to a given message."""
        # The calls are paid for even if this commit fails, but only a commit can count them.
        derivation = msgspec.structs.replace(
            result.noted_in(before), position=position, failed=tuple(failed), cost=self._cost(before.cost), stuck=False,
            again=False, updated_at=self._core.at(),
        )  # fmt: skip
        return [Expect(Derivation, before.row_key, before.version), Put(derivation)]

    def _cost(self, before: dict[str, int]) -> dict[str, int]:
        """Return the total cost of the model calls for a thread, including those since the last commit."""
        if self._writer is None or not self._writer.cost.calls:
            return before
        spent, self._writer.cost = self._writer.cost, type(self._writer.cost)()
        return {name: before.get(name, 0) + getattr(spent, name) for name in spent.__struct_fields__}

    def _together(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the first messages that fit into one model call, or all of them if there is no model."""
        if self._writer is None:
            return messages
        from .writing import messages_together

        return messages[: messages_together([message.text for message in messages])]

    def _renew_job(self, job: Job) -> Job:
        """Return the job after progress has been made, with its lease renewed and its attempts and error reset."""
        now = self._core.now()
        return msgspec.structs.replace(
            job, attempts=1, error=None, leased_until=to_datetime(now + self._lease), updated_at=to_datetime(now)
        )

    async def _read(
        self, thread: Thread, messages: Sequence[Message], mark: Derivation, *, by_rules: bool = False
    ) -> BatchResult:
        """Return what messages produce. With `by_rules`, the rules read them instead of the model."""
        # Loaded with the first message, because the rules of a language take a few tenths of a second to load.
        from .reading import Reading

        reading = Reading(self._core, thread, subject_of(thread), self._extraction)
        if not messages:
            return BatchResult()
        if self._writer is not None:
            if not by_rules and not await self._writer.is_over_limit():
                return await reading.by_model(self._writer, messages)
            if not by_rules:
                self._writer.refuse_over_limit()
            result = await reading.by_rules(messages)
            result.by_rules = [message.seq for message in messages if message.role == "user"]
            return result
        earlier = await reading.items_before(messages, mark.failed) if mark.version else []
        return await reading.by_rules(messages, earlier)


def subject_of(thread: Thread) -> str:
    """Return the namespace to which facts from a thread belong: the thread's own, or that of the participating user."""
    user = thread.metadata.get("user")
    return f"user:{user}" if isinstance(user, str) and user and not thread.ns.startswith("user:") else thread.ns


def is_permanent(problem: Exception) -> bool:
    """Return whether retrying is pointless because the model answered but its answer is unusable."""
    if getattr(problem, "status", None) in UNAVAILABLE_STATUS:
        return False
    return isinstance(problem, ModelError) and getattr(problem, "retryable", True) is False


def failure_reason(problem: Exception) -> str:
    """Return the reason why a job or a message failed.

    For a foreign error, only its type is returned, because its text may contain content.
    """
    name = type(problem).__name__
    if not isinstance(problem, MemoristError):
        return f"{name} (unexpected)"
    return f"{name}: {getattr(problem, 'reason', None) or problem}"[:500]
