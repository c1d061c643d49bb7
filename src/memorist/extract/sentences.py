"""Splits a message into sentences, with what is not the writer's own word masked: quotations, code, mails, games."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..languages import forms, rules

_RULES = rules("en", "reading")
MAX_TEXT = 20_000
"""Characters read of a message; what follows in a longer one is taken for pasted text."""
MAX_SENTENCE = 600
MAX_SENTENCES = 200
_LAST = 24
"""Characters in which the last word of a sentence is looked for: more than the longest abbreviation."""
_SENTENCE = re.compile(
    r"[^.!?。！？\n]*(?:[.!?](?!\s|$|[\"')\]])[^.!?。！？\n]*)*(?:[.!?]+[\"')\]]*|[。！？]+[」』”]*|\n|$)"
)
_QUOTES = re.compile(
    r"\"([^\"\n]{0,600})\"|“([^”\n]{0,600})”|«([^»\n]{0,600})»|„([^“”\n]{0,600})[“”]|「([^」\n]{0,600})」"
    r"|『([^』\n]{0,600})』|(?<![\w])['‘]((?:[^'’\n]|(?<=\w)['’](?=\w)){4,600})['’](?!\w)"
)

_FOREIGN = (
    *((re.compile(found["find"]), found["signs"]) for found in forms()["foreign"]),
    (_RULES.speaker_lines, [": "]),
)
"""Patterns of text that is not the writer's own, each with the signs without which it cannot match."""


class Sentence(NamedTuple):
    """A sentence: with others' words masked, as written, and where it stands in the message."""

    own: str
    written: str
    span: tuple[int, int]


def sentences(text: str) -> list[Sentence]:
    """The sentences of a message, up to the most that are read."""
    text = text[:MAX_TEXT]
    own = mask(text)
    return [Sentence(own[start:end], text[start:end], (start, end)) for start, end in _spans(own)[:MAX_SENTENCES]]


def mask(text: str) -> str:
    """Blanks out what is quoted, code, markup, pasted, forwarded or said in a game; offsets stay the same."""
    for pattern, signs in _FOREIGN:
        if any(sign in text for sign in signs):
            text = pattern.sub(lambda match: "\n" * len(match[0]), text)
    for pasted in _RULES.pasted.finditer(text) if ":" in text else ():
        if not _RULES.own_words.search(text, max(0, pasted.start() - 40), pasted.start()):
            text = text[: pasted.start()] + "\n" * (len(text) - pasted.start())
            break
    return _QUOTES.sub(_unquote, text)


def _unquote(match: re.Match[str]) -> str:
    """Whether a quotation is kept: one or two words are a name, a few after "my role is" a title."""
    inner = match[match.lastindex or 0]
    size = len(inner.split())
    titled = 2 < size <= 4 and _RULES.titled.search(match.string, max(0, match.start() - 60), match.start())
    if (size <= 2 or titled) and not inner.lower().startswith(("i ", "i'm", "my ", "call me")):
        return f" {inner} "
    return "\n" * len(match[0])


def _spans(text: str) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    begin = 0
    for match in _SENTENCE.finditer(text):
        end = match.end()
        last = text[max(begin, end - _LAST) : end]  # not all of it: an abbreviation does not end a piece, which grows
        if end < len(text) and not last.endswith("\n") and _RULES.abbreviation.search(last):
            continue
        if _RULES.ordinal.search(last) and _RULES.month.match(text, end):
            continue
        piece = text[begin:end]
        if piece.strip() and len(piece) <= MAX_SENTENCE:
            out.append((begin + len(piece) - len(piece.lstrip()), begin + len(piece.rstrip())))
        begin = end
    return out
