"""Assembles contexts from stored threads: as much of the recent history as fits, its summary, and recalled items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, cast

import msgspec

from ...context.budget import TokenBudget
from ...context.context import Context
from ...context.given import About, Item, Prompt
from ...context.items import MemoryItem, when
from ...context.plan import needs_of
from ...context.profile import ProfileLine
from ...context.reading import Reading
from ...context.tool_choice import NO_TOOLS
from ...context.units import group
from ...kinds import key_in_namespace, source_of
from ...languages.small_talk import is_small_talk
from ...messages.message import Given, Message, as_message, split_message_id
from ...recall.analyze import query_terms
from ...recall.hit import DERIVED, Hit
from ...recall.passage import passage
from ...records import Pins, Summary
from ...values import as_list
from ..core import Core
from ..derive.catching_up import catch_up
from ..learnings import Learnings
from ..profile import Profile
from ..recalling import Recalling, Spaces
from ..threads.threads import Threads
from .assembling import Recall, Request, checked_budget, max_items, recall_spec
from .settings import AssembledRequest, Prefix, keep_settings, prefix_changed_at
from .tools import ToolRecall

NEIGHBOUR_MESSAGES = 10
"""How many messages around a pinned one to search for the rest of its tool exchange."""
LONG_MEMORY_CHARACTERS = 200_000
"""If the recalled texts are longer than this, the request is assembled in another thread."""
MAX_SIZES = 4096
"""The number of threads for which a process remembers the size of their messages."""


class Assembly:
    """Assembles the requests to a model."""

    def __init__(self, core: Core, fold_tokens: int | None = None, earlier: Prefix | None = None) -> None:
        self._core = core
        self._fold_tokens = fold_tokens
        """The number of history tokens at which a session folds the thread; None outside a session."""
        self.prefix = earlier
        """The beginning of the last request, if it is known."""

    async def assemble(self, asked: Request) -> Context:
        """Assemble a request within its budget. Tool exchanges are complete, and recalled memory is fenced as data.

        The thread's tool results over `stash` tokens are sent as previews, along with the tools that read them back. If
        the tools exceed the budget's `tools`, only the relevant ones are sent, together with `find_tool`.
        """
        core, query = self._core, _query(asked.input)
        budget = checked_budget(core, asked.budget)
        choice = NO_TOOLS
        if asked.tools is not None or asked.stash is not None or asked.pinned_tools:
            choice = await ToolRecall(core).choose(query, asked, budget.tools)
        profile = await self._about(asked.profile)
        texts = tuple(line.text for line in profile)
        earlier, self.prefix = self.prefix, Prefix(asked.system, tuple(choice.sent), texts, bool(asked.scratchpad))
        parts: dict[str, Any] = {
            "profile": profile, "shorten": _shortener(query, core.shared.counter.count),
            "budget": budget, "policy": asked.policy, "counter": core.shared.counter, "system": asked.system,
            "tools": choice.sent, "tools_left": choice.left, "input": asked.input,
            "scratchpad": asked.scratchpad, "layout": asked.layout, "stash": asked.stash,
            "fold_tokens": self._fold_tokens,
        }  # fmt: skip
        thread = asked.thread
        if thread is None:
            reading = Reading(**parts, memory=await self._recalled(query, asked.recall, budget))
            reading.feed((), more=False)
            return await self._finished(reading)
        await Threads(core)._check_visible(thread)
        past = await self._past(thread)
        if past is not None:
            parts |= {
                "summary": past.text,
                "folded": past.last,
                "folded_at": past.created_at,
                "thread": _shown_thread(past),
            }
        wanted = needs_of(asked.policy).search
        average = core.shared.message_tokens.get((core.org, thread))
        reading = Reading(**parts, matches=() if wanted else None, average_tokens=average)
        pages = await self._read(reading, thread, past.last if past else 0)
        oldest = reading.oldest  # not the last message read: the policy may have stopped in the middle of a page
        head = await self._pinned(thread, oldest)
        memory = await self._recalled(query, asked.recall, budget)
        swapped = await self._swapped(query, thread, oldest, wanted) if wanted else None
        is_present = core.moment is None and core.batch is None
        changed_at = await self._prefix_changed_at(thread, earlier) if reading.has_reasoning and is_present else None
        reading.add_recalled(memory, head=head, matches=swapped, prefix_at=changed_at)
        # A message or a summary proves that the thread exists, so its row is read only if there is neither.
        if not pages and past is None:
            await Threads(core)._existing_or_fail(thread)
        context = await self._finished(reading)
        # A request about the past, or inside a batch, says nothing about the program's next request.
        if is_present:
            request = AssembledRequest(
                asked, budget, context, self._fold_tokens, self.prefix, changed_at, reading.has_reasoning
            )
            await self._keep_settings(thread, request)
        return context

    async def _prefix_changed_at(self, thread: str, earlier: Prefix | None) -> datetime | None:
        assert self.prefix is not None
        return await prefix_changed_at(self._core, thread, self.prefix, earlier)

    async def _keep_settings(self, thread: str, request: AssembledRequest) -> None:
        await keep_settings(self._core, thread, request)

    async def _finished(self, reading: Reading) -> Context:
        shared = self._core.shared
        with shared.events.span("context", org=self._core.org):
            if reading.memory_characters > LONG_MEMORY_CHARACTERS and not reading.awaits_model:
                # Others on this event loop must not wait while a message of megabytes is read and shortened.
                context = await self._core.runtime.offload(reading.finish)
            else:
                context = await reading.finish_async()
        if shared.events.listening:
            shared.emit("context", org=self._core.org, tokens=context.tokens, memory=context.account.memory_kept)
        sources = [item.source for item in context.memory_items if item.kind == "learning"]
        sources += [line.source for line in context.profile if line.lane in ("wishes", "corrections")]
        used = [key_in_namespace(self._core.scope.own(), source) for source in sources]
        if used and self._core.scope.user is not None and self._core.moment is None:
            # The count of uses is a write, and a full disk must not keep the program from its context.
            with shared.reading_on("the use of learnings"):
                await Learnings(self._core).used(used)
        return context

    async def _past(self, thread: str) -> Summary | None:
        summaries = await self._core.scan(Summary, thread, reverse=True, limit=1)
        return summaries[0] if summaries else None

    async def _read(self, reading: Reading, thread: str, behind: int) -> list[Message]:
        """Read the thread, newest first, until the policy has enough messages, and return them."""
        pages: list[Message] = []
        while count := reading.wants():
            page = await self._core.scan(
                Message,
                thread,
                # The summary stands for everything up to this message.
                after=(behind,),
                before=(pages[-1].seq,) if pages else None,
                reverse=True,
                limit=count,
            )
            pages += page
            reading.feed(page, more=len(page) == count)
            if len(page) < count:
                break
        sizes = self._core.shared.message_tokens
        if (average := reading.average_tokens) is not None:
            # A lost size only means that the next request guesses how many messages to read, so all may go at once.
            if len(sizes) >= MAX_SIZES:
                sizes.clear()
            sizes[self._core.org, thread] = average
        return pages

    async def _pinned(self, thread: str, oldest: int) -> list[Message]:
        """Return pinned messages that are older than those already read, each with the rest of its tool exchange."""
        core = self._core
        pins = await core.get(Pins, thread)
        if pins is None:
            return []
        out: list[Message] = []
        for seq in sorted(pins.seqs):
            if oldest and seq >= oldest:
                continue
            near = await core.scan(
                Message, thread, after=(max(seq - NEIGHBOUR_MESSAGES - 1, 0),), before=(seq + NEIGHBOUR_MESSAGES + 1,)
            )
            units, _ = group(near, core.shared.counter)
            out += [m for unit in units if any(m.seq == seq for m in unit.messages) for m in unit.messages]
        return list({message.seq: message for message in out}.values())

    async def _about(self, asked: About) -> list[ProfileLine]:
        """Return the profile lines of this handle's user, followed by the caller's own lines."""
        if asked is False or (asked is True and self._core.scope.user is None):
            return []
        mine: list[ProfileLine] = []
        if (user := self._core.scope.user) is not None:
            await self._catch_up(f"user:{user}")
            mine = await Profile(self._core)._lines()
        if asked is True:
            return mine
        listed = [asked] if isinstance(asked, str) else as_list(asked, "profile")
        return mine + [line if isinstance(line, ProfileLine) else ProfileLine(str(line), "facts") for line in listed]

    async def _catch_up(self, ns: str) -> None:
        """Derive memories from the newest messages of a namespace before its facts are read."""
        await catch_up(self._core, [ns])

    async def _recalled(
        self, query: str, asked: Recall | Spaces | bool | Sequence[Item], budget: TokenBudget
    ) -> list[Item] | None:
        """Return the items for the memory section, best first, or None if no turn recalls anything."""
        if asked is None or asked is False:
            return None
        if isinstance(asked, list | tuple) and asked and not isinstance(asked[0], str):
            return cast("list[Item]", list(asked))
        spec = recall_spec(asked) or Recall()
        # Also for a message that needs no recall, so that a wrong option shows at the first request.
        Recalling(self._core).check(**msgspec.structs.asdict(spec))
        if not query.strip() or is_small_talk(query):
            return []
        if spec.top_k is None:
            spec = msgspec.structs.replace(spec, top_k=max_items(budget))
        return [self._item(hit) for hit in worth_sending(query, await self._hits(query, spec))]

    async def _hits(self, query: str, spec: Recall) -> list[Hit]:
        options = msgspec.structs.asdict(spec)
        return await Recalling(self._core).recall(query, **options, bare=True, floored=spec.min_score is None)

    @staticmethod
    def _item(hit: Hit) -> MemoryItem:
        # The lineage id, by which forgetting finds copies of it.
        source = hit.source if hit.kind == "document" and hit.source else source_of(hit.kind, hit.namespace, hit.id)
        return MemoryItem(
            hit.text, hit.kind, source, hit.trust, when(hit.created_at), hit.speaker, hit.superseded_by, hit.score,
            hit.id, hit.place if hit.kind == "document" else 0,
            next((reason.note for reason in hit.reasons if reason.signal == "sentence"), ""),
            (hit.source or "") if hit.kind in DERIVED else "",
        )  # fmt: skip

    async def _swapped(self, query: str, thread: str, oldest: int, k: int) -> list[list[Message]]:
        """Return older units of the thread that recall finds relevant to the input."""
        hits = await Recalling(self._core).recall(query, kinds="message", top_k=4 * k)
        numbers = [parts for hit in hits if (parts := split_message_id(hit.id)) is not None]
        seqs = [seq for hit_thread, seq in numbers if hit_thread == thread]
        messages = await self._core.get_many(Message, [(thread, seq) for seq in seqs if not oldest or seq < oldest])
        # A tool call without its result would be refused by every provider.
        return [[message] for message in messages if message is not None and not message.tool_calls][:k]


def _shown_thread(summary: Summary) -> str:
    """Return the thread that a request names as the location of folded messages. If the summary is a copy, this is the
    original's thread.
    """
    span = f"#{summary.first}-{summary.last}"
    return next((source.removesuffix(span) for source in summary.sources if source.endswith(span)), summary.thread)


def _query(input: Prompt | None) -> str:
    if isinstance(input, str):
        return input
    if input is None:
        return ""
    messages = cast("Sequence[Given]", input if isinstance(input, list | tuple) else [input])
    texts = [message.text for message in map(as_message, messages) if message.role == "user"]
    return texts[-1] if texts else ""


def _shortener(query: str, count: Callable[[str], int]) -> Callable[[str, int], str]:
    """Return a function that shortens a text to the passage most relevant to the query.

    The query is read on the first call.
    """
    terms: Any = None
    read: dict[str, Any] = {}

    def shorten(text: str, most: int) -> str:
        nonlocal terms
        if terms is None:
            terms = query_terms(query)
        return passage(text, terms, most, count, read)

    return shorten


def worth_sending(query: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits except small talk and earlier copies of the question. Of identical texts, only the best is
    kept.
    """
    seen = {_plain(query)}
    out: list[Hit] = []
    for hit in hits:
        text = _plain(hit.text)
        if text not in seen and not (hit.kind == "message" and is_small_talk(hit.text)):
            out.append(hit)
        seen.add(text)
    return out


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
