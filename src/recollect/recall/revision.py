"""Later words that revise earlier ones: "I got that wrong …", "we moved, new address …", "I'm not vegan anymore".

Facts that an extractor reads are superseded by their keys. What it cannot read is compared here, among what was
recalled: a statement of the user's with a sign of change, and an earlier one that shares a telling word with it. The
later one is quoted, so that a reader can judge. English signs only; elsewhere nothing is marked.
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
"""A word that more than this share of the statements have tells nothing."""
ALONE = 0.16
"""One shared word is enough where it is at least this share of what the earlier statement says."""
MANY, RARE = 12, 4
"""Among many statements, a word of that many letters that only two of them have is enough for a strong sign."""
QUOTED = 120


class Statement(msgspec.Struct, frozen=True):
    """One recalled thing that may revise or be revised."""

    text: str
    terms: frozenset[str]
    created_at: int
    own: bool
    """Whether the user said it; other things are only revised."""
    careful: bool = False
    """A part of a document, or what must not be missed: it takes two shared words to say that it is revised."""
    speaker: str = ""
    """Nobody revises what another said; a document is nobody's."""
    sign: int = 0
    """Whether it has a sign of change: 0 none, 1 some, 2 a strong one."""


def revised(statements: Sequence[Statement]) -> dict[int, int]:
    """For each statement that a later one revises, the place of the newest that does."""
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
    """Whether a strong sign of change comes with a word that no other of many statements has."""
    if not many or new.sign < 2:
        return False
    return any(count[term] <= 2 and len(term) >= RARE for term in new.terms & old.terms if term not in _PLAIN)


def sign_of_change(text: str) -> int:
    """0 where a text has no sign of change, or asks something; 1 where it has one, 2 for a strong one."""
    if len(text) > 600 or not _SIGNS.search(text) or _ASKS.search(text):
        return 0
    return 2 if _STRONG.search(text) else 1


def quoted(text: str) -> str:
    """The beginning of what revises, to stand beside what it revised."""
    plain = " ".join(text.split())
    return plain if len(plain) <= QUOTED else plain[:QUOTED].rsplit(" ", 1)[0] + " …"
