"""Named regular expressions and word lists of a language: `reading.toml` for extraction, `talk.toml` for the rest.

`reading.toml` recognises statements; `talk.toml` recognises how people ask, decide, react and revise, for recall and
context assembly.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from .files import read

_NEVER = re.compile(r"(?!)")


class Rules:
    """The expressions of one section of a file as attributes; one that a language lacks never matches."""

    def __init__(self, lang: str, part: str, file: str) -> None:
        self._table: dict[str, Any] = read(lang, file).get(part, {})

    def __getattr__(self, name: str) -> re.Pattern[str]:
        found = _compiled(name, self._table.get(name))
        setattr(self, name, found)
        return found

    def pairs(self, name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
        """(expression, replacement or insertion) pairs."""
        return tuple((re.compile("".join(found["find"]), re.I), found["put"]) for found in self._table.get(name, ()))

    def each(self, name: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """The expressions of a table in its order, each with its name."""
        return tuple((key, _compiled(key, pieces)) for key, pieces in self._table.get(name, {}).items())

    def wordings(self, name: str) -> tuple[str, ...]:
        """A list of words or wordings, in its order."""
        found = self._table.get(name, ())
        return tuple(found.split()) if isinstance(found, str) else tuple(found)

    def words(self, name: str) -> frozenset[str]:
        """A list of words as a set."""
        return frozenset(self.wordings(name))

    def table(self, name: str) -> dict[str, str]:
        """A table of words."""
        found: dict[str, str] = self._table.get(name, {})
        return found


def _compiled(name: str, pieces: list[str] | None) -> re.Pattern[str]:
    lines = re.M if name.endswith("_lines") else 0
    return re.compile("".join(pieces), re.I | lines) if pieces else _NEVER


@cache
def rules(lang: str, part: str, file: str = "reading") -> Rules:
    """The expressions and lists of one section of a file of a language."""
    return Rules(lang, part, file)
