"""Every rule, by how a clause starts; order does not matter, the surer of two readings of one key wins."""

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
from .base import OPENING, Rule

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

_BY_OPENING: dict[str, tuple[Rule, ...]] = {}


def rules_for(clause: str) -> tuple[Rule, ...]:
    """The rules that can match a clause that starts like this one."""
    opening = clause[:OPENING].lower()
    found = _BY_OPENING.get(opening)
    if found is None:
        found = tuple(item for item in RULES if any(opening.startswith(start) for start in item.opens))
        if len(_BY_OPENING) < 1024:
            _BY_OPENING[opening] = found
    return found
