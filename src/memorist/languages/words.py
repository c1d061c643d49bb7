"""Reads the word lists of a language from its `words.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from ..values import JsonObject
from .files import read

UNSPACED = frozenset({"zh", "ja"})
"""Languages written without spaces, in which each character counts as a word."""


class Words:
    """Holds the named lists of one language. A list that the language lacks is empty."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self._table: JsonObject = read(lang, "words")
        self._sets: dict[str, frozenset[str]] = {}
        self._lists: dict[str, tuple[str, ...]] = {}

    def set(self, name: str) -> frozenset[str]:
        """Return a list of single words as a set. The file may contain it as one text."""
        words_ = self._sets.get(name)
        if words_ is None:
            words_ = self._sets[name] = frozenset(self.list(name))
        return words_

    def list(self, name: str) -> tuple[str, ...]:
        """Return a list in the order of the file."""
        cached = self._lists.get(name)
        if cached is None:
            listed = self._table.get(name, ())
            cached = self._lists[name] = tuple(listed.split()) if isinstance(listed, str) else tuple(listed)
        return cached

    def table(self, name: str) -> JsonObject:
        """Return a table, such as number words, months or abbreviations."""
        table: JsonObject = self._table.get(name, {})
        return table


def any_of(wordings: Iterable[str]) -> str:
    """Return a regular expression that matches any of the given wordings, longest first. It is empty if there are
    none."""
    return "|".join(re.escape(word) for word in sorted(wordings, key=len, reverse=True))


@cache
def words(lang: str = "en") -> Words:
    """Return the word lists of a language."""
    return Words(lang)
