"""Changes a thread in ways other than appending: pop, replace, redact and fork.

Each of these reads the thread, then commits by compare-and-set on its version, which every append raises. After a
conflict, the caller reads the thread again and retries. Sequence numbers are never reused. `length` is the last
assigned number and does not change when messages are deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ...errors import Conflict, NotFound, UsageError
from ...kinds import message_ref, summary_ref, thread_ref
from ...messages.message import ORIGIN, ROLES, Message
from ...records import Derivation, Entry, Link, MessagePart, Pins, Receipt, Ref, Summary, Thread
from ...stores.base import Append, Appended, Change, Delete, DeleteRange, Expect, Load, Put
from ...values import JsonObject, as_list
from ..audit import audit
from ..core import Core
from ..derive.carried import bare, carried, carried_links
from ..forgetting.guard import epochs, guard, raised
from ..index_jobs import index_job
from ..options import version_of
from .parts import release_parts

COPIED_MESSAGES_PER_COMMIT = 500
"""How many messages a fork copies in one commit."""
REDACTED_TEXT = "[redacted]"
_replace = msgspec.structs.replace


class ThreadEdits:
    """Edits existing messages, for `Threads`."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def pop(self, thread: Thread) -> Message | None:
        """Delete and return the newest message."""
        core = self._core
        newest = await core.scan(Message, thread.id, reverse=True, limit=1)
        if not newest:
            return None
        message = newest[0]
        await core.apply(
            Expect(Thread, thread.row_key, thread.version),
            *_removal(thread, message),
            Put(self._shrunk(thread, [message])),
            *raised(core, thread_ref(thread.id)),
            audit(core, "pop", "thread", thread.id, detail={"messages": 1}),
        )
        await release_parts(core, thread.id, [message])
        return message

    async def replace(self, thread: Thread, appends: Sequence[Append], jobs: Sequence[Change]) -> Sequence[Appended]:
        """Replace all messages with new ones, which get new numbers."""
        core, org, id = self._core, thread.org, thread.id
        stored, count = await core.scan(Message, id), sum(len(change.messages) for change in appends)
        results = await core.apply(
            Expect(Thread, thread.row_key, thread.version),
            # Changes are applied in order: the deletions precede the appends, whose messages they would otherwise
            # remove.
            DeleteRange(Message, (org, id)),
            DeleteRange(MessagePart, (org, id)),
            DeleteRange(Summary, (org, id)),
            DeleteRange(Entry, (org, thread.ns, "message", id)),
            DeleteRange(Entry, (org, thread.ns, "summary", id)),
            Delete(Pins, (org, id)),
            Put(self._shrunk(thread, stored)),
            *raised(core, thread_ref(id)),
            audit(core, "replace", "thread", id, detail={"messages": len(stored), "by": count}),
            # Drop earlier receipts of these idempotency keys, which now belong to the new messages.
            *(Delete(Receipt, (org, id, change.key)) for change in appends if change.key is not None),
            *appends,
            *jobs,
        )
        return [results.appended(change) for change in appends]

    async def redact(self, thread: Thread, seq: int) -> Message:
        """Remove a message's content but keep its position. Everything derived from it is deleted."""
        from ..forgetting.erase import Eraser

        message = await self._core.get(Message, thread.id, seq)
        if message is None:
            raise NotFound(f"no message {seq} in thread {thread.id!r}", thread=thread.id)
        count, name = self._core.shared.counting
        bare = _redact_message(message)
        bare = _replace(bare, tokens=count(bare), counter=name)
        event = audit(self._core, "redact", "message", message.id)

        async def end(counts: object) -> list[Change]:
            # The thread may be forgotten meanwhile, and the event must not name it then.
            guards = await epochs(self._core, thread_ref(thread.id))
            return [] if await self._core.get(Thread, thread.id) is None else [*guards, event]

        await Eraser(self._core, message_ref(message), bare).erase(end)
        return bare

    async def pin(self, thread: Thread, seq: int, pinned: bool) -> Message:
        """Pin or unpin a message. For contexts, a mark lists the numbers of a thread's pinned messages."""
        core = self._core
        message = await core.get(Message, thread.id, seq)
        if message is None:
            raise NotFound(f"no message {seq} in thread {thread.id!r}", thread=thread.id)
        pins = await core.get(Pins, thread.id)
        seqs = {*(pins.seqs if pins else ())} - {seq} | ({seq} if pinned else set())
        new_pins = Pins(org=core.org, thread=thread.id, seqs=tuple(sorted(seqs)), updated_at=core.at())
        changed = _replace(message, pinned=pinned)
        await core.apply(
            Expect(Thread, thread.row_key, thread.version),
            Expect(Pins, new_pins.row_key, pins.version if pins else 0),
            Load(changed),
            Put(new_pins),
            audit(core, "pin" if pinned else "unpin", "message", message.id),
        )
        return changed

    async def fork(self, source: Thread, last: int, fork: Thread, *, is_prefix_shared: bool = False) -> Thread:
        """Copy the messages up to a number into a new thread.

        Its row is written last, so that no partial copy is visible. Its lineage link is written first, so that
        forgetting the source also deletes the copies, even incomplete ones.
        """
        core = self._core
        if await core.get(Thread, fork.id) is not None:
            raise taken_error(fork.id)
        try:
            copied = await core.retry(lambda: self._copy_thread(source, last, fork, is_prefix_shared))
        except Conflict as conflict:
            if await core.get(Thread, fork.id) is None:
                raise
            raise taken_error(fork.id) from conflict
        return _replace(copied, version=1)

    async def _copy_thread(self, source: Thread, last: int, fork: Thread, is_prefix_shared: bool) -> Thread:
        core, after, tokens, length = self._core, 0, 0, 0
        if await core.get(Thread, fork.id) is not None:
            raise taken_error(fork.id)
        # Read the guards before the row: if the source is forgotten after this line, every commit below is refused.
        guards = await epochs(core, thread_ref(source.id))
        if await core.get(Thread, source.id) is None:
            raise NotFound(f"no thread {source.id!r} here; create it first with threads.create", thread=source.id)
        target = Ref("thread", key=fork.id, part=str(last))
        link = Link.of(fork.org, thread_ref(source.id), target, core.at(), "copied")
        # An earlier attempt that broke off may have left messages under this id, which no thread row shows.
        await core.apply(
            *guards, Put(link), DeleteRange(Message, (fork.org, fork.id)), DeleteRange(Receipt, (fork.org, fork.id))
        )
        while page := await core.scan(
            Message, source.id, after=(after,), before=(last + 1,), limit=COPIED_MESSAGES_PER_COMMIT
        ):
            copies = [_replace(message, thread=fork.id, expires_at=fork.expires_at) for message in page]
            if is_prefix_shared:
                copies = [
                    _replace(copy, metadata={**copy.metadata, ORIGIN: message.shown_id})
                    for copy, message in zip(copies, page, strict=True)
                ]
            # Copies carry what was recalled for their originals, and are found by the same sources.
            named = [source for copy in copies for sources in carried(copy).values() for source in sources]
            held = await guard(core, named)
            if held.forgotten:
                copies = [bare(copy) for copy in copies]
            links = dict.fromkeys(other for copy in copies for other in carried_links(copy, fork.created_at))
            # Loaded, not appended, because copies keep the numbers of their originals.
            # The link is written again with each part of the copy, so that an erasure which has already deleted the
            # parts before it notices this one.
            await core.apply(*guards, *held.changes, *map(Load, copies), *map(Put, [link, *links]))
            after, length = page[-1].seq, page[-1].seq
            tokens += sum(message.tokens or 0 for message in page)
        fork = _replace(fork, length=length, tokens=tokens)
        marks = await self._marks(source, fork)
        if is_prefix_shared:
            marks += await self._summaries(source, fork)
        # The row makes the copy visible. If another caller created a thread with this id meanwhile, that one stays.
        await core.apply(*guards, Expect(Thread, fork.row_key, 0), Put(fork), Put(link), *marks)
        return fork

    async def _summaries(self, source: Thread, fork: Thread) -> list[Change]:
        """Return copies of the summaries of the copied messages. Each names its original, and requests show the id of
        the original."""
        summaries = await self._core.scan(Summary, source.id, before=(fork.length + 1,))
        changes: list[Change] = []
        for summary in summaries:
            copy = _replace(summary, thread=fork.id, sources=(summary.id,), version=0)
            link = Link.of(fork.org, summary_ref(summary), summary_ref(copy), self._core.at())
            changes += [Put(copy), Put(link)]
        return changes

    async def _marks(self, source: Thread, fork: Thread) -> list[Change]:
        """Return the marks and jobs of a fork.

        Copies are indexed like new messages, but nothing is derived from them again.
        """
        core, item = self._core, f"thread:{fork.id}"
        derived, pins = await core.get(Derivation, source.id), await core.get(Pins, source.id)
        changes: list[Change] = [Put(index_job(fork.org, fork.ns, item, fork.created_at))]
        if derived is not None:
            # The fork continues where its source stands: what was not read there yet is read in both threads.
            position = min(derived.position, fork.length)
            changes.append(
                Put(Derivation(org=fork.org, thread=fork.id, position=position, updated_at=derived.updated_at))
            )
        if pins is not None:
            seqs = tuple(seq for seq in pins.seqs if seq <= fork.length)
            changes.append(Put(_replace(pins, thread=fork.id, seqs=seqs, version=0)))
        return changes

    def _shrunk(self, thread: Thread, removed: Sequence[Message]) -> Thread:
        tokens = sum(message.tokens or 0 for message in removed)
        return _replace(thread, tokens=max(0, thread.tokens - tokens), updated_at=self._core.at())


def child_link(core: Core, parent: str, child: str) -> Link:
    """Return a link from a thread to another that was created for it, so that forgetting the first also forgets the
    second.
    """
    return Link.of(core.org, thread_ref(parent), thread_ref(child), core.at(), "child")


def sorted_threads(
    threads: Sequence[Thread], by: str, *, after: str | None, reverse: bool, limit: int | None
) -> list[Thread]:
    """Sort threads by a given time, and return the page that follows the thread with the given id."""
    if by not in ("updated_at", "created_at"):
        raise UsageError("threads are listed by id, updated_at or created_at")
    # Several threads may have the same time, and paging needs one order for all of them.
    ranked = sorted(threads, key=lambda thread: (getattr(thread, by), thread.id), reverse=reverse)
    if after is not None:
        places = [position for position, thread in enumerate(ranked) if thread.id == after]
        if not places:
            raise NotFound(f"no thread {after!r} in this list to continue after", thread=after)
        ranked = ranked[places[0] + 1 :]
    return ranked if limit is None else ranked[:limit]


def checked_roles(roles: Sequence[str]) -> list[str]:
    """Check the roles by which messages are filtered, and return them."""
    roles = [roles] if isinstance(roles, str) else as_list(roles, "roles")
    unknown = [role for role in roles if role not in ROLES]
    if unknown:
        raise UsageError(f"roles are {', '.join(ROLES)}")
    return roles


def _removal(thread: Thread, message: Message) -> list[Change]:
    entry = (thread.org, thread.ns, "message", thread.id, message.id)
    return [Delete(Message, message.row_key), Delete(Entry, entry)]


def _redact_message(message: Message) -> Message:
    """Return a message without its content but with its tool call ids, so that a tool exchange stays valid."""
    content, extra = message.content, message.extra
    fields: JsonObject = {name: extra[name] for name in ("tool_call_id", "type") if name in extra}
    if isinstance(extra.get("tool_calls"), list):
        fields["tool_calls"] = [_bare_call(call) for call in extra["tool_calls"]]
    if isinstance(content, list) and message.shape == "anthropic":
        content = [_bare_block(block) for block in content]
    elif isinstance(content, list) and message.shape == "responses" and "type" not in extra:
        content = [_bare_item(item) for item in content]
    elif content:
        content = REDACTED_TEXT
    return _replace(message, content=content, extra=fields, metadata={}, name=None, raw=None)


def _bare_call(call: Any) -> JsonObject:
    kind = "custom" if "custom" in call else "function"
    inner = {"name": call[kind].get("name", ""), "input" if kind == "custom" else "arguments": "{}"}
    return {"id": call.get("id", ""), "type": kind, kind: inner}


def _bare_item(item: Any) -> JsonObject:
    """Return an item of the Responses API without its content but with the ids that pair it with other items."""
    fields: JsonObject = {name: item[name] for name in ("type", "id", "call_id", "name") if name in item}
    kind = str(fields["type"])
    if kind.endswith("_output"):
        return {**fields, "output": REDACTED_TEXT}
    blank: dict[str, JsonObject] = {
        "function_call": {"arguments": "{}"}, "custom_tool_call": {"input": ""}, "reasoning": {"summary": []},
    }  # fmt: skip
    return {**fields, **blank.get(kind, {})}


def _bare_block(block: Any) -> JsonObject:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "tool_use":
        return {"type": kind, "id": block.get("id", ""), "name": block.get("name", ""), "input": {}}
    if kind == "tool_result":
        return {"type": kind, "tool_use_id": block.get("tool_use_id", ""), "content": REDACTED_TEXT}
    return {"type": "text", "text": REDACTED_TEXT}


def taken_error(id: str) -> Conflict:
    """Return the error for an id that is already taken."""
    return Conflict(f"thread {id!r} exists already; choose another id", final=True)


def another_length(id: str, expected: int, actual: int) -> Conflict:
    """Return the error for a thread that does not have the expected length."""
    text = f"thread {id!r} has length {actual}, expected {version_of(expected)}; read it again"
    return Conflict(text, expected=expected, actual=actual, final=True)


def another_version(id: str, expected: int, actual: int) -> Conflict:
    """Return the error for a thread that has changed."""
    text = f"thread {id!r} has version {actual}, expected {version_of(expected)}; read it again"
    return Conflict(text, expected=expected, actual=actual, final=True)
