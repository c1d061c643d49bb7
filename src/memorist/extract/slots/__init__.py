"""Typed slots: what `{place}`, `{person}`, `{things}` and the like make of the words that fill them.

Most are declared in `languages/slots.toml`; those that need more are functions here. Each gives values with the last
part of their key, or nothing: then the pattern does not fire. A slot that has a closed list in `words.toml`
(`{relation}`) is matched by the words of that list and needs neither.
"""

from __future__ import annotations

from collections.abc import Callable

from ...languages import slots, words
from ..tokens import tokens
from . import names, things, times
from .around import Around, Reading
from .declared import read_declared

__all__ = ["READERS", "Around", "Reading", "opening_words", "read"]
READERS: dict[str, Callable[[str, Around], list[Reading]]] = {
    name.removeprefix("read_"): function
    for module in (names, things, times)
    for name, function in vars(module).items()
    if name.startswith("read_")
}
"""Every function `read_<name>` of the modules beside this one reads the slot `{name}`."""


def read(name: str, text: str, around: Around) -> list[Reading]:
    """What a slot makes of its words."""
    slot = slots().get(name)
    return read_declared(slot, text.strip(), around, read) if slot else READERS[name](text.strip(), around)


def opening_words(name: str, lang: str) -> set[str]:
    """The words that a slot must begin with; empty where it may begin with any."""
    slot = slots().get(name, {})
    found = words(lang).list(slot["begins"]) if "begins" in slot and "without" not in slot else ()
    return {tokens(wording, lang)[0].word for wording in found}
