"""Finds statements that revise earlier ones: "I got that wrong …", "we moved, new address …", "I'm not vegan anymore".

Extracted facts supersede each other by their keys. For text that no extractor understood, recalled statements are
compared here: one of the user's with a sign of change revises an earlier one that shares a distinctive word with it,
and so does one that says the same with another number. The earlier one is marked and the later one quoted beside it,
so that the reader can judge. Each language has its signs in `talk.toml`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import msgspec

from memorist.languages import languages, rules
from memorist.recall.analyze import likely_codes, tokens
from memorist.recall.passage import sentences
from memorist.recall.restated import ASKS, LONGEST, respelled, restated, valued
from memorist.recall.subjects import small, turned

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+|[\u30a0-\u30ff]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
COMMON = 0.2
"""A word that more than this share of the statements have is not distinctive."""
COVERED = 0.16
"""Two sentences are about the same subject if the distinctive words they share are at least this share of the words of
the earlier one; where they share only one, of the words of all the earlier statement."""
MANY, RARE = 144, 4
"""With a strong sign of change in the sentence, one shared word of at least `RARE` letters is enough if only these two
statements have it, where the statements have at least `MANY` words together."""
LONG, LEAST, COVERED_LONG = 30, 3, 0.4
"""Where either statement has more than `LONG` words, which share some with any other, the two sentences must share at
least `LEAST` words and this share of those of the earlier one."""
SHORT = 240
"""In longer texts, of more characters, only a strong sign of change counts."""
QUOTED = 120
Signs = tuple[re.Pattern[str], re.Pattern[str]]


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
    tells: int = 0
    """The `subjects` of life whose state it tells, as bits."""
    turns: int = 0
    """The subjects of which it tells a change."""
    derived: bool = False
    """A fact or learning, which repeats the words of a message: they are not counted twice, and it revises nothing."""


def possible(statements: Sequence[Statement]) -> dict[int, list[int]]:
    """For the index of each statement that may be revised, the indices of those that may do so, newest first.

    They share distinctive words, by their terms alone, or both give a value; `revised` reads the texts.
    """
    values = [bool(one.own or one.careful) and bool(valued(one.text)) for one in statements]
    later = [
        place for place, one in enumerate(statements) if one.own and not one.derived and (one.sign or values[place])
    ]
    if not later:
        return {}
    words = _distinctive(statements, _counted(statements))
    later.sort(key=lambda place: -statements[place].created_at)
    out: dict[int, list[int]] = {}
    for place, old in enumerate(statements):
        if not (old.own or old.careful) or ASKS.search(old.text) or _requests().search(old.text):
            continue
        for new in later:
            one = statements[new]
            if one.created_at <= old.created_at or _says(one, old):
                break  # those that follow are older still
            if new == place or not (old.careful or old.speaker == one.speaker):
                continue
            shared = len(words[new] & words[place])
            enough = shared > 1 or (shared and (one.sign > 1 or _is_enough(old)))
            if (
                one.turns & old.tells
                or (values[new] and values[place])
                or (one.sign and (enough or respelled(old.terms, one.terms)))
            ):
                out.setdefault(place, []).append(new)
    return out


def _says(one: Statement, old: Statement) -> bool:
    """Whether a statement repeats the value of a fact, which it then confirms."""
    value = frozenset(tokens(old.text.partition(": ")[2])) if old.derived else frozenset()
    return bool(value) and value <= one.terms


@cache
def _requests() -> re.Pattern[str]:
    return rules("en", "revision", "talk").requests


def _is_enough(old: Statement) -> bool:
    """Whether one word of a statement is enough to be about the same subject."""
    return not old.careful and COVERED * _size(old.terms) <= 1


def revised(statements: Sequence[Statement], pairs: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """For the index of each revised statement, the index of the newest one that revises it, of possible `pairs`."""
    count = _counted(statements)
    words = _distinctive(statements, count)
    many = count.total() >= MANY
    changed = {place: _changes(statements[place]) for place in {new for later in pairs.values() for new in later}}
    out: dict[int, int] = {}
    for place, later in pairs.items():
        old = statements[place]
        told = [terms for _, terms in _read(old)]
        for new in later:
            one = statements[new]
            if (
                one.turns & old.tells
                or restated(valued(old.text), valued(one.text), _plain())
                or (one.sign and respelled(old.terms, one.terms))
            ):
                out[place] = new
                break
            shared = words[new] & words[place]
            rare = frozenset(term for term in shared if many and count[term] <= 2 and len(term) >= RARE)
            if any(change.revises(one, old, shared, rare) for change in changed[new] for one in told):
                out[place] = new
                break
    return out


def _counted(statements: Sequence[Statement]) -> Counter[str]:
    """How many statements have each term."""
    return Counter(term for one in statements if not one.derived for term in one.terms)


def _distinctive(statements: Sequence[Statement], count: Mapping[str, int]) -> list[frozenset[str]]:
    """Of each statement, the words that few others have."""
    most = max(2, int(COMMON * len(statements)))
    telling = {term for term, n in count.items() if n <= most and _tells(term)}
    return [one.terms & telling for one in statements]


def _tells(term: str) -> bool:
    """Whether a term can say what a statement is about: no short or plain word, and no pair with hiragana."""
    return bool(_HAN.fullmatch(term)) if _UNSPACED.search(term) else len(term) > 2 and term not in _plain()


def _size(terms: Iterable[str]) -> float:
    """How many words terms stand for; where words are pairs of characters, each is in two of them."""
    return sum(1.0 if not _UNSPACED.search(term) else 0.5 * _tells(term) for term in terms)


def _read(statement: Statement) -> list[tuple[str, frozenset[str]]]:
    """The sentences of a statement with those of its terms that each has, whichever language it was stemmed by."""
    codes = likely_codes(statement.text)
    found = [
        (one, frozenset(term for code in codes for term in tokens(one, code))) for one in sentences(statement.text)
    ]
    return [(one, terms & statement.terms if statement.terms else terms) for one, terms in found]


class _Change(msgspec.Struct, frozen=True):
    """A sentence with a sign of change."""

    terms: frozenset[str]
    around: frozenset[str]
    """Its terms and those of the sentences beside it, as the subject may stand in another than the sign: "I told you
    nonsense. Tomasz plays the oboe."."""
    strong: bool
    long: bool
    """Whether the statement has more than `LONG` words."""

    def revises(self, told: frozenset[str], old: Statement, shared: frozenset[str], rare: frozenset[str]) -> bool:
        """Whether it is about the subject of a sentence `told` of the old statement.

        `shared` are the distinctive words of both statements, `rare` those of them that no other statement has.
        """
        if self.strong and self.terms & told & rare:
            return True
        if self.long or _size(old.terms) > LONG:
            return len(self.terms & told & shared) >= max(LEAST, COVERED_LONG * _size(told))
        found = self.around & told & shared
        if found <= _weak():
            return False
        return len(found) >= COVERED * _size(told) if len(found) > 1 else _is_enough(old)


def _changes(statement: Statement) -> list[_Change]:
    """The sentences of a statement with a sign of change; what it asks beside them says nothing."""
    read = [(one, terms) for one, terms in _read(statement) if not ASKS.search(one)]
    told = _signs(statement.text)
    return [
        _Change(
            terms,
            terms.union(*(beside for _, beside in read[max(0, place - 1) : place + 2])),
            _strong(one, told),
            _size(statement.terms) > LONG,
        )
        for place, (one, terms) in enumerate(read)
        if any(signs.search(small(one)) for signs, _ in told)
    ]


def _strong(text: str, told: Sequence[Signs]) -> bool:
    return any(strong.search(small(text)) for _, strong in told)


def sign_of_change(text: str) -> int:
    """How strong the wording of a change is in a text: 0 none (or it is a question), 1 some, 2 strong."""
    if len(text) > LONGEST or ASKS.search(text):
        return 0
    plain = small(text)
    signed = [told for told in _signs(text) if told[0].search(plain)]
    if signed and _strong(plain, signed):
        return 2
    return int((bool(signed) and len(text) <= SHORT) or bool(turned(text)))


def _signs(text: str) -> list[Signs]:
    return [_signs_of(code) for code in likely_codes(text)]


@cache
def _signs_of(code: str) -> Signs:
    """The signs of change in a language, and the strong ones among them."""
    told = rules(code, "revision", "talk")
    return told.small("signs"), told.small("strong")


@cache
def _plain() -> frozenset[str]:
    """Words too plain to tell what a statement is about, of all languages, as they are and stemmed."""
    listed = {code: rules(code, "revision", "talk").words("plain") for code in languages()}
    return frozenset().union(*listed.values(), *(tokens(" ".join(found), code) for code, found in listed.items()))


@cache
def _weak() -> frozenset[str]:
    """Words that tell what a statement is about only beside another one: days and numbers."""
    return frozenset(rules("en", "revision", "talk").wordings("weak"))


def quoted(text: str, most: int = QUOTED) -> str:
    """The start of a statement in one line, at most about so many characters, to quote it beside something else."""
    plain = " ".join(text.split())
    return plain if len(plain) <= most else plain[:most].rsplit(" ", 1)[0] + " …"
