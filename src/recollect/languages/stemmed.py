"""Stop words of the languages that have a stemmer; a module of its own, since it reads the lists of all languages."""

from __future__ import annotations

from .files import codes, read
from .stop import stop_words


def _by_name() -> dict[str, frozenset[str]]:
    tables = ((code, read(code, "stop")) for code in codes())
    return {table["snowball"]: stop_words(code) for code, table in tables if "snowball" in table}


STOP_WORDS = _by_name()
"""By the names that Snowball gives its stemmers, in the order of `codes`: where two fit a text, the first is taken."""
