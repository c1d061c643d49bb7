"""Whether a statement gives another value of what an earlier one said: "the budget is 40,000", "it is 32,500"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from memorist.languages import rules
from memorist.recall.analyze import likely_codes, tokens
from memorist.recall.passage import sentences

LONGEST = 600
"""Longer texts are not read: they tell of many things."""
LONG_WORD = 6
"""Words of at least so many letters that differ in one letter are two spellings of one name."""
PARALLEL = 3
"""Sentences that share so many words, and have one more each, are about two things: "ward 3 needs 8 boxes of gloves",
"ward 3 needs 2 boxes of masks"."""
ASKS = re.compile(r"[?？؟]\W*$")
_VALUE = re.compile(r"\d+(?:[ .,:/-]\d+)*")
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][a-zà-ÿ]+")


class Valued(msgspec.Struct, frozen=True):
    """A sentence that gives a value."""

    values: frozenset[str]
    terms: frozenset[str]
    """Its terms without the values."""
    names: frozenset[str]


@lru_cache(maxsize=2048)
def valued(text: str) -> tuple[Valued, ...]:
    """The sentences of a text that give a value which holds until it is changed: no events, no questions."""
    if len(text) > LONGEST or not any(map(str.isdecimal, text)):
        return ()
    codes = likely_codes(text)
    language = codes[-1] if 0 < len(codes) <= 2 else None
    states = [rules(code, "revision", "talk").states for code in codes]
    out = []
    for sentence in sentences(text):
        values = frozenset(_VALUE.findall(sentence))
        if not values or ASKS.search(sentence) or not any(state.search(sentence) for state in states):
            continue
        terms = frozenset(term for term in tokens(sentence, language) if not any(map(str.isdecimal, term)))
        out.append(Valued(values, terms, frozenset(_NAME.findall(sentence))))
    return tuple(out)


def restated(old: Sequence[Valued], new: Sequence[Valued], plain: frozenset[str]) -> bool:
    """Whether a sentence says the same as an earlier one, of the same thing, with one other value."""
    return any(_other_value(one, another, plain) for one in old for another in new)


def _other_value(old: Valued, new: Valued, plain: frozenset[str]) -> bool:
    if len(old.values - new.values) != 1 or len(new.values - old.values) != 1:
        return False
    shared = old.terms & new.terms
    if len(shared) < 2 or 2 * len(shared) < len(old.terms) or shared <= plain:
        return False
    if len(shared) >= PARALLEL and len(old.terms - new.terms - plain) == 1 == len(new.terms - old.terms - plain):
        return False
    return not (old.names - new.names and new.names - old.names)


def respelled(old: frozenset[str], new: frozenset[str]) -> bool:
    """Whether a long word of the one is a word of the other with one letter more, less or changed."""
    return any(
        _one_letter_apart(one, other)
        for one in new - old if len(one) >= LONG_WORD
        for other in old - new if len(other) >= LONG_WORD
    )  # fmt: skip


def _one_letter_apart(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1 or one[0] != other[0]:
        return False
    head = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    short, long = sorted((one, other), key=len)
    return short[head + (len(short) == len(long)) :] == long[head + 1 :]
