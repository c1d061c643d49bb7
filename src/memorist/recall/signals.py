"""Features of a text that do not depend on the query, computed once when it is indexed and stored as a few bytes.

Reports ("I went to Rome last week") answer questions; greetings, reactions ("Wow, that's great!") and questions
rarely do. Most word lists are English; for other languages those signals are zero and ranking relies on the rest.
"""

from __future__ import annotations

import math
import re

from memorist.languages import rules
from memorist.recall.analyze import likely_codes, words
from memorist.recall.passage import sentences
from memorist.recall.restated import LONGEST
from memorist.recall.revision import sign_of_change
from memorist.recall.subjects import told_of, turned

NAMES = (
    "words", "asks", "times", "reacts", "first", "second",
    "names", "standing", "numbers", "orders", "revises", "alarms", "tells", "turns",
)  # fmt: skip
"""The meaning of each byte: `words` is 25 · log(1 + number of words), `tells` and `turns` have a bit for each of the
`subjects`, the others are shares of 255."""

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
_WORD = re.compile(r"[^\W\d_]+'?")
_HEAD = 1200
"""Only the first so many characters are read, to bound the cost for long texts."""


def signals(text: str, *, own: bool = True) -> bytes:
    """One byte per name in `NAMES`; what only people's own words tell is not looked for where they are not `own`."""
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
            *(_of_people(text) if own else bytes(4)),
        )
    )


def _of_people(text: str) -> tuple[int, int, int, int]:
    return (0, 128, 255)[sign_of_change(text)], 255 * bool(alarm(text)), told_of(text), turned(text)


def alarm(text: str) -> str:
    """The sentence of a text that tells of somebody's allergy, illness or disability; "" if there is none.

    The text must be about the speaker or their family, and the sentence no question and no denial.
    """
    if len(text) > LONGEST:
        return ""
    for code in likely_codes(text):
        told = rules(code, "signals", "talk")
        mine = told.words("first")
        if not told.alarms.search(text) or (mine and mine.isdisjoint(_WORD.findall(text.casefold()))):
            continue
        for sentence in sentences(text):
            if told.alarms.search(sentence) and not told.denied.search(sentence) and not _ASKS.search(sentence):
                return sentence.strip()
    return ""


def _share(value: float, full: float) -> int:
    return round(255 * min(1.0, value / full))
