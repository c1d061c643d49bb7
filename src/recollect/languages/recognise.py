"""Which language a sentence is in: by its script, else by its most common words."""

from __future__ import annotations

import re
from functools import cache

from .files import codes, read
from .stop import stop_words

_KANA = re.compile("[\u3041-\u30ff]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN = re.compile("[^\\W\\d_]+(?:['’][^\\W\\d_]+)?")
_OTHER = re.compile("[\u0370-\u1dff\uac00-\ud7a3]")
_HEAD = 300
"""So many characters of a sentence tell its language."""


def language_of(sentence: str) -> str | None:
    """The code of the language of a sentence; None where nothing tells, or the language is not known."""
    head = sentence[:_HEAD]
    if _KANA.search(head):
        return "ja"
    if _HAN.search(head):
        return "zh"
    if len(_OTHER.findall(head)) * 2 > len(head.replace(" ", "")):
        return "ru" if re.search("[\u0430-\u044f]", head) else None
    found = [word for whole in _LATIN.findall(head.casefold().replace("’", "'")) for word in _parts(whole)]
    scores = {code: sum(weights.get(word, 0) for word in found) for code, weights in _weights().items()}
    best = max(scores, key=lambda code: scores[code])
    return best if scores[best] >= 2 else None


def _parts(word: str) -> tuple[str, ...]:
    """`j'habite` is also `habite`, `dell'azienda` also `azienda`; English contractions stay as they are."""
    head, mark, tail = word.partition("'")
    return (word, f"{head}'", tail) if mark else (word,)


@cache
def _weights() -> dict[str, dict[str, int]]:
    """How much each word says for each language: one for a stop word, three for a word that no other language has."""
    out: dict[str, dict[str, int]] = {}
    for code in codes():
        typical = read(code, "stop").get("typical", "").split()
        out[code] = {**dict.fromkeys(stop_words(code), 1), **dict.fromkeys(typical, 3)}
    for code, weights in out.items():
        for word in weights:
            if weights[word] == 1 and not any(word in other for name, other in out.items() if name != code):
                weights[word] = 2
    return out
