"""Subjects of life that people tell a change of without a word of what they said before.

"We're in a flat in Leeds" is over once "the removal van came on Friday", and "I manage the night shift" once "they let
me go". A statement that tells of a subject is revised by a later one of the same person that tells of its change. Each
language has its wordings in `talk.toml`; the subjects found are stored beside a message, one bit each.
"""

from __future__ import annotations

import re
from functools import cache

from memorist.languages import rules
from memorist.recall.analyze import likely_codes
from memorist.recall.passage import sentences
from memorist.recall.restated import ASKS, LONGEST

SUBJECTS = ("home", "work", "hours", "partner", "people", "language", "birth", "study")
"""One bit each, in this order; new ones are appended."""


def told_of(text: str) -> int:
    """The subjects whose state a text tells, as bits."""
    return _found(text, "told")


def turned(text: str) -> int:
    """The subjects of which a text tells a change, as bits."""
    return _found(text, "turned")


def small(text: str) -> str:
    """A text in small letters with one kind of apostrophe, as the expressions are written."""
    return text.lower().replace("’", "'")


def _found(text: str, part: str) -> int:
    if len(text) > LONGEST:
        return 0
    codes, text = likely_codes(text), small(text)
    every = [one for code in codes for one in _expressions(code, part)]
    found = [(bit, expression) for bit, expression in every if expression.search(text)]
    if not found:
        return 0
    others = [rules(code, "subjects", "talk").others for code in codes]
    said = [
        one for one in sentences(text)
        if not ASKS.search(one) and not any(other.search(one) for other in others)
    ]  # fmt: skip
    return sum({bit for bit, expression in found if any(map(expression.search, said))})


@cache
def _expressions(code: str, part: str) -> tuple[tuple[int, re.Pattern[str]], ...]:
    """The expressions of a language, each with the bit of its subject."""
    return tuple((1 << SUBJECTS.index(name), found) for name, found in rules(code, "subjects", "talk").each_small(part))
