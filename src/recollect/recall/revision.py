"""Finds statements that revise earlier ones: "I got that wrong …", "we moved, new address …", "I'm not vegan anymore".

Extracted facts supersede each other by their keys. For text that no extractor understood, recalled statements are
compared here: one of the user's with a sign of change revises an earlier one that shares a distinctive word with it.
The earlier one is marked and the later one quoted beside it, so that the reader can judge. English only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from recollect.languages import rules

_RULES = rules("en", "revision", "talk")
_SIGNS = _RULES.signs
_STRONG = _RULES.strong
_ASKS = re.compile(r"[?？؟]\W*$")
_PLAIN = _RULES.words("plain")
COMMON = 0.2
"""A word that more than this share of the statements have is not distinctive."""
ALONE = 0.16
"""One shared word is enough if it is at least this share of the terms of the earlier statement."""
MANY, RARE = 12, 4
"""With a strong sign of change, one shared word of at least `RARE` letters is enough if only these two statements have
it and there are many statements (together at least `MANY` squared terms)."""
QUOTED = 120


class Statement(msgspec.Struct, frozen=True):
    """One recalled record that may revise another or be revised."""

    text: str
    terms: frozenset[str]
    created_at: int
    own: bool
    """Whether the user said it; other statements cannot revise, only be revised."""
    careful: bool = False
    """Part of a document, or safety-relevant: it counts as revised only with two shared words."""
    speaker: str = ""
    """A statement is revised only by the same speaker, unless it is `careful`."""
    sign: int = 0
    """Whether it has a sign of change: 0 none, 1 some, 2 a strong one."""


def revised(statements: Sequence[Statement]) -> dict[int, int]:
    """For the index of each revised statement, the index of the newest one that revises it."""
    later = [place for place, one in enumerate(statements) if one.own and one.sign]
    if not later:
        return {}
    count: Counter[str] = Counter()
    for one in statements:
        count.update(one.terms)
    many = sum(count.values()) >= MANY * MANY
    most = max(2, int(COMMON * len(statements)))
    telling = {term for term, n in count.items() if n <= most and len(term) > 2 and term not in _PLAIN}
    words = [one.terms & telling for one in statements]
    later.sort(key=lambda place: -statements[place].created_at)
    out: dict[int, int] = {}
    for place, old in enumerate(statements):
        if not (old.own or old.careful) or _ASKS.search(old.text):
            continue
        for new in later:
            one = statements[new]
            if one.created_at <= old.created_at:
                break
            if new == place or not (old.careful or old.speaker == one.speaker):
                continue
            shared = len(words[new] & words[place])
            alone = shared == 1 and not old.careful and len(old.terms) * ALONE <= 1
            if alone or shared >= 2 or _only_theirs(one, old, many, count):
                out[place] = new
                break
    return out


def _only_theirs(new: Statement, old: Statement, many: bool, count: Mapping[str, int]) -> bool:
    """Whether two statements share a word that no other has, and the newer has a strong sign of change (see `MANY`)."""
    if not many or new.sign < 2:
        return False
    return any(count[term] <= 2 and len(term) >= RARE for term in new.terms & old.terms if term not in _PLAIN)


def sign_of_change(text: str) -> int:
    """How strong the wording of a change is in a text: 0 none (or it is a question), 1 some, 2 strong."""
    if len(text) > 600 or not _SIGNS.search(text) or _ASKS.search(text):
        return 0
    return 2 if _STRONG.search(text) else 1


def quoted(text: str) -> str:
    """The start of a revising statement, to quote beside the one it revises."""
    plain = " ".join(text.split())
    return plain if len(plain) <= QUOTED else plain[:QUOTED].rsplit(" ", 1)[0] + " …"
