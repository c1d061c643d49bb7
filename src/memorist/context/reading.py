"""Reads as much history as a request's policy needs, page by page from the newest, and then assembles the request.

    reading = Reading(budget=…, input=…)
    while (count := reading.wants()):
        page = await older(before, count)
        reading.feed(page, more=len(page) == count)
    context = reading.finish()

Blocking and async callers use the same object. The cost depends on how much history is kept, not on how much is stored.
A policy may also need a search or a summary. `finish` provides these, and then calls `assemble` once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ..errors import UsageError
from ..messages.message import INSTRUCTIONS, Message, as_message
from ..values import JsonMapping
from .assemble import NO_LIMIT, Parts, assemble, fixed_tokens, summary_task
from .budget import TokenBudget, as_budget
from .context import Context
from .fence import render_scratchpad
from .fold import Fold, plan_fold
from .items import MemoryItem, Shorten, as_items
from .measure import text_message
from .plan import Aid, Policy, Reach, Searcher, Summarizer, SummaryTask, WrittenSummary, needs_of, total_tokens
from .policies import SlidingWindow, checked_policy
from .profile import ProfileLine
from .stash import check_stash
from .summaries import Completer, awaitable_model, summary_message, write_summary, write_summary_async
from .tokens import Counter, open_counter
from .units import EMPTY_MESSAGE, Grouper, Unit, group

LAYOUTS = ("standard", "cached")
MAX_READ_MESSAGES = 100_000
"""The maximum number of messages to read for a policy that needs all history. Summarise longer threads first."""
FOLDING_REACH = 3
"""How far back to look for the start of a fold, as a multiple of the room for history. A longer unfolded part is folded
page by page first."""
INPUT_SEQ = 1 << 62
"""Positions from this number onwards belong to the current input."""
_AVERAGE_TOKENS = 64
"""The assumed number of tokens in a message. It determines the size of the first page of a thread that has not been
read before."""


class Reading:
    """Collects the parts of one request, and its history from newest to oldest."""

    def __init__(
        self,
        *,
        budget: TokenBudget | int | str,
        policy: Policy | None = None,
        counter: object = None,
        system: object = None,
        memory: object = None,
        profile: Sequence[ProfileLine] = (),
        shorten: Shorten | None = None,
        thread: str | None = None,
        first: int = 0,
        tools: Iterable[object] | None = None,
        tools_left: Sequence[str] = (),
        input: object = None,
        scratchpad: object = None,
        layout: str = "standard",
        stash: int | None = None,
        summary: str | None = None,
        folded: int = 0,
        folded_at: datetime | None = None,
        folding: bool = False,
        fold_tokens: int | None = None,
        head: Sequence[Message] = (),
        summarizer: Summarizer | None = None,
        search: Searcher | None = None,
        matches: Iterable[Sequence[Message]] | None = None,
        average_tokens: int | None = None,
    ) -> None:
        if layout not in LAYOUTS:
            raise UsageError(f"layout must be one of {', '.join(LAYOUTS)}")
        self.budget = as_budget(budget)
        self.policy: Policy = SlidingWindow() if policy is None else checked_policy(policy)
        self._needs = needs_of(self.policy)
        self.counter: Counter = open_counter(counter)
        self.layout = layout
        self._thread = thread
        self._first = first
        self._stash = check_stash(stash)
        self._folding = folding
        self._items = as_items(memory)
        self._recalls = memory is not None
        messages, definitions, notes = instruction_messages(system), as_tools(tools), self._note(scratchpad)
        self._parts = Parts(
            counter=self.counter,
            fixed=fixed_tokens(messages, definitions, notes, self.budget, self.counter),
            layout=layout,
            system=messages,
            tools=definitions,
            tools_left=tuple(tools_left),
            scratchpad=notes,
            profile=tuple(profile),
            shorten=shorten,
            summary=summary_message(f"{self._folded_line(folded)}{summary}", self.counter) if summary else None,
            summary_text=summary,
            folded=folded,
            folded_at=folded_at,
            fold_tokens=fold_tokens,
        )
        """The parts of the request that do not depend on the history."""
        self._fixed_sum = sum(self._parts.fixed.values())
        self._grouper = Grouper(self.counter, attached=layout == "cached", stash=stash)
        self._head: tuple[Unit, ...] = ()
        self._add_head(head)
        self._units: list[Unit] = []
        self._input: list[Unit] = []
        self._explicit_input = input is not None
        self._seen_tokens = 0
        self._read = 0
        self._ended = False
        self._oldest: int | None = None
        self._average = max(1, average_tokens or _AVERAGE_TOKENS)
        self._reach: Reach | None = None
        self._summarize = summarizer
        self._search = search
        self._matches: tuple[Unit, ...] | None = None
        self._add_matches(matches)
        self._take_input(input)

    def add_recalled(
        self,
        memory: object,
        *,
        head: Sequence[Message] = (),
        matches: Iterable[Sequence[Message]] | None = None,
        prefix_at: datetime | None = None,
    ) -> None:
        """Add the results of recall once the history has been read: memory items, older pinned messages, units that the
        policy asked to search for, and when requests began to differ before the history."""
        if prefix_at is not None:
            folded_at = max(prefix_at, self._parts.folded_at or prefix_at)
            self._parts = msgspec.structs.replace(self._parts, folded_at=folded_at)
        self._items = as_items(memory)
        self._recalls = memory is not None
        self._add_head(head)
        self._add_matches(matches)

    def _add_matches(self, matches: Iterable[Sequence[Message]] | None) -> None:
        if matches is not None:
            self._matches = tuple(unit for messages in matches for unit in group(messages, self.counter)[0])

    def _add_head(self, head: Sequence[Message]) -> None:
        if head:
            units, repairs = group(head, self.counter, stash=self._stash)
            self._head = tuple(units)
            self._grouper.repairs.extend(repairs)

    def _folded_line(self, folded: int) -> str:
        """Return a line that tells the model what was folded and, if the request has the tools, how to read it."""
        if not folded:
            return ""
        line = f"(Messages 1 to {folded} of this conversation are folded into this summary."
        if self._thread is not None and self._stash is not None:
            line += f' search_history finds what they said; read_more(id="{self._thread}#1") reads one of them.'
        return f"{line})\n"

    def _note(self, notes: object) -> Message | None:
        return text_message("user", render_scratchpad(notes), self.counter) if notes else None

    def _take_input(self, prompt: Any) -> None:
        if prompt is None:
            return
        listed = [prompt] if isinstance(prompt, str | Mapping | Message) else list(prompt)
        for index in range(len(listed) - 1, -1, -1):
            self._push(as_message(listed[index]), INPUT_SEQ + index)

    @property
    def oldest(self) -> int:
        """This is the sequence number of the oldest message read, or 0."""
        return self._oldest or 0

    @property
    def average_tokens(self) -> int | None:
        """This is the average number of tokens in the messages read so far, or None if there are none."""
        return self._seen_tokens // self._read or None if self._read else None

    def wants(self) -> int:
        """Return how many older messages to feed next; 0 means that the policy has enough."""
        if self._ended or self._read >= MAX_READ_MESSAGES:
            return 0
        reach = self._reach or self._look()
        if reach is None:
            return 16
        if self._seen(reach):
            return 0
        if reach.tokens is not None:
            return max(8, min(512, 4 + (reach.tokens - self._seen_tokens) // self._average))
        return 512 if reach.units is None else max(8, min(512, reach.units - len(self._units)))

    def feed(self, page: Iterable[Message], *, more: bool = True, position: int | None = None) -> None:
        """Add older messages, newest first; `more` is false if there are no older ones.

        Positions are the sequence numbers of the messages, unless you pass the `position` of the newest message.
        """
        if not self._feed(page, position) and not more:
            self._end()

    def _feed(self, page: Iterable[Message], position: int | None) -> bool:
        """Read a page, and return whether the policy had enough before its end."""
        messages, units = iter(page), self._units
        base = None if position is None else position + self._read
        while True:
            reach, most = self._sight()
            odd: Message | None
            if reach is None or self._grouper.waiting:
                odd = next(messages, None)
            else:
                before = len(units)
                number = None if base is None else base - self._read
                tokens, odd = self._grouper.take_plain(messages, number, units, most - self._seen_tokens)
                self._seen_tokens += tokens
                if len(units) > before:
                    self._read += len(units) - before
                    self._oldest = units[-1].position
                    if self._seen(reach):
                        return True
                    if odd is None:
                        continue
            if odd is None:
                return False
            number = odd.seq if base is None else base - self._read
            self._read += 1
            self._oldest = number
            self._push(odd, number)
            if (reach := self._sight()[0]) is not None and self._seen(reach):
                return True

    def _sight(self) -> tuple[Reach | None, int]:
        """Return how far back to read, and the number of tokens to read before the history can be long enough."""
        reach = self._reach or self._look()
        if reach is None or reach.units is not None:
            return reach, -1
        return reach, NO_LIMIT if reach.tokens is None else reach.tokens

    def _push(self, message: Message, position: int) -> None:
        for unit in self._grouper.push(message, position):
            self._take(unit)

    def read_all(self, messages: Iterable[Message], *, position: int) -> None:
        """Add all messages, newest first, regardless of the policy's reach."""
        for message in messages:
            self._push(message, position)
            position -= 1
        self._end()

    def _end(self) -> None:
        self._ended = True
        for unit in self._grouper.close():
            self._take(unit)

    def _take(self, unit: Unit) -> None:
        if unit.last >= INPUT_SEQ or (not self._explicit_input and not self._input):
            self._input.append(unit)
            return
        self._units.append(unit)
        shortened = self._reach.shortened if self._reach is not None and unit.exchange else None
        self._seen_tokens += unit.tokens if shortened is None else shortened(unit)

    def _look(self) -> Reach | None:
        """Return the policy's reach, or None until the whole current input has been read, since the room depends on
        it."""
        if not self._grouper.waiting and (self._input or self._explicit_input):
            room = max(0, self.room_tokens())
            reach = self.policy.reach(room, self._aid())
            if self._folding and reach.tokens is not None:
                # One turn may take history from below `compact_at` to beyond the room: read on to where a fold starts.
                reach = msgspec.structs.replace(reach, tokens=max(reach.tokens, FOLDING_REACH * room))
            self._reach = reach
        return self._reach

    def _seen(self, reach: Reach) -> bool:
        if reach.tokens is not None:
            return self._seen_tokens > reach.tokens and not self._grouper.waiting
        return reach.units is not None and len(self._units) >= reach.units and not self._grouper.waiting

    def _aid(self) -> Aid:
        inside = () if self._explicit_input else self._input
        return Aid(
            self.counter, self._query(), self._parts.summary_text, None, self._matches, len(inside),
            total_tokens(inside), self.layout == "cached",
        )  # fmt: skip

    def _query(self) -> str:
        for unit in self._input:
            if unit.role == "user":
                return unit.text
        return next((unit.text for unit in self._units if unit.role == "user"), "")

    @property
    def has_reasoning(self) -> bool:
        """This is True if the history that was read contains reasoning."""
        return self._grouper.has_reasoning

    @property
    def ended(self) -> bool:
        """This is True if the history was read to its beginning."""
        return self._ended

    @property
    def units(self) -> list[Unit]:
        """This is the history read so far, oldest first, without the current input."""
        return self._units[::-1]

    def room_tokens(self) -> int:
        """Return the number of tokens that history may use if nothing is recalled."""
        room = self.budget.request_tokens - self._fixed_sum - total_tokens(self._input)
        return room if self.budget.history is None else min(room, self.budget.history)

    def next_fold(self) -> Fold | None:
        """Return the fold to write before sending this request, or None. All unfolded history must have been read."""
        if not self._ended:
            return None
        room, previous = self.room_tokens(), self._parts.summary_text
        return plan_fold(self.units, room, previous=previous, counter=self.counter)

    def finish(self) -> Context:
        """Return a valid request that fits its budget.

        Raises:
            BudgetError: The content that must be sent does not fit.
        """
        units, parts, task = self._prepare_parts()
        written = None
        if task is not None:
            written = write_summary(
                task, parts.summary_text, self.counter, function=self._summarize, model=self._needs.model
            )
        return self._assemble(units, parts, written)

    @property
    def memory_characters(self) -> int:
        """This is the total length of all recalled texts, which must be read to shorten them."""
        return sum(len(item.text) for item in self._memory or ())

    @property
    def awaits_model(self) -> bool:
        """This is True if the policy's language model has to be awaited."""
        return self._awaitable_model is not None

    @property
    def _awaitable_model(self) -> Completer | None:
        return awaitable_model(self._needs.model) if self._needs.summary and self._summarize is None else None

    async def finish_async(self) -> Context:
        """Do the same as `finish`, but await the policy's language model if it has one."""
        model = self._awaitable_model
        if model is None:
            return self.finish()
        units, parts, task = self._prepare_parts()
        written = None if task is None else await write_summary_async(task, parts.summary_text, self.counter, model)
        return self._assemble(units, parts, written)

    @property
    def _memory(self) -> Sequence[MemoryItem] | None:
        return self._items if self._recalls else None

    def _assemble(self, units: Sequence[Unit], parts: Parts, written: WrittenSummary | None) -> Context:
        if written is not None:
            parts = msgspec.structs.replace(parts, written=written)
        context = assemble(units, self._memory, self.budget, self.policy, parts)
        self.counter.assembled(context.tokens)
        return context

    def _prepare_parts(self) -> tuple[list[Unit], Parts, SummaryTask | None]:
        """Return the history that was read, oldest first, the other parts of the request, and the summary to write
        first."""
        if not self._ended:
            for unit in self._grouper.close():
                self._take(unit)
        self._check_input()
        units = self.units
        parts = msgspec.structs.replace(
            self._parts,
            input=tuple(self._input[::-1]),
            taken=0 if self._explicit_input else len(self._input),
            query=self._query(),
            head=self._head,
            matches=self._search_dropped_units(units),
            repairs=tuple(self._grouper.repairs),
            ended=self._ended,
            unread=self._unread(),
            has_reasoning=self._grouper.has_reasoning,
            has_attached=self._grouper.has_attached,
        )
        return units, parts, summary_task(units, self._memory, self.budget, self.policy, parts)

    def _search_dropped_units(self, units: Sequence[Unit]) -> tuple[Unit, ...] | None:
        """Return the units that the caller's search finds among those that the policy would drop."""
        if self._search is None or not self._needs.search:
            return self._matches
        aid = msgspec.structs.replace(self._aid(), matches=())
        old = [left.unit for left in self.policy.plan(units, max(0, self.room_tokens()), aid).drop]
        return tuple(old[index] for index in self._search(aid.query, old, self._needs.search))

    def _check_input(self) -> None:
        """Raise an error if repairs removed the whole input."""
        if not self._explicit_input or self._input:
            return
        lost = next((fix.reason for fix in self._grouper.repairs if fix.position >= INPUT_SEQ), EMPTY_MESSAGE)
        if lost != EMPTY_MESSAGE:
            raise UsageError(f"the input cannot be sent: {lost}; append the call to the thread first")

    def _unread(self) -> tuple[int, int, int] | None:
        """Return the first position, the last position and the number of messages that were not read."""
        if self._ended or self._oldest is None:
            return None
        numbered = bool(self._units) and self._units[-1].messages[0].seq > 0
        first = max(self._parts.folded + 1, 1) if numbered else self._first
        count = self._oldest - first
        return (first, self._oldest - 1, count) if count > 0 else None


def instruction_messages(instructions: object) -> tuple[Message, ...]:
    """Convert text, messages, or a list of either to system messages."""
    if instructions is None or instructions == "":
        return ()
    if isinstance(instructions, str | Mapping | Message):
        instructions = [instructions]
    elif not isinstance(instructions, Iterable):
        raise UsageError(f"a system prompt is text, a message or a list of them, not {type(instructions).__name__}")
    messages: list[Message] = []
    for item in instructions:
        message = as_message({"role": "system", "content": item} if isinstance(item, str) else item)
        if message.role not in INSTRUCTIONS:
            raise UsageError(f"a system prompt has the role system or developer, not {message.role}")
        if message.text.strip():
            messages.append(message)
    return tuple(messages)


def as_tools(tools: object) -> tuple[JsonMapping, ...]:
    """Check a list of tool definitions."""
    if tools is None or tools == ():
        return ()
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise UsageError(f"tools is a list of tool definitions, not {type(tools).__name__}")
    listed = tuple(tools)
    for tool in listed:
        if not isinstance(tool, Mapping):
            raise UsageError(
                f"a tool is a dict in OpenAI's or Anthropic's format, with name and schema, not {type(tool).__name__}"
            )
    return listed
