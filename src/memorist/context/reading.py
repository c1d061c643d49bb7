"""Collects the parts of a request and as much history as its policy asks for, in pages, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ..errors import BudgetError, UsageError
from ..messages.message import INSTRUCTIONS, Message, as_message
from .budget import TokenBudget, as_budget
from .fence import render_scratchpad
from .items import Shorten, as_items
from .measure import REQUEST_TOKENS, count_tools, stored_tokens, text_message
from .plan import Aid, Policy, Reach, Searcher, Summarizer, needs_of, total_tokens
from .policies import SlidingWindow, checked_policy
from .profile import ProfileLine
from .stash import check_stash
from .summaries import summary_message
from .tokens import Counter, open_counter
from .units import Grouper, Unit, group

LAYOUTS = ("standard", "cached")
MAX_READ = 100_000
"""The maximum number of messages to read for a policy that needs all history. Summarise longer threads first."""
FOLDING_REACH = 3
"""How far back to look for the start of a fold, as a multiple of the room for history. A longer unfolded part is folded
page by page first."""
NO_LIMIT = 1 << 62
INPUT = 1 << 62
"""Positions from this number on belong to the current input."""
_FIRST_PAGE_TOKENS = 64


class Reading:
    """Collects the parts of one request, and its history newest first."""

    def __init__(
        self,
        *,
        budget: TokenBudget | int | str,
        policy: Policy | None = None,
        counter: Any = None,
        system: Any = None,
        memory: Any = None,
        profile: Sequence[ProfileLine] = (),
        shorten: Shorten | None = None,
        thread: str | None = None,
        first: int = 0,
        tools: Iterable[Any] | None = None,
        tools_left: Sequence[str] = (),
        input: Any = None,
        scratchpad: Any = None,
        layout: str = "standard",
        stash: int | None = None,
        summary: str | None = None,
        folded: int = 0,
        folded_at: datetime | None = None,
        folding: bool = False,
        head: Iterable[Message] = (),
        summarizer: Summarizer | None = None,
        search: Searcher | None = None,
        found: Iterable[Sequence[Message]] | None = None,
        average_tokens: int = _FIRST_PAGE_TOKENS,
    ) -> None:
        if layout not in LAYOUTS:
            raise UsageError(f"layout must be one of {', '.join(LAYOUTS)}")
        self.budget = as_budget(budget)
        self.policy: Policy = SlidingWindow() if policy is None else checked_policy(policy)
        self._needs = needs_of(self.policy)
        self.counter: Counter = open_counter(counter)
        self.layout = layout
        self._system = instruction_messages(system)
        self._tools = as_tools(tools)
        self._tools_left = tuple(tools_left)
        self._items = as_items(memory)
        self._recalls = memory is not None
        self._shorten = shorten
        self._profile = tuple(profile)
        self._thread = thread
        self._first = first
        self._scratchpad = self._note(scratchpad)
        self._stash = check_stash(stash)
        self._summary = summary_message(f"{self._folded_line(folded)}{summary}", self.counter) if summary else None
        self._summary_text = summary
        self._folded = folded
        self._folded_at = folded_at
        self._folding = folding
        self._head, repairs = group(head, self.counter, stash=stash)
        self._grouper = Grouper(self.counter, attached=layout == "cached", stash=stash)
        self._grouper.repairs.extend(repairs)
        self._units: list[Unit] = []
        self._input: list[Unit] = []
        self._explicit_input = input is not None
        self._seen_tokens = 0
        self._read = 0
        self._ended = False
        self._oldest: int | None = None
        self._average = max(1, average_tokens)
        self._reach: Reach | None = None
        self._summarize = summarizer
        self._search = search
        self._found = None if found is None else tuple(unit for one in found for unit in group(one, self.counter)[0])
        self._fixed = self._fixed_tokens()
        self._take_input(input)

    def add_recalled(
        self, memory: Any, *, head: Iterable[Message] = (), found: Iterable[Sequence[Message]] | None = None
    ) -> None:
        """Add the results of recall after reading the history: memory items, older pinned messages, and units that
        the policy asked to search for."""
        self._items = as_items(memory)
        self._recalls = memory is not None
        self._head, repairs = group(head, self.counter, stash=self._stash)
        self._grouper.repairs.extend(repairs)
        if found is not None:
            self._found = tuple(unit for one in found for unit in group(one, self.counter)[0])

    def _folded_line(self, folded: int) -> str:
        """Return a line that tells the model what was folded, and how to read it if the request has the tools."""
        if not folded:
            return ""
        line = f"(Messages 1 to {folded} of this conversation are folded into this summary."
        if self._thread is not None and self._stash is not None:
            line += f' search_history finds what they said; read_more(id="{self._thread}#1") reads one of them.'
        return f"{line})\n"

    def _note(self, notes: Any) -> Message | None:
        return text_message("user", render_scratchpad(notes), self.counter) if notes else None

    def _fixed_tokens(self) -> dict[str, int]:
        system = sum(stored_tokens(message, self.counter) for message in self._system)
        tools = count_tools(self._tools, self.counter)
        notes = self._scratchpad.tokens or 0 if self._scratchpad else 0
        fixed = {"system": system, "tools": tools, "scratchpad": notes, "overhead": REQUEST_TOKENS}
        for name in ("system", "tools"):
            ceiling = self.budget.ceiling(name)
            if ceiling is not None and fixed[name] > ceiling:
                raise BudgetError(
                    f"{name} takes {fixed[name]} tokens; its ceiling is {ceiling}",
                    sections=fixed,
                    budget_tokens=ceiling,
                )
        return fixed

    def _take_input(self, given: Any) -> None:
        if given is None:
            return
        listed = [given] if isinstance(given, str | Mapping | Message) else list(given)
        for place in range(len(listed) - 1, -1, -1):
            self._push(as_message(listed[place]), INPUT + place)

    @property
    def oldest(self) -> int:
        """The sequence number of the oldest message that was read, or 0."""
        return self._oldest or 0

    def wants(self) -> int:
        """Return how many older messages to feed next; 0 means that the policy has enough."""
        if self._ended or self._read >= MAX_READ:
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
        """Read a page, and return whether the policy had enough before its end. This is the hot loop of assembly."""
        plain, units = self._grouper.plain, self._units
        base = None if position is None else position + self._read
        place, enough = self._oldest, False
        reach, most = self._sight()
        for message in page:
            place = message.seq if base is None else base - self._read
            self._read += 1
            unit = plain(message, place) if reach is not None else None
            if unit is None:
                self._push(message, place)
                reach, most = self._sight()
            else:
                units.append(unit)
                self._seen_tokens += unit.tokens
                if self._seen_tokens <= most:
                    continue
            if reach is not None and self._seen(reach):
                enough = True
                break
        self._oldest = place
        return enough

    def _sight(self) -> tuple[Reach | None, int]:
        """How far back to read, and a number of tokens: `_seen` is called only once more than that were read."""
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
        if unit.last >= INPUT or (not self._explicit_input and not self._input):
            self._input.append(unit)
            return
        self._units.append(unit)
        shortened = self._reach.shortened if self._reach is not None and unit.exchange else None
        self._seen_tokens += unit.tokens if shortened is None else shortened(unit)

    def _look(self) -> Reach | None:
        """Return the policy's reach, or None until the whole current input was read, since the room depends on it."""
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
        inside = [] if self._explicit_input else self._input
        taken = total_tokens(inside)
        previous, found = self._summary_text, self._found
        steady = self.layout == "cached"
        return Aid(
            self.counter, self._query(), previous, self._summarize, self._search, found, len(inside), taken, steady
        )

    def _query(self) -> str:
        for unit in self._input:
            if unit.role == "user":
                return unit.text
        return next((unit.text for unit in self._units if unit.role == "user"), "")

    @property
    def ended(self) -> bool:
        """Whether the history was read to its beginning."""
        return self._ended

    @property
    def units(self) -> list[Unit]:
        """The history that was read so far, oldest first, without the current input."""
        return self._units[::-1]

    def room_tokens(self) -> int:
        """Return the tokens that history may use if nothing is recalled."""
        return self._capped(self._room(0))

    def _input_tokens(self) -> int:
        return total_tokens(self._input)

    def _room(self, memory_tokens: int) -> int:
        return self.budget.request_tokens - sum(self._fixed.values()) - self._input_tokens() - memory_tokens

    def _capped(self, room: int) -> int:
        return room if self.budget.history is None else min(room, self.budget.history)


def instruction_messages(given: Any) -> tuple[Message, ...]:
    """Convert text, messages, or a list of either to system messages."""
    if given is None or given == "":
        return ()
    if isinstance(given, str | Mapping | Message):
        given = [given]
    elif not isinstance(given, Iterable):
        raise UsageError(f"a system prompt is text, a message or a list of them, not {type(given).__name__}")
    made: list[Message] = []
    for item in given:
        message = as_message({"role": "system", "content": item} if isinstance(item, str) else item)
        if message.role not in INSTRUCTIONS:
            raise UsageError(f"a system prompt has the role system or developer, not {message.role}")
        if message.text.strip():
            made.append(message)
    return tuple(made)


def as_tools(given: Any) -> tuple[Mapping[str, Any], ...]:
    """Check a list of tool definitions."""
    if given is None:
        return ()
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"tools is a list of tool definitions, not {type(given).__name__}")
    listed = tuple(given)
    for tool in listed:
        if not isinstance(tool, Mapping):
            raise UsageError(
                f"a tool is a dict in the shape of OpenAI or Anthropic, with name and schema, not {type(tool).__name__}"
            )
    return listed
