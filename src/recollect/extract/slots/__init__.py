"""Typed slots: what `{place}`, `{person}`, `{things}` and the like make of the words that fill them.

Most are declared in `languages/slots.toml`; those that need more are functions here. Each gives values with the last
part of their key, or nothing: then the pattern does not fire. A slot that has a closed list in `words.toml`
(`{relation}`) is matched by the words of that list and needs neither.
"""

from __future__ import annotations

from . import names, things, times
from .base import Around, Reader, Reading
from .declared import declared, opening_words, read_declared

__all__ = ["Around", "Reading", "knows", "opening_words", "read"]


def read(name: str, text: str, around: Around) -> list[Reading]:
    """What a slot makes of its words."""
    slot = declared().get(name)
    return read_declared(slot, text.strip(), around, read) if slot else _READERS[name](text.strip(), around)


def knows(name: str) -> bool:
    """Whether there is a slot of that name."""
    return name in _READERS or name in declared()


_READERS: dict[str, Reader] = {
    name.removeprefix("read_"): function
    for module in (names, things, times)
    for name, function in vars(module).items()
    if name.startswith("read_")
}
"""Every function `read_<name>` of the modules beside this one reads the slot `{name}`."""
