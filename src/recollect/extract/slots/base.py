"""What all slot readers share: what they get, what they give, and the word lists that begin or stand in a phrase."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from ...dates import Prefer
from ..keys import slug
from ..phrases import Phrases, any_of, phrases


class Reading(NamedTuple):
    """A value, and the part of a key that it makes."""

    value: Any
    part: str


class Around(NamedTuple):
    """What a reader may look at besides its own words."""

    lang: str
    at: datetime
    sentence: str
    prefer: Prefer = "future"
    before: str = ""
    """The sentence before this one."""


Reader = Callable[[str, Around, Phrases], list[Reading]]


def one(value: Any, part: str | None = None) -> list[Reading]:
    return [Reading(value, slug(part if part is not None else str(value)))] if value not in (None, "") else []


def starts(text: str, ph: Phrases, name: str) -> bool:
    """Whether a phrase begins with a word or wording of a list."""
    found = _starting(ph.lang, name)
    return bool(found and found.match(text))


@cache
def _starting(lang: str, name: str) -> re.Pattern[str] | None:
    listed = phrases(lang).lists.list(name)
    edge = r"(?![\w-])" if phrases(lang).joint else ""
    return re.compile(rf"(?:{any_of(listed)}){edge}", re.I) if listed else None


@cache
def holding(lang: str, name: str) -> re.Pattern[str] | None:
    listed = phrases(lang).lists.list(name)
    edges = (r"(?<!\w)", r"(?!\w)") if phrases(lang).joint else ("", "")
    return re.compile(rf"{edges[0]}(?:{any_of(listed)}){edges[1]}", re.I) if listed else None


def holds(text: str, ph: Phrases, name: str) -> bool:
    found = holding(ph.lang, name)
    return bool(found and found.search(text))


def read_text(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """All of it, as said."""
    return one(text.strip(" ,.!"))


def read_phrase(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A short phrase, up to where the sentence goes on."""
    return one(ph.cut(text, most=7))


def matched(pattern: re.Pattern[str]) -> Reader:
    def reader(text: str, around: Around, ph: Phrases) -> list[Reading]:
        found = pattern.search(text)
        return one(found[0].rstrip(".")) if found and len(text[: found.start()].split()) <= 3 else []

    return reader


def read_word(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Any one word."""
    return one(text) if len(text.split()) == 1 else []


def read_decided(text: str, around: Around, ph: Phrases) -> list[Reading]:
    said = text.strip(" .。")
    return one(said) if 0 < ph.length(said) <= 14 else []


def without_tail(text: str, ph: Phrases) -> str:
    """A phrase without the prepositions at its end."""
    parts = text.split()
    while parts and parts[-1].lower() in ph.lists.set("before_date"):
        parts.pop()
    return " ".join(parts)


def is_of_person(said: str, ph: Phrases) -> bool:
    """Whether a phrase begins with somebody close ("my son Bram"), so that it is no thing or event."""
    return bool(said) and said.split()[0].lower() in ph.lists.classes.get("relation", {})
