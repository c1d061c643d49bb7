"""Every rule; order does not matter, the surer of two readings of one key wins."""

from __future__ import annotations

from . import events, identity, numbers, people, places, taste, tools, work
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
)
