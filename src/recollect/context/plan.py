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
