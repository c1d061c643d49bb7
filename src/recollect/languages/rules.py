"""The regular expressions of a language that tell statements from all else: what `reading.toml` holds."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from .files import read

_NEVER = re.compile(r"(?!)")


class Rules:
    """The expressions of one part of `reading.toml` by name; one that a language lacks never matches."""

    def __init__(self, lang: str, part: str) -> None:
        self._table: dict[str, Any] = read(lang, "reading").get(part, {})

    def __getattr__(self, name: str) -> re.Pattern[str]:
        pieces = self._table.get(name)
        lines = re.M if name.endswith("_lines") else 0
        found = re.compile("".join(pieces), re.I | lines) if pieces else _NEVER
        setattr(self, name, found)
        return found

    def pairs(self, name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
        """Expressions, each with what is put in its place or before it."""
        return tuple((re.compile("".join(found["find"]), re.I), found["put"]) for found in self._table.get(name, ()))

    def table(self, name: str) -> dict[str, str]:
        """A table of words."""
        found: dict[str, str] = self._table.get(name, {})
        return found


@cache
def rules(lang: str, part: str) -> Rules:
    """The expressions of one part of a language's `reading.toml`."""
    return Rules(lang, part)
