"""Typed slots: what `{place}`, `{person}`, `{things}` and the like make of the words that fill them.

Each reader gets the words of its slot and gives values with the last part of their key, or nothing: then the pattern
does not fire. A slot that has a closed list in `words.toml` (`{relation}`) has no reader here.
"""

from __future__ import annotations

from ..phrases import phrases
from . import base, names, things, times, trades
from .base import Around, Reader, Reading

__all__ = ["Around", "Reading", "knows", "read"]


def read(name: str, text: str, around: Around) -> list[Reading]:
    """What a slot makes of its words."""
    reader = _READERS.get(name)
    if reader is None:
        raise KeyError(f"no slot {{{name}}}: neither a reader nor a closed list of {around.lang}")
    return reader(text.strip(), around, phrases(around.lang))


def knows(name: str) -> bool:
    """Whether there is a reader of that name."""
    return name in _READERS


def _all_readers() -> dict[str, Reader]:
    """Every function `read_<name>` of the modules beside this one reads the slot `{name}`."""
    found = (vars(module).items() for module in (base, names, things, times, trades))
    return {name[5:]: made for items in found for name, made in items if name.startswith("read_")}


_READERS: dict[str, Reader] = {
    **_all_readers(),
    "what": things.read_thing,
    "only": names.read_just_person,
    "known": things.read_known_tools,
    "past": times.read_date,
    "email": base.matched(names.EMAIL),
    "phone": base.matched(names.PHONE),
    "handle": base.matched(names.HANDLE),
    "adjective": base.read_word,
}
