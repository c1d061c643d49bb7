"""What all slot readers share: what they get, what they give, and the dates at the end of a phrase."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from ...dates import DateRange, Prefer, parse_dates
from ..keys import slug
from ..phrases import Phrases


class Reading(NamedTuple):
    """A value, and the part of a key that it makes."""

    value: Any
    part: str


class Around(NamedTuple):
    """What a reader may look at besides its own words: the phrase lists of the language, the time, the sentence."""

    ph: Phrases
    at: datetime
    sentence: str
    prefer: Prefer = "future"
    before: str = ""
    """The sentence before this one."""

    @property
    def lang(self) -> str:
        """The code of the language."""
        return self.ph.lang

    def dates(self, text: str) -> list[DateRange]:
        """The dates that a text names."""
        return parse_dates(text, self.at, prefer=self.prefer, lang=self.lang)


Reader = Callable[[str, Around], list[Reading]]


def one(value: Any) -> list[Reading]:
    """A single value, whose own words make the key; nothing where there is none."""
    return [Reading(value, slug(str(value)))] if value not in (None, "") else []


def without_tail(text: str, ph: Phrases) -> str:
    """A phrase without the prepositions at its end."""
    parts = text.split()
    while parts and parts[-1].lower() in ph.lists.set("before_date"):
        parts.pop()
    return " ".join(parts)


def before_date(text: str, around: Around) -> tuple[str, DateRange] | None:
    """What stands before the only date of a phrase, and that date, where the phrase ends with it."""
    found = around.dates(text)
    rest = text[found[0].span[1] :].strip(" .,!") if len(found) == 1 else ""
    if len(found) != 1 or (rest and not around.ph.starts(rest, "after_date")):
        return None
    return without_tail(text[: found[0].span[0]].strip(" ,"), around.ph), found[0]
