"""Contains the stop words of the languages that have a stemmer. It is a separate module, because importing it reads all
their files."""

from __future__ import annotations

from .files import codes, read
from .stop import stop_words


def _by_name() -> dict[str, frozenset[str]]:
    tables = ((code, read(code, "stop")) for code in codes())
    return {table["snowball"]: stop_words(code) for code, table in tables if "snowball" in table}


STOP_WORDS = _by_name()
"""Stop words by the name of the Snowball stemmer, in order of preference (see `codes`)."""
