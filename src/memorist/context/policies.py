"""Defines the eviction policies. Each is a frozen struct whose `plan` is a pure function of units and room, and reads
nothing.

A policy without a limit fills the whole room. If a plan is larger than the room, the assembly drops its oldest unpinned
units until it fits. Every policy keeps pinned units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import msgspec

from ..errors import UsageError
from ..messages.message import Message
from .measure import count_message, stored_tokens
from .plan import (
    Aid,
    FoldingPolicy,
    Left,
    Needs,
    Plan,
    Policy,
    Reach,
    SummaryTask,
    fit,
    needs_of,
    newest_that_fit,
    stepped,
    total_tokens,
)
from .similar import default_scores, most_similar
from .units import Unit

_EVERYTHING = Reach()


def check_count(name: str, value: object) -> None:
    """Raise UsageError unless a count is None or a non-negative whole number."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise UsageError(f"{name} must be a whole number, zero or more")


def checked_policy(policy: object) -> Policy:
    """Return the policy, or raise UsageError if it is not one."""
    if isinstance(policy, type) or not (hasattr(policy, "reach") and hasattr(policy, "plan")):
        raise UsageError("a policy is an object such as SlidingWindow() or Summarize()")
    return cast(Policy, policy)


class Fifo(msgspec.Struct, frozen=True):
    """Keeps the newest `max_messages` units: first in, first out."""

    needs: ClassVar[Needs] = Needs(slides=True)
    max_messages: int = 20

    def __post_init__(self) -> None:
        check_count("max_messages", self.max_messages)

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        """Ask for the newest `max_messages` units."""
        return Reach(units=self.max_messages)

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        """Keep the newest units and the pinned ones."""
        return _split(units, len(units) - max(0, self.max_messages - aid.taken), f"over {self.max_messages} messages")


class SlidingWindow(msgspec.Struct, frozen=True):
    """Keeps the newest units that fit within `max_tokens`, or within the room for history.

    In the cached layout, the start of the window rarely moves, so that prompt caches keep working.
    """

    needs: ClassVar[Needs] = Needs(slides=True)
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        check_count("max_tokens", self.max_tokens)

    def _limit(self, room_tokens: int, aid: Aid) -> int:
        return room_tokens if self.max_tokens is None else min(room_tokens, self.max_tokens - aid.taken_tokens)

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        """Ask for as many tokens as fit."""
        return Reach(tokens=self._limit(room_tokens, aid))

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        """Keep the longest run of the newest units that fits, and the pinned ones."""
        limit = self._limit(room_tokens, aid)
        keep, drop = newest_that_fit(units, limit, "older than the window")
        if aid.steady and drop:
            keep, more = stepped(keep, limit, "older than the window, which moves in steps")
            drop = (*drop, *more)
        return Plan(keep, drop)


class Summarize(msgspec.Struct, frozen=True):
    """Summarises old units and keeps the last `keep` (or `fraction`), once history uses `threshold` of the room.

    `model` is a function (messages, previous, max_tokens) → text, or an object with `complete`. Without a model, the
    extractive summarizer is used.
    """

    threshold: float = 0.8
    keep: int = 4
    fraction: float | None = None
    model: Any = None
    max_tokens: int | None = None
    """This is the maximum number of tokens in the summary; a quarter of the room by default."""

    def __post_init__(self) -> None:
        check_count("keep", self.keep)
        if not isinstance(self.threshold, int | float) or not 0 < self.threshold <= 1:
            raise UsageError("threshold must be above 0 and at most 1")
        if self.fraction is not None and (not isinstance(self.fraction, int | float) or not 0 < self.fraction < 1):
            raise UsageError("fraction must be between 0 and 1")

    @property
    def needs(self) -> Needs:
        """This policy needs a summary, which its model writes if it has one."""
        return Needs(summary=True, model=self.model)

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        """Ask for all history that has not been summarised yet."""
        return _EVERYTHING

    def unchanged_units(self, count: int, taken: int) -> int:
        """Return how many of `count` units stay unchanged."""
        keep = self.keep if self.fraction is None else math.ceil((count + taken) * self.fraction)
        return max(0, min(count, keep - taken))

    def fold(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> SummaryTask | None:
        """Ask for a summary of the old units once history uses `threshold` of the room."""
        total = total_tokens(units) + aid.taken_tokens
        if aid.previous:
            total += aid.counter.count(aid.previous)
        if total <= self.threshold * (room_tokens + aid.taken_tokens):
            return None
        most = room_tokens // 4 if self.max_tokens is None else min(room_tokens, self.max_tokens)
        cut = len(units) - self.unchanged_units(len(units), aid.taken)
        pinned = total_tokens(unit for unit in units[:cut] if unit.pinned)
        tail = total_tokens(units[cut:])
        while cut < len(units) and pinned + tail + most > room_tokens:
            # The recent units and a summary do not fit together: summarise the oldest recent unit too.
            tail -= units[cut].tokens
            pinned += units[cut].tokens if units[cut].pinned else 0
            cut += 1
        folded = tuple(unit for unit in units[:cut] if not unit.pinned)
        # Pinned units have priority over the summary.
        return SummaryTask(folded, min(most, room_tokens - pinned - tail)) if folded else None

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        """Keep the summary and the units it does not replace. Without a summary, keep the newest units that fit."""
        written = aid.written
        if written is None or written.digest is None:
            keep, drop = newest_that_fit(units, room_tokens, "older than the window")
            return Plan(keep, drop, notes=("no shorter summary could be made",) if written is not None else ())
        from .summaries import summary_tokens

        digest = written.digest
        folded = tuple(unit for unit in units if unit.position in written.positions)
        keep = tuple(unit for unit in units if unit.position not in written.positions)
        notes = (digest.note,) if digest.note else ()
        tokens = summary_tokens(digest.text, aid.counter)
        return Plan(keep, fold=folded, digest=digest, digest_tokens=tokens, notes=notes)


class VectorSwap(msgspec.Struct, frozen=True):
    """Keeps the newest `keep` units, and adds the `k` older ones that are most relevant to the current input. Without a
    `search` function, older units are ranked by the rare words they share with the input.
    """

    keep: int = 10
    k: int = 5

    def __post_init__(self) -> None:
        check_count("keep", self.keep)
        check_count("k", self.k)

    @property
    def needs(self) -> Needs:
        """This policy needs a search that returns `k` older units."""
        return Needs(search=self.k)

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        """Ask for all history, or for the newest `keep` units if the caller has searched the older ones."""
        return _EVERYTHING if aid.matches is None else Reach(units=self.keep)

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        """Keep the newest units and the search results that still fit, in chronological order."""
        cut = len(units) - max(0, self.keep - aid.taken)
        recent = _split(units, cut, "not among the newest, not found for the input")
        recent = fit(recent, room_tokens, "did not fit")
        dropped = [left.unit for left in recent.drop]
        room = room_tokens - recent.tokens
        held = {unit.position for unit in recent.keep}
        matches: list[Unit] = []
        for unit in self._similar(dropped, aid):
            if unit.position not in held and unit.tokens <= room and len(matches) < self.k:
                room -= unit.tokens
                held.add(unit.position)
                matches.append(unit)
        keep = tuple(sorted([*recent.keep, *matches], key=_position))
        return Plan(keep, tuple(left for left in recent.drop if left.unit.position not in held))

    def _similar(self, old: Sequence[Unit], aid: Aid) -> Sequence[Unit]:
        """Return relevant older units, best first. They are found by a search, or share rare words with the input."""
        return aid.matches if aid.matches is not None else [old[at] for at in most_similar(aid.query, old, self.k)]


class Importance(msgspec.Struct, frozen=True):
    """Keeps the highest-scoring units that fit, in chronological order.

    `score` is a function that accepts a unit and returns a number. The default considers role, recency, references,
    questions, decisions, tool errors and the importance stored with a message.
    """

    score: Callable[[Unit], float] | None = None

    def __post_init__(self) -> None:
        if self.score is not None and not callable(self.score):
            raise UsageError("score is a function from a unit to a number")

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        """Ask for all history that has not been summarised yet, since any unit may score highest."""
        return _EVERYTHING

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        """Keep units by score until the room is full; if two scores are equal, prefer the newer unit."""
        scores = default_scores(units) if self.score is None else [float(self.score(unit)) for unit in units]
        room = room_tokens - sum(unit.tokens for unit in units if unit.pinned)
        chosen: set[int] = {index for index, unit in enumerate(units) if unit.pinned}
        for index in sorted(range(len(units)), key=lambda at: (-scores[at], -at)):
            if index not in chosen and units[index].tokens <= room:
                room -= units[index].tokens
                chosen.add(index)
        keep = tuple(unit for index, unit in enumerate(units) if index in chosen)
        drop = tuple(
            Left(unit, f"scored {scores[index]:.2f}, too little for the room")
            for index, unit in enumerate(units)
            if index not in chosen
        )
        return Plan(keep, drop)


class ElideToolResults(msgspec.Struct, frozen=True):
    """Keeps every unit, but replaces tool results over `max_tokens` with a marker that says where the full text is."""

    max_tokens: int | None = None

    def __post_init__(self) -> None:
        check_count("max_tokens", self.max_tokens)

    def _limit(self, room_tokens: int) -> int:
        return max(64, room_tokens // 20) if self.max_tokens is None else self.max_tokens

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        """Ask for as many tokens as fit after long results are replaced, assuming that recalled memory uses half of the
        room."""
        limit = self._limit(room_tokens // 2)
        return Reach(tokens=room_tokens, shortened=lambda unit: self._shown(unit, limit, aid).tokens)

    @staticmethod
    def _shown(unit: Unit, limit: int, aid: Aid) -> Unit:
        return elide(unit, limit, aid) if unit.exchange and not unit.pinned and unit.tokens > limit else unit

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        """Keep all units, and replace long tool results with markers, except in pinned units."""
        keep: list[Unit] = []
        elided: list[Left] = []
        limit = self._limit(room_tokens)
        for unit in units:
            short = self._shown(unit, limit, aid)
            if short is not unit:
                elided.append(Left(unit, f"tool result over {limit} tokens"))
            keep.append(short)
        return Plan(tuple(keep), elide=tuple(elided))


@dataclass(frozen=True, init=False)
class Chain:
    """Applies the first policy and then the following ones, in order, until the history fits."""

    policies: tuple[Policy, ...]

    def __init__(self, *policies: Policy) -> None:
        if not policies:
            raise UsageError("a chain needs at least one policy")
        object.__setattr__(self, "policies", tuple(map(checked_policy, policies)))

    @property
    def needs(self) -> Needs:
        """This policy needs everything that the policies in it need."""
        members = [needs_of(policy) for policy in self.policies]
        return Needs(
            search=max(needs.search for needs in members),
            summary=any(needs.summary for needs in members),
            model=next((needs.model for needs in members if needs.model is not None), None),
        )

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        """Ask for all history if one of its policies needs it; otherwise ask for as much as the first policy needs."""
        reaches = [policy.reach(room_tokens, aid) for policy in self.policies]
        if any(reach.tokens is None and reach.units is None for reach in reaches):
            return _EVERYTHING
        return reaches[0]

    def fold(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> SummaryTask | None:
        """Ask for the summary of the first policy that needs one, if history does not fit before it is applied."""
        whole = Plan(tuple(units))
        for index, policy in enumerate(self.policies):
            if index and whole.tokens <= room_tokens:
                return None
            if needs_of(policy).summary:
                task = cast(FoldingPolicy, policy).fold(whole.keep, room_tokens, aid)
                if task is not None:
                    return task
            whole = _join_plans(whole, policy.plan(whole.keep, room_tokens, aid))
        return None

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        """Return the combined plan of the policies that were applied."""
        whole = Plan(tuple(units))
        for index, policy in enumerate(self.policies):
            if index and whole.tokens <= room_tokens:
                break
            whole = _join_plans(whole, policy.plan(whole.keep, room_tokens - whole.digest_tokens, aid))
            if whole.digest is not None:
                aid = msgspec.structs.replace(aid, previous=whole.digest.text, written=None)
        return whole


def _join_plans(first: Plan, then: Plan) -> Plan:
    return Plan(
        then.keep,
        (*first.drop, *then.drop),
        (*first.fold, *then.fold),
        (*first.elide, *then.elide),
        then.digest or first.digest,
        then.digest_tokens if then.digest else first.digest_tokens,
        (*first.notes, *then.notes),
    )


def _split(units: Sequence[Unit], cut: int, reason: str) -> Plan:
    """Return a plan that keeps units from index `cut` onwards and the pinned ones before it."""
    cut = max(0, cut)
    keep = tuple(unit for index, unit in enumerate(units) if index >= cut or unit.pinned)
    return Plan(keep, tuple(Left(unit, reason) for unit in units[:cut] if not unit.pinned))


def elide(unit: Unit, limit: int, aid: Aid) -> Unit:
    """Replace tool results over `limit` tokens with a marker, if the marker is shorter."""
    messages = tuple(
        _elided(message, index + unit.position, limit, aid) if index else message
        for index, message in enumerate(unit.messages)
    )
    if all(new is old for new, old in zip(messages, unit.messages, strict=True)):
        return unit
    saved = sum(stored_tokens(message, aid.counter) for message in unit.messages)
    saved -= sum(stored_tokens(message, aid.counter) for message in messages)
    tokens = unit.tokens - saved
    return msgspec.structs.replace(unit, messages=messages, tokens=tokens) if tokens < unit.tokens else unit


def _elided(message: Message, position: int, limit: int, aid: Aid) -> Message:
    before = stored_tokens(message, aid.counter)
    if before <= limit:
        return message
    where = f"message {message.shown_id}" if message.thread else f"message {position} of the conversation"
    marker = f"[tool result elided: {before:,} tokens; the full text is {where}]"
    content: object = marker
    if message.role != "tool":
        content = [_elided_block(block, marker) for block in message.content]
    short = msgspec.structs.replace(message, content=content, tokens=None)
    return short if count_message(short, aid.counter) < before else message


def _elided_block(block: object, marker: str) -> object:
    if isinstance(block, Mapping) and block.get("type") == "tool_result":
        return {**block, "content": marker}
    return block


def _position(unit: Unit) -> int:
    return unit.position
