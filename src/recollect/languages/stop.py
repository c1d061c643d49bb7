"""Stop words: words that carry no evidence of their own, and that tell which language a text is in.

The lists are short on purpose; a frequent word that is missing is weighted down by its document frequency.
"""

from __future__ import annotations

from functools import cache

from .files import codes, read


@cache
def stop_words(code: str) -> frozenset[str]:
    """The stop words of one language."""
    return frozenset(read(code, "stop").get("words", "").split())


def _by_name() -> dict[str, frozenset[str]]:
    tables = ((code, read(code, "stop")) for code in codes())
    return {table["snowball"]: stop_words(code) for code, table in tables if "snowball" in table}


STOP_WORDS = _by_name()
"""By the names that Snowball gives its stemmers, in the order of `codes`: where two fit a text, the first is taken."""
