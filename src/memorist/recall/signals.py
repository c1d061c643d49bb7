"""What a text is like, whatever the question: computed once when it is indexed, and stored as a few bytes."""

from __future__ import annotations

import math
import re

from memorist.languages import rules
from memorist.recall.analyze import words

NAMES = ("words", "asks", "first", "instructs")
"""The meaning of each byte: `words` is 25 · log(1 + number of words), the others are shares of 255."""

_RULES = rules("en", "signals", "talk")
_ASKS = re.compile(r"[?？؟]\W*(?:\[[^\]]*\]\s*)?$")
_INSTRUCTS = _RULES.instructs
_FIRST = _RULES.words("first")
_HEAD_CHARACTERS = 1200
"""Only the first so many characters are read, to bound the cost for long texts."""
_FULL_FIRST = 3
"""So many words of the first person count in full."""


def signals(text: str) -> bytes:
    """Return one byte per name in `NAMES`."""
    head = text[:_HEAD_CHARACTERS].replace("’", "'")
    split = words(head)
    length = len(split) if len(text) <= _HEAD_CHARACTERS else len(split) * len(text) // _HEAD_CHARACTERS
    first = sum(word in _FIRST for word in split)
    return bytes(
        (
            min(255, round(25 * math.log1p(length))),
            255 * bool(_ASKS.search(head)),
            round(255 * min(1.0, first / _FULL_FIRST)),
            255 * bool(_INSTRUCTS.search(head)),
        )
    )
