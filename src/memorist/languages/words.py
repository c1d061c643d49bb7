"""The word lists of a language, read from its `words.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from .files import read

UNSPACED = frozenset({"zh", "ja"})
"""Languages written without spaces: each character is a word of its own."""


class Words:
    """Named lists of one language; a list that a language lacks is empty."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self._table: dict[str, Any] = read(lang, "words")
        self._sets: dict[str, frozenset[str]] = {}
        self._lists: dict[str, tuple[str, ...]] = {}

    def set(self, name: str) -> frozenset[str]:
        """A list of single words as a set; the file may write it as one text."""
        found = self._sets.get(name)
        if found is None:
            found = self._sets[name] = frozenset(self.list(name))
        return found

    def list(self, name: str) -> tuple[str, ...]:
        """A list in the order of the file."""
        known = self._lists.get(name)
        if known is None:
            found = self._table.get(name, ())
            known = self._lists[name] = tuple(found.split()) if isinstance(found, str) else tuple(found)
        return known

    def table(self, name: str) -> dict[str, Any]:
        """A table: number words, months, shorthand …"""
        found: dict[str, Any] = self._table.get(name, {})
        return found


def any_of(wordings: Iterable[str]) -> str:
    """A regular expression for one of some wordings, longest first; empty where there are none."""
    return "|".join(re.escape(word) for word in sorted(wordings, key=len, reverse=True))


@cache
def words(lang: str = "en") -> Words:
    """The word lists of a language."""
    return Words(lang)
