"""The rules, by what they look for; order does not matter, the surer of two readings of one key wins."""

from __future__ import annotations

from . import events, identity, numbers, people, places, taste, tools, work
from .base import Draft, Rule, Seen

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

__all__ = ["RULES", "Draft", "Rule", "Seen"]
