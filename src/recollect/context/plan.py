"""What a policy is given and what it answers: data, so that policies stay pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Protocol, runtime_checkable

import msgspec

from ..messages import Message
from .tokens import Counter
from .units import Unit

_TOKENS = attrgetter("tokens")
TURN = 8
"""How far behind a border the start of a turn is looked for."""
LEAST_KEPT = 0.4
"""A window that moves in steps keeps at least this share of its room."""


def total_tokens(units: Iterable[Unit]) -> int:
    """What units take together."""
    return sum(map(_TOKENS, units))


class Digest(msgspec.Struct, frozen=True):
    """A summary somebody made, and how."""

    text: str
    method: str = "extractive"
    note: str = ""
    """Why another method than the one asked for was used."""


Summarizer = Callable[[Sequence[Message], str | None, int], Digest | None]
"""(messages, previous summary, most tokens) → a digest, or None where no shorter text stands for them."""

Searcher = Callable[[str, Sequence[Unit], int], Sequence[int]]
"""(query, units, k) → indices of the units that matter most, best first."""


class Aid(msgspec.Struct, frozen=True):
    """Help from outside that a policy may use."""

    counter: Counter
    query: str = ""
    previous: str | None = None
    """The summary that stands for what is older than the units."""
    summarize: Summarizer | None = None
    search: Searcher | None = None
    found: tuple[Unit, ...] | None = None
    """Older units that somebody else's search found for the input, best first."""
    taken: int = 0
    """Units of the same list already kept as the current input, newer than those planned."""
    taken_tokens: int = 0
    steady: bool = False
    """Whether the next request should begin as this one does, so that a provider's prompt cache serves it."""


class Left(msgspec.Struct, frozen=True):
    """A unit that is not sent as it is, and why."""

    unit: Unit
    reason: str


class Plan(msgspec.Struct, frozen=True):
    """What to send, oldest first, and what became of the rest."""

    keep: tuple[Unit, ...]
    drop: tuple[Left, ...] = ()
    fold: tuple[Unit, ...] = ()
    elide: tuple[Left, ...] = ()
    digest: Digest | None = None
    """Stands for `fold`, and for the previous summary."""
    digest_tokens: int = 0
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        return self.digest_tokens + total_tokens(self.keep)


class Reach(msgspec.Struct, frozen=True):
    """How far back a policy must see; None is without end."""

    tokens: int | None = None
    units: int | None = None
    shortened: Callable[[Unit], int] | None = None
    """What a tool exchange takes at least once the policy has shortened it; as it is, where not given."""


@runtime_checkable
class Policy(Protocol):
    """Decides which units are sent."""

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        """How far back `plan` must see."""
        ...

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        """What to send of the units, oldest first."""
        ...


def fit(plan: Plan, room_tokens: int, reason: str) -> Plan:
    """The plan with the oldest unpinned units left out until it fits."""
    if plan.tokens <= room_tokens:
        return plan
    keep, drop = newest_that_fit(plan.keep, room_tokens - plan.digest_tokens, reason)
    return msgspec.structs.replace(plan, keep=keep, drop=(*plan.drop, *drop))


def newest_that_fit(units: Sequence[Unit], room_tokens: int, reason: str) -> tuple[tuple[Unit, ...], tuple[Left, ...]]:
    """The pinned units, and the newest others without a gap; then the rest."""
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
    """A window that starts at the roundest place it can, so that it stays there for many turns.

    A window that always holds as much as fits starts one turn later with every turn, and no request begins as the one
    before. This one may give up to 60 % of its room away: of the places between, it starts at the one with the most
    factors of two. That place depends on nothing but where the window may start, and stays the best until it no longer
    fits, or a rounder one comes into reach.
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
    """The number from `first` to `last` with the most factors of two; 0 where it is among them."""
    best = first
    while best and (rounder := best + (best & -best)) <= last:
        best = rounder
    return best
