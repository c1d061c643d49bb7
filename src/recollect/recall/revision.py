"""Later words that revise earlier ones: "I got that wrong …", "we moved, new address …", "I'm not vegan anymore".

Facts that an extractor reads are superseded by their keys. What it cannot read is compared here, among what was
recalled: a statement of the user's with a sign of change, and an earlier one that shares a telling word with it. The
later one is quoted, so that a reader can judge. English signs only; elsewhere nothing is marked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

_FLAGS = re.IGNORECASE
_SIGNS = re.compile(
    r"\b(?:no longer|not \w+(?: \w+){0,2} any ?more|any ?more\b|used to|"
    r"(?:we|i|they|he|she)(?:'ve| have| has)? (?:just )?"
    r"(?:moved|left|quit|sold|switched|stopped|dropped|gave up|given up|cancelled|canceled|changed|broke up|"
    r"split up)|"
    r"(?:has|have|was|were|is|are|got) (?:been )?(?:changed|replaced|moved|cancelled|canceled|postponed|renamed)|"
    r"had to put \w+ down|passed away|died|new (?:address|number|password|job|phone|email|boss|plan|date)|"
    r"(?:got|had|told) (?:that|it|you) (?:wrong|nonsense)|i was wrong|my mistake|i meant|scratch that|no,? wait|"
    r"correction|actually|instead of|(?:it's|its|it is|is|are) (?:now|only)|from (?:this|next) (?:week|month|year|on)|"
    r"as of (?:now|this|today|next)|for good now|back (?:home|in)|update:|small update|bad news|turns out)\b",
    _FLAGS,
)
_ASKS = re.compile(r"[?？؟]\W*$")
_PLAIN = frozenset(
    "thing time day week month year new old good bad want need get go make take know think say tell".split()
)
COMMON = 0.2
"""A word that more than this share of the statements have tells nothing."""
ALONE = 0.16
"""One shared word is enough where it is at least this share of what the earlier statement says."""
QUOTED = 120


class Statement(msgspec.Struct, frozen=True):
    """One recalled thing that may revise or be revised."""

    text: str
    terms: frozenset[str]
    created_at: int
    own: bool
    """Whether the user said it; other things are only revised."""
    passage: bool = False
    """A part of a document: it takes two shared words to say that it is revised."""


def revised(statements: Sequence[Statement]) -> dict[int, int]:
    """For each statement that a later one revises, the place of the newest that does."""
    later = [place for place, one in enumerate(statements) if one.own and revises(one.text)]
    if not later:
        return {}
    count: dict[str, int] = {}
    for one in statements:
        for term in one.terms:
            count[term] = count.get(term, 0) + 1
    most = max(2, int(COMMON * len(statements)))
    telling = {term for term, n in count.items() if n <= most and len(term) > 2 and term not in _PLAIN}
    out: dict[int, int] = {}
    for place, old in enumerate(statements):
        if not (old.own or old.passage) or _ASKS.search(old.text):
            continue
        for new in later:
            one = statements[new]
            shared = len(one.terms & old.terms & telling)
            newer = new not in (place, out.get(place)) and one.created_at > old.created_at
            best = place not in out or one.created_at > statements[out[place]].created_at
            alone = shared == 1 and not old.passage and len(old.terms) * ALONE <= 1
            if newer and best and (alone or shared >= 2):
                out[place] = new
    return out


def revises(text: str) -> bool:
    """Whether a text has a sign of change and asks nothing."""
    return len(text) <= 600 and bool(_SIGNS.search(text)) and not _ASKS.search(text)


def quoted(text: str) -> str:
    """The beginning of what revises, to stand beside what it revised."""
    plain = " ".join(text.split())
    return plain if len(plain) <= QUOTED else plain[:QUOTED].rsplit(" ", 1)[0] + " …"
