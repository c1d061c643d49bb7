"""Appends messages to a thread. It fills in their fields and commits them together with the job that will index them.

An idempotency key belongs to one `Append` change, which contains either all messages of a call or one of them. A change
whose key the thread has already seen does nothing; the other changes in the same commit are applied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from ...errors import NotAdmitted, UsageError
from ...gate.passing import Tally, admit_message
from ...gate.policy import Gate
from ...messages.compactions import COMPACTED_BY, compacted_by
from ...messages.message import Given, Message, as_message
from ...records import Pins, Receipt, Thread
from ...stores.base import Append, Appended, Change, Expect, Put
from ...values import INT_MAX, as_list, check_name
from ..core import Core
from ..derive.carried import bare, carried, carried_links
from ..forgetting.guard import guard
from ..gating import count_refusal, masked_kinds, policy_of
from ..index_jobs import index_job
from .edits import another_length, taken_error
from .numbering import fresh
from .receipts import MessageReceipt, may_ask_to_forget, receipt_states

Keys = str | Sequence[str | None] | None
"""One idempotency key for all messages of a call, or one per message."""
MAX_CACHED_THREADS = 10_000
JOB_AGE = timedelta(seconds=1)
"""How long appends to a thread reuse one outbox row object."""
_replace = msgspec.structs.replace


class Keyed(msgspec.Struct, frozen=True):
    """Holds messages and their idempotency keys. There may be no key, one for all messages, or one for each."""

    messages: Sequence[Given]
    key: str | None = None
    keys: tuple[str | None, ...] | None = None


def keyed(messages: Sequence[Given], key: Keys = None) -> Keyed:
    """Pair the messages of a call with idempotency keys, taken from the call or from the `key` fields of dict
    messages."""
    if key is None:
        for message in messages:
            if (type(message) is dict or isinstance(message, Mapping)) and "key" in message:
                break
        else:
            return Keyed(messages)
    own = [message.get("key") if isinstance(message, Mapping) else None for message in messages]
    if own.count(None) < len(own):
        if key is not None:
            raise UsageError("these messages already have their own keys; remove those, or leave out key=")
        messages, key = [_without_key(message) for message in messages], own
    if key is None:
        return Keyed(messages)
    if isinstance(key, str):
        return Keyed(messages, check_name(key, "idempotency key"))
    key = as_list(key, "key")
    if len(key) != len(messages):
        raise UsageError(f"{len(key)} keys for {len(messages)} messages; pass one key each, and None for those without")
    keys = tuple(None if own_key is None else check_name(own_key, "idempotency key") for own_key in key)
    named = [key for key in keys if key is not None]
    if len(named) != len(set(named)):
        raise UsageError("an idempotency key occurs twice; the second message would be mistaken for the first")
    return Keyed(messages, keys=keys)


def _without_key(message: Given) -> Given:
    return (
        {name: value for name, value in message.items() if name != "key"} if isinstance(message, Mapping) else message
    )


class Appending:
    """Adds messages to a thread in a known namespace."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._counting: tuple[Callable[[Message], int], str | None] | None = None
        """This is `Shared.counting`. It is read when the first message arrives, because the counter is created on first
        use."""

    async def append(
        self, id: str, ns: str, keyed_messages: Keyed, expect: int | None = None, *, create: Thread | None = None
    ) -> list[MessageReceipt]:
        """Commit messages. Raises NotFound if there is no such thread in this namespace.

        With `create`, the thread is created in the same transaction. Raises Conflict if its id is taken.
        """
        core, at = self._core, self._core.at()
        stamped, plain = [], expect is None and keyed_messages.keys is None
        gate = await policy_of(core)
        for unstamped in keyed_messages.messages:
            try:
                message = self.stamped(id, unstamped, at, gate)
            except NotAdmitted as refusal:
                await count_refusal(core, refusal)
                raise
            stamped.append(message)
            plain = plain and not message.pinned and not message.metadata
        # Pins, expectations and recalled text need rows that are read first and guarded; a plain message needs none.
        if plain:  # one change without guards or links, as most calls have it
            change = Append(core.org, id, tuple(stamped), at, keyed_messages.key, ns)
            creation = () if create is None else (await self._creation(create))[1]
            appended = (await core.apply(*creation, change, self.job(id, ns, at))).appended(change)
            if appended.replayed:
                return await self._replay(id, change, appended)
            core.shared.wrote()
            return await self._make_receipts(ns, self._new_receipts(change, appended))
        changes = self.changes(id, ns, stamped, keyed_messages, at)
        appends, results = await self._append_special(id, ns, changes, at, expect, create)
        return await self._make_receipts(ns, await self.receipts(id, appends, results))

    async def _make_receipts(self, ns: str, receipts: list[MessageReceipt]) -> list[MessageReceipt]:
        """Return the receipts.

        If a message asks to forget something, that is done first, and the receipts list the memories that were ended.
        """
        core = self._core
        asked = [receipt for receipt in receipts if receipt.durable and may_ask_to_forget(receipt.message)]
        if not asked or not core.shared.reads_by_rules or core.scope.foreign:
            return receipts
        from ..derive.catching_up import catch_up

        await catch_up(core, [ns])
        state = await receipt_states(core, asked[0].message.thread)
        return [msgspec.structs.replace(receipt, **state(receipt.message.seq)) for receipt in receipts]

    async def _creation(self, thread: Thread | None) -> tuple[Thread | None, list[Change]]:
        """Return the thread to be created, if any, and the changes that create it."""
        if thread is None:
            return None, []
        if await self._core.get(Thread, thread.id) is not None:
            raise taken_error(thread.id)
        return await fresh(self._core, thread)

    def stamped(self, thread: str, unstamped: Given, at: datetime, gate: Gate | None = None) -> Message:
        """Return a message as it will be stored, with its org, thread, time and token count, but without its number.

        With a `gate`, its secrets are masked before its tokens are counted. Raises NotAdmitted if it refuses one.
        """
        message, core = as_message(unstamped), self._core
        if gate is not None and gate.messages == "mask":
            message = admit_message(gate, message, Tally())
        provider = None if type(message.content) is str else compacted_by(message)
        if provider is not None:
            message = _replace(message, metadata={**message.metadata, COMPACTED_BY: provider})
        if self._counting is None:
            self._counting = core.shared.counting
        count, name = self._counting
        at = message.created_at or at
        return _replace(message, org=core.org, thread=thread, seq=0, tokens=count(message), counter=name, created_at=at)

    def changes(
        self, id: str, ns: str, messages: Sequence[Message], keyed_messages: Keyed, at: datetime
    ) -> list[Append]:
        """Return one change for all messages, or one for each message that has its own key."""
        org = self._core.org
        if keyed_messages.keys is None:
            return [Append(org, id, tuple(messages), at, keyed_messages.key, ns)]
        out: list[Append] = []
        for message, key in zip(messages, keyed_messages.keys, strict=True):
            # Neighbours without a key share a change; a key of their own must cover one message only.
            if key is None and out and out[-1].key is None:
                out[-1] = _replace(out[-1], messages=(*out[-1].messages, message))
            else:
                out.append(Append(org, id, (message,), at, key, ns))
        return out

    def job(self, id: str, ns: str, at: datetime) -> Put:
        """Return the outbox row that an append creates if it is missing.

        The same object is reused for one second, because the row usually exists already.

        `doctor` computes the indexing lag from the row's creation time. There is only this one job; the indexer creates
        the others (deriving, folding, archiving).
        """
        jobs, key = self._core.shared.jobs, (self._core.org, id, ns)
        recent = jobs.get(key)
        # Both bounds are compared, because a clock that the caller plugged in may go back.
        if recent is None or not recent[0] <= at < recent[1]:
            if len(jobs) >= MAX_CACHED_THREADS:
                jobs.clear()
            job = Put(index_job(self._core.org, ns, f"thread:{id}", at), absent=True)
            recent = jobs[key] = at, at + JOB_AGE, job
        return recent[2]

    async def receipts(self, id: str, appends: Sequence[Append], results: Sequence[Appended]) -> list[MessageReceipt]:
        """Return a receipt for each message, in order. In a batch, numbers are assigned only on commit.

        In `results`, the results of the appends may be followed by those of other changes. This wakes the worker if a
        message was new.
        """
        out: list[MessageReceipt] = []
        new = False
        for change, result in zip(appends, results, strict=False):
            if result.replayed:
                out += await self._replay(id, change, result)
            else:
                new = True
                out += self._new_receipts(change, result)
        if new:
            self._core.shared.wrote()
        return out

    def _new_receipts(self, change: Append, result: Appended) -> list[MessageReceipt]:
        core = self._core
        derived: Literal["none", "pending"] = "pending" if core.shared.derives else "none"
        durable = core.batch is None
        appended = core.shared.appended
        if len(appended) >= MAX_CACHED_THREADS:
            appended.clear()
        # In a batch the numbers are given at the commit only, so all that the thread has counts as this process's.
        appended[core.org, change.thread] = result.first + len(change.messages) - 1 if durable else INT_MAX
        out: list[MessageReceipt] = []
        for seq, message in enumerate(change.messages, result.first):
            message = _replace(message, seq=seq if durable else 0, expires_at=result.expires_at)
            out.append(MessageReceipt(message, durable, False, derived, masked=masked_kinds(message)))
        return out

    async def _replay(self, id: str, change: Append, appended: Appended) -> list[MessageReceipt]:
        """Return receipts for an append that was already done under its key.

        A message that has been deleted since then is returned as it was passed to this call.
        """
        numbers = range(appended.first, appended.first + appended.count)
        # The rows as they are now: a message may have been edited or redacted since the first call.
        messages = await self._core.get_many(Message, [(id, number) for number in numbers])
        # The same key may come with other messages than the first time; only an equal number can be matched by
        # position.
        sent: Sequence[Message | None] = (
            change.messages if len(change.messages) == appended.count else [None] * appended.count
        )
        state = await receipt_states(self._core, id)
        rows = [row or instead for row, instead in zip(messages, sent, strict=True)]
        return [
            MessageReceipt(_replace(row, seq=seq), True, replayed=True, masked=masked_kinds(row), **state(seq))
            for seq, row in zip(numbers, rows, strict=True)
            if row is not None
        ]

    async def _append_special(
        self, id: str, ns: str, appends: Sequence[Append], at: datetime, expect: int | None, create: Thread | None
    ) -> tuple[Sequence[Append], Sequence[Appended]]:
        """Append messages in special cases: some are pinned or contain recalled text, or the caller expects a certain
        thread length.
        """
        if any(message.metadata and carried(message) for change in appends for message in change.messages):
            # Forgetting a source raises its epoch, which fails the commit; the next attempt sees that the source is
            # gone and leaves its text out.
            return await self._core.retry(lambda: self._append_derived(id, ns, appends, at, expect, create))
        return appends, await self._commit(id, appends, [self.job(id, ns, at)], expect, create)

    async def _commit(
        self, id: str, appends: Sequence[Append], others: Sequence[Change], expect: int | None, create: Thread | None
    ) -> Sequence[Appended]:
        if expect is None and not any(message.pinned for change in appends for message in change.messages):
            _, creation = await self._creation(create)
            results = await self._core.apply(*creation, *appends, *others)
            return [results.appended(change) for change in appends]
        # The epochs among `others` were read by the caller, so a conflict on them is for the caller to repeat.
        read = {(kind.table.name, (self._core.org, id)) for kind in (Thread, Pins)}
        return await self._core.retry(lambda: self._append_expecting(id, appends, others, expect, create), rows=read)

    async def _append_derived(
        self, id: str, ns: str, appends: Sequence[Append], at: datetime, expect: int | None, create: Thread | None
    ) -> tuple[Sequence[Append], Sequence[Appended]]:
        """Append messages that contain recalled text, along with the lineage links that `forget` follows.

        If a source was forgotten in the meantime, its text is left out.
        """
        messages = [message for change in appends for message in change.messages]
        links = dict.fromkeys(link for message in messages for link in carried_links(message, at))
        source_guard = await guard(
            self._core, [source for message in messages for named in carried(message).values() for source in named]
        )
        if source_guard.forgotten:
            appends, links = [_replace(append, messages=tuple(map(bare, append.messages))) for append in appends], {}
        others = [self.job(id, ns, at), *map(Put, links), *source_guard.changes]
        return appends, await self._commit(id, appends, others, expect, create)

    async def _append_expecting(
        self, id: str, appends: Sequence[Append], others: Sequence[Change], expect: int | None, create: Thread | None
    ) -> Sequence[Appended]:
        """Append by compare-and-set on the thread's version, so that its length and the new messages' numbers are
        known."""
        core = self._core
        created, guards = await self._creation(create)
        thread = created or await core.get(Thread, id)
        length = thread.length if thread else 0
        # Every append raises the thread's version, so no receipt is missing here if the version check holds.
        before = await self._done_before(id, appends)
        if expect is not None and length != expect:
            if len(before) == len(appends):  # the thread grew by these very messages
                return [before[change.key] for change in appends]
            raise another_length(id, expect, length)
        if thread is not None and created is None:
            guards.append(Expect(Thread, thread.row_key, thread.version))
        # A replayed change adds nothing, so its messages take no number.
        new = [message for change in appends if change.key not in before for message in change.messages]
        places = [length + n for n, message in enumerate(new, 1) if message.pinned]
        pins: list[Change] = []
        if places:
            earlier = await core.get(Pins, id)
            seqs = (*(earlier.seqs if earlier else ()), *places)
            fresh_pins = Pins(org=core.org, thread=id, seqs=seqs, updated_at=core.at())
            guards.append(Expect(Pins, fresh_pins.row_key, earlier.version if earlier else 0))
            pins.append(Put(fresh_pins))
        results = await core.apply(*guards, *appends, *others, *pins)
        return [results.appended(change) for change in appends]

    async def _done_before(self, id: str, appends: Sequence[Append]) -> dict[str | None, Appended]:
        """Return the appends that were already done under these keys."""
        keys = [change.key for change in appends if change.key is not None]
        receipts = await self._core.get_many(Receipt, [(id, key) for key in keys]) if keys else []
        return {row.key: Appended(row.first, row.count, replayed=True) for row in receipts if row is not None}
