"""Cuts a long text into pieces that can be tokenised one by one.

A regular expression or a tokenizer blocks the interpreter until it returns. So one call on megabytes of text would stop
every other thread, including the one that answers connections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

PIECE_CHARACTERS = 50_000
_BETWEEN_WORDS = re.compile(r"(?<=[a-z])(?= [a-z])", re.IGNORECASE | re.ASCII)
_LOOK_CHARACTERS = 2_000
"""The distance from the end of a piece within which to look for a gap between two words."""


def text_pieces(text: str, size: int = PIECE_CHARACTERS) -> Iterator[str]:
    """Yield the pieces of a text, each of about `size` characters.

    The text is cut before a space between two Latin letters, which no word and no token of any encoding crosses. A long
    part without such a space may be cut anywhere.
    """
    start = 0
    while len(text) - start > size:
        end = start + size
        gap = _BETWEEN_WORDS.search(text, end - min(_LOOK_CHARACTERS, size // 2), end)
        stop = gap.start() if gap else end
        yield text[start:stop]
        start = stop
    yield text[start:]
