"""Blocking threads.

Made by scripts/generate-blocking from engine/threads/threads.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from ..engine.threads.attributing import SummaryLine
from ..engine.threads.receipts import MessageReceipt
from ..engine.threads.threads import Place
from ..engine.threads.threads import Threads as EngineThreads
from ..filters import Where
from ..messages.compactions import Compaction
from ..messages.message import Given, Message
from ..messages.reports import Piece, Reported, RequestReport
from ..messages.stashed import Stashed
from ..ports import Ttl
from ..records import Summary, Thread
from ..runtime import run_blocking
from ..scope import Ns
from ..values import Json


class Threads:
    """Reads and writes conversations."""

    def __init__(self, engine: EngineThreads) -> None:
        self._engine = engine

    def create(
        self,
        ns: Ns | None = None,
        title: str | None = None,
        *,
        id: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        ttl: Ttl | None = None,
        new: bool = False,
        parent: str | None = None,
    ) -> Thread:
        """Create a thread; an existing one of this id and namespace is returned unchanged, or refused with `new`.

        With `parent`, the id of an existing thread, forgetting that thread forgets this one too.

        Raises `Conflict` with `new` if the id is taken.

        Examples:
            >>> thread = memory.threads.create("user:ada", "Planning", id="plan")
            >>> memory.threads.create("user:ada", id="plan").title
            'Planning'
        """
        return run_blocking(self._engine.create(ns, title, id=id, metadata=metadata, ttl=ttl, new=new, parent=parent))

    def get(self, id: str) -> Thread | None:
        """Read a thread, without its messages; None if there is none.

        Examples:
            >>> memory.threads.get("talk").length
            2
        """
        return run_blocking(self._engine.get(id))

    def get_many(self, ids: Iterable[str]) -> list[Thread | None]:
        """Read several threads at once, in the order of the given ids; None for those that do not exist.

        Examples:
            >>> [thread and thread.id for thread in memory.threads.get_many(["talk", "nowhere"])]
            ['talk', None]
        """
        return run_blocking(self._engine.get_many(ids))

    def append(
        self,
        id: str,
        *messages: Given,
        key: str | Sequence[str | None] | None = None,
        create: Ns | None = None,
        expect: int | None = None,
    ) -> list[MessageReceipt]:
        """Append messages in one transaction.

        An idempotency `key` makes it safe to repeat: one for the whole call, or a list with one per message (a dict may
        carry its own as `key`); a message whose key the thread has seen is not added again, and its receipt says
        `replayed`. With `create`, a missing thread is created in that namespace. With `expect`, only if the thread's
        `length` (the number of the last appended message) is that.

        Examples:
            >>> receipts = memory.threads.append("talk", {"role": "user", "content": "We launch soon."}, key="turn-2")
            >>> receipts[0].message.id, receipts[0].durable
            ('talk#3', True)
            >>> again = memory.threads.append("talk", {"role": "user", "content": "We launch soon."}, key="turn-2")
            >>> again[0].message.id, memory.threads.get("talk").length
            ('talk#3', 3)
        """
        return run_blocking(self._engine.append(id, *messages, key=key, create=create, expect=expect))

    def messages(
        self,
        id: str,
        limit: int | None = None,
        *,
        before: Place | None = None,
        after: Place | None = None,
        roles: Sequence[str] | None = None,
    ) -> list[Message]:
        """List messages in order. With `before` alone, the `limit` nearest to it; otherwise the first `limit`.

        Examples:
            >>> [message.text for message in memory.threads.messages("talk", roles=["user"])]
            ['I live in Lisbon.']
        """
        return run_blocking(self._engine.messages(id, limit, before=before, after=after, roles=roles))

    def recent(self, id: str, n: int = 10) -> list[Message]:
        """Read the newest n messages, the newest last.

        Examples:
            >>> [message.role for message in memory.threads.recent("talk", 2)]
            ['user', 'assistant']
        """
        return run_blocking(self._engine.recent(id, n))

    def message(self, id: str) -> Message | None:
        """Read one message by its id; None if there is none.

        Examples:
            >>> memory.threads.message("talk#1").text
            'I live in Lisbon.'
        """
        return run_blocking(self._engine.message(id))

    def update(
        self,
        id: str,
        *,
        title: str | msgspec.UnsetType | None = msgspec.UNSET,
        metadata: Mapping[str, Json] | msgspec.UnsetType = msgspec.UNSET,
        expect: int | None = None,
    ) -> Thread:
        """Change a thread's title or metadata; with `expect`, only over that version.

        Raises `NotFound` if there is no such thread, `Conflict` if `expect` is not its version.

        Examples:
            >>> memory.threads.update("talk", title="Moving", metadata={"open": True}).title
            'Moving'
        """
        return run_blocking(self._engine.update(id, title=title, metadata=metadata, expect=expect))

    def pop(self, id: str) -> Message | None:
        """Delete and return the newest message, or None if there is none; what was derived from it stays.

        Examples:
            >>> memory.threads.pop("talk").text
            'Noted.'
            >>> memory.threads.append("talk", "And now?")[0].message.id
            'talk#3'
        """
        return run_blocking(self._engine.pop(id))

    def replace(self, id: str, messages: Sequence[Given], *, expect: int | None = None) -> list[MessageReceipt]:
        """Replace all messages by others in one transaction; the new ones get new numbers.

        With `expect`, only if that is the thread's `version`: read the thread, then its messages, then replace them.
        Summaries are deleted; other derivations stay.

        Raises `Conflict` if `expect` is not the thread's version.

        Examples:
            >>> thread = memory.threads.get("talk")
            >>> receipts = memory.threads.replace("talk", ["A summary of it all."], expect=thread.version)
            >>> [message.text for message in memory.threads.recent("talk")]
            ['A summary of it all.']
        """
        return run_blocking(self._engine.replace(id, messages, expect=expect))

    def redact(self, message: str | Message) -> Message:
        """Remove the content of one message, by its id, but keep its place and its tool call ids.

        What was derived from it is deleted, as with `forget`.

        Examples:
            >>> memory.threads.redact("talk#1").text
            '[redacted]'
        """
        return run_blocking(self._engine.redact(message))

    def pin(self, message: str | Message, *, pinned: bool = True) -> Message:
        """Pin a message, by its id, so that every later context of its thread contains it; or unpin it.

        Raises `NotFound` if there is no such message.

        Examples:
            >>> memory.threads.pin("talk#1").pinned
            True
        """
        return run_blocking(self._engine.pin(message, pinned=pinned))

    def fork(
        self,
        id: str,
        at: Place | None = None,
        *,
        new_id: str | None = None,
        title: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        ttl: Ttl | None = None,
        share: Literal["messages", "prefix"] = "messages",
    ) -> Thread:
        """Copy the messages up to and including `at` into a new thread of the same namespace, with the same numbers.

        Its metadata is copied unless given, and names its origin under `forked_from`. With `share="prefix"`, its
        contexts begin with the same bytes as those of the original, so that a provider's prompt cache serves them:
        summaries are copied too, and the messages are named by the ids of the originals.

        Examples:
            >>> branch = memory.threads.fork("talk", at="talk#1")
            >>> [message.text for message in memory.threads.recent(branch.id)]
            ['I live in Lisbon.']
        """
        return run_blocking(
            self._engine.fork(id, at, new_id=new_id, title=title, metadata=metadata, ttl=ttl, share=share)
        )

    def stash(
        self, id: str, text: str, *, over_tokens: int = 1000, key: str | None = None, create: Ns | None = None
    ) -> Stashed:
        """Store a long tool result beside a thread, and return the preview to send to the model instead of it.

        A text of at most `over_tokens` is returned unchanged and not stored. The full text is kept in a thread of its
        own, which is deleted and forgotten with this one; `memorist.read_back` reads it back by the id. With `create`,
        the thread itself need not exist, and `create` is the namespace to store in. `key` makes it idempotent.

        Examples:
            >>> log = "passed " * 2000
            >>> short = memory.threads.stash("talk", log)
            >>> short.id, short.lines, len(short.text) < len(log)
            ('talk.results#1', 8, True)
        """
        return run_blocking(self._engine.stash(id, text, over_tokens=over_tokens, key=key, create=create))

    def report(
        self, id: str, usage: Reported, *, pieces: Sequence[Piece] | None = None, model: str | None = None
    ) -> RequestReport:
        """Record what a request of this thread cost, and find what broke the provider's prompt cache.

        Args:
            id: The thread.
            usage: The provider's answer, or its `usage`: OpenAI, Anthropic or Gemini.
            pieces: The `pieces` of the context that was sent; they are compared with those of the request before.
            model: The model that was asked, by which prices are found.

        Examples:
            >>> context = memory.context("Where do I live?", thread="talk")
            >>> usage = {"input_tokens": 1200, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 1100}}
            >>> memory.threads.report("talk", usage, pieces=context.pieces, model="gpt-5").cached_tokens
            1100
        """
        return run_blocking(self._engine.report(id, usage, pieces=pieces, model=model))

    def requests(self, id: str) -> list[RequestReport]:
        """List what the last requests of a thread cost, oldest first, as `report` recorded them.

        Examples:
            >>> memory.threads.requests("talk")
            []
        """
        return run_blocking(self._engine.requests(id))

    def delete_messages(self, id: str, *, ids: Sequence[str] | None = None, before: Place | None = None) -> int:
        """Delete messages, by id or all before a place; returns how many.

        What was derived from them stays; `forget` deletes that too.

        Examples:
            >>> memory.threads.delete_messages("talk", ids=["talk#2"])
            1
        """
        return run_blocking(self._engine.delete_messages(id, ids=ids, before=before))

    def delete(self, id: str) -> bool:
        """Delete a thread with its messages, summaries and index entries; returns whether there was one.

        Examples:
            >>> memory.threads.delete("talk")
            True
        """
        return run_blocking(self._engine.delete(id))

    def summaries(self, id: str) -> list[Summary]:
        """List the summaries of a thread, oldest first, each with the range of messages it covers.

        Examples:
            >>> memory.threads.summaries("talk")
            []
        """
        return run_blocking(self._engine.summaries(id))

    def compactions(self, id: str) -> list[Compaction]:
        """List the parts of a thread that a provider compacted, oldest first, each with the message that has its item.

        Examples:
            >>> item = {"type": "compaction", "encrypted_content": "…"}
            >>> receipts = memory.threads.append("talk", item)
            >>> [(part.provider, part.first, part.last) for part in memory.threads.compactions("talk")]
            [('openai', 1, 2)]
        """
        return run_blocking(self._engine.compactions(id))

    def summary_lines(self, id: str) -> list[SummaryLine]:
        """List the lines of a thread's newest summary, each with the ids of the messages behind it.

        Examples:
            >>> memory.threads.summary_lines("talk")
            []
        """
        return run_blocking(self._engine.summary_lines(id))

    def list(
        self,
        ns: Ns | None = None,
        *,
        where: Where | None = None,
        by: Literal["id", "updated_at", "created_at"] = "id",
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
    ) -> list[Thread]:
        """List threads of a namespace by id; generated ids sort by creation.

        `where` filters by title, metadata and the other fields; `after` is the last thread of the previous page. `by` a
        time, all threads of the namespace are read and sorted: an index would have to be written with every append.

        Examples:
            >>> [thread.id for thread in memory.threads.list("user:ada", by="updated_at", reverse=True, limit=5)]
            ['talk']
        """
        return run_blocking(self._engine.list(ns, where=where, by=by, limit=limit, after=after, reverse=reverse))
