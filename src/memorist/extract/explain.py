"""Why a text gives what it gives: what was taken from each sentence by which rule, and why nothing was from others."""

from __future__ import annotations

from datetime import datetime

import msgspec

from .extracted import Extracted
from .extractor import Refused, trace


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was found in a sentence, or the reason why nothing was."""

    sentence: str
    lang: str | None
    found: str = ""
    """`key = value`, the learning, or the request."""
    rule: str = ""
    why: str = ""
    """Why nothing was taken."""


def explain(text: str, at: datetime) -> list[Step]:
    """Return the steps of extraction on a text that a user wrote, in its order."""
    return [_step(item) for item in trace(text, at=at)]


def _step(item: Extracted | Refused) -> Step:
    if isinstance(item, Refused):
        return Step(sentence=item.text, lang=item.lang, why=item.reason)
    shown = f"{item.key} ends" if item.retracted else f"{item.key} = {item.value!r}"
    return Step(sentence=item.text, lang=item.lang, found=shown, rule=item.rule)
