"""Finds statements that revise earlier ones: "I got that wrong …", "we moved, new address …", "I'm not vegan anymore".

Extracted facts supersede each other by their keys. For text that no extractor understood, recalled statements are
compared here. One of the user's revises an earlier one if it has a sign of change and shares a distinctive word with
it, or if it says the same with another number ("the budget is 40,000", "the budget is 32,500"). The earlier one is
marked and the later one quoted beside it, so that the reader can judge. Each language has its signs in `talk.toml`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import msgspec

from recollect.languages import Rules, rules
from recollect.recall.analyze import likely_codes, tokens
from recollect.recall.passage import sentences

_ASKS = re.compile(r"[?？؟]\W*$")
COMMON = 0.2
"""A word that more than this share of the statements have is not distinctive."""
ALONE = 0.16
"""One shared word is enough if it is at least this share of the terms of the earlier statement."""
MANY, RARE = 12, 4
"""With a strong sign of change, one shared word of at least `RARE` letters is enough if only these two statements have
it and there are many statements (together at least `MANY` squared terms)."""
LONG_WORD = 6
"""Words of at least so many letters that differ in one letter are two spellings of one name."""
LONGEST = 600
"""Longer texts are not read: they tell of many things."""
QUOTED = 120
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_VALUE = re.compile(r"\d+(?:[ .,:/-]\d+)*")
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][a-zà-ÿ]+")


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


class _Valued(msgspec.Struct, frozen=True):
    """A sentence that gives a value."""

    values: frozenset[str]
    terms: frozenset[str]
    """Its terms without the values."""
    names: frozenset[str]


def revised(statements: Sequence[Statement]) -> dict[int, int]:
    """For the index of each revised statement, the index of the newest one that revises it."""
    valued = [_valued(one.text) if one.own or one.careful else () for one in statements]
    later = [place for place, one in enumerate(statements) if one.own and (one.sign or valued[place])]
    if not later:
        return {}
    count: Counter[str] = Counter()
    for one in statements:
        count.update(one.terms)
    many = sum(count.values()) >= MANY * MANY
    most = max(2, int(COMMON * len(statements)))
    telling = {term for term, n in count.items() if n <= most and _tells(term)}
    distinct = [one.terms & telling for one in statements]
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
            shared = len(distinct[new] & distinct[place])
            alone = shared == 1 and not old.careful and len(old.terms) * ALONE <= 1
            changed = one.sign and (alone or shared >= 2 or _only_theirs(one, old, many, count) or _respelled(one, old))
            if changed or _restated(valued[place], valued[new]):
                out[place] = new
                break
    return out


def _tells(term: str) -> bool:
    """Whether a term can say what a statement is about: no short or plain word, and no pair of mere kana."""
    return (len(term) > 2 and term not in _plain()) or bool(_HAN.search(term))


def _only_theirs(new: Statement, old: Statement, many: bool, count: Mapping[str, int]) -> bool:
    """Whether two statements share a word that no other has, and the newer has a strong sign of change (see `MANY`)."""
    if not many or new.sign < 2:
        return False
    return any(count[term] <= 2 and len(term) >= RARE for term in new.terms & old.terms if term not in _plain())


def _respelled(new: Statement, old: Statement) -> bool:
    """Whether a long word of the one is a word of the other with one letter more, less or changed."""
    return any(
        _one_letter_apart(one, other)
        for one in new.terms - old.terms if len(one) >= LONG_WORD
        for other in old.terms - new.terms if len(other) >= LONG_WORD
    )  # fmt: skip


def _one_letter_apart(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1 or one[0] != other[0]:
        return False
    head = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    short, long = sorted((one, other), key=len)
    return short[head + (len(short) == len(long)) :] == long[head + 1 :]


def _restated(old: Sequence[_Valued], new: Sequence[_Valued]) -> bool:
    """Whether a sentence says the same as an earlier one, of the same things, with one other value."""
    return any(_other_value(one, another) for one in old for another in new)


def _other_value(old: _Valued, new: _Valued) -> bool:
    if len(old.values - new.values) != 1 or len(new.values - old.values) != 1:
        return False
    shared = old.terms & new.terms
    if len(shared) < 2 or 2 * len(shared) < len(old.terms) or not any(map(_tells, shared)):
        return False
    return not (old.names - new.names and new.names - old.names)


@lru_cache(maxsize=2048)
def _valued(text: str) -> tuple[_Valued, ...]:
    """The sentences of a text that give a value which holds until it is changed: no events, no questions."""
    if len(text) > LONGEST or not any(map(str.isdecimal, text)):
        return ()
    codes = likely_codes(text)
    language = codes[-1] if len(codes) <= 2 else None
    out = []
    for sentence in sentences(text):
        values = frozenset(_VALUE.findall(sentence))
        if not values or _ASKS.search(sentence) or not any(_rules(code).states.search(sentence) for code in codes):
            continue
        terms = frozenset(term for term in tokens(sentence, language) if not any(map(str.isdecimal, term)))
        out.append(_Valued(values, terms, frozenset(_NAME.findall(sentence))))
    return tuple(out)


def sign_of_change(text: str) -> int:
    """How strong the wording of a change is in a text: 0 none (or it is a question), 1 some, 2 strong."""
    if len(text) > LONGEST or _ASKS.search(text):
        return 0
    signed = [told for told in map(_rules, likely_codes(text)) if told.signs.search(text)]
    return 0 if not signed else 2 if any(told.strong.search(text) for told in signed) else 1


def _rules(code: str) -> Rules:
    return rules(code, "revision", "talk")


@cache
def _plain() -> frozenset[str]:
    """Words too plain to tell what a statement is about, of all languages, as they are and stemmed."""
    from recollect.languages import languages

    listed = {code: _rules(code).words("plain") for code in languages()}
    return frozenset().union(*listed.values(), *(tokens(" ".join(found), code) for code, found in listed.items()))


def quoted(text: str, most: int = QUOTED) -> str:
    """The start of a statement in one line, at most about so many characters, to quote it beside something else."""
    plain = " ".join(text.split())
    return plain if len(plain) <= most else plain[:most].rsplit(" ", 1)[0] + " …"
