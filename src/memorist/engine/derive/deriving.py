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

import re
from collections.abc import Sequence
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, cast

import msgspec

from ...errors import Conflict, ModelError
from ...gate.admission import judge_memory
from ...gate.passing import barred_secrets, mask_text
from ...gate.policy import Gate
from ...kinds import message_ref, thread_ref
from ...messages.message import PASSING, Message
from ...messages.privacy import is_private
from ...ports import to_datetime
from ...records import Derivation, Event, Fact, FactVersion, Job, Key, Learning, Thread, Tombstone
from ...scope import Scope
from ...stores.base import Change, Delete, Expect, Put, refused_row
from ...values import fingerprint_json
from ..core import Core
from ..facts.facts import FORGOTTEN, Facts
from ..facts.timeline import spliced
from ..forgetting.guard import epochs
from ..gating import policy_of
from ..learnings import Learnings
from ..threads.receipts import may_ask_to_forget
from .retracting import (
    ended_learning,
    is_about,
    message_before,
    messages_about,
    names_text,
    own_messages,
    request_changes,
    sources_that_stay,
)

if TYPE_CHECKING:
    from ...extract.extracted import Extracted
    from ...extract.extraction import Extraction
    from ...extract.writer.request import Turn
    from ...ports import Model
    from .noting import Noting
    from .writing import Writer

BATCH_MESSAGES = 100
REREAD = "reread"
UNAVAILABLE_STATUS = frozenset({401, 402, 403, 404})
"""The key is refused or the model does not exist, which no message has caused. Messages wait until that is fixed."""
EARLIER_MESSAGES = 6
"""How many earlier messages to reread for context, so that "no, I meant …" can be matched to the statement it
corrects."""
JOB_LEASE_MICROSECONDS = 60_000_000
MAX_SOURCES = 8
"""How many of its most recent sources a fact keeps."""
MAX_UNREAD_MESSAGES = 200
"""How many of the newest messages in unknown languages to remember for receipts."""
MAX_REFUSED = 50
"""The number of recent messages for which to keep the reasons for refusals, for use in receipts."""
MAX_ENDED = 50
"""How many of the newest requests to forget to keep for receipts, each with a list of what it ended."""
SPEAKER = "speaker"
"""The key in a thread's metadata for the owner's name, as it appears in the `name` of their messages."""
DOUBT_REMOVED = 0.3
"""How much of the remaining doubt (1 - confidence) is removed when the same value is stated again."""


class Deriver:
    """Derives facts and learnings from threads."""

    def __init__(self, core: Core, model: Model | None = None, lease: int = JOB_LEASE_MICROSECONDS) -> None:
        self._core = core
        self._lease = lease
        self._model = core.shared.extraction_model if model is None else model
        self._foreign: list[int] = []
        self._ended: dict[str, list[str]] = {}
        """The memories that requests to forget have ended since the last commit, by message number."""
        self._no_longer: dict[str, list[str]] = {}
        """The memories that other statements, such as "I no longer live in Oslo", have ended since the last commit."""
        self._alone = 0
        """How many of the next messages to read one at a time, because the model failed when it read them together."""
        self._refused: dict[str, list[str]] = {}
        """The reasons why items were refused since the last commit, by message number."""
        self._by_rules: list[int] = []
        """The messages that the rules have read instead of the model since the last commit."""
        self._by_model: list[int] = []
        extract = core.shared.parts.extract
        named = extract is None or isinstance(extract, str)
        self._extraction = None if named else cast("Extraction", extract)
        self._writer: Writer | None = None
        if self._model is not None:
            from ...extract.extraction import Extraction
            from .writing import Writer

            extraction = self._extraction or Extraction()
            # The writer may call twice, to repair an answer; both calls must end before the lease does.
            self._writer = Writer(core, self._model, extraction, timeout=lease / 2.2e6)

    async def run(self, job: Job, *, until: float | None = None) -> int:
        """Read a thread from its watermark to its current end, and return how many facts and learnings were written.

        If the thread grows in the meantime, or once the time `until` (monotonic) has passed, the job stays ready for
        the rest, because reading can never catch up with a busy writer.
        """
        if job.queue == REREAD:
            return await self._again(job)
        # After a failed attempt, messages are read one at a time to isolate the one that fails.
        total, limit = 0, BATCH_MESSAGES if job.attempts <= 1 else 1
        thread = await self._core.get(Thread, job.item.partition(":")[2])
        goal = 0 if thread is None else thread.length
        while True:
            try:
                # Even a late call reads one batch, so that every call makes progress.
                is_late = until is not None and monotonic() > until
                written, more = await self._stretch(job, 1 if self._alone else limit, 0 if is_late else goal)
            except ModelError as problem:
                if not (permanent(problem) and self._alone):
                    raise
                continue
            self._alone = max(0, self._alone - 1)
            total += written
            if more is None:
                return total
            if self._core.shared.closing:
                raise Conflict("the memory is being closed")  # returns the job to the queue for the next worker
            job = more

    async def stand_in(self, job: Job) -> None:
        """Read the rest of a thread with the local rules while the model cannot be reached.

        The watermark does not move, so the model reads everything when the job is retried.
        """
        core, id = self._core, job.item.partition(":")[2]
        thread, mark = await core.get(Thread, id), await core.get(Derivation, id)
        # What the rules have read in the model's place before is not read again with every attempt.
        done = max((mark.position, *mark.by_rules)) if mark else 0
        while thread is not None and (messages := await core.scan(Message, id, after=(done,), limit=BATCH_MESSAGES)):
            guards = await epochs(core, thread_ref(id))
            changes, _ = await self._derived(thread, messages, done, _seqs(mark), by_rules=True)
            # Read again, because the last commit has raised its version.
            mark = await core.get(Derivation, id)
            await core.apply(*guards, *changes, *self._stood_in(id, mark))
            done = messages[-1].seq

    def _stood_in(self, thread: str, current: Derivation | None) -> list[Change]:
        """Return changes that record, for receipts, that the rules have read messages still waiting for the model."""
        before = current or Derivation(org=self._core.org, thread=thread, updated_at=self._core.at())
        by_rules = sorted({*before.by_rules, *self._by_rules})[-MAX_UNREAD_MESSAGES:]
        self._by_rules = []
        after = msgspec.structs.replace(before, by_rules=tuple(by_rules), updated_at=self._core.at())
        return [Expect(Derivation, before.row_key, before.version), Put(after)]

    async def skip(self, job: Job, reason: str) -> bool:
        """Make the next message of a thread a dead letter, move the watermark past it, and return whether there was
        one.
        """
        core, id = self._core, job.item.partition(":")[2]
        mark = await core.get(Derivation, id)
        unread = await core.scan(Message, id, after=(mark.position if mark else 0,), limit=1)
        if job.queue != "derive" or not unread:
            return False
        # The messages after this one have not failed, so they begin with no attempts.
        fresh = msgspec.structs.replace(
            job, status="ready", owner=None, leased_until=None, attempts=0, error=None, run_at=core.at(),
            updated_at=core.at(),
        )  # fmt: skip
        await core.apply(
            Expect(Job, job.row_key, job.version),
            *await self._unread(job, unread, reason),
            *self._progressed(id, mark, unread[0].seq, [*_seqs(mark), unread[0].seq]),
            Put(fresh),
        )
        return True

    async def _stretch(self, job: Job, limit: int, goal: int) -> tuple[int, Job | None]:
        """Derive from one batch of messages in one commit.

        Return the job with a longer lease if there are more messages to read up to `goal`.
        """
        core, id = self._core, job.item.partition(":")[2]
        # Read before the thread and its messages: if part of it is forgotten after this line, the commit fails.
        guards = await epochs(core, thread_ref(id))
        thread, mark = await core.get(Thread, id), await core.get(Derivation, id)
        if thread is None:
            await core.apply(Expect(Job, job.row_key, job.version), Delete(Job, job.row_key))
            return 0, None
        done = mark.position if mark else 0
        messages = await core.scan(Message, id, after=(done,), limit=limit)
        messages = list(self._together(messages))
        # Deleted messages leave gaps: with nothing left to read, the watermark moves past them to the end.
        reached = messages[-1].seq if messages else thread.length
        is_partial = bool(messages) and reached < thread.length
        failed = _seqs(mark)
        try:
            changes, written = await self._derived(thread, messages, done, failed)
        except ModelError as problem:
            own = [message for message in messages if message.role == "user" and message.text.strip()]
            if permanent(problem) and len(own) > 1:
                # Nobody knows which message the model cannot read, so `run` has them read again, one at a time.
                self._alone = len(messages)
                raise
            if not permanent(problem):
                raise
            stand_in, written = await self._derived(thread, messages, done, failed, by_rules=True)
            changes = [*await self._unread(job, own, why(problem)), *stand_in]
            failed = [*failed, *(message.seq for message in own)]
        # Claiming raises the version, so if the lease ended and another worker has the job now, only that worker
        # commits.
        changes = [Expect(Job, job.row_key, job.version), *guards, *changes]
        changes += self._progressed(id, mark, reached if is_partial else thread.length, failed)
        if is_partial and reached < goal:
            longer = self._longer(job)
            await core.apply(*changes, Put(longer))
            # The Put has raised the version by one; the next commit expects that without reading the row again.
            return written, msgspec.structs.replace(longer, version=job.version + 1)
        if not is_partial and await self._ended_job(job, thread, changes):
            return written, None
        ready = msgspec.structs.replace(
            self._longer(job), status="ready", owner=None, leased_until=None, attempts=0, run_at=core.at()
        )
        await core.apply(*changes, Put(ready))
        return written, None

    async def _ended_job(self, job: Job, thread: Thread, changes: Sequence[Change]) -> bool:
        """Commit the changes and delete the job.

        Write nothing and return False if the thread has grown since it was read.
        """
        # The indexer does not add a job where there is one, so the job may end only if nothing was appended since the
        # read.
        ends: list[Change] = [Expect(Thread, thread.row_key, thread.version), Delete(Job, job.row_key)]
        try:
            await self._core.apply(*changes, *ends)
        except Conflict as conflict:
            if refused_row(conflict) != (Thread.table.name, thread.row_key):
                raise
            return False
        return True

    async def _again(self, job: Job) -> int:
        """Let the model read a thread's dead letters again. If it fails again, they stay dead letters."""
        core, id = self._core, job.item.partition(":")[2]
        guards = await epochs(core, thread_ref(id))
        thread, mark = await core.get(Thread, id), await core.get(Derivation, id)
        changes: list[Change] = [Expect(Job, job.row_key, job.version), *guards]
        left: list[int] = []
        written, error = 0, None
        for seq in job.payload["seqs"] if thread is not None else ():
            message = await core.get(Message, id, seq)
            if message is None:
                continue
            assert thread is not None
            try:
                derived_changes, count = await self._derived(thread, [message], seq - 1, _seqs(mark))
            except ModelError as problem:
                if not permanent(problem):
                    raise
                left, error = [*left, seq], why(problem)
                continue
            changes, written = changes + _untouched(derived_changes, _expected(changes)), written + count
        if left:
            dead = msgspec.structs.replace(
                job, status="dead", owner=None, leased_until=None, error=error, payload={"seqs": left}
            )
            changes.append(Put(dead))
        else:
            changes.append(Delete(Job, job.row_key))
        if mark is not None:
            changes += self._progressed(id, mark, mark.position, left)
        await core.apply(*changes)
        return written

    async def _unread(self, job: Job, messages: Sequence[Message], reason: str) -> list[Change]:
        """Add messages to their thread's dead letter, a single job that lists all their numbers."""
        core, at = self._core, self._core.at()
        held = await core.get(Job, REREAD, job.ns, job.item)
        seqs = [*(held.payload["seqs"] if held else ()), *(message.seq for message in messages)]
        letter = Job(
            org=core.org, queue=REREAD, ns=job.ns, item=job.item, status="dead", attempts=1, run_at=at,
            payload={"seqs": list(dict.fromkeys(seqs))}, error=reason, created_at=at, updated_at=at,
        )  # fmt: skip
        return [Expect(Job, letter.row_key, held.version if held else 0), Put(letter)]

    def _progressed(
        self, thread: str, current: Derivation | None, position: int, failed: Sequence[int]
    ) -> list[Change]:
        """Return changes that advance a thread's derivation to a given message."""
        before = current or Derivation(org=self._core.org, thread=thread, updated_at=self._core.at())
        unread = sorted({*before.unread, *self._foreign})[-MAX_UNREAD_MESSAGES:]
        # The id of a request to forget is the last one, because `facts.unforget` needs it.
        new = {seq: [*self._no_longer.get(seq, ()), *self._ended.get(seq, ())] for seq in self._no_longer | self._ended}
        ended = dict(list({**before.ended, **new}.items())[-MAX_ENDED:])
        refused = dict(list({**before.refused, **self._refused}.items())[-MAX_REFUSED:])
        by_rules = sorted(({*before.by_rules} - {*self._by_model}) | {*self._by_rules})[-MAX_UNREAD_MESSAGES:]
        self._ended, self._no_longer, self._refused, self._by_rules, self._by_model = {}, {}, {}, [], []
        derivation = msgspec.structs.replace(
            before, position=position, failed=tuple(failed), unread=tuple(unread), ended=ended, refused=refused,
            by_rules=tuple(by_rules), cost=self._cost(before.cost), stuck=False, again=False,
            updated_at=self._core.at(),
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

    def _longer(self, job: Job) -> Job:
        """Return the job after progress has been made, with its lease renewed and its attempts and error reset."""
        now = self._core.now()
        return msgspec.structs.replace(
            job, attempts=1, error=None, leased_until=to_datetime(now + self._lease), updated_at=to_datetime(now)
        )

    async def _derived(
        self, thread: Thread, messages: Sequence[Message], done: int, failed: Sequence[int], *, by_rules: bool = False
    ) -> tuple[list[Change], int]:
        """Return the changes that messages produce, and the number of facts and learnings derived.

        With `by_rules`, the rules are used instead of the model.
        """
        ns = subject_of(thread)
        owner = await self._owner(thread, messages)
        if self._writer is not None and not by_rules:
            if not messages:
                return [], 0
            if not await self._writer.is_over_limit():
                changes, written, is_cut = await self._written(thread, ns, messages, owner)
                if not is_cut:
                    return changes, written
                # The rules read what the model did not get to. What it wrote stays as it wrote it.
                rest, count = await self._derived(thread, messages, done, failed, by_rules=True)
                self._by_rules = []
                return [*changes, *_untouched(rest, _expected(changes))], written + count
            self._writer.refuse_over_limit()
        if self._writer is not None:
            self._by_rules += [message.seq for message in messages if message.role == "user"]
        earlier = await self._said_before(thread, messages, done, failed)
        gate = await policy_of(self._core)
        from .noting import Noting

        noting = Noting(self._core, ns)
        facts: list[tuple[Extracted, Message]] = []
        learnings: list[tuple[Extracted, Message]] = []
        for message, items in await self._readings(messages, owner, earlier):
            for item in items:
                if item.kind != "forget" and barred_secrets(gate, f"{item.key}: {item.value}"):
                    continue
                if item.kind != "forget" and not item.retracted and await self._is_held(noting, gate, item, message):
                    continue
                facts += [(item, message)] if item.kind != "learning" else []
                learnings += [(item, message)] if item.kind != "fact" else []
        changes = await self._facts(ns, facts)
        user = ns.removeprefix("user:") if ns.startswith("user:") else None
        if user is not None:
            touched: set[tuple[type, Key]] = set()
            for item, message in await self._wishes(ns, learnings, changes):
                changes += _untouched(await self._learning(user, item, message), touched)
        for item, message in facts:
            changes += await self._request(ns, item, message, changes) if item.kind == "forget" else []
        written = sum(
            isinstance(change, Put) and isinstance(change.record, Fact | Learning) and change.record.status == "active"
            for change in changes
        )
        return [*changes, *noting.changes], written

    async def _is_held(self, noting: Noting, gate: Gate, item: Extracted, message: Message) -> bool:
        """Return whether the policy prevents an item from becoming active by refusing it or putting it into the review
        queue.
        """
        from ...extract.keys import spoken
        from ...extract.writer.checks import Note
        from .noting import Source

        is_fact = item.kind == "fact"
        key = item.key if is_fact else None
        admission = judge_memory(gate, noting.ns, [item.value], key=key)
        if admission.verdict != "active":
            await noting.count(admission)
        note = Note(
            op="add", kind=item.kind, turn=0, quote=item.text, key=key,
            value=spoken(item.key, item.value, item.text) if is_fact else None,
            text=item.text if is_fact else str(item.value), type=item.type or "preference",
            confidence=item.confidence, inferred=item.inferred,
        )  # fmt: skip
        verdict, reason = admission.verdict, admission.reason
        if verdict == "active" and self._extraction is not None:
            # The gate comes first: what the policy refuses or holds, the application's rules cannot admit.
            verdict, reason = self._extraction.verdict(note, message.author_trust), "the application asks for review"
        if verdict == "review":
            await noting.propose(note, Source(message.id, self._said_at(message)), reason)
        return verdict != "active"

    async def _written(
        self, thread: Thread, ns: str, messages: Sequence[Message], owner: Sequence[str]
    ) -> tuple[list[Change], int, bool]:
        """Return the changes that the memory writer derives from messages, and those that requests to forget make.

        The last value says whether the rules should read the messages too, because the model's answer was cut off.
        """
        assert self._writer is not None
        turns = [await self._turn(message, owner) for message in messages]
        changes, outcome = await self._writer.read(thread, ns, messages, turns)
        for refused in outcome.refused:
            seq = messages[min(max(refused.message, 1), len(messages)) - 1].seq
            self._refused.setdefault(str(seq), []).append(refused.reason)
        self._by_model += [message.seq for message in messages]
        forgotten = await self._forgotten(ns, messages, owner)
        for memory in outcome.ended:
            number, id = memory.sources[-1].rpartition("#")[2], f"{ns}/{memory.id.partition(':')[2]}"
            if id not in self._ended.get(number, ()):
                self._no_longer.setdefault(number, []).append(id)
        return (
            [*forgotten, *_untouched(changes, _expected(forgotten))],
            len(outcome.stored),
            outcome.is_cut and not forgotten,
        )

    async def _forgotten(self, ns: str, messages: Sequence[Message], owner: Sequence[str]) -> list[Change]:
        """Return the changes that requests to forget make. The rules find these requests, because a user's rights must
        not depend on how a model interprets the words.
        """
        asking = [message for message in messages if may_ask_to_forget(message)]
        readings = await self._readings(asking, owner, []) if asking else []
        requests = [(item, message) for message, items in readings for item in items if item.kind == "forget"]
        if not requests:
            return []
        changes = await self._facts(ns, requests)
        await self._wishes(ns, requests, changes)
        for item, message in requests:
            changes += await self._request(ns, item, message, changes)
        return changes

    async def _turn(self, message: Message, owner: Sequence[str]) -> Turn:
        """Return a message as the writer shows it, including its speaker and the words that may be cited."""
        from ...extract.readable import fold_name, labelled_text, quotable_text
        from ...extract.writer.request import Turn

        names = {fold_name(name) for name in owner}
        other = message.role == "user" and message.name is not None and fold_name(message.name) not in names
        private = message.metadata.get(PASSING) or is_private(message)
        forgotten = await self._core.get(Tombstone, "source", message_ref(message).fingerprint) is not None
        gate = await policy_of(self._core)
        return Turn(
            text=mask_text(gate, labelled_text(message)),
            role=message.role,
            at=self._said_at(message),
            speaker=str(message.name) if other else message.role,
            citable=self._writer is not None and self._writer.may_cite(message) and not private and not forgotten,
            own=None if other else mask_text(gate, quotable_text(message)),
        )

    async def _owner(self, thread: Thread, messages: Sequence[Message]) -> list[str]:
        """Return the names under which the owner's messages may appear: the user's id, their stored name, and the
        `speaker`.
        """
        if all(message.name is None for message in messages):
            return []
        ns, speaker = subject_of(thread), thread.metadata.get(SPEAKER)
        stored = await self._core.get(Fact, ns, "name")
        name = stored.value if stored is not None and isinstance(stored.value, str) else ""
        names = [ns.partition(":")[2], name, name.partition(" ")[0], speaker if isinstance(speaker, str) else ""]
        return [name for name in names if name]

    async def _wishes(
        self, ns: str, extracted: Sequence[tuple[Extracted, Message]], changes: list[Change]
    ) -> list[tuple[Extracted, Message]]:
        """Return the learnings to store. A request to forget ends those it names, whether or not they are already
        stored.
        """
        wishes: list[tuple[Extracted, Message]] = []
        for item, message in extracted:
            if item.kind == "learning":
                wishes.append((item, message))
                continue
            before = await message_before(self._core, message) if not item.value else None
            source = before.id if before is not None else ""
            wishes = [
                (wish, message) for wish, message in wishes
                if not (message.id == source or item.is_everything or _same_words(wish.value, item.value))
            ]  # fmt: skip
            for learning in await self._core.listed(Learning, ns):
                named = _names_memory(item, learning.content, source in learning.sources)
                if named and learning.status == "active":
                    changes += [Expect(Learning, learning.row_key, learning.version)]
                    changes += ended_learning(self._core, learning, message.id)
                    self._ended.setdefault(str(message.seq), []).append(f"{ns}/{learning.id}")
        return wishes

    async def _said_before(
        self, thread: Thread, messages: Sequence[Message], done: int, failed: Sequence[int]
    ) -> list[Extracted]:
        """Return the content of the preceding messages, so that "no, I meant …" can be matched to the statement it
        corrects.
        """
        if self._model is not None or not done or all(message.role != "user" for message in messages):
            return []
        before = await self._core.scan(Message, thread.id, before=(done + 1,), reverse=True, limit=EARLIER_MESSAGES)
        extracted: list[Extracted] = []
        earlier = [message for message in reversed(before) if message.seq not in failed]
        await self._readings(earlier, await self._owner(thread, earlier), extracted)
        return extracted

    async def _readings(
        self, messages: Sequence[Message], owner: Sequence[str], earlier: list[Extracted]
    ) -> list[tuple[Message, list[Extracted]]]:
        """Return the items that the rules extract from each message; they are also added to `known`."""
        own = [message for message in messages if _readable(message, owner)]
        own = [
            message
            for message in own
            if await self._core.get(Tombstone, "source", message_ref(message).fingerprint) is None
        ]
        out = []
        for message in own:
            out.append((message, await self._extract(message, owner, earlier)))
            earlier += out[-1][1]
        return out

    async def _extract(self, message: Message, owner: Sequence[str], earlier: Sequence[Extracted]) -> list[Extracted]:
        from ...extract import extract
        from ...extract.extractor import unread

        if unread(message.text):
            self._foreign.append(message.seq)
        at = message.created_at or self._core.at()
        return await self._core.runtime.call(lambda: extract(message, at=at, owner=owner, previous=earlier))

    async def _facts(self, ns: str, extracted: Sequence[tuple[Extracted, Message]]) -> list[Change]:
        """Return the changes for extracted facts and retractions.

        If a key is mentioned twice, the later mention counts.
        """
        from ...extract.keys import spoken

        facts = Facts(self._core)
        held: dict[str, Fact | None] = {}
        pending: dict[str, list[Change]] = {}
        older: dict[str, list[Fact]] = {}
        now_known: dict[str, Fact | None] = {}
        for item, message in extracted:
            stated_at = self._said_at(message)
            if item.kind == "forget" or item.retracted:
                names = self._asked if item.kind == "forget" else self._named
                for old in await names(ns, item, message, now_known):
                    held.setdefault(old.key, old if old.version else None)
                    stored = held[old.key]
                    if stored is not None and _said_since(stored, message, stated_at):
                        continue
                    if (
                        stored is None and item.kind == "forget"
                    ):  # said in this very batch; kept so that it can be undone
                        last = await self._core.scan(FactVersion, ns, old.key, reverse=True, limit=1)
                        stored = msgspec.structs.replace(old, version=(last[0].version if last else 0) + 1)
                    ends = facts._ending(stored, "retracted", _reason(item), message.id, stated_at)[1] if stored else []
                    pending[old.key], now_known[old.key] = ends, None
                    if item.kind == "forget":
                        self._ended.setdefault(str(message.seq), []).append(old.id)
                    elif stored is not None:
                        self._no_longer.setdefault(str(message.seq), []).append(old.id)
                continue
            draft = facts._new(ns, item.key, spoken(item.key, item.value, item.text), None, item.confidence, message.id)
            draft = msgspec.structs.replace(
                draft, trust="user", reason=_reason(item), created_at=stated_at, updated_at=stated_at
            )
            if await facts._refused(draft) is not None:
                continue
            if item.key not in now_known:
                now_known[item.key] = held[item.key] = await self._core.get(Fact, ns, item.key)
            stored = held.get(item.key) or await self._last_word(ns, item.key, pending)
            # What was said since stays current, even if an older message arrives later, as from an import.
            if stored is not None and item.key not in pending and _said_since(stored, message, stated_at):
                if not _same(stored.value, draft.value):
                    older.setdefault(item.key, []).append(draft)
                continue
            if now_known[item.key] is None:
                pending[item.key] = []  # retracted earlier in this batch, and now stated again
            draft = _joined(now_known[item.key], draft)
            now_known[item.key] = draft
            pending.setdefault(item.key, []).extend(facts._changes(draft, "derive", sources=[message_ref(message)]))
        changes = [change for key in older if key not in pending for change in await self._past(held[key], older[key])]
        for key, ones in pending.items():
            if ones:
                before = held.get(key)
                # One guard per key, with the version that was read first: all changes of the key follow from it.
                changes += [Expect(Fact, (self._core.org, ns, key), before.version if before else 0), *ones]
        return changes

    async def _asked(self, ns: str, item: Extracted, message: Message, now_known: dict[str, Fact | None]) -> list[Fact]:
        """Return the facts that a request to forget is about. If it does not name anything, return the facts from the
        user's previous message.
        """
        from ...extract import extract

        stored = {fact.key: fact for fact in await self._core.scan(Fact, ns)}
        facts = [fact for fact in {**stored, **now_known}.values() if fact is not None]
        if not item.value:
            before = await message_before(self._core, message)
            return [fact for fact in facts if before is not None and before.id in fact.sources[-1:]]
        if item.is_everything:
            return facts
        stated = extract(item.value, at=self._said_at(message))
        return [fact for fact in facts if fact.trust == "user" and is_about(fact, item.value, stated)]

    async def _forgotten_events(self, ns: str, item: Extracted, message: Message, source: str) -> list[Change]:
        """Return changes that cancel the events named in a request to forget, so that they are not recalled."""
        from ..events import Events

        user = ns.removeprefix("user:") if ns.startswith("user:") else None
        batch = Core(self._core.shared, Scope(self._core.org, user, "processor", write=() if user else (ns,))).batched()
        for event in await self._core.scan(Event, ns):
            named = _names_memory(item, event.text, source in event.sources)
            if named and event.status != "cancelled":
                cancelled = msgspec.structs.replace(
                    event, status="cancelled", reason="asked to forget", sources=(*event.sources, message.id)
                )
                await Events(batch)._replace(event, cancelled, "cancel")
                self._ended.setdefault(str(message.seq), []).append(f"{ns}/{event.id}")
        return list(batch.batch.changes) if batch.batch else []

    async def _request(self, ns: str, item: Extracted, message: Message, changes: Sequence[Change]) -> list[Change]:
        """Return the changes that cancel the events of a request to forget, and its record, which marks the messages
        that mention its subject. `changes` are those that the request and other statements have made so far."""
        from ...extract.keys import slug

        core = self._core
        before = await message_before(core, message) if not item.value else None
        events = await self._forgotten_events(ns, item, message, before.id if before is not None else "")
        if before is not None:
            about = [before.id]
        elif item.is_everything:
            about = await own_messages(core, ns, message)
        else:
            staying = await sources_that_stay(core, ns, [*changes, *events])
            about = await messages_about(core, ns, item.value, message, staying)
        if item.is_everything:
            key = "everything"
        else:
            key = slug(item.value, words=8) if item.value else message.id.replace("#", "_")
        last = await core.scan(FactVersion, ns, f"{FORGOTTEN}{key}", reverse=True, limit=1)
        ended = self._ended.setdefault(str(message.seq), [])
        did = {"request": message.id, "ended": list(ended), "marked": about}
        ended.append(f"{ns}/{FORGOTTEN}{key}")
        record = request_changes(
            core, ns, key, last[0] if last else None, did, [*about, message.id], self._said_at(message)
        )
        return [*events, *record]

    def _said_at(self, message: Message) -> datetime:
        """Return when a message was written. For an imported message, this is not the time of the import."""
        now = self._core.at()
        return now if message.created_at is None else min(message.created_at, now)

    async def _last_word(self, ns: str, key: str, pending: dict[str, list[Change]]) -> Fact | None:
        """Return the version that ended a fact, so that older messages do not bring it back."""
        if key in pending:
            return None
        last = await self._core.scan(FactVersion, ns, key, reverse=True, limit=1)
        return last[0] if last and last[0].status != "active" else None

    async def _past(self, current: Fact | None, drafts: Sequence[Fact]) -> list[Change]:
        """Return changes that insert older values into the history, each at its own time."""
        first = drafts[0]
        changes = await spliced(self._core, current, drafts, first.ns, first.key, before=True)
        if not changes:
            return []
        return [*changes, *(change for fact in drafts for change in Facts(self._core)._changes(fact, "derive")[2:])]

    async def _named(self, ns: str, item: Extracted, message: Message, now_known: dict[str, Fact | None]) -> list[Fact]:
        """Return the facts that a retraction ends: the one with its key or, failing that, those with the same stem and
        the named value.
        """
        core, (stem, _, part) = self._core, item.key.rpartition(".")
        if part != "*":
            held = now_known[item.key] if item.key in now_known else await core.get(Fact, ns, item.key)
            if held is not None:
                return [held] if item.value is None or _names(held, str(item.value)) else []
        if not stem:
            return []
        wanted = str(item.value) if part == "*" or item.value is not None else part.replace("_", " ")
        stored = {fact.key: fact for fact in await core.scan(Fact, ns, starts=f"{stem}.")}
        candidates = {**stored, **{key: fact for key, fact in now_known.items() if key.startswith(f"{stem}.")}}
        return [fact for fact in candidates.values() if fact is not None and _names(fact, wanted)]

    async def _learning(self, user: str, item: Extracted, message: Message) -> list[Change]:
        batch = Core(self._core.shared, Scope(self._core.org, user, "processor")).batched()
        await Learnings(batch).add(
            str(item.value), type=item.type or "preference", confidence=item.confidence, source=message.id
        )
        stated_at = self._said_at(message)
        return [_of_the_user(change, stated_at) for change in (batch.batch.changes if batch.batch else ())]


def _readable(message: Message, owner: Sequence[str]) -> str:
    """Return the readable part of a message. The module is loaded when the first message is read."""
    from ...extract.readable import readable_text

    return readable_text(message, owner)


def _names_memory(item: Extracted, text: str, is_from_previous: bool) -> bool:
    """Return whether a request to forget refers to a learning or an event with this text."""
    if not item.value:
        return is_from_previous
    return item.is_everything or names_text(text, item.value)


def _same_words(text: str, other: str) -> bool:
    return bool(other) and set(_WORD.findall(text.casefold())) >= set(_WORD.findall(other.casefold()))


def _of_the_user(change: Change, stated_at: datetime) -> Change:
    """Return a learning from the user's own words, with the user's trust level and the message's time."""
    if isinstance(change, Put) and isinstance(change.record, Learning):
        learning = change.record
        created_at = min(learning.created_at, stated_at)
        return Put(
            msgspec.structs.replace(learning, trust="user", created_at=created_at, updated_at=stated_at), change.absent
        )
    return change


def _seqs(mark: Derivation | None) -> list[int]:
    """Return the numbers of the thread's messages for which the model's answer was unusable."""
    return list(mark.failed) if mark is not None else []


def _expected(changes: Sequence[Change]) -> set[tuple[type, Key]]:
    return {(change.kind, change.key) for change in changes if isinstance(change, Expect)}


def _untouched(changes: Sequence[Change], touched: set[tuple[type, Key]]) -> list[Change]:
    """Return the changes except those to rows that this `apply` already changes, because a second Expect on the same
    row would fail.
    """
    mine = {(change.kind, change.key) for change in changes if isinstance(change, Expect)}
    taken = mine & touched
    touched |= mine
    derived_changesleft: list[Change] = []
    for change in changes:
        row = (change.kind, change.key) if isinstance(change, Expect) else None
        if isinstance(change, Put):
            row = (type(change.record), change.record.row_key)
        if row not in taken:
            derived_changesleft.append(change)
    return derived_changesleft


def _said_since(held: Fact, message: Message, stated_at: datetime) -> bool:
    """Return whether a fact was stated later than a message. Within a thread, this compares message numbers; otherwise
    it compares times.
    """
    thread, _, seq = (held.source or "").rpartition("#")
    if held.actor == "processor" and thread == message.thread and seq.isdecimal():
        return int(seq) > message.seq
    return held.updated_at > stated_at


def _reason(item: Extracted) -> str | None:
    """Return the reason stored with a fact: the kind of statement and the matching rule."""
    kind = "retraction" if item.retracted else "correction" if item.correction else "inferred" if item.inferred else ""
    return " ".join(filter(None, (kind, item.rule and f"by {item.rule}"))) or None


_WORD = re.compile(r"[^\W_]+")


def _names(fact: Fact, text: str) -> bool:
    """Return whether the words of a retraction refer to this fact, which means that they occur in its value or key, or
    contain its value.
    """
    words, value = _WORD.findall(text.casefold()), _WORD.findall(str(fact.value).casefold())
    part = _WORD.findall(fact.key.rpartition(".")[2].casefold())
    keyed = "." in fact.key and _all_in(part, words)
    return keyed or _all_in(words, [*value, *part]) or _all_in(value, words)


def _all_in(some: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether each word occurs among the others, in the same or a longer form (nut and nuts, vegan and
    Veganerin).
    """
    forms = [(word, [other for other in others if other == word or _is_form(word, other)]) for word in some]
    return bool(some) and all(matches for _, matches in forms)


def _is_form(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return len(short) > 2 and long.startswith(short)


def _same(old: object, new: object) -> bool:
    """Return whether two values are equal, ignoring case in texts."""
    if isinstance(old, str) and isinstance(new, str):
        return old.casefold() == new.casefold()
    return fingerprint_json(old) == fingerprint_json(new)


def _joined(old: Fact | None, new: Fact) -> Fact:
    """Return a new fact merged with the old one. Repeating the value raises its confidence, and a different value
    replaces it.
    """
    if old is None or not _same(old.value, new.value):
        return new
    sources = tuple(dict.fromkeys([*old.sources, *new.sources]))[-MAX_SOURCES:]
    surer = max(old.confidence, new.confidence)
    if not set(new.sources) <= set(old.sources):  # reading the same message again is no new evidence
        surer = round(surer + DOUBT_REMOVED * (1 - surer), 4)
    return msgspec.structs.replace(new, confidence=surer, sources=sources, expires_at=old.expires_at)


def subject_of(thread: Thread) -> str:
    """Return the namespace to which facts from a thread belong: the thread's own, or that of the participating user."""
    user = thread.metadata.get("user")
    return f"user:{user}" if isinstance(user, str) and user and not thread.ns.startswith("user:") else thread.ns


def permanent(problem: Exception) -> bool:
    """Return whether retrying is pointless because the model answered but its answer is unusable."""
    if getattr(problem, "status", None) in UNAVAILABLE_STATUS:
        return False
    return isinstance(problem, ModelError) and getattr(problem, "retryable", True) is False


def why(problem: Exception) -> str:
    """Return the error text of a dead letter. Model errors contain no content."""
    return f"{type(problem).__name__}: {getattr(problem, 'reason', None) or problem}"[:500]
