"""Puts system prompt, memory, tools, history, input and notes together into one request within its token budget.

History is fed newest first, in pages, and only as much as the policy wants to see:

    assembly = Assembly(budget=…, input=…)
    while (count := assembly.wants()):
        page = await older(before, count)
        assembly.feed(page, more=len(page) == count)
    context = assembly.finish()

so blocking and async callers drive the same object, and the cost depends on what is kept, not on what is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ..errors import BudgetError, UsageError
from ..messages import ATTACHED, INSTRUCTIONS, Message, as_message
from .budget import SECTIONS, TokenBudget, as_budget
from .context import Account, Context
from .fence import render_scratchpad
from .fold import COMPACT_AT, COMPACT_TO, Fold, plan_fold
from .items import Fate, MemoryItem, Shorten, as_items, fill_memory, render_memory
from .measure import REQUEST_TOKENS, count_tools, stored_tokens, text_message
from .plan import Aid, Digest, Left, Plan, Policy, Reach, Searcher, Summarizer, fit, newest_that_fit, total_tokens
from .policies import SlidingWindow, model_of
from .profile import ProfileLine, fit_profile
from .summaries import awaitable_model, summarize, summary_message
from .tokens import Counter, open_counter
from .units import EMPTY_MESSAGE, Grouper, Unit, group
from .validate import check_view

LAYOUTS = ("standard", "cached")
MAX_READ = 100_000
"""The most messages that are read for a policy that wants all history; summarise a thread before it has more."""
FOLDING_REACH = 3
"""How many times the room for history is read back to find the start of a fold; a longer unfolded part is folded
page by page before."""
OMITTED = "(earlier messages are left out)"
STARTS = "(start of the conversation)"
_INPUT = 1 << 62
_NO_LIMIT = 1 << 62
_FIRST_PAGE_TOKENS = 64
CACHED_FIRST, CACHED_LATER, CACHED_LEAST = 8, 64, 256
"""The ceiling of recalled memory in the cached layout, where each turn keeps what was recalled for it: an eighth of the
room at the first turn, falling to a sixty-fourth (at least 256 tokens) once history takes half of the room. With more,
recalled memory would fill the history and the window would move, or be folded, every few turns."""


class _Remembered(msgspec.Struct, frozen=True):
    """The profile block and the recalled memory of a request, with what was left out of them."""

    profile: Message | None
    lines: tuple[ProfileLine, ...]
    memory: Message | None
    fates: tuple[Fate, ...]

    @property
    def kept(self) -> tuple[MemoryItem, ...]:
        return tuple(fate.item for fate in self.fates if fate.fate != "dropped") if self.memory else ()


def _without_room(fate: Fate) -> Fate:
    return fate if fate.fate == "dropped" else Fate(fate.item, fate.tokens, "dropped", "over the room for memory")


class Assembly:
    """Builds one request from history that is fed to it newest first."""

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
        input: Any = None,
        scratchpad: Any = None,
        layout: str = "standard",
        summary: str | None = None,
        folded: int = 0,
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
        self.policy: Policy = policy if policy is not None else SlidingWindow()
        self.counter: Counter = open_counter(counter)
        self.layout = layout
        self._system = instruction_messages(system, self.counter)
        self._tools = tuple(tools or ())
        self._items = as_items(memory)
        self._shorten = shorten
        self._profile = tuple(profile)
        self._thread = thread
        self._first = first
        self._scratchpad = self._note(scratchpad)
        self._summary = summary_message(summary, self.counter) if summary else None
        self._summary_text = summary
        self._folded = folded
        self._folding = folding
        self._head, repairs = group(head, self.counter)
        self._grouper = Grouper(self.counter, attached=layout == "cached")
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
            self._push(as_message(listed[place]), _INPUT + place)

    # Reading

    @property
    def oldest(self) -> int:
        """The sequence number of the oldest message read; 0 where none was."""
        return self._oldest or 0

    def wants(self) -> int:
        """How many older messages to feed next; 0 when enough was seen."""
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
        """Take older messages, newest first; `more` is false when none come before them.

        Positions are the messages' sequence numbers, unless `position` (of the newest of the list) is given.
        """
        if not self._feed(page, position) and not more:
            self._end()

    def _feed(self, page: Iterable[Message], position: int | None) -> bool:
        """Read a page; true where the policy had enough before its end. This is the hot loop of every assembly."""
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
        """How far back to read, and the number of tokens up to which `_seen` need not be asked."""
        reach = self._reach or self._look()
        if reach is None or reach.units is not None:
            return reach, -1
        return reach, _NO_LIMIT if reach.tokens is None else reach.tokens

    def _push(self, message: Message, position: int) -> None:
        for unit in self._grouper.push(message, position):
            self._take(unit)

    def read_all(self, messages: Iterable[Message], *, position: int) -> None:
        """Take all messages, newest first, whatever the policy's reach."""
        for message in messages:
            self._push(message, position)
            position -= 1
        self._end()

    def _end(self) -> None:
        self._ended = True
        for unit in self._grouper.close():
            self._take(unit)

    def _take(self, unit: Unit) -> None:
        if unit.last >= _INPUT or (not self._explicit_input and not self._input):
            self._input.append(unit)
            return
        self._units.append(unit)
        shortened = self._reach.shortened if self._reach is not None and unit.exchange else None
        self._seen_tokens += unit.tokens if shortened is None else shortened(unit)

    def _look(self) -> Reach | None:
        """The policy's reach, or None until the current input was read completely (its room depends on it)."""
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

    # Deciding

    @property
    def ended(self) -> bool:
        """Whether the history was read to its beginning."""
        return self._ended

    @property
    def units(self) -> list[Unit]:
        """The history seen so far, oldest first, without the current input."""
        return self._units[::-1]

    def room_tokens(self) -> int:
        """The tokens history may take when nothing is recalled."""
        return self._capped(self._room(0))

    def _input_tokens(self) -> int:
        return total_tokens(self._input)

    def _room(self, memory_tokens: int) -> int:
        return self.budget.request_tokens - sum(self._fixed.values()) - self._input_tokens() - memory_tokens

    def _capped(self, room: int) -> int:
        return room if self.budget.history is None else min(room, self.budget.history)

    def finish(self) -> Context:
        """The request, within the budget and valid, or BudgetError."""
        if not self._ended:
            for unit in self._grouper.close():
                self._take(unit)
        self._check_input()
        self._without_doubles()
        pinned = total_tokens([unit for unit in self._units if unit.pinned]) + total_tokens(self._head)
        if pinned > self._capped(self._room(0)):
            raise self._over({"pinned": pinned})
        room = self._room(0) - pinned
        about, lines = fit_profile(self._profile, min(room, self.budget.profile_tokens), self.counter)
        spent = about.tokens or 0 if about else 0
        ceiling = self._memory_ceiling(room - spent)
        memory, fates = self._fit_memory(ceiling, self._window(room - spent - ceiling, pinned), lines)
        # In the cached layout the window must not depend on how much was recalled this turn, or its start would move.
        reserved = ceiling if self.layout == "cached" and self._items else 0
        room = self._capped(self._room(spent + max(reserved, memory.tokens or 0 if memory else 0)))
        plan, summary = self._plan(room - total_tokens(self._head), pinned)
        return self._settle(plan, summary, _Remembered(about, lines, memory, tuple(fates)), room)

    def next_fold(self, *, compact_at: float = COMPACT_AT, compact_to: float = COMPACT_TO) -> Fold | None:
        """The fold to write before this request is sent, or None; also None unless all unfolded history was read."""
        if not self._ended:
            return None
        room, previous = self.room_tokens(), self._summary_text
        return plan_fold(
            self.units, room, previous=previous, counter=self.counter, compact_at=compact_at, compact_to=compact_to
        )

    def _without_doubles(self) -> None:
        """Remove from `head` and `found` the units that the window or the input holds too, so each is sent once."""
        if self._head:
            seen = {unit.position for unit in (*self._units, *self._input)}
            self._head = [unit for unit in self._head if unit.position not in seen]
        if self._found:
            held = {unit.position for unit in (*self._head, *self._input)}
            self._found = tuple(unit for unit in self._found if unit.position not in held)

    async def finish_async(self) -> Context:
        """`finish`, awaiting the policy's language model if it has one."""
        model = awaitable_model(model_of(self.policy))
        if self._summarize is not None or model is None:
            return self.finish()
        asked: list[tuple[Sequence[Message], str | None, int]] = []

        def note(messages: Sequence[Message], previous: str | None, most: int) -> Digest | None:
            asked.append((messages, previous, most))
            return None

        # Run `finish` once to record what the policy would ask the model, then again with the model's answer.
        self._summarize = note
        context = self.finish()
        if asked:
            messages, previous, most = asked[0]
            digest = await summarize(model, previous, messages, most, counter=self.counter)
            self._summarize = lambda *_: digest
            context = self.finish()
        self._summarize = None
        return context

    def _check_input(self) -> None:
        if self._explicit_input and not self._input and any(fix.position >= _INPUT for fix in self._grouper.repairs):
            lost = next(fix.reason for fix in self._grouper.repairs if fix.position >= _INPUT)
            if lost != EMPTY_MESSAGE:
                raise UsageError(f"the input cannot be sent: {lost}; append the call to the thread first")
        tokens = self._input_tokens()
        ceiling = self.budget.input
        if ceiling is not None and tokens > ceiling:
            raise self._over({}, f"the input takes {tokens} tokens; its ceiling is {ceiling}")
        if self._room(0) < 0:
            raise self._over({})

    def _over(self, more: Mapping[str, int], message: str | None = None) -> BudgetError:
        sections = {**self._fixed, "input": self._input_tokens(), **more}
        listed = ", ".join(f"{name} {tokens}" for name, tokens in sections.items() if tokens)
        limit = self.budget.request_tokens
        return BudgetError(
            message or f"what must be sent does not fit {limit} tokens: {listed}; raise the budget or shorten these",
            sections=sections,
            budget_tokens=limit,
        )

    def _fit_memory(
        self, ceiling: int, window: Sequence[Unit], lines: Sequence[ProfileLine]
    ) -> tuple[Message | None, list[Fate]]:
        """The fenced memory message with as many recalled items, best first, as fit the ceiling; and all fates."""
        items, said = self._fresh(window, lines)
        fates = fill_memory(items, ceiling, self.counter.count, self._shorten)
        while True:
            kept = [fate.item for fate in fates if fate.fate != "dropped"]
            if not kept:
                return None, [*fates, *said]
            message = text_message("user", render_memory(kept), self.counter)
            if (message.tokens or 0) <= ceiling:
                return message, [*fates, *said]
            last = max(place for place, fate in enumerate(fates) if fate.fate != "dropped")
            fates[last] = Fate(items[last], fates[last].tokens, "dropped", "over the room for memory")

    def _memory_ceiling(self, room: int) -> int:
        """The most tokens of recalled memory: half the room and what history leaves; see CACHED_FIRST for `cached`."""
        if self.budget.memory is not None:
            return min(room, self.budget.memory)
        old = self._summary.tokens or 0 if self._summary else 0
        if self.layout == "cached":
            told = self._seen_tokens + old
            return min(room, max(CACHED_LEAST, room // CACHED_LATER, room // CACHED_FIRST - told // 4))
        wanted = self._seen_tokens + old if self._ended else _NO_LIMIT
        return max(room // 2, room - min(wanted, room))

    def _window(self, room: int, pinned: int) -> Sequence[Unit]:
        """The history that will be sent: exactly for a sliding window, as the newest that fit for other policies."""
        room = self._capped(room + pinned) - total_tokens(self._head)
        if isinstance(self.policy, SlidingWindow):
            return self._plan(room, pinned)[0].keep
        return newest_that_fit(self.units, room, "")[0]

    def _fresh(self, window: Sequence[Unit], lines: Sequence[ProfileLine]) -> tuple[list[MemoryItem], list[Fate]]:
        """The recalled items that neither history nor profile already says, and the fates of those that they do."""
        held = (*self._head, *window, *self._input)
        said = {message.id for unit in held for message in unit.messages if message.thread}
        for unit in window if self.layout == "cached" else ():
            for message in unit.messages:
                said.update((message.metadata.get(ATTACHED) or {}).get("sources", ()))
        about = {line.source for line in lines}
        fresh: list[MemoryItem] = []
        double: list[Fate] = []
        for item in self._items:
            if item.source and item.source in said:
                double.append(Fate(item, 0, "dropped", "in the history"))
            elif item.source and item.source in about:
                double.append(Fate(item, 0, "dropped", "in the profile"))
            else:
                fresh.append(item)
        return fresh, double

    def _plan(self, room: int, pinned: int) -> tuple[Plan, Message | None]:
        summary = self._summary
        notes: tuple[str, ...] = ()
        if summary is not None and (summary.tokens or 0) + pinned > room:
            summary, notes = None, ("the summary did not fit",)
        spent = summary.tokens or 0 if summary else 0
        plan = self.policy.plan(self.units, room - spent, self._aid())
        if plan.digest is not None:
            return fit(plan, room, "did not fit"), summary_message(plan.digest.text, self.counter)
        plan = msgspec.structs.replace(plan, notes=(*plan.notes, *notes))
        return fit(plan, room - spent, "did not fit"), summary

    # Putting together

    def _settle(self, plan: Plan, summary: Message | None, about: _Remembered, room: int) -> Context:
        """Drop units until history fits with the lead (see `Context.lead`): unpinned units first, then the summary,
        then recalled memory and profile."""
        keep, dropped = list(plan.keep), list(plan.drop)
        while True:
            lead, always = self._lead(keep, summary, about, bool(dropped or plan.fold or self._unread()))
            tokens = total_tokens(keep) + total_tokens(self._head)
            tokens += (summary.tokens or 0 if summary else 0) + (lead.tokens or 0 if lead else 0)
            if tokens <= room:
                break
            loose = next((place for place, unit in enumerate(keep) if not unit.pinned), None)
            if loose is not None:
                dropped.append(Left(keep.pop(loose), "no room for it and a first message of the user's"))
            elif summary is not None:
                # Pinned units have priority over a summary.
                summary = None
                dropped += [Left(unit, "the summary of it did not fit") for unit in plan.fold]
                notes = (*plan.notes, "the summary did not fit")
                plan = msgspec.structs.replace(plan, fold=(), digest=None, digest_tokens=0, notes=notes)
            elif room < self._capped(self._room(0)):
                # Pinned units have priority over recalled memory, the profile block and the room reserved for them.
                about = _Remembered(None, (), None, tuple(_without_room(fate) for fate in about.fates))
                room = self._capped(self._room(0))
            else:
                raise self._over({"pinned": tokens})
        dropped.sort(key=lambda left: left.unit.position)
        plan = msgspec.structs.replace(plan, keep=tuple(keep), drop=tuple(dropped))
        return self._context(plan, summary, about, lead, always, tokens)

    def _lead(
        self, keep: Sequence[Unit], summary: Message | None, about: _Remembered, cut: bool
    ) -> tuple[Message | None, bool]:
        if summary is not None or about.profile is not None:
            return None, False
        if about.memory is not None and self.layout == "standard":
            return None, False
        first = next(iter((*self._head, *keep, *reversed(self._input))), None)
        if first is None or first.messages[0].role in ("user", *INSTRUCTIONS):
            return None, False
        return text_message("user", OMITTED if cut else STARTS, self.counter), cut

    def _context(
        self,
        plan: Plan,
        summary: Message | None,
        about: _Remembered,
        lead: Message | None,
        always: bool,
        history_tokens: int,
    ) -> Context:
        memory, kept = about.memory, about.kept
        history = tuple([message for unit in (*self._head, *plan.keep) for message in unit.messages])
        given = tuple([message for unit in reversed(self._input) for message in unit.messages])
        view = self._view(summary, about, history, given)
        check_view(view)
        spent = {**self._fixed, "memory": memory.tokens or 0 if memory else 0}
        spent["profile"] = about.profile.tokens or 0 if about.profile else 0
        spent |= {"history": history_tokens, "input": self._input_tokens()}
        tokens = sum(spent.values())
        self.counter.assembled(tokens)
        return Context(
            tokens=tokens,
            layout=self.layout,
            tools=self._tools,
            system_messages=self._system,
            profile_message=about.profile,
            profile=about.lines,
            memory_message=memory,
            summary_message=summary,
            history=history,
            input=given,
            scratchpad_message=self._scratchpad,
            account=self._account(plan, spent, about),
            lead=lead,
            lead_always=always,
            memory_text=memory.text if memory else "",
            memory_items=kept,
            recalled=about.fates,
            summary_text=plan.digest.text if plan.digest else (self._summary_text if summary else None),
            view=view,
        )

    def _view(
        self, summary: Message | None, about: _Remembered, history: tuple[Message, ...], given: tuple[Message, ...]
    ) -> tuple[Message, ...]:
        memory = about.memory
        old = (summary,) if summary is not None else ()
        who = (about.profile,) if about.profile is not None else ()
        notes = (self._scratchpad,) if self._scratchpad is not None else ()
        recalled = (memory,) if memory is not None else ()
        if self.layout == "standard":
            return (*who, *recalled, *old, *history, *given, *notes)
        if given and given[0].role != "user":
            # The input is a tool result: it must follow its call directly.
            return (*who, *old, *history, *given, *recalled, *notes)
        return (*who, *old, *history, *recalled, *given, *notes)

    def _account(self, plan: Plan, spent: Mapping[str, int], about: _Remembered) -> Account:
        kept = len(about.kept)
        return Account(
            budget_tokens=self.budget.total,
            output_reserve=self.budget.output_reserve,
            counter=self.counter.name,
            policy=type(self.policy).__name__,
            section_tokens={name: spent.get(name, 0) for name in (*SECTIONS, "overhead")},
            ceilings={name: self.budget.ceiling(name) for name in SECTIONS},
            kept=(*self._head, *plan.keep),
            dropped=plan.drop,
            folded=plan.fold,
            elided=plan.elide,
            repairs=tuple(self._grouper.repairs),
            unread=self._unread(),
            memory_kept=kept,
            memory_dropped=len(self._items) - kept,
            profile_kept=len(about.lines),
            profile_dropped=len(self._profile) - len(about.lines),
            method=plan.digest.method if plan.digest else "",
            behind=self._folded,
            notes=plan.notes,
        )

    def _unread(self) -> tuple[int, int, int] | None:
        if self._ended or self._oldest is None:
            return None
        numbered = bool(self._units) and self._units[-1].messages[0].seq > 0
        first = max(self._folded + 1, 1) if numbered else self._first
        count = self._oldest - first
        return (first, self._oldest - 1, count) if count > 0 else None


def instruction_messages(given: Any, counter: Counter) -> tuple[Message, ...]:
    """System messages from text, messages, or a list of either."""
    if given is None or given == "":
        return ()
    listed = [given] if isinstance(given, str | Mapping | Message) else list(given)
    made: list[Message] = []
    for item in listed:
        message = as_message({"role": "system", "content": item} if isinstance(item, str) else item)
        if message.role not in INSTRUCTIONS:
            raise UsageError(f"a system prompt has the role system or developer, not {message.role}")
        if message.text.strip():
            made.append(message)
    return tuple(made)
