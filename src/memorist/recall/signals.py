"""Features of a text that do not depend on the query, computed once when it is indexed and stored as a few bytes.

Reports ("I went to Rome last week") answer questions; greetings, reactions ("Wow, that's great!") and questions
rarely do. Most word lists are English; for other languages those signals are zero and ranking relies on the rest.
"""

from __future__ import annotations

import math
import re

from memorist.languages import rules
from memorist.recall.analyze import words

NAMES = (
    "words", "asks", "times", "reacts", "first", "second",
    "names", "standing", "numbers", "orders",
)  # fmt: skip
"""The meaning of each byte: `words` is 25 · log(1 + number of words), the others are shares of 255."""

_RULES = rules("en", "signals", "talk")
_TIMES = _RULES.times
_REACTS = _RULES.reacts
_STANDING = _RULES.standing
_ORDERS = _RULES.orders
_NAMES = re.compile(r"(?<![.!?:] )(?<!^)\b[A-Z][a-z]+")
_NUMBERS = _RULES.numbers
_ASKS = re.compile(r"[?？؟]\W*(?:\[[^\]]*\]\s*)?$")
_FIRST = _RULES.words("first")
_SECOND = _RULES.words("second")
_HEAD = 1200
"""Only the first so many characters are read, to bound the cost for long texts."""


def signals(text: str) -> bytes:
    """One byte per name in `NAMES`."""
    head = text[:_HEAD].replace("’", "'")
    found = words(head)
    count = max(1, len(found))
    first = sum(word in _FIRST for word in found)
    second = sum(word in _SECOND for word in found)
    length = len(found) if len(text) <= _HEAD else len(found) * len(text) // _HEAD
    return bytes(
        (
            min(255, round(25 * math.log1p(length))),
            255 * bool(_ASKS.search(head)),
            _share(len(_TIMES.findall(head)), 2),
            255 * bool(_REACTS.match(head)),
            _share(first, 3),
            _share(10 * second / count, 1.5),
            _share(len(_NAMES.findall(head)), 3),
            255 * bool(_STANDING.search(head)),
            255 * bool(_NUMBERS.search(head)),
            255 * bool(_ORDERS.search(head)),
        )
    )


def _share(value: float, full: float) -> int:
    return round(255 * min(1.0, value / full))
