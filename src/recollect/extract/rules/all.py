"""Every rule; order does not matter, the surer of two readings of one key wins."""

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
