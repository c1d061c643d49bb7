"""Folds stored threads by writing a summary of the oldest messages. Later contexts contain the summary instead of these
messages.

Nothing is deleted, and you can still read folded messages. `fold` folds a thread when its messages use too many tokens.
`archive` folds messages older than a given time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from ...errors import Conflict
from ...gate.passing import mask_message
from ...kinds import summary_ref, thread_ref
from ...messages.message import Message
from ...messages.privacy import open_message
from ...ports import to_datetime
from ...records import IndexProgress, Job, Link, Ref, Summary, Thread
from ...stores.base import Change, Expect, Put
from ..audit import audit
from ..core import Core
from ..forgetting.guard import epochs
from ..gating import policy_of
from ..index_jobs import index_job, job_end, ready_job

if TYPE_CHECKING:
    from ...context.fold import Fold
    from ...context.plan import Digest
    from ...context.units import Unit
    from ...ports import Model

MAX_MESSAGES = 20_000
"""The maximum number of messages in one fold; a longer thread is folded in several steps."""
RESULT_MESSAGES = 200
"""How many messages after the age limit to search for the results of a tool call."""
ARCHIVED_SHARE, LEAST_ARCHIVED, MOST_ARCHIVED = 0.25, 128, 1000
"""The length of an archive's summary, as a share of the messages' tokens, within these bounds."""
MAX_UNITS_BACK = 8
"""How many units the cut may move back to reach the start of a turn."""
MAX_ATTEMPTS = 5


class Read(msgspec.Struct, frozen=True):
    """Holds the data from which a fold was computed. It must not have changed when the summary is written."""

    thread: Thread
    previous: Summary | None
    progress: IndexProgress | None
    messages: list[Message]
    epochs: list[Change]
    """Guards that make the write fail if the thread or one of its messages was forgotten in the meantime; see
    `forgetting.guard`."""


class Folding:
    """Writes the summaries of threads."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def fold(
        self,
        thread: str,
        *,
        room_tokens: int,
        compact_at: float = 0.8,
        compact_to: float = 0.5,
        stash: int | None = None,
        model: Model | None = None,
    ) -> Summary | None:
        """Fold a thread's oldest unfolded messages if they use more than `compact_at` of the available tokens;
        otherwise, return None.

        Tool results over `stash` tokens are counted and summarised in the form of the previews that requests contain.
        """
        from ...context.fold import plan_fold
        from ...context.units import group

        core = self._core
        read = await self._start(thread)
        if read is None:
            return None
        page = await core.scan(Message, thread, after=(_behind(read),), limit=MAX_MESSAGES)
        read.messages.extend(await self._summarizable(page))
        # In cached contexts, recalled items are sent with their turn; count them too, so that folds do not come late.
        units, _ = group(read.messages, core.shared.counter, attached=True, stash=stash)
        planned = plan_fold(
            units,
            room_tokens,
            previous=read.previous.text if read.previous else None,
            counter=core.shared.counter,
            compact_at=compact_at,
            compact_to=compact_to,
        )
        digest = None if planned is None else await self._digest(thread, planned, model)
        return None if planned is None or digest is None else await self._write(read, planned, digest)

    async def archive(self, job: Job, before: int, *, pause: int = 0, model: Model | None = None) -> bool:
        """Fold messages older than `before`, and return whether there were any. The job is due again when the next
        message becomes old enough. `pause` is the minimum delay, so that not every message leads to a new summary.
        """
        changed = False
        while True:
            read = await self._start(job.item.partition(":")[2])
            if read is None:
                await self._settle(*job_end(job))
                return changed
            full = await self._read_old_messages(read, to_datetime(before))
            old, cut = self._old(read, to_datetime(before))
            more = full and cut > 0
            ends = self._job_ends(job, read.thread, [] if more else old[cut:], before, pause, more)
            planned = self._plan_fold(old[:cut], read.previous)
            digest = None if planned is None else await self._digest(read.thread.id, planned, model)
            if planned is None or digest is None:
                await self._settle(*ends)
                return changed
            if await self._write(read, planned, digest, *ends) is None:
                return changed
            changed = True
            if not more:
                return True
            # The commit has written the job once. If the lease ends meanwhile, the next claim raises the version again,
            # and only the new holder can go on.
            job = msgspec.structs.replace(job, version=job.version + 1)

    async def _start(self, thread: str) -> Read | None:
        """Read the data from which a fold starts.

        The indexer's progress is read first, because forgetting a message changes it.
        """
        core = self._core
        guards = await epochs(core, thread_ref(thread))
        thread_row = await core.get(Thread, thread)
        if thread_row is None:
            return None
        # An append changes nothing that a fold expects, so a busy thread can be folded too.
        progress = await core.get(IndexProgress, thread)
        past = await core.scan(Summary, thread, reverse=True, limit=1)
        return Read(thread_row, past[0] if past else None, progress, [], guards)

    async def _read_old_messages(self, read: Read, before: datetime) -> bool:
        """Read old messages and one page beyond them. Return True if the limit was reached and there may be more."""
        last, borders = _behind(read), 0
        while len(read.messages) < MAX_MESSAGES:
            page = await self._core.scan(Message, read.thread.id, after=(last,), limit=RESULT_MESSAGES)
            read.messages.extend(await self._summarizable(page))
            if len(page) < RESULT_MESSAGES or borders:
                return False
            last, borders = page[-1].seq, borders + any(not _is_old(message, before) for message in page)
        return True

    async def _summarizable(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages without the content that a summary must not repeat: private words and secrets."""
        gate = await policy_of(self._core)
        return [mask_message(gate, open_message(message)) for message in messages]

    def _old(self, read: Read, before: datetime) -> tuple[list[Unit], int]:
        from ...context.units import group

        units, _ = group(read.messages, self._core.shared.counter, attached=True)
        return units, old_units(units, before)

    def _plan_fold(self, units: Sequence[Unit], previous: Summary | None) -> Fold | None:
        from ...context.fold import fold_of

        tokens = sum(unit.tokens for unit in units) + (previous.tokens if previous else 0)
        most = min(max(int(ARCHIVED_SHARE * tokens), LEAST_ARCHIVED), MOST_ARCHIVED)
        text = previous.text if previous else None
        return fold_of(units, most, previous=text, counter=self._core.shared.counter) if units else None

    def _job_ends(
        self, job: Job, thread: Thread, left: Sequence[Unit], before: int, pause: int, more: bool
    ) -> list[Change]:
        """Return changes to an archive job: it becomes due when the oldest remaining message does, or is deleted if
        none remains.

        Deleting it expects the thread's version, because an append since then would have found the job and not created
        another.
        """
        expects: list[Change] = [Expect(Job, job.row_key, job.version)]
        if more:
            return [*expects, Put(job)]
        after = to_datetime(before)
        young = [m.created_at for unit in left for m in unit.messages if m.created_at is not None]
        waits = min((at for at in young if at > after), default=None)
        if waits is None:
            return [Expect(Thread, thread.row_key, thread.version), *job_end(job)]
        due = max(waits, to_datetime(before + pause))
        return [*expects, Put(ready_job(job, self._core.at(), due=due))]

    async def _settle(self, *changes: Change) -> None:
        try:
            await self._core.apply(*changes)
        except Conflict:
            return  # the thread grew, or another worker has the job: it is tried again when its lease ends

    async def _digest(self, thread: str, planned: Fold, model: Model | None) -> Digest | None:
        from ...context.fold import write_fold

        core = self._core
        with core.shared.events.span("fold", org=core.org, thread=thread, messages=len(planned.messages)):
            digest = await write_fold(planned, model=model, counter=core.shared.counter)
        if model is not None:
            # For `doctor`: why a model's summary was not used. The note contains error types, never content.
            core.shared.problems.pop("summaries", None)
            if digest is not None and digest.note:
                core.shared.problems["summaries"] = digest.note
        return digest

    async def _write(self, read: Read, planned: Fold, digest: Digest, *more: Change) -> Summary | None:
        core, at, thread, previous = self._core, self._core.at(), read.thread, read.previous
        # The previous summary stays stored: `sources` leads to it, and a fork at an earlier message may need it.
        summary = Summary(
            org=core.org,
            thread=thread.id,
            ns=thread.ns,
            first=previous.first if previous else planned.first,
            last=planned.last,
            text=digest.text,
            tokens=core.shared.counter.count(digest.text),
            sources=(previous.id,) if previous else (),
            method=digest.method,
            created_at=at,
        )
        source = Ref("message", key=thread.id, part=str(summary.last))
        changes: list[Change] = [
            # Two processes may fold up to the same message; the first summary stays.
            Expect(Summary, summary.row_key, 0),
            *more,
            Put(summary),
            Put(index_job(core.org, thread.ns, f"summary:{thread.id}", at)),
            Put(Link.of(core.org, source, summary_ref(summary), at)),
            audit(core, "fold", "thread", thread.id, detail={"first": summary.first, "last": summary.last}),
        ]
        if not await self._commit_fold(read, summary, changes):
            return None
        if core.shared.events.listening:
            core.shared.emit(
                "fold", org=core.org, thread=thread.id, first=summary.first, last=summary.last, tokens=summary.tokens,
                method=summary.method,
            )  # fmt: skip
        return summary

    async def _commit_fold(self, read: Read, summary: Summary, changes: Sequence[Change]) -> bool:
        """Commit a summary. Return False if another summary was written first or if one of its messages was
        forgotten.
        """
        core, progress, guards = self._core, read.progress, read.epochs
        seqs = [message.seq for message in read.messages if message.seq <= summary.last]
        for _ in range(MAX_ATTEMPTS):
            try:
                expects = [Expect(IndexProgress, read.thread.row_key, progress.version if progress else 0)]
                await core.apply(*expects, *changes, *guards)
            except Conflict:
                # Usually the indexer moved on; or forgetting raised the epoch, and then a message is missing.
                guards = await epochs(core, thread_ref(read.thread.id))
                progress = await core.get(IndexProgress, read.thread.id)
                taken = await core.get(Summary, summary.thread, summary.last)
                if taken is not None or not await self._all_there(read, summary, seqs):
                    return False
            else:
                return True
        return False

    async def _all_there(self, read: Read, summary: Summary, seqs: Sequence[int]) -> bool:
        """Return whether the thread, the previous summary and all messages to fold are unchanged since they were
        read.
        """
        core, previous = self._core, read.previous
        thread = await core.get(Thread, summary.thread)
        if thread is None or thread.created_at != read.thread.created_at:
            return False
        if previous is not None and await core.get(Summary, previous.thread, previous.last) != previous:
            return False
        first = seqs[0] if seqs else summary.last
        messages = await core.scan(Message, summary.thread, after=(first - 1,), before=(summary.last + 1,))
        return {*seqs} <= {message.seq for message in messages}


def old_units(units: Sequence[Unit], before: datetime) -> int:
    """Return how many of the oldest units are entirely older than a given time.

    A tool call is never separated from its results.
    """
    cut = 0
    while cut < len(units) and all(_is_old(message, before) for message in units[cut].messages):
        cut += 1
    if cut == len(units) and cut and _is_open(units[-1]):
        cut -= 1
    if cut < len(units):
        # Move the cut back to the start of a turn, so that no answer is left without its question.
        cut = next(
            (position for position in range(cut, max(cut - MAX_UNITS_BACK, -1), -1) if units[position].role == "user"),
            cut,
        )
    # A tool result may come much later than its call, and one message may hold a result and a new turn.
    reach = [0]
    for unit in units[:cut]:
        reach.append(max(reach[-1], unit.last, *(message.seq for message in unit.messages)))
    while 0 < cut < len(units) and units[cut].position <= reach[cut]:
        cut -= 1
    return cut


def _is_old(message: Message, before: datetime) -> bool:
    return message.created_at is None or message.created_at <= before


def _is_open(unit: Unit) -> bool:
    """Return whether a unit is a tool call whose result is missing and may still arrive."""
    from ...context.units import SYNTHETIC

    return unit.exchange and any(SYNTHETIC in message.metadata for message in unit.messages[1:])


def _behind(read: Read) -> int:
    return read.previous.last if read.previous else 0
