"""Combines system prompt, memory, tools, history, input and notes into one request that fits a token budget.

The caller feeds the history in pages, newest first, and only as much as the policy asks for:

    assembly = Assembly(budget=…, input=…)
    while (count := assembly.wants()):
        page = await older(before, count)
        assembly.feed(page, more=len(page) == count)
    context = assembly.finish()

Blocking and async callers use the same object, and the cost depends on the history that is kept, not on the stored one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ..errors import BudgetError, UsageError
from ..messages.message import INSTRUCTIONS, Message
from .budget import CACHED_MEMORY_PART, SECTIONS
from .context import STARTS, Account, Context
from .doubles import Said, without_repeated
from .fold import COMPACT_AT, COMPACT_TO, Fold, plan_fold
from .items import NO_ROOM, WORTH_CUTTING, Fate, MemoryItem, fill_memory, render_memory
from .measure import stored_tokens, text_message
from .plan import Digest, Left, Plan, fit, newest_that_fit, total_tokens
from .profile import ProfileLine, fit_profile
from .reading import INPUT, NO_LIMIT, Reading
from .reasoning import with_valid_reasoning
from .summaries import awaitable_model, summarize, summary_message
from .units import EMPTY_MESSAGE, Unit
from .validate import check_view

OMITTED = "(earlier messages are left out)"
ROUNDS = 2
"""How often history may grow into the room that memory no longer needs because history contains its items."""
LEAD_TOKENS = 16
"""An upper bound for the note that comes first if the first message is not a user's."""
_Shared = tuple[Plan, Message | None, Message | None, list[Fate]]


class _Remembered(msgspec.Struct, frozen=True):
    """The profile block and the recalled memory of a request, and the items that were left out."""

    profile: Message | None
    lines: tuple[ProfileLine, ...]
    memory: Message | None
    fates: tuple[Fate, ...]

    @property
    def kept(self) -> tuple[MemoryItem, ...]:
        return tuple(fate.item for fate in self.fates if fate.fate != "dropped") if self.memory else ()


def _tokens(message: Message | None) -> int:
    return message.tokens or 0 if message is not None else 0


def _without_room(fate: Fate) -> Fate:
    return fate if fate.fate == "dropped" else Fate(fate.item, fate.tokens, "dropped", NO_ROOM)


class Assembly(Reading):
    """Builds one request from history that the caller feeds to it, newest first."""

    def finish(self) -> Context:
        """Return the valid request within its budget.

        Raises:
            BudgetError: The content that must be sent does not fit.
        """
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
        share = self._share_cached if self.layout == "cached" else self._share
        plan, summary, memory, fates = share(spent, pinned, lines)
        room = self._capped(self._room(spent + _tokens(memory)))
        return self._settle(plan, summary, _Remembered(about, lines, memory, tuple(fates)), room)

    def _share(self, spent: int, pinned: int, lines: Sequence[ProfileLine]) -> _Shared:
        """Reserve half of the room for memory, give history the rest, and give memory the room that history leaves.

        Memory is first chosen next to the history that would fit. If memory then needs less room, more history fits
        and may contain some of the recalled items, so both are fitted again.
        """
        if not self._items:
            return *self._plan(self._capped(self._room(spent)), pinned), None, []
        room = self._room(spent) - pinned
        ceiling = self._memory_ceiling(room)
        window = self._window(room - ceiling, pinned)
        memory, fates = self._fit_memory(ceiling, self._said(window, self._summary, lines))
        rounds = ROUNDS if self._needs.slides else 1
        while True:
            rounds -= 1
            plan, summary = self._plan(self._capped(self._room(spent + _tokens(memory))), pinned)
            said, left = self._said(plan.keep, summary, lines), self._left(spent, plan, summary)
            wasted = left - ceiling >= WORTH_CUTTING and any(fate.for_room for fate in fates)
            if said.agrees(fates) and not wasted:
                return plan, summary, memory, fates
            before, ceiling, (memory, fates) = memory, left, self._fit_memory(left, said)
            if rounds == 0 or not plan.drop or _tokens(before) - _tokens(memory) < WORTH_CUTTING:
                return plan, summary, memory, fates

    def _share_cached(self, spent: int, pinned: int, lines: Sequence[ProfileLine]) -> _Shared:
        """Choose the window independently of the recalled items, so that it stays the same from turn to turn.

        A quarter of the room is always reserved for memory, and memory may use all the room that the window leaves.
        """
        room = self._room(spent) - pinned
        reserved = room // CACHED_MEMORY_PART if self.budget.memory is None else min(room, self.budget.memory)
        plan, summary = self._plan(self._capped(self._room(spent + (reserved if self._recalls else 0))), pinned)
        plan = msgspec.structs.replace(plan, keep=without_repeated(plan.keep, self.counter))
        left = self._left(spent, plan, summary) - (0 if spent or summary else LEAD_TOKENS)
        memory, fates = self._fit_memory(left, self._said(plan.keep, summary, lines)) if self._items else (None, [])
        return plan, summary, memory, fates

    def _said(self, window: Sequence[Unit], summary: Message | None, lines: Sequence[ProfileLine]) -> Said:
        return Said((*self._head, *window, *self._input), lines, summary)

    def _left(self, spent: int, plan: Plan, summary: Message | None) -> int:
        """Return the tokens left for recalled items after the profile, the planned history and the summary, at most the
        ceiling of the memory section."""
        left = self._room(spent) - total_tokens((*self._head, *plan.keep)) - _tokens(summary)
        return left if self.budget.memory is None else min(left, self.budget.memory)

    def next_fold(self, *, compact_at: float = COMPACT_AT, compact_to: float = COMPACT_TO) -> Fold | None:
        """Return the fold to write before sending this request, or None. It needs all unfolded history to be read."""
        if not self._ended:
            return None
        room, previous = self.room_tokens(), self._summary_text
        return plan_fold(
            self.units, room, previous=previous, counter=self.counter, compact_at=compact_at, compact_to=compact_to
        )

    def _without_doubles(self) -> None:
        """Remove units from `head` and `found` that the window or the input also contains, to send each once."""
        if self._head:
            seen = {unit.position for unit in (*self._units, *self._input)}
            self._head = [unit for unit in self._head if unit.position not in seen]
        if self._found:
            held = {unit.position for unit in (*self._head, *self._input)}
            self._found = tuple(unit for unit in self._found if unit.position not in held)

    async def finish_async(self) -> Context:
        """Return the request like `finish`, and await the policy's language model if it has one."""
        model = awaitable_model(self._needs.model)
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
        if self._explicit_input and not self._input and any(fix.position >= INPUT for fix in self._grouper.repairs):
            lost = next(fix.reason for fix in self._grouper.repairs if fix.position >= INPUT)
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

    def _fit_memory(self, ceiling: int, said: Said) -> tuple[Message | None, list[Fate]]:
        """Return the fenced memory: as many recalled items as fit under its ceiling, without duplicates."""
        items, double = said.split(self._items)
        fates = fill_memory(items, ceiling, self.counter.count, self._shorten)
        while True:
            kept = [fate.item for fate in fates if fate.fate != "dropped"]
            if not kept:
                return None, [*fates, *double]
            message = text_message("user", render_memory(kept), self.counter)
            if (message.tokens or 0) <= ceiling:
                return message, [*fates, *double]
            last = max(place for place, fate in enumerate(fates) if fate.fate != "dropped")
            fates[last] = Fate(items[last], fates[last].tokens, "dropped", NO_ROOM)

    def _memory_ceiling(self, room: int) -> int:
        """Return half the room, plus the room that history does not need."""
        if self.budget.memory is not None:
            return min(room, self.budget.memory)
        wanted = self._seen_tokens + _tokens(self._summary) if self._ended else NO_LIMIT
        return max(room // 2, room - min(wanted, room))

    def _window(self, room: int, pinned: int) -> Sequence[Unit]:
        """Return the history that will be sent: exact for a sliding window, the newest units that fit otherwise."""
        room = self._capped(room + pinned)
        if self._needs.slides:
            return self._plan(room, pinned)[0].keep
        return newest_that_fit(self.units, room - total_tokens(self._head), "")[0]

    def _plan(self, room: int, pinned: int) -> tuple[Plan, Message | None]:
        """Return the summary and the policy's plan for this many tokens, less those of older pinned messages."""
        room, summary = room - total_tokens(self._head), self._summary
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
                # What is pinned goes before a summary.
                summary = None
                dropped += [Left(unit, "the summary of it did not fit") for unit in plan.fold]
                notes = (*plan.notes, "the summary did not fit")
                plan = msgspec.structs.replace(plan, fold=(), digest=None, digest_tokens=0, notes=notes)
            elif room < self._capped(self._room(0)):
                # What was recalled, the block, and room that was kept for them, go before what is pinned.
                about = _Remembered(None, (), None, tuple(_without_room(fate) for fate in about.fates))
                room = self._capped(self._room(0))
            else:
                raise self._over({"pinned": tokens})
        if len(dropped) > len(plan.drop):
            about = self._refitted(about, keep, summary, tokens)
        dropped.sort(key=lambda left: left.unit.position)
        plan = msgspec.structs.replace(plan, keep=tuple(keep), drop=tuple(dropped))
        return self._context(plan, summary, about, lead, always, tokens)

    def _refitted(
        self, about: _Remembered, keep: Sequence[Unit], summary: Message | None, history_tokens: int
    ) -> _Remembered:
        """Return the recalled items, chosen again if dropped units mean that some are no longer duplicates."""
        said = self._said(keep, summary, about.lines)
        if not about.fates or said.agrees(about.fates):
            return about
        memory, fates = self._fit_memory(self._room(_tokens(about.profile) + history_tokens), said)
        return msgspec.structs.replace(about, memory=memory, fates=tuple(fates))

    def _lead(
        self, keep: Sequence[Unit], summary: Message | None, about: _Remembered, cut: bool
    ) -> tuple[Message | None, bool]:
        if summary is not None or about.profile is not None:
            return None, False
        if about.memory is not None and self.layout == "standard":
            return None, False
        units = [*self._head, *keep, *reversed(self._input)]
        if all(message.role in INSTRUCTIONS for unit in units for message in unit.messages):
            # Anthropic refuses a request without messages, such as one of a system prompt alone.
            return text_message("user", STARTS, self.counter), False
        if units[0].messages[0].role in ("user", *INSTRUCTIONS):
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
        if self._grouper.has_reasoning:
            history, saved = self._with_valid_reasoning(plan, about, history, given)
            history_tokens -= saved
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

    def _with_valid_reasoning(
        self, plan: Plan, about: _Remembered, history: tuple[Message, ...], given: tuple[Message, ...]
    ) -> tuple[tuple[Message, ...], int]:
        """Return the history without reasoning that the provider would reject, and the tokens that this saves."""
        is_edited = bool(plan.drop or plan.fold or plan.elide or self._head or self._unread())
        # In the standard layout memory stands before the history and changes with every turn.
        is_edited = is_edited or (self.layout == "standard" and about.memory is not None)
        valid = with_valid_reasoning(history, given, is_edited=is_edited, folded_at=self._folded_at)
        saved = sum(
            stored_tokens(old, self.counter) - stored_tokens(new, self.counter)
            for old, new in zip(history, valid, strict=True)
            if old is not new
        )
        return valid, saved

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
            tools_left=self._tools_left,
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
