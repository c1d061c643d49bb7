"""Guesses the language of a sentence from its script or, if that is not enough, from its stop words."""

from __future__ import annotations

import re
from functools import cache

from .files import codes, read
from .stop import stop_words

_KANA = re.compile("[\u3041-\u30ff]")
_LATIN = re.compile("[^\\W\\d_]+(?:['’][^\\W\\d_]+)?")
_HEAD_CHARACTERS = 300
"""The number of characters of a sentence to examine."""


def language_of(sentence: str) -> str | None:
    """Return the language code of a sentence, or None if the language is unclear or not supported."""
    head = sentence[:_HEAD_CHARACTERS]
    if _KANA.search(head):
        return "ja"
    han, other = _scripts()
    if han.search(head):
        return "zh"
    if len(other.findall(head)) * 2 > len(head.replace(" ", "")):
        return "ru" if re.search("[\u0430-\u044f]", head) else None
    weights, scores, hits, size = _weights(), dict.fromkeys(codes(), 0), dict.fromkeys(codes(), 0), 0
    for whole in _LATIN.findall(head.casefold().replace("’", "'")):
        parts = _parts(whole) if "'" in whole else (whole,)
        size += len(parts)
        for word in parts:
            for code, weight in weights.get(word, ()):
                scores[code] += weight
                hits[code] += 1
    best = max(scores, key=scores.__getitem__)
    # At least an eighth of the words must be stop words of the language: single ones occur in others by chance.
    return best if scores[best] >= 2 and hits[best] * 8 >= size else None


def language_name(code: str) -> str:
    """Return the English name of a language, or its code if its file has no name."""
    return str(read(code, "stop").get("name", code))


def _parts(word: str) -> tuple[str, ...]:
    """Return a word and its parts around an apostrophe: `j'habite` produces `j'habite`, `j'` and `habite`."""
    head, _, tail = word.partition("'")
    return word, f"{head}'", tail


@cache
def _scripts() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for Chinese characters and for other non-Latin scripts.

    They are compiled on first use, because compiling them is slow.
    """
    return re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"), re.compile("[\u0370-\u1dff\uac00-\ud7a3]")


@cache
def _weights() -> dict[str, tuple[tuple[str, int], ...]]:
    """Return the weight of each word for each language: 1 for a stop word, 2 if no other language has it, and 3 if it
    is typical."""
    listed = {code: stop_words(code) for code in codes()}
    typical = {code: set(read(code, "stop").get("typical", "").split()) for code in codes()}
    out: dict[str, tuple[tuple[str, int], ...]] = {}
    for word in set().union(*listed.values(), *typical.values()):
        having = [code for code in codes() if word in listed[code] or word in typical[code]]
        alone = len(having) == 1
        out[word] = tuple((code, 3 if word in typical[code] else 2 if alone else 1) for code in having)
    return out
