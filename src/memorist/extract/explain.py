"""Explains what the rules extract from a text: which rule matched each sentence, and why other sentences produced
nothing."""

from __future__ import annotations

from datetime import datetime

import msgspec

from .extracted import Extracted
from .extractor import Refused, trace


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Describes one item found in a sentence, or the reason why nothing was found."""

    sentence: str
    lang: str | None
    reading: str = msgspec.field(default="", name="found")
    """This is `key = value`, the learning, or the request."""
    rule: str = ""
    why: str = ""
    """This is the reason why nothing was extracted."""


def explain(text: str, at: datetime) -> list[Step]:
    """Return the extraction steps, in order, for a text that a user wrote."""
    return [_step(item) for item in trace(text, at=at)]


def _step(item: Extracted | Refused) -> Step:
    if isinstance(item, Refused):
        return Step(sentence=item.text, lang=item.lang, why=item.reason)
    outcome = f"{item.key} ends" if item.retracted else f"{item.key} = {item.value!r}"
    return Step(sentence=item.text, lang=item.lang, reading=outcome, rule=item.rule)
