"""Decides which system prompt, profile, memory, tools, history, input and notes a request contains within its budget.

`assemble` is a pure function that is called once per request. All reading, searching and model calls happen beforehand;
see `memorist.context.reading`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import cast

import msgspec

from ..errors import BudgetError
from ..messages.message import INSTRUCTIONS, Message
from ..values import JsonMapping
from .budget import CACHED_MEMORY_PART, SECTIONS, TokenBudget, section_ceilings
from .context import STARTS, Account, Context
from .doubles import Said, without_repeated
from .items import MIN_CUT_TOKENS, NO_ROOM, Fate, MemoryItem, Shorten, best_items, fill_memory, render_memory
from .measure import REQUEST_TOKENS, count_tools, stored_tokens, text_message
from .plan import (
    Aid,
    FoldingPolicy,
    Left,
    Plan,
    Policy,
    SummaryTask,
    WrittenSummary,
    fit,
    needs_of,
    newest_that_fit,
    total_tokens,
)
from .profile import ProfileLine, fit_profile
from .reasoning import with_valid_reasoning
from .summaries import summary_message
from .tokens import Counter
from .units import Repair, Unit
from .validate import check_view

OMITTED = "(earlier messages are left out)"
MAX_ROUNDS = 2
"""How many times history may grow into room that memory frees up because history already contains its items."""
LEAD_TOKENS = 16
"""The maximum size of the note that is put first if the first message is not from a user."""
NO_LIMIT = 1 << 62
_Shared = tuple[Plan, Message | None, Message | None, list[Fate]]


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the parts of a request that share its room with the history and the memory."""

    counter: Counter
    fixed: Mapping[str, int] = MappingProxyType({"overhead": REQUEST_TOKENS})
    """These are the token counts of the system prompt, the tools and the notes. See `fixed_tokens`."""
    layout: str = "standard"
    system: tuple[Message, ...] = ()
    tools: tuple[JsonMapping, ...] = ()
    tools_left: tuple[str, ...] = ()
    input: tuple[Unit, ...] = ()
    """This is the current input, oldest first."""
    taken: int = 0
    """This is the number of input units that are also the newest units of the history."""
    query: str = ""
    scratchpad: Message | None = None
    profile: tuple[ProfileLine, ...] = ()
    shorten: Shorten | None = None
    head: tuple[Unit, ...] = ()
    """These are pinned units older than the history."""
    matches: tuple[Unit, ...] | None = None
    """These are older units that a search found for the policy."""
    summary: Message | None = None
    """This is the stored summary of messages older than the history."""
    summary_text: str | None = None
    folded: int = 0
    """This is the last position that the stored summary covers."""
    folded_at: datetime | None = None
    written: WrittenSummary | None = None
    """This is the summary written for this request."""
    repairs: tuple[Repair, ...] = ()
    ended: bool = True
    """This is True if the history was read to its beginning."""
    unread: tuple[int, int, int] | None = None
    """These are the first position, the last position and the number of messages that were not read."""
    fold_tokens: int | None = None
    """This is the size of the history, in tokens, at which the thread is folded, or None if recalled items do not stay
    in its history."""
    has_reasoning: bool = False
    has_attached: bool = True
    """This is True if a unit may contain memory recalled for an earlier turn."""


def assemble(
    units: Sequence[Unit], memory: Sequence[MemoryItem] | None, budget: TokenBudget, policy: Policy, parts: Parts
) -> Context:
    """Return a valid request that fits its budget. The same arguments always produce the same bytes.

    Args:
        units: The history, oldest first, without the current input.
        memory: The recalled items, best first; None if nothing is recalled for any turn.
        budget: The budget of the request.
        policy: Decides which part of the history to keep.
        parts: The other parts of the request.

    Raises:
        BudgetError: The content that must be sent does not fit.
    """
    return _Assembly(units, memory, budget, policy, parts).context()


def summary_task(
    units: Sequence[Unit], memory: Sequence[MemoryItem] | None, budget: TokenBudget, policy: Policy, parts: Parts
) -> SummaryTask | None:
    """Return the summary to write before `assemble` is called with the same arguments, or None if there is none."""
    return _Assembly(units, memory, budget, policy, parts).summary_task() if needs_of(policy).summary else None


def fixed_tokens(
    system: Sequence[Message],
    tools: Sequence[object],
    scratchpad: Message | None,
    budget: TokenBudget,
    counter: Counter,
) -> dict[str, int]:
    """Return the token counts of the parts that are always sent. Raises BudgetError if one of them exceeds its
    ceiling."""
    fixed = {
        "system": sum(stored_tokens(message, counter) for message in system),
        "tools": count_tools(tools, counter) if tools else 0,
        "scratchpad": _tokens(scratchpad),
        "overhead": REQUEST_TOKENS,
    }
    for name, ceiling in (("system", budget.system), ("tools", budget.tools)):
        if ceiling is not None and fixed[name] > ceiling:
            raise BudgetError(
                f"the section {name} takes {fixed[name]} tokens; its limit in the budget is {ceiling}",
                sections=fixed,
                budget_tokens=ceiling,
            )
    return fixed


class _Remembered(msgspec.Struct, frozen=True):
    """Holds the profile block and recalled memory of a request, and the items that were left out."""

    profile: Message | None
    lines: tuple[ProfileLine, ...]
    memory: Message | None
    fates: tuple[Fate, ...]

    @property
    def sent_items(self) -> tuple[MemoryItem, ...]:
        return tuple(fate.item for fate in self.fates if fate.fate != "dropped") if self.memory else ()


def _tokens(message: Message | None) -> int:
    return message.tokens or 0 if message is not None else 0


def _position(left: Left) -> int:
    return left.unit.position


def _without_room(fate: Fate) -> Fate:
    return fate if fate.fate == "dropped" else Fate(fate.item, fate.tokens, "dropped", NO_ROOM)


class _Assembly:
    """Holds the arguments of one call to `assemble` and the totals that its steps share."""

    def __init__(
        self,
        units: Sequence[Unit],
        memory: Sequence[MemoryItem] | None,
        budget: TokenBudget,
        policy: Policy,
        parts: Parts,
    ) -> None:
        self.units = units
        self.items: Sequence[MemoryItem] = memory or ()
        self.offered = self.items
        """The items that may be sent."""
        self.staying = NO_LIMIT
        """The ceiling for memory that stays in the history."""
        self.recalls = memory is not None
        self.budget = budget
        self.policy = policy
        self.parts = parts
        self.counter = parts.counter
        self.head, searched = parts.head, parts.matches
        # A unit of the window or the input is sent once, though it may be pinned or found as well.
        if self.head:
            seen = {unit.position for unit in (*units, *parts.input)}
            self.head = tuple(unit for unit in self.head if unit.position not in seen)
        if searched:
            held = {unit.position for unit in (*self.head, *parts.input)}
            searched = tuple(unit for unit in searched if unit.position not in held)
        self.head_tokens = total_tokens(self.head)
        self.input_tokens = total_tokens(parts.input)
        self.room = budget.request_tokens - sum(parts.fixed.values()) - self.input_tokens
        """The number of tokens available for history, memory and profile."""
        self.pinned = total_tokens([unit for unit in units if unit.pinned]) + self.head_tokens
        taken_tokens = self.input_tokens if parts.taken else 0
        self.aid = Aid(
            self.counter, parts.query, parts.summary_text, parts.written, searched, parts.taken, taken_tokens,
            parts.layout == "cached",
        )  # fmt: skip

    def context(self) -> Context:
        self._check()
        about, lines = self._profile()
        spent = _tokens(about)
        share = self._share_cached if self.parts.layout == "cached" else self._share
        plan, summary, memory, fates = share(spent, lines)
        room = self._capped(self.room - spent - _tokens(memory))
        return self._settle(plan, summary, _Remembered(about, lines, memory, tuple(fates)), room)

    def summary_task(self) -> SummaryTask | None:
        """Return the summary that the policy asks for, given the room that history will have."""
        self._check()
        about, lines = self._profile()
        spent = _tokens(about)
        if self.parts.layout == "cached":
            memory_tokens = self._reserved(self.room - spent - self.pinned)
        else:
            memory_tokens = _tokens(self._first_memory(spent, lines)[1]) if self.items else 0
        room = self._capped(self.room - spent - memory_tokens) - self.head_tokens
        summary = _tokens(self.parts.summary)
        policy = cast(FoldingPolicy, self.policy)  # as its needs declare
        return policy.fold(self.units, room if summary + self.pinned > room else room - summary, self.aid)

    def _check(self) -> None:
        ceiling = self.budget.input
        if ceiling is not None and self.input_tokens > ceiling:
            raise self._over({}, f"the input takes {self.input_tokens} tokens; its limit in the budget is {ceiling}")
        # Checked before anything is chosen, so that the error names the parts that can never fit.
        if self.room < 0:
            raise self._over({})
        if self.pinned > self._capped(self.room):
            raise self._over({"pinned": self.pinned})

    def _profile(self) -> tuple[Message | None, tuple[ProfileLine, ...]]:
        if not self.parts.profile:
            return None, ()
        most = min(self.room - self.pinned, self.budget.profile_tokens)
        return fit_profile(self.parts.profile, most, self.counter)

    def _capped(self, room: int) -> int:
        return room if self.budget.history is None else min(room, self.budget.history)

    def _share(self, spent: int, lines: Sequence[ProfileLine]) -> _Shared:
        """Reserve half of the room for memory and give history the rest. Memory also gets the room that history does
        not need.

        Memory is first chosen alongside the history that would fit. If memory then needs less room, more history fits
        and may contain some of the recalled items, so both are fitted again.
        """
        if not self.items:
            return *self._plan(self._capped(self.room - spent)), None, []
        # What is in the history need not be recalled, and what is recalled takes room from the history. A second round
        # only moves items that the first one freed, so more rounds would change little.
        ceiling, memory, fates = self._first_memory(spent, lines)
        rounds = MAX_ROUNDS if needs_of(self.policy).slides else 1
        while True:
            rounds -= 1
            plan, summary = self._plan(self._capped(self.room - spent - _tokens(memory)))
            statements, left = (
                self._statements_in(plan.keep, summary, lines),
                self._count_tokens_left(spent, plan, summary),
            )
            wasted = left - ceiling >= MIN_CUT_TOKENS and any(fate.for_room for fate in fates)
            if statements.agrees(fates) and not wasted:
                return plan, summary, memory, fates
            before, ceiling, (memory, fates) = memory, left, self._fit_memory(left, statements)
            if rounds == 0 or not plan.drop or _tokens(before) - _tokens(memory) < MIN_CUT_TOKENS:
                return plan, summary, memory, fates

    def _first_memory(self, spent: int, lines: Sequence[ProfileLine]) -> tuple[int, Message | None, list[Fate]]:
        """Return the ceiling for memory, and the memory chosen alongside the history that would fit."""
        room = self.room - spent - self.pinned
        ceiling = self._memory_ceiling(room)
        window = self._window(room - ceiling)
        return ceiling, *self._fit_memory(ceiling, self._statements_in(window, self.parts.summary, lines))

    def _share_cached(self, spent: int, lines: Sequence[ProfileLine]) -> _Shared:
        """Choose the window independently of the recalled items, so that it stays the same from turn to turn.

        Part of the room is always reserved for memory, and memory may use all the room that the window leaves free.
        Where recalled items stay in the history, a smaller part is enough.
        """
        reserved = self._reserved(self.room - spent - self.pinned)
        plan, summary = self._plan(self._capped(self.room - spent - reserved))
        if self.parts.has_attached:
            plan = msgspec.structs.replace(plan, keep=without_repeated(plan.keep, self.counter))
        if not self.items:
            return plan, summary, None, []
        # Without a profile or a summary, the history may need a note in front, and its window is already fixed here.
        left = self._count_tokens_left(spent, plan, summary) - (0 if spent or summary else LEAD_TOKENS)
        if self.parts.fold_tokens is not None and self.budget.memory is None:
            self.staying = min(left, self._staying_ceiling(self.parts.fold_tokens, plan, summary))
            self.offered = best_items(self.items, self.staying, self.counter.count)
        return plan, summary, *self._fit_memory(left, self._statements_in(plan.keep, summary, lines))

    def _staying_ceiling(self, fold_tokens: int, plan: Plan, summary: Message | None) -> int:
        """Return how many tokens of memory a turn may use if its items stay in the history.

        They use up the room until the next fold, which rewrites the whole history, so no cache can serve it. A turn may
        use all of that room, because a request that lacks the answer saves nothing. Items already in the history count
        too. Otherwise each turn about the same subject would add the next best items, until they fill the history.
        """
        left = fold_tokens - self.head_tokens - total_tokens(plan.keep) - _tokens(summary)
        return max(self.budget.staying_memory_tokens, left)

    def _reserved(self, room: int) -> int:
        if not self.recalls:
            return 0
        if self.budget.memory is not None:
            return min(room, self.budget.memory)
        share = room // CACHED_MEMORY_PART
        return share if self.parts.fold_tokens is None else min(share, self.budget.staying_memory_tokens)

    def _statements_in(self, window: Sequence[Unit], summary: Message | None, lines: Sequence[ProfileLine]) -> Said:
        return Said((*self.head, *window, *self.parts.input), lines, summary)

    def _count_tokens_left(self, spent: int, plan: Plan, summary: Message | None) -> int:
        """Return the tokens left for recalled items after the profile, the planned history and the summary, capped at
        the ceiling of the memory section."""
        left = self.room - spent - self.head_tokens - total_tokens(plan.keep) - _tokens(summary)
        return left if self.budget.memory is None else min(left, self.budget.memory)

    def _over(self, more: Mapping[str, int], message: str | None = None) -> BudgetError:
        sections = {**self.parts.fixed, "input": self.input_tokens, **more}
        listed = ", ".join(f"{name} {tokens}" for name, tokens in sections.items() if tokens)
        limit = self.budget.request_tokens
        return BudgetError(
            message or f"the required items do not fit into {limit} tokens: {listed}; raise the budget or shorten them",
            sections=sections,
            budget_tokens=limit,
        )

    def _fit_memory(self, ceiling: int, statements: Said) -> tuple[Message | None, list[Fate]]:
        """Return the fenced memory: as many recalled items as fit under its ceiling, without duplicates."""
        ceiling = min(ceiling, self.staying)
        items, double = statements.split(self.offered)
        double += [Fate(item, 0, "dropped", NO_ROOM) for item in self.items[len(self.offered) :]]
        fates = fill_memory(items, ceiling, self.counter.count, self.parts.shorten)
        while True:
            retained = [fate.item for fate in fates if fate.fate != "dropped"]
            if not retained:
                return None, [*fates, *double]
            message = text_message("user", render_memory(retained), self.counter)
            if (message.tokens or 0) <= ceiling:
                return message, [*fates, *double]
            # Fences and headings cost tokens that the items' own counts do not include. The least relevant item gives
            # way.
            last = max(index for index, fate in enumerate(fates) if fate.fate != "dropped")
            fates[last] = Fate(items[last], fates[last].tokens, "dropped", NO_ROOM)

    def _memory_ceiling(self, room: int) -> int:
        """Return half the room, plus the room that history does not need."""
        if self.budget.memory is not None:
            return min(room, self.budget.memory)
        wanted = total_tokens(self.units) + _tokens(self.parts.summary) if self.parts.ended else NO_LIMIT
        return max(room // 2, room - min(wanted, room))

    def _window(self, room: int) -> Sequence[Unit]:
        """Return the history that will be sent. This is exact for a sliding window; otherwise it is the newest units
        that fit."""
        room = self._capped(room + self.pinned)
        # Other policies may call a model or a search, so their plan is made once, when the room is known.
        if needs_of(self.policy).slides:
            return self._plan(room)[0].keep
        return newest_that_fit(self.units, room - self.head_tokens, "")[0]

    def _plan(self, room: int) -> tuple[Plan, Message | None]:
        """Return the summary and the policy's plan for this many tokens, minus those used by older pinned messages."""
        room, summary = room - self.head_tokens, self.parts.summary
        notes: tuple[str, ...] = ()
        if summary is not None and _tokens(summary) + self.pinned > room:
            summary, notes = None, ("the summary did not fit",)
        spent = _tokens(summary)
        plan = self.policy.plan(self.units, room - spent, self.aid)
        if plan.digest is not None:
            return fit(plan, room, "did not fit"), summary_message(plan.digest.text, self.counter)
        if notes:
            plan = msgspec.structs.replace(plan, notes=(*plan.notes, *notes))
        return fit(plan, room - spent, "did not fit"), summary

    # Putting together

    def _settle(self, plan: Plan, summary: Message | None, about: _Remembered, room: int) -> Context:
        """Drop units until history fits with the lead (see `Context.lead`): unpinned units first, then the summary,
        then recalled memory and profile."""
        keep, dropped = list(plan.keep), list(plan.drop)
        while True:
            lead, always = self._lead(keep, summary, about, bool(dropped or plan.fold or self.parts.unread))
            tokens = total_tokens(keep) + self.head_tokens + _tokens(summary) + _tokens(lead)
            if tokens <= room:
                break
            loose = next((index for index, unit in enumerate(keep) if not unit.pinned), None)
            if loose is not None:
                dropped.append(Left(keep.pop(loose), "no room for it and for the user's first message"))
            elif summary is not None:
                # What is pinned goes before a summary.
                summary = None
                dropped += [Left(unit, "the summary of it did not fit") for unit in plan.fold]
                notes = (*plan.notes, "the summary did not fit")
                plan = msgspec.structs.replace(plan, fold=(), digest=None, digest_tokens=0, notes=notes)
            elif room < self._capped(self.room):
                # What was recalled, the block, and room that was kept for them, go before what is pinned.
                about = _Remembered(None, (), None, tuple(_without_room(fate) for fate in about.fates))
                room = self._capped(self.room)
            else:
                raise self._over({"pinned": tokens})
        if len(dropped) > len(plan.drop):
            about = self._refit_items(about, keep, summary, tokens)
            dropped.sort(key=_position)
            plan = msgspec.structs.replace(plan, keep=tuple(keep), drop=tuple(dropped))
        return self._context(plan, summary, about, lead, always, tokens)

    def _refit_items(
        self, about: _Remembered, keep: Sequence[Unit], summary: Message | None, history_tokens: int
    ) -> _Remembered:
        """Return the recalled items, which are chosen again if some are no longer duplicates because units were
        dropped."""
        statements = self._statements_in(keep, summary, about.lines)
        if not about.fates or statements.agrees(about.fates):
            return about
        memory, fates = self._fit_memory(self.room - _tokens(about.profile) - history_tokens, statements)
        return msgspec.structs.replace(about, memory=memory, fates=tuple(fates))

    def _lead(
        self, keep: Sequence[Unit], summary: Message | None, about: _Remembered, cut: bool
    ) -> tuple[Message | None, bool]:
        if summary is not None or about.profile is not None:
            return None, False
        if about.memory is not None and self.parts.layout == "standard":
            return None, False
        first = next((part[0].messages[0].role for part in (self.head, keep, self.parts.input) if part), None)
        if first == "user":
            return None, False
        units = (*self.head, *keep, *self.parts.input)
        if all(message.role in INSTRUCTIONS for unit in units for message in unit.messages):
            # Anthropic refuses a request without messages, such as one of a system prompt alone.
            return text_message("user", STARTS, self.counter), False
        if first in INSTRUCTIONS:
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
        parts, memory, items = self.parts, about.memory, about.sent_items
        history = tuple([message for unit in (*self.head, *plan.keep) for message in unit.messages])
        sent_input = tuple([message for unit in parts.input for message in unit.messages])
        if parts.has_reasoning:
            history, saved = self._with_valid_reasoning(plan, about, history, sent_input)
            history_tokens -= saved
        view = self._view(summary, about, history, sent_input)
        check_view(view)
        spent = {
            **parts.fixed,
            "memory": _tokens(memory),
            "profile": _tokens(about.profile),
            "history": history_tokens,
            "input": self.input_tokens,
        }
        return Context(
            tokens=sum(spent.values()),
            layout=parts.layout,
            tools=parts.tools,
            system_messages=parts.system,
            profile_message=about.profile,
            profile=about.lines,
            memory_message=memory,
            summary_message=summary,
            history=history,
            input=sent_input,
            scratchpad_message=parts.scratchpad,
            account=self._account(plan, spent, about, len(items)),
            lead=lead,
            lead_always=always,
            memory_text=memory.text if memory else "",
            memory_items=items,
            recalled=about.fates,
            summary_text=plan.digest.text if plan.digest else (parts.summary_text if summary else None),
            view=view,
        )

    def _with_valid_reasoning(
        self, plan: Plan, about: _Remembered, history: tuple[Message, ...], sent_input: tuple[Message, ...]
    ) -> tuple[tuple[Message, ...], int]:
        """Return the history without reasoning that the provider would reject, and the number of tokens saved."""
        is_edited = bool(plan.drop or plan.fold or plan.elide or self.head or self.parts.unread)
        # In the standard layout memory stands before the history and changes with every turn.
        is_edited = is_edited or (self.parts.layout == "standard" and about.memory is not None)
        valid = with_valid_reasoning(history, sent_input, is_edited=is_edited, folded_at=self.parts.folded_at)
        saved = sum(
            stored_tokens(old, self.counter) - stored_tokens(new, self.counter)
            for old, new in zip(history, valid, strict=True)
            if old is not new
        )
        return valid, saved

    def _view(
        self, summary: Message | None, about: _Remembered, history: tuple[Message, ...], sent_input: tuple[Message, ...]
    ) -> tuple[Message, ...]:
        old = (summary,) if summary is not None else ()
        who = (about.profile,) if about.profile is not None else ()
        notes = (self.parts.scratchpad,) if self.parts.scratchpad is not None else ()
        recalled = (about.memory,) if about.memory is not None else ()
        if self.parts.layout == "standard":
            return (*who, *recalled, *old, *history, *sent_input, *notes)
        if sent_input and sent_input[0].role != "user":
            # The input is a tool result: it must follow its call directly.
            return (*who, *old, *history, *sent_input, *recalled, *notes)
        return (*who, *old, *history, *recalled, *sent_input, *notes)

    def _account(self, plan: Plan, spent: Mapping[str, int], about: _Remembered, retained: int) -> Account:
        parts, budget = self.parts, self.budget
        return Account(
            budget_tokens=budget.total,
            output_reserve=budget.output_reserve,
            counter=self.counter.name,
            policy=type(self.policy).__name__,
            section_tokens={name: spent.get(name, 0) for name in (*SECTIONS, "overhead")},
            ceilings=dict(section_ceilings(budget)),
            kept=(*self.head, *plan.keep),
            dropped=plan.drop,
            folded=plan.fold,
            elided=plan.elide,
            repairs=parts.repairs,
            unread=parts.unread,
            memory_kept=retained,
            memory_dropped=len(self.items) - retained,
            profile_kept=len(about.lines),
            profile_dropped=len(parts.profile) - len(about.lines),
            tools_left=parts.tools_left,
            method=plan.digest.method if plan.digest else "",
            behind=parts.folded,
            notes=plan.notes,
        )
