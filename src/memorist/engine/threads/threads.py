"""Threads and messages: an append-only log with sequence numbers; the cost of a read does not grow with the thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from ...errors import Conflict, NotFound, UsageError
from ...filters import Test, Where, parse_filter
from ...ids import new_id
from ...kinds import owned_by, thread_ref
from ...messages.compactions import COMPACTED_BY, PROVIDERS, Compaction
from ...messages.message import Given, Message, message_id
from ...messages.reports import Piece, Reported, RequestReport
from ...messages.stashed import RESULTS, Stashed
from ...ports import Ttl, to_datetime
from ...records import Entry, Job, RequestLog, Summary, Thread
from ...scope import Ns
from ...stores.base import Change, Delete, DeleteRange, Expect, Put
from ...values import Json, as_list, check_metadata, check_name, check_text
from ..audit import audit
from ..core import Core
from ..forgetting.guard import epochs, owned, raised
from ..options import checked_limit, page
from .appending import KNOWN_THREADS, Appending, Keyed, keyed
from .attributing import SummaryLine, attribute_lines
from .edits import ThreadEdits, another_version, checked_roles, child_link, sorted_threads, taken
from .numbering import fresh, numbered, numbering_changes, used_before
from .receipts import MessageReceipt

MAX_REPORTS = 200
PARENT = "parent"
"""The metadata key under which a thread names the one that it was made for."""
RESULTS_OF = "results_of"
"""The metadata key under which a thread of results names its thread."""
Place = int | str | Message
"""A place in a thread: a message, its id, or its sequence number."""
QUEUES = ("index", "derive", "reread", "fold", "archive")
"""The queues in which a thread may have a job."""
BATCH = 1000
_replace = msgspec.structs.replace


class Threads:
    """Reads and writes conversations."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._appending = Appending(core)

    async def create(
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
        core = self._core
        thread = self._new(core.scope.namespace(ns), title, id, metadata, ttl)
        if parent is not None:
            thread = await self._linked_to(parent, thread)
        if id is not None and core.batch is None:
            return await self._create_with_id(thread, new)
        numbers: list[Change] = []
        there = None if id is None else await core.get(Thread, id)
        if there is not None and new:
            raise taken(thread.id)
        if there is not None and there.ns != thread.ns:
            raise _elsewhere(thread.id)
        if id is not None:
            core.watch_thread(id, thread.ns)
            thread, numbers = await numbered(core, thread)
        expected = [Expect(Thread, thread.row_key, 0)] if new else []
        made = [Put(thread, absent=True), *numbers, *self._outliving(thread)]
        stored = (await core.apply(*expected, *made)).stored(thread)
        return there or _replace(thread, version=stored.version)

    async def _linked_to(self, parent: str, child: Thread) -> Thread:
        """The thread with the id of its parent; the link comes first, so whoever forgets the parent finds it."""
        core = self._core
        await self._to_change(parent)
        there = await core.get(Thread, child.id)
        if there is not None and there.metadata.get(PARENT) != parent:
            raise taken(child.id)
        await core.apply(*await epochs(core, thread_ref(parent)), Put(child_link(core, parent, child.id), absent=True))
        return _replace(child, metadata={**child.metadata, PARENT: parent})

    def _new(self, ns: Ns, title: str | None, id: str | None, metadata: Any, ttl: Any) -> Thread:
        core, now = self._core, self._core.now()
        at = to_datetime(now)
        if title is not None:
            check_text(title, "title", limit=10_000)
        return Thread(
            org=core.org,
            id=new_id() if id is None else check_name(id, "thread id"),
            ns=core.scope.writable(ns),
            title=title,
            metadata=check_metadata(metadata),
            created_at=at,
            updated_at=at,
            expires_at=core.expiry(ttl, now),
        )

    async def get(self, id: str) -> Thread | None:
        """Read a thread, without its messages; None if there is none.

        Examples:
            >>> memory.threads.get("talk").length
            2
        """
        thread = await self._core.get(Thread, check_name(id, "thread id"))
        return thread if thread is not None and self._core.scope.may_read(thread.ns) else None

    async def get_many(self, ids: Iterable[str]) -> list[Thread | None]:
        """Read several threads at once, in the order of the given ids; None for those that do not exist.

        Examples:
            >>> [thread and thread.id for thread in memory.threads.get_many(["talk", "nowhere"])]
            ['talk', None]
        """
        threads = await self._core.get_many(Thread, [(check_name(id, "thread id"),) for id in as_list(ids, "ids")])
        may_read = self._core.scope.may_read
        return [thread if thread is not None and may_read(thread.ns) else None for thread in threads]

    async def append(
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
        if type(id) is not str:
            check_name(id, "thread id")
        given = keyed(messages, key)
        core, place = self._core, (self._core.org, id)
        if create is not None and (not messages or core.batch is not None):
            await self.create(create, id=id)
        if not messages:
            return []
        if create is None or core.batch is not None:
            known = None if core.scope.user is not None else core.shared.threads.get(place)
            ns = known or await self._namespace(id, write=True)
        else:
            known, ns = check_name(id, "thread id"), core.scope.writable(create)
        try:
            return await self._appending.append(id, ns, given, expect)
        except NotFound:
            core.shared.threads.pop(place, None)
            if known is None:
                raise
        # There is no such thread, or its cached namespace is outdated because it was created again in another one.
        if create is not None:
            return await self._append_new(self._new(create, None, id, None, None), given, expect)
        return await self._appending.append(id, await self._namespace(id, write=True), given, expect)

    async def _append_new(self, asked: Thread, given: Keyed, expect: int | None = None) -> list[MessageReceipt]:
        """Create a thread and append to it in one transaction; if it exists in this namespace, only append."""
        while True:
            try:
                return await self._appending.append(asked.id, asked.ns, given, expect, create=asked)
            except Conflict as conflict:
                thread = await self._core.get(Thread, asked.id)
                if thread is not None:  # another writer was quicker
                    if thread.ns != asked.ns:
                        raise _elsewhere(asked.id) from conflict
                    return await self._appending.append(asked.id, asked.ns, given, expect)
                if conflict.facts.get("final"):
                    raise

    async def messages(
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
        await self._check_visible(id)
        backwards = before is not None and after is None
        messages = await self._core.scan(
            Message,
            id,
            after=None if after is None else (self._sequence_number(id, after),),
            before=None if before is None else (self._sequence_number(id, before),),
            reverse=backwards,
            limit=checked_limit(limit),
            where=None if roles is None else Test(("role",), "$in", checked_roles(roles)),
        )
        if not messages:
            await self._existing_or_fail(id)
        return messages[::-1] if backwards else messages

    async def recent(self, id: str, n: int = 10) -> list[Message]:
        """Read the newest n messages, the newest last.

        Examples:
            >>> [message.role for message in memory.threads.recent("talk", 2)]
            ['user', 'assistant']
        """
        core = self._core
        if core.scope.user is not None:
            await self._check_visible(id)
        messages = await core.scan(Message, check_name(id, "thread id"), reverse=True, limit=checked_limit(n))
        if not messages:
            await self._existing_or_fail(id)
        messages.reverse()
        return messages

    async def message(self, id: str) -> Message | None:
        """Read one message by its id; None if there is none.

        Examples:
            >>> memory.threads.message("talk#1").text
            'I live in Lisbon.'
        """
        thread, seq = message_id(id)
        await self._check_visible(thread)
        return await self._core.get(Message, thread, seq)

    async def update(
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
        if isinstance(title, str):
            check_text(title, "title", limit=10_000)
        given = None if metadata is msgspec.UNSET else check_metadata(metadata)

        async def attempt() -> Thread:
            thread = await self._to_change(id)
            if expect is not None and thread.version != expect:
                raise another_version(id, expect, thread.version)
            changed = _replace(thread, updated_at=self._core.at())
            if title is not msgspec.UNSET:
                changed = _replace(changed, title=title)
            if given is not None:
                changed = _replace(changed, metadata=given)
            results = await self._core.apply(
                Expect(Thread, thread.row_key, thread.version), Put(changed), audit(self._core, "update", "thread", id)
            )
            return _replace(changed, version=results.stored(changed).version)

        done: Thread = await self._core.retry(attempt)
        return done

    async def pop(self, id: str) -> Message | None:
        """Delete and return the newest message, or None if there is none; what was derived from it stays.

        Examples:
            >>> memory.threads.pop("talk").text
            'Noted.'
            >>> memory.threads.append("talk", "And now?")[0].message.id
            'talk#3'
        """

        async def attempt() -> Message | None:
            return await ThreadEdits(self._core).pop(await self._to_change(id))

        popped: Message | None = await self._core.retry(attempt)
        return popped

    async def replace(self, id: str, messages: Sequence[Given], *, expect: int | None = None) -> list[MessageReceipt]:
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
        given, at, adding = keyed(as_list(messages, "messages")), self._core.at(), self._appending
        stamped = [adding.stamped(id, message, at) for message in given.messages]

        async def attempt() -> list[MessageReceipt]:
            thread = await self._to_change(id)
            if expect is not None and thread.version != expect:
                raise another_version(id, expect, thread.version)
            appends = adding.changes(id, thread.ns, stamped, given, at)
            done = await ThreadEdits(self._core).replace(thread, appends, [adding.job(id, thread.ns, at)])
            return await adding.receipts(id, appends, done)

        receipts: list[MessageReceipt] = await self._core.retry(attempt)
        return receipts

    async def redact(self, message: str | Message) -> Message:
        """Remove the content of one message, by its id, but keep its place and its tool call ids.

        What was derived from it is deleted, as with `forget`.

        Examples:
            >>> memory.threads.redact("talk#1").text
            '[redacted]'
        """
        id, seq = message_id(message.id if isinstance(message, Message) else message)
        return await ThreadEdits(self._core).redact(await self._to_change(id), seq)

    async def pin(self, message: str | Message, *, pinned: bool = True) -> Message:
        """Pin a message, by its id, so that every later context of its thread contains it; or unpin it.

        Raises `NotFound` if there is no such message.

        Examples:
            >>> memory.threads.pin("talk#1").pinned
            True
        """
        id, seq = message_id(message.id if isinstance(message, Message) else message)

        async def attempt() -> Message:
            return await ThreadEdits(self._core).pin(await self._to_change(id), seq, pinned)

        done: Message = await self._core.retry(attempt)
        return done

    async def fork(
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
        if share not in ("messages", "prefix"):
            raise UsageError("share is 'messages' or 'prefix'")
        source = await self._existing_or_fail(id)
        last = source.length if at is None else self._sequence_number(id, at)
        kept = source.metadata if metadata is None else metadata
        about = {**kept, "forked_from": f"{id}#{min(last, source.length)}"}
        made = self._new(source.ns, source.title if title is None else title, new_id, about, ttl)
        if new_id is not None and await used_before(self._core, new_id):
            raise taken(new_id)
        return await ThreadEdits(self._core).fork(source, last, made, is_prefix_shared=share == "prefix")

    async def stash(
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
        from ...context.stash import check_stash, preview

        core, results = self._core, check_name(id, "thread id") + RESULTS
        check_stash(over_tokens)
        tokens = core.shared.counter.count(check_text(text, "text"))
        if tokens <= over_tokens:
            return Stashed("", text, tokens, len(text.splitlines()), False)
        thread = await self.get(id)
        if thread is None and create is None:
            await self._existing_or_fail(id)
        if await core.get(Thread, check_name(results, "thread id")) is None:
            # Forgetting the thread finds its results by this link, so it is written first.
            await core.apply(*await epochs(core, thread_ref(id)), Put(child_link(core, id, results), absent=True))
            await self.create(thread.ns if thread else create or "", id=results, metadata={RESULTS_OF: id})
        receipts = await self.append(results, Message(role="tool", content=text), key=key)
        return preview(text, receipts[0].message.id or results, over_tokens, core.shared.counter)

    async def report(
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
        from ...context.report import report_request

        thread = await self._existing_or_fail(id)
        self._core.scope.writable(thread.ns)
        core, sent = self._core, _as_pieces(pieces or ())

        async def attempt() -> RequestReport:
            log = await core.get(RequestLog, id)
            before = [] if log is None else msgspec.convert(log.pieces, list[Piece])
            model_before = None if log is None else log.model
            report = report_request(
                usage, before=before, after=sent, model=model, model_before=model_before, at=core.at()
            )
            reports = [*(log.reports if log is not None else ()), msgspec.to_builtins(report)][-MAX_REPORTS:]
            fresh = RequestLog(
                org=core.org, thread=id, reports=reports, pieces=msgspec.to_builtins(sent), model=model,
                updated_at=core.at(),
            )  # fmt: skip
            await core.apply(Expect(RequestLog, fresh.row_key, log.version if log is not None else 0), Put(fresh))
            return report

        done: RequestReport = await core.retry(attempt)
        return done

    async def requests(self, id: str) -> list[RequestReport]:
        """List what the last requests of a thread cost, oldest first, as `report` recorded them.

        Examples:
            >>> memory.threads.requests("talk")
            []
        """
        await self._existing_or_fail(id)
        log = await self._core.get(RequestLog, id)
        return [] if log is None else msgspec.convert(log.reports, list[RequestReport])

    async def delete_messages(self, id: str, *, ids: Sequence[str] | None = None, before: Place | None = None) -> int:
        """Delete messages, by id or all before a place; returns how many.

        What was derived from them stays; `forget` deletes that too.

        Examples:
            >>> memory.threads.delete_messages("talk", ids=["talk#2"])
            1
        """
        if (ids is None) == (before is None):
            raise UsageError("say which messages: ids=[…] or before=…")
        done: int = await self._core.retry(lambda: self._delete_messages(id, ids, before))
        return done

    async def _delete_messages(self, id: str, ids: Sequence[str] | None, before: Place | None) -> int:
        guards = await self._guards(id)
        thread = await self._to_change(id)
        if before is not None:
            return await self._delete_before(thread, self._sequence_number(id, before))
        seqs = list(dict.fromkeys(self._sequence_number(id, one) for one in as_list(ids, "ids")))
        gone = [Delete(Message, (self._core.org, id, seq)) for seq in seqs]
        entries = [Delete(Entry, (self._core.org, thread.ns, "message", id, f"{id}#{seq}")) for seq in seqs]
        results = await self._core.apply(
            *gone,
            *entries,
            *self._still(thread),
            *guards,
            *raised(self._core, thread_ref(id)),
            audit(self._core, "delete_messages", "thread", id, detail={"messages": len(seqs)}),
        )
        return sum(results.existed(change) for change in gone)

    async def delete(self, id: str) -> bool:
        """Delete a thread with its messages, summaries and index entries; returns whether there was one.

        Examples:
            >>> memory.threads.delete("talk")
            True
        """
        done: bool = await self._core.retry(lambda: self._delete(id))
        results = await self._core.get(Thread, id + RESULTS) if done else None
        if results is not None and results.metadata.get(RESULTS_OF) == id:
            await self._core.retry(lambda: self._delete(results.id))
        return done

    async def _delete(self, id: str) -> bool:
        guards = await self._guards(id)
        if await self.get(id) is None:
            return False
        thread = await self._to_change(id)
        core, org = self._core, self._core.org
        core.shared.threads.pop((org, id), None)
        await core.apply(
            *numbering_changes(core, thread),
            *guards,
            *(DeleteRange(part, (org, id)) for part in owned_by("thread")),
            DeleteRange(Entry, (org, thread.ns, "message", id)),
            DeleteRange(Entry, (org, thread.ns, "summary", id)),
            *(Delete(Job, (org, queue, thread.ns, f"thread:{id}")) for queue in QUEUES),
            Delete(Thread, (org, id)),
            *raised(core, thread_ref(id)),
            owned(core, thread.ns, "thread", id),
            audit(core, "delete", "thread", id, detail={"messages": thread.length - thread.start}),
        )
        return True

    async def _guards(self, id: str) -> list[Change]:
        """Guards that fail a deletion whose thread is forgotten meanwhile, or its audit event would outlive the
        thread."""
        return await epochs(self._core, thread_ref(id))

    async def summaries(self, id: str) -> list[Summary]:
        """List the summaries of a thread, oldest first, each with the range of messages it covers.

        Examples:
            >>> memory.threads.summaries("talk")
            []
        """
        await self._check_visible(id)
        summaries = await self._core.scan(Summary, id)
        if not summaries:
            await self._existing_or_fail(id)
        return summaries

    async def compactions(self, id: str) -> list[Compaction]:
        """List the parts of a thread that a provider compacted, oldest first, each with the message that has its item.

        Examples:
            >>> item = {"type": "compaction", "encrypted_content": "…"}
            >>> receipts = memory.threads.append("talk", item)
            >>> [(part.provider, part.first, part.last) for part in memory.threads.compactions("talk")]
            [('openai', 1, 2)]
        """
        thread = await self._existing_or_fail(id)
        messages = await self._core.scan(Message, id, where=Test(("metadata", COMPACTED_BY), "$in", [*PROVIDERS]))
        summaries = await self._core.scan(Summary, id) if messages else []
        parts: list[Compaction] = []
        for message in messages:
            own = [summary.id for summary in summaries if summary.last < message.seq]
            parts.append(
                Compaction(
                    message.metadata[COMPACTED_BY], message.id, thread.start + 1, message.seq - 1,
                    own[-1] if own else None, message.created_at,
                )
            )  # fmt: skip
        return parts

    async def summary_lines(self, id: str) -> list[SummaryLine]:
        """List the lines of a thread's newest summary, each with the ids of the messages behind it.

        Examples:
            >>> memory.threads.summary_lines("talk")
            []
        """
        summaries = await self.summaries(id)
        if not summaries:
            return []
        newest = summaries[-1]
        messages = await self._core.scan(Message, id, before=(newest.last + 1,))
        return attribute_lines(newest.text, [message for message in messages if message.text.strip()])

    # -- parts

    async def _namespace(self, id: str, *, write: bool = False) -> str:
        """The namespace of a thread that this scope may read (or write), cached because it never changes.

        A user's handle does not use the cache: a thread deleted elsewhere may exist again as another user's.
        """
        core = self._core
        known = None if core.scope.user is not None else core.shared.threads.get((core.org, id))
        if known is None:
            check_name(id, "thread id")
            known = (await self._existing_or_fail(id)).ns
            if core.batch is None:  # a thread of an open batch may never be committed
                if len(core.shared.threads) >= KNOWN_THREADS:
                    core.shared.threads.clear()
                core.shared.threads[(core.org, id)] = known
        if not core.scope.may_read(known):
            raise _no_thread(id)
        if write:
            core.scope.writable(known)
            if core.scope.user is not None:
                core.watch_thread(id, known)
        return known

    async def _check_visible(self, id: str) -> None:
        check_name(id, "thread id")
        if self._core.scope.user is not None:
            await self._namespace(id)

    async def _to_change(self, id: str) -> Thread:
        """A thread that this handle may write; the caller commits by compare-and-set on the version read here."""
        thread = await self._existing_or_fail(id)
        self._core.scope.writable(thread.ns)
        if self._core.scope.user is not None:
            self._core.watch_thread(id, thread.ns)
        return thread

    def _still(self, thread: Thread) -> list[Change]:
        """For a user's handle: a guard that fails if the thread was created again since, perhaps by another user."""
        if self._core.scope.user is None or self._core.batch is not None:
            return []
        return [Expect(Thread, thread.row_key, thread.version)]

    async def _existing_or_fail(self, id: str) -> Thread:
        thread = await self.get(id)
        if thread is None:
            raise _no_thread(id)
        return thread

    def _outliving(self, thread: Thread) -> list[Change]:
        """The ownership link of a thread that expires, by which forgetting its user finds what was derived from it."""
        if thread.expires_at is None:
            return []
        return [owned(self._core, thread.ns, "thread", thread.id), *raised(self._core, thread_ref(thread.id))]

    async def _create_with_id(self, asked: Thread, new: bool = False) -> Thread:
        """Create a thread under a given id, and delete the remains of an expired thread of that id."""
        asked, changes = await fresh(self._core, asked)
        try:
            await self._core.apply(*changes, *self._outliving(asked))
        except Conflict as conflict:
            return await self._existing(asked, new, conflict)
        return _replace(asked, version=1)

    async def _existing(self, asked: Thread, new: bool, conflict: Conflict) -> Thread:
        thread = await self._core.get(Thread, asked.id)
        if thread is None:  # it expired or was deleted meanwhile
            return await self._create_with_id(asked, new)
        if new:
            raise taken(asked.id) from conflict
        if thread.ns != asked.ns:
            raise _elsewhere(asked.id)
        return thread

    async def _delete_before(self, thread: Thread, place: int) -> int:
        core, total, last = self._core, 0, 0
        # Page by page after the last number seen, because in a batch nothing is deleted until the commit.
        while True:
            guards = await self._guards(thread.id)
            if last:
                thread = await self._to_change(thread.id)
            doomed = await core.scan(Message, thread.id, after=(last,), before=(place,), limit=BATCH)
            if not doomed:
                return total
            first, last = last, doomed[-1].seq
            await core.apply(
                *guards,
                *self._still(thread),
                DeleteRange(Message, (core.org, thread.id), after=(first,), before=(last + 1,)),
                *(Delete(Entry, (core.org, thread.ns, "message", thread.id, message.id)) for message in doomed),
                *raised(core, thread_ref(thread.id)),
                audit(core, "delete_messages", "thread", thread.id, detail={"messages": len(doomed)}),
            )
            total += len(doomed)

    @staticmethod
    def _sequence_number(thread: str, given: Place) -> int:
        if isinstance(given, Message):
            given = given.id
        if isinstance(given, str):
            owner, seq = message_id(given)
            if owner != thread:
                raise UsageError("that message belongs to another thread")
            return seq
        if isinstance(given, bool) or not isinstance(given, int):
            raise UsageError("a place in a thread is a message, its id or its sequence number")
        return max(min(given, 2**62), -1)

    # Last: the name hides the builtin for annotations below it.
    async def list(
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
        space = self._core.scope.readable(self._core.scope.namespace(ns))
        limit, wanted = checked_limit(limit), parse_filter(where)
        if by != "id":
            threads = await self._core.listed(Thread, space, index="by_ns", where=wanted)
            return sorted_threads(threads, by, after=after, reverse=reverse, limit=limit)
        return await self._core.listed(Thread, space, index="by_ns", where=wanted, **page(limit, after, reverse))


def _as_pieces(request: Iterable[object]) -> list[Piece]:
    """The parts of a request; over HTTP they arrive as JSON."""
    try:
        return [piece if isinstance(piece, Piece) else msgspec.convert(piece, Piece) for piece in request]
    except (msgspec.ValidationError, TypeError) as wrong:
        raise UsageError(f"pieces are those of a context: {wrong}") from wrong


def _elsewhere(id: str) -> Conflict:
    return Conflict(f"thread {id!r} exists in another namespace; choose another id")


def _no_thread(id: str) -> NotFound:
    return NotFound(f"no thread {id!r} here; create it first with threads.create", thread=id)
