"""A clause as words: what patterns and texts are both cut into before they are compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ..languages import UNSPACED, words

_SCRIPTS = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff々"
_NUMBER = r"[$€£¥+#@]?\d(?:[\d:.,/'’-]*\d)?(?:[a-zA-Z]{1,4}\b)?[%°]?"
_WORD = re.compile(rf"{_NUMBER}|[^\s,;:()\[\]\"“”«»!?…—–，。、！？；：（）「」]+(?<![.'])|[,;:()—–，、；：（）]")
_SIGN = re.compile(
    rf"{_NUMBER}|[{_SCRIPTS}]|[^\W{_SCRIPTS}][^\s,;:()，。、！？；：（）「」{_SCRIPTS}]*|[,;:()，、；：（）]"
)
_BREAKS = frozenset(",;:()—–，、；：（）-")
BREAK = ","


class Token(NamedTuple):
    """A word in small letters, and where it stands."""

    word: str
    start: int
    end: int


def tokens(text: str, lang: str) -> list[Token]:
    """The words of a clause; commas, dashes and brackets all become one sign, contractions are written out."""
    out: list[Token] = []
    short = _contractions(lang)
    pattern = _SIGN if lang in UNSPACED else _WORD
    for match in pattern.finditer(text):
        word = match[0].lower().replace("’", "'")
        if text[match.end() : match.end() + 1] in ("'", "’") and f"{word}'" in short:
            word += "'"  # l', d' and such, standing alone
        if word in _BREAKS:
            out.append(Token(BREAK, *match.span()))
        elif "'" not in word and word not in short:
            out.append(Token(word, *match.span()))
        else:
            out.extend(_written_out(word, match.start(), match.end(), short))
    return out


def _written_out(word: str, start: int, end: int, short: dict[str, tuple[str, ...]]) -> Iterator[Token]:
    full = short.get(word)
    if full:
        yield from (Token(part, start, end) for part in full)
        return
    if "'" in word:
        for tail, written in short.items():
            if tail[0] == "'" and word.endswith(tail) and len(word) > len(tail):
                yield from _written_out(word[: -len(tail)], start, end - len(tail), short)
                yield from (Token(part, end - len(tail), end) for part in written)
                return
            if tail[-1] == "'" and word.startswith(tail) and len(word) > len(tail):
                yield Token(written[0], start, start + len(tail))
                yield from _written_out(word[len(tail) :], start + len(tail), end, short)
                return
    yield Token(word, start, end)


@cache
def _contractions(lang: str) -> dict[str, tuple[str, ...]]:
    return {word: tuple(full.split()) for word, full in words(lang).table("contractions").items()}
