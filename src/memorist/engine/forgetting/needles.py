"""Keeps samples of forgotten content in RAM during an erasure, so that the store's files can be searched for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from ...kinds import kind_of
from ...stores.base import Change, Delete, DeleteRange
from ...values import encode_json
from ..core import Core
from ..statistics import deleted_rows

LONG_TEXT_CHARACTERS = 16
SHORT_TEXT_CHARACTERS = 8
NEEDLE_CHARACTERS = 64
MAX_NEEDLES = 64
SAMPLED_ROWS = 16
"""How many rows of each kind are sampled."""


class Needles:
    """Holds a bounded set of byte strings that are unlikely to occur anywhere else."""

    def __init__(self) -> None:
        self.bytes: set[bytes] = set()
        self._rows: Counter[object] = Counter()

    async def remember(self, core: Core, changes: Sequence[Change]) -> None:
        """Keep samples from some of the rows that these changes will delete."""
        for change in [change for change in changes if isinstance(change, Delete | DeleteRange)]:
            says = kind_of(change.kind).says
            room = min(SAMPLED_ROWS - self._rows[change.kind], MAX_NEEDLES - len(self.bytes))
            if says is not None and room > 0:
                for row in await deleted_rows(core, change, change.kind, limit=room):
                    samples = _samples(says(row))
                    self.bytes |= samples
                    self._rows[change.kind] += bool(samples)  # texts that are too short do not count


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
