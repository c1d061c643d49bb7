"""Keeps samples of forgotten content in RAM during an erasure, and searches rows and files for them afterwards."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...kinds import kind_of
from ...records import Record
from ...values import encode_json

LONG_TEXT_CHARACTERS = 16
SHORT_TEXT_CHARACTERS = 8
NEEDLE_CHARACTERS = 64
MAX_NEEDLES = 64
SAMPLED_ROWS = 16


class Needles:
    """Holds a bounded set of byte strings that are unlikely to occur anywhere else."""

    def __init__(self) -> None:
        self.bytes: set[bytes] = set()

    def remember(self, rows: Sequence[Record]) -> None:
        """Keep samples from some of these rows, spread evenly among them."""
        for row in rows[:: len(rows) // SAMPLED_ROWS + 1]:
            says = kind_of(row).says
            value = None if says is None else says(row)
            if len(self.bytes) < MAX_NEEDLES:
                self.bytes |= _opaque(value) if isinstance(value, bytes) else _written(_piece(value))


def _opaque(data: bytes) -> set[bytes]:
    """Return a sample from the middle of opaque data, because the beginnings of such data are often alike."""
    start = max(0, (len(data) - NEEDLE_CHARACTERS) // 2)
    return {data[start : start + NEEDLE_CHARACTERS]} if len(data) >= LONG_TEXT_CHARACTERS else set()


def _written(piece: str | None) -> set[bytes]:
    """Return a text as UTF-8 and as JSON, because some columns store plain text and others store JSON escapes."""
    return set() if piece is None else {piece.encode(), encode_json(piece)[1:-1].encode()}


def _piece(value: object) -> str | None:
    longest = max((text for text in _texts(value) if _telling(text)), key=len, default=None)
    return None if longest is None else longest[:NEEDLE_CHARACTERS]


def _texts(value: object) -> list[str]:
    """Return every text in a value, except keys."""
    out, stack = [], [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
        elif isinstance(item, msgspec.Struct):
            stack.extend(msgspec.structs.astuple(item))
    return out


def _telling(text: str) -> bool:
    """Return whether a text is unlikely to occur in other people's texts, because it is long or has more than one
    word."""
    return len(text) >= LONG_TEXT_CHARACTERS or (len(text) >= SHORT_TEXT_CHARACTERS and not text.isalpha())
