"""Every rule, by the letter a clause starts with; order does not matter, the surer of two readings of one key wins."""

from __future__ import annotations

from . import (
    calling,
    events,
    gear,
    homes,
    household,
    identity,
    jobs,
    leanings,
    measures,
    numbers,
    people,
    places,
    schedule,
    taste,
    tools,
    work,
)
from .base import Rule

RULES: tuple[Rule, ...] = (
    *identity.RULES,
    *work.RULES,
    *places.RULES,
    *taste.RULES,
    *tools.RULES,
    *people.RULES,
    *numbers.RULES,
    *events.RULES,
    *calling.RULES,
    *jobs.RULES,
    *homes.RULES,
    *leanings.RULES,
    *gear.RULES,
    *household.RULES,
    *measures.RULES,
    *schedule.RULES,
)

_BY_LETTER: dict[str, tuple[Rule, ...]] = {}


def rules_for(clause: str) -> tuple[Rule, ...]:
    """The rules that can match a clause that starts like this one."""
    letter = clause[:1].lower()
    found = _BY_LETTER.get(letter)
    if found is None:
        found = tuple(item for item in RULES if item.opens is None or letter in item.opens)
        if len(_BY_LETTER) < 64:
            _BY_LETTER[letter] = found
    return found
