"""Splits readable text into sentences."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_SENTENCE_CHARACTERS = 400
"""Longer sentences are not read, because people state facts about themselves in short ones."""
MAX_SENTENCES = 60
_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.](?=\S)[^.!?。！？\n]*)*(?:[.!?。！？]+[\"')\]”」]*|\n|$)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|prof|sra?|dra?|vs|approx|no|nr|ca|bzw|z\.b|u\.s|e\.g|i\.e|etc|jr)|\b[A-Z])\.$", re.I
)
_ORDINAL = re.compile(r"\b\d{1,2}\.$")


class Sentence(NamedTuple):
    """Holds a sentence and its position in the message."""

    text: str
    start: int
    end: int


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text, up to the maximum number that is read."""
    out: list[Sentence] = []
    begin = 0
    for match in _SENTENCE.finditer(text):
        end = match.end()
        last = text[max(begin, end - 12) : end]
        if end < len(text) and (_ABBREVIATION.search(last) or (_ORDINAL.search(last) and text[end : end + 1] == " ")):
            continue
        piece = text[begin:end]
        if piece.strip() and len(piece) <= MAX_SENTENCE_CHARACTERS:
            start = begin + len(piece) - len(piece.lstrip())
            out.append(Sentence(" ".join(piece.split()), start, begin + len(piece.rstrip())))
            if len(out) == MAX_SENTENCES:
                break
        begin = end
    return out
