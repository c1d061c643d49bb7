"""Reads the TOML files of a language."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from ..values import JsonObject

ROOM = Path(__file__).parent
_FIRST = ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "ru")
"""The order of preference if a text fits two languages. Languages that are not listed follow in the order of their
codes."""


@cache
def codes() -> tuple[str, ...]:
    """Return the codes of all languages that have a folder."""
    names = {path.parent.name for path in ROOM.glob("*/stop.toml")}
    return (*(code for code in _FIRST if code in names), *sorted(names.difference(_FIRST)))


@cache
def read(code: str, name: str) -> JsonObject:
    """Return one file of a language. The result is empty if the language has no such file."""
    path = ROOM / code / f"{name}.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def rules_exist(code: str) -> bool:
    """Return whether facts can be extracted from texts in a language."""
    return (ROOM / code / "rules.toml").exists()


@cache
def read_shared(name: str) -> JsonObject:
    """Return a file that all languages share."""
    return tomllib.loads((ROOM / f"{name}.toml").read_text("utf-8"))
