"""Signs of how likely a text is to be evidence, whatever is asked: computed once, kept as a few bytes.

Reports ("I went to Rome last week") answer questions; greetings, reactions ("Wow, that's great!") and questions
rarely do. The wording is English; in other languages the signs are absent and the ranking does without them.
"""

from __future__ import annotations

import math
import re

from recollect.recall.analyze import words
from recollect.recall.revision import sign_of_change

NAMES = ("words", "asks", "times", "reacts", "first", "second", "names", "standing", "numbers", "orders", "revises")
"""What each byte of a signal string says; `words` is logarithmic, the rest are shares of 255."""

_FLAGS = re.IGNORECASE
_TIMES = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|just|since|years?|months?|weeks?|\d{4}|"
    r"(?:last|next|this) (?:\w+ )?(?:night|morning|week|weekend|month|year|summer|winter|spring|fall|autumn)|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october|"
    r"november|december)\b",
    _FLAGS,
)
_REACTS = re.compile(
    r"\W*(?:(?:hey|hi|hello)\b[^.!?]*[.!?]\s*)?(?:wow|thanks?|that's|thats|that is|sounds?|congrat\w*|cool|awesome|"
    r"great|nice|amazing|glad|yeah|yep|yes|sure|absolutely|definitely|totally|agreed|aw+|oh|sorry|no problem|"
    r"no worries|you're|good luck|i'm glad|so glad|love)\b",
    _FLAGS,
)
_STANDING = re.compile(
    r"\b(?:always|never|from now on|going forward|in (?:the )?future|i(?:'d| would)? (?:really )?prefer|"
    r"please (?:always|make sure|remember|don't|do not|avoid|keep)|make sure (?:to|you)|don't ever|"
    r"remember (?:that|to)|(?:my|our) favou?rite|i (?:really |absolutely )?(?:love|hate|dislike|can't stand)|"
    r"i'm (?:allergic|vegan|vegetarian)|i (?:usually|don't eat|only (?:use|buy|eat|drink|consider|wear|take))|"
    r"for anything (?:about|to do with)|call me|speak to me)\b",
    _FLAGS,
)
_ORDERS = re.compile(
    r"(?:^|[.!?\n] *)(?:please |and |also )?(?:always|never|from now on|going forward|in (?:the )?future|"
    r"don't ever|do not ever|whenever i|every time i|remember to|make sure (?:to|you) always)\b",
    _FLAGS,
)
_NAMES = re.compile(r"(?<![.!?:] )(?<!^)\b[A-Z][a-z]+")
_NUMBERS = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|once|twice|yesterday|last|ago|today|tomorrow|next|week|month|"
    r"year|weekend)\b",
    _FLAGS,
)
_ASKS = re.compile(r"[?？؟]\W*(?:\[[^\]]*\]\s*)?$")
_FIRST = frozenset("i i'm i've i'll i'd my me mine we we're we've our".split())
_SECOND = frozenset("you you're you've you'll your".split())
_HEAD = 1200
"""Only the head is read: a long text is evidence by its length already, and signs thin out."""


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
            (0, 128, 255)[sign_of_change(text)],
        )
    )


def _share(value: float, full: float) -> int:
    return round(255 * min(1.0, value / full))
