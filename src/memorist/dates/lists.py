"""Parses dates in languages other than English, using the months, weekdays and other words in their `words.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache

from ..languages import UNSPACED, any_of, words
from .calendar import Grain, month_start, period
from .range import DateRange, Prefer

_YEAR = r"(?P<y>19\d\d|20\d\d)"


class _Lists:
    """Holds the date words of a language, compiled to patterns."""

    def __init__(self, lang: str) -> None:
        lists = words(lang)
        self.months = {str(name): int(value) for name, value in lists.table("months").items()}
        self.weekdays = {str(name): int(value) for name, value in lists.table("weekdays").items()}
        self.days = {str(name): int(value) for name, value in lists.table("days").items()}
        self.weeks = {str(name): int(value) for name, value in lists.table("weeks").items()}
        self.patterns = [re.compile(source, re.I) for source in self._sources(lang)]

    def _sources(self, lang: str) -> Iterator[str]:
        yield r"(?P<y>\d{4})-(?P<n>\d{2})-(?P<d>\d{2})"
        edge = "" if lang in UNSPACED else r"(?<!\w)"
        day, after = (
            any_word(self.weekdays),
            any_word({name: 0 for name, step in self.weeks.items() if name[:1] == "~"}),
        )
        before = any_word({name: 0 for name in self.weeks if name[:1] != "~"})
        if lang in UNSPACED:
            yield r"(?:(?P<y>\d{4})年)?(?P<n>\d{1,2})月(?P<d>\d{1,2})[日号號]"
            yield r"(?P<y>\d{4})年(?P<n>\d{1,2})月"
            yield r"(?P<y>(?:19|20)\d\d)年"
            yield r"(?P<n>1[0-2]|[1-9])月(?!\d)"
        else:
            month = any_word(self.months)
            yield r"(?<![\d.])(?P<d>\d{1,2})[./-](?P<n>\d{1,2})[./-](?P<y>\d{4})"
            yield (
                rf"(?<!\w)(?P<d>\d{{1,2}})(?:\.|er|º|ª|°|e)?\s+(?:de\s+|d')?(?P<m>{month})\.?"
                rf"(?:,?\s+(?:de[l]?\s+)?{_YEAR})?(?!\w)"
            )
            yield rf"(?<!\w)(?P<m>{month})\.?\s+(?:de[l]?\s+)?{_YEAR}(?!\w)"
            yield rf"(?<!\w)(?P<m>{month})(?!\w)"
            yield rf"(?<![\w./-]){_YEAR}(?![\w./-])"
        yield rf"{edge}(?P<rel>{any_word(self.days)})(?!\w)" if edge else rf"(?P<rel>{any_word(self.days)})"
        if edge:
            yield rf"(?<!\w)(?:(?P<step>{before})\s+)?(?P<w>{day})(?:\s+(?P<late>{after}))?(?!\w)"
        else:
            yield rf"(?P<step>{before})?の?(?P<w>{day})"


def any_word(table: dict[str, int]) -> str:
    """Return a regular expression that matches any name in a table. For an empty table it never matches."""
    return any_of(name.lstrip("~") for name in table) or "(?!)"


@cache
def _lists(lang: str) -> _Lists:
    return _Lists(lang)


def listed_dates(text: str, now: datetime, prefer: Prefer, lang: str) -> list[DateRange]:
    """Return every date in a text, in order."""
    lists, taken, ranges = _lists(lang), bytearray(len(text)), list[DateRange]()
    for pattern in lists.patterns:
        for match in pattern.finditer(text):
            if any(taken[match.start() : match.end()]):
                continue
            try:
                reading = _reading(match, lists, now, prefer)
            except (ValueError, OverflowError):  # not a date that exists, such as 31 February
                continue
            taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
            ranges.append(_with_clock(text, reading, match.span()))
    return sorted(ranges, key=lambda item: item.span)


def _reading(match: re.Match[str], lists: _Lists, now: datetime, prefer: Prefer) -> DateRange:
    groups = match.groupdict()
    grain: Grain = "day"
    yearless = False
    if groups.get("rel"):
        start = now + timedelta(days=lists.days[groups["rel"].lower()])
    elif groups.get("w"):
        start = _weekday(groups, lists, now, prefer)
    else:
        month = int(groups["n"]) if groups.get("n") else lists.months[groups["m"].lower()] if groups.get("m") else None
        grain = "day" if groups.get("d") else "month" if month else "year"
        yearless = not groups.get("y")
        year = int(groups["y"]) if groups.get("y") else now.year
        start = month_start(now).replace(year=year, month=month or 1, day=int(groups.get("d") or 1))
        if yearless:
            start = _near(start, now, prefer, grain)
    first, last = period(start, grain)
    return DateRange(first, last, grain, match[0], match.span(), yearless=yearless and grain == "day")


def _near(start: datetime, now: datetime, prefer: Prefer, grain: Grain) -> datetime:
    if prefer == "past" and start > now:
        return start.replace(year=start.year - 1)
    return start.replace(year=start.year + 1) if prefer == "future" and period(start, grain)[1] <= now else start


def _weekday(groups: dict[str, str], lists: _Lists, now: datetime, prefer: Prefer) -> datetime:
    ahead = (lists.weekdays[groups["w"].lower()] - now.weekday()) % 7
    named = (groups.get("step") or "").lower() or "~" + (groups.get("late") or "").lower()
    step = lists.weeks.get(named, 0)
    if abs(step) == 7:  # a day of the week before or after this one
        return now + timedelta(days=lists.weekdays[groups["w"].lower()] - now.weekday() + step)
    if step < 0 or (step == 0 and prefer == "past"):
        return now + timedelta(days=ahead - 7)
    return now + timedelta(days=ahead or 7)


_CLOCK = re.compile(
    r"[\s,]*(?:\w{1,3}\s+){0,3}(?P<h>[01]?\d|2[0-3])(?::|h|\s?uhr|\s?u(?:ur)?\b|[点時时])\s?(?P<m>[0-5]\d)?", re.I
)


def _with_clock(text: str, day: DateRange, span: tuple[int, int]) -> DateRange:
    """Return the date with the time of day that follows it in the text, if any."""
    clock = _CLOCK.match(text, span[1]) if day.grain == "day" else None
    if not clock:
        return day
    start = day.start + timedelta(hours=int(clock["h"]), minutes=int(clock["m"] or 0))
    whole = (span[0], clock.end())
    return DateRange(start, start + timedelta(minutes=1), "minute", text[slice(*whole)], whole, yearless=day.yearless)
