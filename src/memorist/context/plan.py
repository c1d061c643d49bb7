"""Defines the inputs and outputs of an eviction policy as frozen data, so that policies are pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Protocol, runtime_checkable

import msgspec

from ..messages.message import Message
from .tokens import Counter
from .units import Unit

_TOKENS = attrgetter("tokens")
TURN_SEARCH_UNITS = 8
"""How many messages after a cut to search for a user's message to start from."""
MIN_KEPT_SHARE = 0.4
"""The minimum share of the room that a stepped window fills."""


def total_tokens(units: Iterable[Unit]) -> int:
    """Return the total number of tokens in units."""
    return sum(map(_TOKENS, units))


class Digest(msgspec.Struct, frozen=True):
    """Represents a summary and the method that wrote it (`extractive` or `model`)."""

    text: str
    method: str = "extractive"
    note: str = ""
    """If a method other than the requested one was used, this states the reason."""


Summarizer = Callable[[Sequence[Message], str | None, int], Digest | None]
"""(messages, previous summary, maximum tokens) → a digest, or None if no summary is shorter than the messages."""

Searcher = Callable[[str, Sequence[Unit], int], Sequence[int]]
"""(query, units, k) → the indices of the most relevant units, best first."""


class SummaryTask(msgspec.Struct, frozen=True):
    """Holds the units that a policy wants summarised, and the maximum number of tokens in their summary with its
    fence."""

    units: tuple[Unit, ...]
    max_tokens: int


class WrittenSummary(msgspec.Struct, frozen=True):
    """Holds the summary written for a task before the request is assembled."""

    positions: frozenset[int]
    """These are the positions of the units that it replaces."""
    digest: Digest | None
    """This is None if no summary is shorter than the units."""


class Aid(msgspec.Struct, frozen=True):
    """Holds the data that a policy may use in addition to the units. All of it has already been read, found or
    written."""

    counter: Counter
    query: str = ""
    previous: str | None = None
    """This is the stored summary of messages older than the units."""
    written: WrittenSummary | None = None
    """This is the summary written for the policy's `fold`, or None if it asked for none."""
    matches: tuple[Unit, ...] | None = None
    """These are older units that a search found for the input, best first, or None if there was no search."""
    taken: int = 0
    """This is the number of newer units of the same list that are already kept as the current input."""
    taken_tokens: int = 0
    steady: bool = False
    """This is True if the next request should begin like this one, so that a provider's prompt cache can serve it."""


class Left(msgspec.Struct, frozen=True):
    """Represents a dropped or shortened unit and the reason."""

    unit: Unit
    reason: str


class Plan(msgspec.Struct, frozen=True):
    """Holds the units to send, oldest first, and those to drop, summarise (`fold`) or shorten (`elide`)."""

    keep: tuple[Unit, ...]
    drop: tuple[Left, ...] = ()
    fold: tuple[Unit, ...] = ()
    elide: tuple[Left, ...] = ()
    digest: Digest | None = None
    """This is the summary that replaces the units in `fold` and the previous summary."""
    digest_tokens: int = 0
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        return self.digest_tokens + total_tokens(self.keep)


class Reach(msgspec.Struct, frozen=True):
    """Describes how much history, in tokens or units, a policy needs before it can plan. None means all of it."""

    tokens: int | None = None
    units: int | None = None
    shortened: Callable[[Unit], int] | None = None
    """Returns the size of a tool exchange after the policy shortens it; None if the policy shortens nothing."""


class Needs(msgspec.Struct, frozen=True):
    """Describes what must happen before a policy can plan. A policy declares it in its `needs` attribute."""

    search: int = 0
    """This is the number of older units that a search should find for the input."""
    slides: bool = False
    """This is True if the policy keeps a run of the newest units, so that older units are added when there is more
    room."""
    summary: bool = False
    """This is True if units may have to be summarised. The policy then has a `fold` method that chooses them."""
    model: Any = None
    """This is the language model that writes its summaries, or None for the extractive summarizer."""


NO_NEEDS = Needs()


def needs_of(policy: object) -> Needs:
    """Return the needs that a policy declares, or empty needs."""
    needs: Needs = getattr(policy, "needs", NO_NEEDS)
    return needs


@runtime_checkable
class Policy(Protocol):
    """Represents an eviction policy, which decides which units are sent. It may declare its `needs`."""

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        """Return how much history to read before calling `plan`."""
        ...

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        """Decide which of the units (oldest first) to send, drop, summarise or shorten."""
        ...


class FoldingPolicy(Policy, Protocol):
    """Represents a policy whose needs include a summary."""

    def fold(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> SummaryTask | None:
        """Return the summary to write before `plan` is called, or None. `plan` finds the summary in `aid.written`."""
        ...


def fit(plan: Plan, room_tokens: int, reason: str) -> Plan:
    """Return the plan after dropping as many of its oldest unpinned units as needed to make it fit."""
    if plan.tokens <= room_tokens:
        return plan
    keep, drop = newest_that_fit(plan.keep, room_tokens - plan.digest_tokens, reason)
    return msgspec.structs.replace(plan, keep=keep, drop=(*plan.drop, *drop))


def newest_that_fit(units: Sequence[Unit], room_tokens: int, reason: str) -> tuple[tuple[Unit, ...], tuple[Left, ...]]:
    """Return (kept, dropped). Pinned units are kept, and so is the longest run of the newest other units that fits."""
    pinned = [unit for unit in units if unit.pinned]
    left, cut = room_tokens - total_tokens(pinned), len(units)
    for unit in reversed(units):
        if not unit.pinned:
            left -= unit.tokens
            if left < 0:
                break
        cut -= 1
    return _split_at(units, cut, reason)


def stepped(keep: Sequence[Unit], room_tokens: int, reason: str) -> tuple[tuple[Unit, ...], tuple[Left, ...]]:
    """Return (kept, dropped) for a window whose start rarely moves, so that a provider's prompt cache keeps working.

    A window that is always full starts one message later with every turn, so no request starts in the same way as the
    previous one. This window may leave up to 60 % of its room empty: of the possible sequence numbers, it starts at the
    one divisible by the highest power of two. The choice needs no state. It changes only when that start no longer
    fits, or when a number divisible by a higher power comes into range.
    """
    loose = [unit for unit in keep if not unit.pinned]
    least, tail, late = max(0.0, MIN_KEPT_SHARE * room_tokens), 0, len(loose)
    while late > 0 and tail <= least:
        late -= 1
        tail += loose[late].tokens
    if late == 0:
        return tuple(keep), ()
    start = find_roundest(loose[0].position, loose[late].position)
    for unit in loose:
        if unit.position >= start + TURN_SEARCH_UNITS:
            break
        if unit.position >= start and unit.role == "user":
            start = unit.position
            break
    cut = next((index for index, unit in enumerate(keep) if unit.position >= start), len(keep))
    return _split_at(keep, cut, reason)


def _split_at(units: Sequence[Unit], cut: int, reason: str) -> tuple[tuple[Unit, ...], tuple[Left, ...]]:
    """Return (kept, dropped). All units from an index onwards and the pinned ones before it are kept."""
    if cut == 0:
        return tuple(units), ()
    pinned = [unit for unit in units[:cut] if unit.pinned]
    return (*pinned, *units[cut:]), tuple([Left(unit, reason) for unit in units[:cut] if not unit.pinned])


def find_roundest(first: int, last: int) -> int:
    """Return the number from `first` to `last` that is divisible by the highest power of two; 0 counts as the
    highest."""
    best = first
    while best and (rounder := best + (best & -best)) <= last:
        best = rounder
    return best
