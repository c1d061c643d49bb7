"""Reads one batch of a thread's messages, with the memory writer or with the rules.

The rules (`memorist.extract`) read only the user's own words. They also find the requests to forget in what a model
reads, because a user's rights must not depend on how a model interprets the words.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from ...extract import extract
from ...extract.extractor import unread
from ...extract.keys import spoken
from ...extract.readable import fold_name, labelled_text, quotable_text, readable_text
from ...extract.writer.checks import Note
from ...extract.writer.request import Turn
from ...gate.admission import judge_memory
from ...gate.passing import barred_secrets, mask_text
from ...gate.policy import Gate
from ...kinds import message_ref
from ...messages.message import PASSING, Message, message_id
from ...messages.privacy import is_private
from ...records import Fact, Learning, Thread, Tombstone
from ...stores.base import Change, Put
from ..core import Core
from ..gating import policy_of
from ..learnings import Learnings, learning_id
from ..threads.receipts import may_ask_to_forget
from .fact_changes import FactChanges
from .noting import Noting, Source, verdict_on
from .progress import BatchResult
from .retracting import Items, Retracting, stated_time

if TYPE_CHECKING:
    from ...extract.extracted import Extracted
    from ...extract.extraction import Extraction
    from .writing import Writer

EARLIER_MESSAGES = 6
"""How many earlier messages to reread for context, so that "no, I meant …" can be matched to the statement it
corrects."""
SPEAKER = "speaker"
"""The key in a thread's metadata for the owner's name, as it appears in the `name` of their messages."""


class Reading:
    """Reads the messages of a thread that belong into the namespace `ns`."""

    def __init__(self, core: Core, thread: Thread, ns: str, extraction: Extraction | None) -> None:
        self._core, self._thread, self._ns, self._extraction = core, thread, ns, extraction

    async def by_model(self, writer: Writer, messages: Sequence[Message]) -> BatchResult:
        """Let the memory writer read messages. Raises ModelError if it cannot."""
        result, owner = BatchResult(by_model=[message.seq for message in messages]), await self._owner(messages)
        turns = [await self._turn(message, owner, writer) for message in messages]
        changes, outcome = await writer.read(self._thread, self._ns, messages, turns)
        for refused in outcome.refused:
            # A model may cite a message that is not there, so the number is brought into range.
            seq = messages[min(max(refused.message, 1), len(messages)) - 1].seq
            result.refused.setdefault(str(seq), []).append(refused.reason)
        result.changes = await self._forgotten(messages, owner, result)
        has_requests = bool(result.changes)
        for memory in outcome.ended:
            # The last source is the message that ended the memory; the writer has just added it.
            _, seq = message_id(memory.sources[-1])
            id = f"{self._ns}/{memory.id.partition(':')[2]}"
            if id not in result.forgotten.get(str(seq), ()):
                result.ended.setdefault(str(seq), []).append(id)
        result.add(BatchResult(changes, len(outcome.stored)))
        if outcome.is_cut and not has_requests:
            # The rules read what the model did not get to. What it wrote stays as it wrote it.
            rest = await self.by_rules(messages)
            result.add(msgspec.structs.replace(rest, unread=[], by_rules=[]))
        return result

    async def by_rules(self, messages: Sequence[Message], earlier: Sequence[Extracted] = ()) -> BatchResult:
        """Let the rules read messages. `earlier` is what the messages before them say; see `items_before`."""
        core, ns, result = self._core, self._ns, BatchResult()
        readings = await self._readings(messages, await self._owner(messages), earlier)
        result.unread = [message.seq for message, _ in readings if unread(message.text)]
        gate, noting = await policy_of(core), Noting(core, ns)
        retracting = Retracting(core, noting.core, ns, result)
        items: list[tuple[Extracted, Message]] = []
        for message, extracted in readings:
            for item in extracted:
                if await self._may_note(item, message, gate, noting, retracting):
                    items.append((item, message))
        result.changes = await self._fact_changes(items, result)
        if self._ns.startswith("user:"):  # other namespaces have no preferences of a person
            await self._learn(await retracting.end_learnings(items), noting.core)
        result.changes += [*await self._records(items, retracting, result.changes), *noting.changes]
        result.written = sum(
            isinstance(change, Put) and isinstance(change.record, Fact | Learning) and change.record.status == "active"
            for change in result.changes
        )
        return result

    async def items_before(self, messages: Sequence[Message], failed: Collection[int]) -> list[Extracted]:
        """Return what the rules extract from the messages before a batch, so that "no, I meant …" can be matched to the
        statement it corrects. Messages that `failed` are left out, because reading one may crash the worker.
        """
        if all(message.role != "user" for message in messages):
            return []
        before = await self._core.scan(
            Message, self._thread.id, before=(messages[0].seq,), reverse=True, limit=EARLIER_MESSAGES
        )
        earlier = [message for message in reversed(before) if message.seq not in failed]
        readings = await self._readings(earlier, await self._owner(earlier), [])
        return [item for _, items in readings for item in items]

    # -- what the messages say

    async def _readings(
        self, messages: Sequence[Message], owner: Sequence[str], earlier: Sequence[Extracted]
    ) -> list[tuple[Message, list[Extracted]]]:
        """Return the items that the rules extract from each message that may be read."""
        readings: list[tuple[Message, list[Extracted]]] = []
        previous = list(earlier)
        for message in messages:
            if not readable_text(message, owner) or await self._is_forgotten(message):
                continue
            items = await self._extract(message, owner, previous)
            readings.append((message, items))
            previous += items
        return readings

    async def _extract(self, message: Message, owner: Sequence[str], earlier: Sequence[Extracted]) -> list[Extracted]:
        at = message.created_at or self._core.at()
        # A long message takes the rules a while, during which an event loop must go on.
        return await self._core.runtime.call(lambda: extract(message, at=at, owner=owner, previous=earlier))

    async def _is_forgotten(self, message: Message) -> bool:
        """Return whether a message was forgotten as a source. Its number may belong to a message imported again."""
        return await self._core.get(Tombstone, "source", message_ref(message).fingerprint) is not None

    async def _turn(self, message: Message, owner: Sequence[str], writer: Writer) -> Turn:
        """Return a message as the writer shows it, including its speaker and the words that may be cited."""
        names = {fold_name(name) for name in owner}
        other = message.role == "user" and message.name is not None and fold_name(message.name) not in names
        private = message.metadata.get(PASSING) or is_private(message)
        gate = await policy_of(self._core)
        return Turn(
            text=mask_text(gate, labelled_text(message)),
            role=message.role,
            at=stated_time(message, self._core.at()),
            speaker=str(message.name) if other else message.role,
            citable=writer.may_cite(message) and not private and not await self._is_forgotten(message),
            own=None if other else mask_text(gate, quotable_text(message)),
        )

    async def _owner(self, messages: Sequence[Message]) -> list[str]:
        """Return the names under which the owner's messages may appear: the user's id, their stored name, and the
        `speaker`.
        """
        if all(message.name is None for message in messages):
            return []
        speaker, stored = self._thread.metadata.get(SPEAKER), await self._core.get(Fact, self._ns, "name")
        name = stored.value if stored is not None and isinstance(stored.value, str) else ""
        names = [self._ns.partition(":")[2], name, name.partition(" ")[0], speaker if isinstance(speaker, str) else ""]
        return [name for name in names if name]

    # -- what becomes of it

    async def _may_note(
        self, item: Extracted, message: Message, gate: Gate, noting: Noting, retracting: Retracting
    ) -> bool:
        """Return whether an item may take effect now. What the policy or the application wants reviewed goes into the
        review queue instead.
        """
        if item.kind == "forget":
            return not await retracting.is_undone(item, message)
        if barred_secrets(gate, f"{item.key}: {item.value}"):
            return False
        return item.retracted or not await self._is_held(noting, gate, item, message)

    async def _is_held(self, noting: Noting, gate: Gate, item: Extracted, message: Message) -> bool:
        """Return whether the policy prevents an item from becoming active by refusing it or putting it into the review
        queue.
        """
        is_fact = item.kind == "fact"
        key = item.key if is_fact else None
        admission = judge_memory(gate, self._ns, [item.value], key=key)
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
            verdict = await verdict_on(self._core, self._extraction, note, message.author_trust)
            reason = "the application asks for review"
        if verdict == "review":
            await noting.propose(note, Source(message.id, stated_time(message, self._core.at())), reason)
        return verdict != "active"

    async def _forgotten(self, messages: Sequence[Message], owner: Sequence[str], result: BatchResult) -> list[Change]:
        """Return the changes that the requests to forget in these messages make."""
        asking = [message for message in messages if may_ask_to_forget(message)]
        noting = Noting(self._core, self._ns)
        retracting = Retracting(self._core, noting.core, self._ns, result)
        requests = [
            (item, message)
            for message, items in await self._readings(asking, owner, ())
            for item in items
            if item.kind == "forget" and not await retracting.is_undone(item, message)
        ]
        changes = await self._fact_changes(requests, result)
        await retracting.end_learnings(requests)
        return [*changes, *await self._records(requests, retracting, changes), *noting.changes]

    async def _fact_changes(self, items: Items, result: BatchResult) -> list[Change]:
        facts = FactChanges(self._core, self._ns, result)
        for item, message in items:
            if item.kind != "learning":
                await facts.add(item, message)
        return await facts.changes()

    async def _records(self, items: Items, retracting: Retracting, changes: Sequence[Change]) -> list[Change]:
        """Return the records of the requests to forget, once everything that they end has been ended."""
        records: list[Change] = []
        for item, message in items:
            if item.kind == "forget":
                records += await retracting.record(item, message, [*changes, *records])
        return records

    async def _learn(self, wishes: Items, batch: Core) -> None:
        """Store what the user prefers, with the trust and the time of their own words."""
        changes, stored = batch.collected, set[str]()
        for item, message in wishes:
            id, begin = learning_id(str(item.value)), len(changes)
            if id in stored:  # a preference that a batch repeats counts once
                continue
            stored.add(id)
            await Learnings(batch).add(
                str(item.value), type=item.type or "preference", confidence=item.confidence, source=message.id
            )
            stated_at = stated_time(message, self._core.at())
            changes[begin:] = [_of_the_user(change, stated_at) for change in changes[begin:]]


def _of_the_user(change: Change, stated_at: datetime) -> Change:
    """Return a learning from the user's own words, with the user's trust level and the message's time."""
    if isinstance(change, Put) and isinstance(change.record, Learning):
        learning = change.record
        created_at = min(learning.created_at, stated_at)
        return Put(
            msgspec.structs.replace(learning, trust="user", created_at=created_at, updated_at=stated_at), change.absent
        )
    return change
