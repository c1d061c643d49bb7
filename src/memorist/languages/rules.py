"""Reads the named regular expressions and word lists in a language's `talk.toml`, for recall and context assembly.

In an expression, `{name}` refers to an expression in the section `[pieces]` of the same file, or to a list in
`words.toml`.
"""

from __future__ import annotations

import re
from functools import cache

from ..values import JsonObject
from .files import read
from .words import any_of, words

_NEVER = re.compile(r"(?!)")
_PIECES = re.compile(r"\{([a-z_]+)\}")


class Rules:
    """Holds the expressions of one section as attributes. An expression that exists only in English never matches in
    other languages."""

    def __init__(self, lang: str, part: str, file: str = "talk") -> None:
        self.lang = lang
        self._part = part
        self._table: JsonObject = read(lang, file).get(part, {})
        self._pieces: dict[str, list[str]] = read(lang, file).get("pieces", {})
        self._file = file

    def __getattr__(self, name: str) -> re.Pattern[str]:
        if name.startswith("_"):
            raise AttributeError(name)
        self._check(name)
        compiled = self._compiled(name, self._table.get(name))
        setattr(self, name, compiled)
        return compiled

    def _check(self, name: str) -> None:
        """Refuse a name that exists neither in this language nor in English, because it must be a typo."""
        if name not in self._table and name not in read("en", self._file).get(self._part, {}):
            raise KeyError(f"languages/{self.lang}/{self._file}.toml: there is no {name!r} in [{self._part}]")

    def _compiled(self, name: str, pieces: list[str] | None) -> re.Pattern[str]:
        lines = re.M if name.endswith("_lines") else 0
        return re.compile(self._written_out("".join(pieces)), re.I | lines) if pieces else _NEVER

    def _written_out(self, expression: str) -> str:
        """Return an expression with its named pieces filled in."""

        def put(named: re.Match[str]) -> str:
            if named[1] in self._pieces:
                return f"(?:{self._written_out(''.join(self._pieces[named[1]]))})"
            wordings = words(self.lang).list(named[1])
            if not wordings:
                raise KeyError(f"languages/{self.lang}/{self._file}.toml: there is no piece {named[1]!r}")
            return f"(?:{any_of(wordings)})"

        return _PIECES.sub(put, expression)

    def each(self, name: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """Return the expressions of a table in order, each with its name."""
        self._check(name)
        return tuple((key, self._compiled(key, pieces)) for key, pieces in self._table.get(name, {}).items())

    def wordings(self, name: str) -> tuple[str, ...]:
        """Return a list of words or wordings, in order."""
        self._check(name)
        patterns = self._table.get(name, ())
        return tuple(patterns.split()) if isinstance(patterns, str) else tuple(patterns)

    def words(self, name: str) -> frozenset[str]:
        """Return a list of words as a set."""
        return frozenset(self.wordings(name))


@cache
def rules(lang: str, part: str, file: str = "talk") -> Rules:
    """Return the expressions and lists in one section of a language's file."""
    return Rules(lang, part, file)
