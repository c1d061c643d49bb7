"""Provides stop words, which are not searched for and which reveal the language of a text.

The lists are short on purpose, because a frequent word missing from them has a low weight anyway, due to its document
frequency.
"""

from __future__ import annotations

from functools import cache

from .files import read


@cache
def stop_words(code: str) -> frozenset[str]:
    """Return the stop words of one language."""
    return frozenset(read(code, "stop").get("words", "").split())
