"""The word lists of a language: what `words.toml` holds."""

from __future__ import annotations

from functools import cache
from typing import Any

from .files import read


class Words:
    """Named lists of one language; a list that a language lacks is empty."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self._table: dict[str, Any] = read(lang, "words")

    def set(self, name: str) -> frozenset[str]:
        """A list of single words, which the file may write as one text."""
        return frozenset(self.list(name))

    def list(self, name: str) -> tuple[str, ...]:
        """A list in the order of the file."""
        found = self._table.get(name, ())
        return tuple(found.split()) if isinstance(found, str) else tuple(found)

    def table(self, name: str) -> dict[str, Any]:
        """A table: number words, months, shorthand …"""
        return dict(self._table.get(name, {}))

    @property
    def classes(self) -> dict[str, dict[str, str]]:
        """Closed lists for slots such as `{relation}`: each wording, and the name it has in all languages."""
        return {name: dict(_wordings(found)) for name, found in self._table.get("classes", {}).items()}


def _wordings(found: Any) -> list[tuple[str, str]]:
    if isinstance(found, str):
        return [(word, word) for word in found.split()]
    if isinstance(found, list):
        return [(word, word) for word in found]
    return [(said, name) for name, all in found.items() for said in ([all] if isinstance(all, str) else all)]


@cache
def words(lang: str = "en") -> Words:
    """The word lists of a language."""
    return Words(lang)
