"""Slots that `languages/slots.toml` declares: a phrase or what another slot reads, and what must be true of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec

from ...dates import DateRange
from ...languages import slots, words
from ..keys import slug
from ..tokens import tokens
from .base import Around, Reading, before_date, without_tail

Read = Callable[[str, str, Around], list[Reading]]


class Slot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of the file, which says what each of these means."""

    like: str = ""
    match: str = ""
    without: str = ""
    stop: str = ""
    ends: tuple[str, ...] = ()
    open: bool = False
    each: bool = False
    bare: bool = False
    verb: bool = False
    dated: bool = False
    least: int = 1
    most: int = 99
    begins: str = ""
    not_begins: str = ""
    not_opened: str = ""
    holds: str = ""
    not_holds: str = ""
    last: str = ""
    form: str = ""
    whole: bool = False
    written: Literal["", "small", "capital"] = ""
    units: tuple[str, ...] = ()
    ahead: bool = False
    near: str = ""
    greeted: str = ""
    not_like: str = ""
    put: str = ""
    true: bool = False


class _Found(NamedTuple):
    """The words of a phrase, what they give, and the date behind them."""

    said: str
    value: Any
    date: DateRange | None = None


@cache
def declared() -> dict[str, Slot]:
    """All slots of the file."""
    return {name: msgspec.convert(table, Slot) for name, table in slots().items()}


def opening_words(name: str, lang: str) -> set[str]:
    """The words that a slot must begin with; empty where it may begin with any."""
    slot = declared().get(name)
    found = words(lang).list(slot.begins) if slot and slot.begins and not slot.without else ()
    return {tokens(wording, lang)[0].word for wording in found}


def read_declared(slot: Slot, text: str, around: Around, read: Read) -> list[Reading]:
    """What a declared slot makes of its words; `read` reads those it refers to."""
    while slot.without and text.partition(" ")[0].lower() in around.ph.lists.set(slot.without):
        text = text.partition(" ")[2]
    out = []
    for found in _found(slot, text, around, read) if _may_fit(slot, text, around) else ():
        if _fits(slot, found, text, around) and not (slot.not_like and read(slot.not_like, found.said, around)):
            said = slot.put.format(found.said) if slot.put else found.said
            out.append(Reading(True if slot.true else said if found.value == found.said else found.value, slug(said)))
    return out


def _may_fit(slot: Slot, text: str, around: Around) -> bool:
    """What can be told before anything is read: most slots that any word may fill are refused here."""
    ph, sentence = around.ph, around.sentence
    return (
        (not slot.begins or ph.starts(text, slot.begins))
        and (not slot.not_opened or not ph.starts(text, slot.not_opened))
        and (not slot.near or ph.holds(sentence, slot.near))
        and (not slot.greeted or ph.starts(sentence, slot.greeted))
    )


def _found(slot: Slot, text: str, around: Around, read: Read) -> Iterator[_Found]:
    if slot.match:
        match = re.search(slot.match, text)
        if match and len(text[: match.start()].split()) <= 3:
            said = match[match.lastindex or 0].rstrip(".")
            yield _Found(said, said)
    elif slot.like:
        for value, part in read(slot.like, text, around):
            yield _Found(value if isinstance(value, str) else part.replace("_", " "), value)
    elif slot.dated:
        cut = before_date(text, around)
        if cut:
            yield _Found(_bare(slot, cut[0], around), cut[1].iso, cut[1])
    else:
        yield from (_Found(said, said) for said in _phrases(slot, text, around))


def _phrases(slot: Slot, text: str, around: Around) -> Iterator[str]:
    ph = around.ph
    said = re.split(slot.stop, text)[0] if slot.stop else text
    for name in slot.ends:
        said = getattr(ph, name).sub("", f" {said}").strip()
    for item in ph.separator.split(said) if slot.each else [said]:
        kept = item.strip(" .。") if slot.open else ph.cut(item, most=99)
        if not slot.whole or kept == text.strip(" ."):
            yield without_tail(_bare(slot, kept, around), ph) if ph.joint else _bare(slot, kept, around)


def _bare(slot: Slot, said: str, around: Around) -> str:
    verb, _, rest = said.partition(" ") if slot.verb else ("", "", said)
    return f"{verb} {around.ph.bare(rest) if slot.bare else rest}".strip()


def _fits(slot: Slot, found: _Found, text: str, around: Around) -> bool:
    ph, said = around.ph, found.said
    if slot.units:
        return found.value["unit"] in slot.units
    if not said or not slot.least <= ph.length(said) <= slot.most:
        return False
    behind = said.partition(" ")[2] if slot.verb else said
    return (
        (not slot.not_begins or not ph.starts(behind, slot.not_begins))
        and (not slot.holds or ph.holds(said, slot.holds))
        and (not slot.not_holds or not ph.holds(said, slot.not_holds))
        and (not slot.last or ph.holds(said.split()[-1], slot.last))
        and (not slot.form or bool(re.search(slot.form, said)))
        and (not slot.whole or not slot.like or said == text.strip(" ,.!"))
        and (not slot.written or said[0].isupper() == (slot.written == "capital"))
        and (not slot.ahead or found.date is None or _is_ahead(found.date, around))
    )


def _is_ahead(date: DateRange, around: Around) -> bool:
    """Whether a date is to come, and not only "this week"."""
    vague = around.ph.lists.list("vague_dates")
    return date.end > around.at and not (vague and date.text.lower().startswith(vague))
