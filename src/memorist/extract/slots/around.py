"""What readers of slots get and give: the words around a slot, and values with the part of a key that they make."""

from __future__ import annotations

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

    def dates(self, text: str, prefer: Prefer | None = None) -> list[DateRange]:
        """The dates that a text names; one without a year is taken as the topic prefers."""
        return parse_dates(text, self.at, prefer=prefer or self.prefer, lang=self.ph.lang)

    def undated(self, text: str) -> str:
        """A phrase up to its first date."""
        found = self.dates(text, "past")
        return self.ph.without_tail(text[: found[0].span[0]].strip(" ,.")) if found else text

    def before_date(self, text: str) -> tuple[str, DateRange] | None:
        """What stands before the only date of a phrase, and that date, where the phrase ends with it."""
        found = self.dates(text)
        rest = text[found[0].span[1] :].strip(" .,!") if len(found) == 1 else ""
        if len(found) != 1 or (rest and not self.ph.starts(rest, "after_date")):
            return None
        return self.ph.without_tail(text[: found[0].span[0]].strip(" ,")), found[0]


def one(value: Any) -> list[Reading]:
    """A single value, whose own words make the key; nothing where there is none."""
    return [Reading(value, slug(str(value)))] if value not in (None, "") else []
