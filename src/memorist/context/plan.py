"""Inputs and outputs of an eviction policy, as frozen data, so that policies are pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Protocol, runtime_checkable

import msgspec

from ..messages.message import Message
from .tokens import Counter
from .units import Unit

_TOKENS = attrgetter("tokens")
TURN = 8
"""How many messages after a cut to look for a user's message to start at."""
LEAST_KEPT = 0.4
"""The least share of its room that a stepped window keeps filled."""


def total_tokens(units: Iterable[Unit]) -> int:
    """The sum of the tokens of units."""
    return sum(map(_TOKENS, units))


class Digest(msgspec.Struct, frozen=True):
    """A summary and the method that wrote it (`extractive` or `model`)."""

    text: str
    method: str = "extractive"
    note: str = ""
    """Why another method than the one asked for was used."""


Summarizer = Callable[[Sequence[Message], str | None, int], Digest | None]
"""(messages, previous summary, most tokens) → a digest, or None where no shorter text stands for them."""

Searcher = Callable[[str, Sequence[Unit], int], Sequence[int]]
"""(query, units, k) → indices of the units that matter most, best first."""


class Aid(msgspec.Struct, frozen=True):
    """What a policy may use besides the units: a counter, the query, a summarizer, a search."""

    counter: Counter
    query: str = ""
    previous: str | None = None
    """The stored summary of messages older than the units."""
    summarize: Summarizer | None = None
    search: Searcher | None = None
    found: tuple[Unit, ...] | None = None
    """Older units that the caller already found for the input, best first; None where nothing was searched."""
    taken: int = 0
    """Units of the same list already kept as the current input, newer than those planned."""
    taken_tokens: int = 0
    steady: bool = False
    """Whether the next request should begin as this one does, so that a provider's prompt cache serves it."""


class Left(msgspec.Struct, frozen=True):
    """A unit that is dropped or shortened, and why."""

    unit: Unit
    reason: str


class Plan(msgspec.Struct, frozen=True):
    """The units to send, oldest first, and the ones dropped, summarised (`fold`) or shortened (`elide`)."""

    keep: tuple[Unit, ...]
    drop: tuple[Left, ...] = ()
    fold: tuple[Unit, ...] = ()
    elide: tuple[Left, ...] = ()
    digest: Digest | None = None
    """The summary that replaces the units in `fold` and the previous summary."""
    digest_tokens: int = 0
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        return self.digest_tokens + total_tokens(self.keep)


class Reach(msgspec.Struct, frozen=True):
    """How much history must be read before a policy can plan: this many tokens or units; None is all of it."""

    tokens: int | None = None
    units: int | None = None
    shortened: Callable[[Unit], int] | None = None
    """The tokens a tool exchange will take after the policy shortens it; None where it shortens nothing."""


class Needs(msgspec.Struct, frozen=True):
    """What a policy needs from whoever assembles a request with it. A policy declares it with a method `needs`."""

    found: int = 0
    """How many older units to search for the input."""
    slides: bool = False
    """Whether it keeps a run of the newest units, so that more room extends the run by older ones."""
    model: Any = None
    """The language model that writes its summaries."""


def needs_of(policy: object) -> Needs:
    """What a policy declares; nothing for one that declares nothing."""
    declare: Callable[[], Needs] | None = getattr(policy, "needs", None)
    return Needs() if declare is None else declare()


@runtime_checkable
class Policy(Protocol):
    """An eviction policy: decides which units are sent. It may also declare what it `needs`."""

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        """How much history to read before calling `plan`."""
        ...

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        """Which of the units (oldest first) to send, drop, summarise or shorten."""
        ...


def fit(plan: Plan, room_tokens: int, reason: str) -> Plan:
    """The plan with the oldest unpinned units left out until it fits."""
    if plan.tokens <= room_tokens:
        return plan
    keep, drop = newest_that_fit(plan.keep, room_tokens - plan.digest_tokens, reason)
    return msgspec.structs.replace(plan, keep=keep, drop=(*plan.drop, *drop))


def newest_that_fit(units: Sequence[Unit], room_tokens: int, reason: str) -> tuple[tuple[Unit, ...], tuple[Left, ...]]:
    """(kept, dropped): kept are the pinned units and the longest run of newest others that fits."""
    left = room_tokens - total_tokens([unit for unit in units if unit.pinned])
    keep: list[Unit] = []
    drop: list[Left] = []
    open_ = True
    for unit in reversed(units):
        if unit.pinned:
            keep.append(unit)
        elif open_ and unit.tokens <= left:
            left -= unit.tokens
            keep.append(unit)
        else:
            open_ = False
            drop.append(Left(unit, reason))
    keep.reverse()
    drop.reverse()
    return tuple(keep), tuple(drop)


def stepped(keep: Sequence[Unit], room_tokens: int, reason: str) -> tuple[tuple[Unit, ...], tuple[Left, ...]]:
    """(kept, dropped) of a window whose start moves rarely, so that a provider's prompt cache keeps hitting.

    A window that always holds as much as fits starts one message later with every turn, so no request has the prefix
    of the one before. This one may leave up to 60 % of its room empty: of the sequence numbers where it may start, it
    takes the one divisible by the highest power of two. That choice is stateless and stays the same until that start
    no longer fits or one divisible by a higher power comes into range.
    """
    loose = [unit for unit in keep if not unit.pinned]
    least, tail, late = max(0.0, LEAST_KEPT * room_tokens), 0, len(loose)
    while late > 0 and tail <= least:
        late -= 1
        tail += loose[late].tokens
    if late == 0:
        return tuple(keep), ()
    start = roundest(loose[0].position, loose[late].position)
    near = range(start, start + TURN)
    start = next((unit.position for unit in loose if unit.position in near and unit.role == "user"), start)
    left = {unit.position for unit in loose if unit.position < start}
    return (
        tuple(unit for unit in keep if unit.position not in left),
        tuple(Left(unit, reason) for unit in keep if unit.position in left),
    )


def roundest(first: int, last: int) -> int:
    """The number from `first` to `last` divisible by the highest power of two; 0 counts as the highest."""
    best = first
    while best and (rounder := best + (best & -best)) <= last:
        best = rounder
    return best
