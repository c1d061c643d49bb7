"""Named regular expressions and word lists of a language: `reading.toml` for extraction, `talk.toml` for the rest.

`reading.toml` recognises statements; `talk.toml` recognises how people ask, decide, react and revise, for recall and
context assembly. Expressions that differ between languages only in their words are written once, in `forms.toml`.
In an expression `{name}` stands for the words of that list of `words.toml`, or for an expression of the section
`[pieces]` of its own file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from .files import forms, read
from .words import UNSPACED, any_of, words

_NEVER = re.compile(r"(?!)")
_LISTS = re.compile(r"\{([a-z_|]+)\}")


class Rules:
    """The expressions of one section of a file as attributes; one that a language lacks never matches."""

    def __init__(self, lang: str, part: str, file: str = "reading") -> None:
        self.lang = lang
        self._table: dict[str, Any] = read(lang, file).get(part, {})
        self._pieces: dict[str, list[str]] = read(lang, file).get("pieces", {})
        self._named: dict[str, tuple[re.Pattern[str], ...]] = {}
        self._forms: dict[str, Any] = forms().get(part, {}) if file == "reading" else {}

    def __getattr__(self, name: str) -> re.Pattern[str]:
        own = name in self._table or name not in self._forms
        found = self._compiled(name, self._table.get(name)) if own else self.formed(name)
        setattr(self, name, found)
        return found

    def _compiled(self, name: str, pieces: list[str] | None) -> re.Pattern[str]:
        lines = re.M if name.endswith("_lines") else 0
        return re.compile(self._written_out("".join(pieces)), re.I | lines) if pieces else _NEVER

    def _written_out(self, expression: str, **more: Iterable[str]) -> str:
        """An expression with pieces and word lists in the places of their names."""

        def alternatives(named: re.Match[str]) -> str:
            if named[1] in self._pieces:
                return f"(?:{self._written_out(''.join(self._pieces[named[1]]))})"
            found = any_of(word for one in named[1].split("|") for word in more.get(one) or words(self.lang).list(one))
            return f"(?:{found})" if found else _NEVER.pattern

        return _LISTS.sub(alternatives, expression)

    def formed(self, name: str, **more: Iterable[str]) -> re.Pattern[str]:
        """An expression of `forms.toml` with the words of this language, and `more` lists by their names."""
        form = self._forms[name]["unspaced" if self.lang in UNSPACED else "spaced"]
        return re.compile(self._written_out(form, **more), re.I | re.S)

    def small(self, name: str) -> re.Pattern[str]:
        """An expression for texts in small letters: with letters of one size `re` skips alternatives by their first."""
        return re.compile(getattr(self, name).pattern)

    def each_small(self, name: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """The expressions of a table, each with its name, for texts in small letters."""
        return tuple((key, re.compile(found.pattern)) for key, found in self.each(name))

    def pairs(self, name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
        """(expression, replacement or insertion) pairs."""
        return tuple((self._compiled(name, found["find"]), found["put"]) for found in self._table.get(name, ()))

    def each(self, name: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """The expressions of a table in its order, each with its name."""
        return tuple((key, self._compiled(key, pieces)) for key, pieces in self._table.get(name, {}).items())

    def expressions(self, name: str) -> tuple[re.Pattern[str], ...]:
        """The expressions that a list names."""
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = tuple(getattr(self, one) for one in self.wordings(name))
        return found

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


@cache
def rules(lang: str, part: str, file: str = "reading") -> Rules:
    """The expressions and lists of one section of a file of a language."""
    return Rules(lang, part, file)
