"""Keeps samples of forgotten content in RAM during an erasure, so that the store's files can be searched for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

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
        self._rows: Counter[str] = Counter()

    def has_room(self, record_type: type[Record]) -> bool:
        """Return whether more rows of this kind are needed."""
        is_told = kind_of(record_type).says is not None
        return is_told and self._rows[record_type.table.name] < SAMPLED_ROWS and len(self.bytes) < MAX_NEEDLES

    def remember(self, rows: Sequence[Record]) -> None:
        """Keep a sample from each of these rows."""
        for row in rows:
            says = kind_of(row).says
            if says is not None:
                self._rows[row.table.name] += 1
                self.bytes |= _samples(says(row))


def _samples(content: object) -> set[bytes]:
    """Return a piece of some content, in every form in which a store may have written it."""
    if isinstance(content, bytes):
        # The beginnings of opaque data are often alike, so the sample is from the middle.
        start = max(0, (len(content) - NEEDLE_CHARACTERS) // 2)
        return {content[start : start + NEEDLE_CHARACTERS]} if len(content) >= LONG_TEXT_CHARACTERS else set()
    piece = max(filter(_is_telling, _texts(content)), key=len, default="")[:NEEDLE_CHARACTERS]
    # Some columns store plain text, and others JSON with escapes.
    return {piece.encode(), encode_json(piece)[1:-1].encode()} if piece else set()


def _texts(content: object) -> Iterator[str]:
    """Yield every text in some content, except keys. An explicit stack allows any depth."""
    stack = [content]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list | tuple):
            stack.extend(item.values() if isinstance(item, dict) else item)
        elif isinstance(item, msgspec.Struct):
            stack.extend(msgspec.structs.astuple(item))


def _is_telling(text: str) -> bool:
    """Return whether a text is unlikely to occur in other people's texts: it is long or has more than one word."""
    return len(text) >= LONG_TEXT_CHARACTERS or (len(text) >= SHORT_TEXT_CHARACTERS and not text.isalpha())
