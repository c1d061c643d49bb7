"""Stop words: words that carry no evidence of their own, and that tell which language a text is in.

The lists are short on purpose; a frequent word that is missing is weighted down by its document frequency.
"""

from __future__ import annotations

from functools import cache

from .files import read


@cache
def stop_words(code: str) -> frozenset[str]:
    """The stop words of one language."""
    return frozenset(read(code, "stop").get("words", "").split())
