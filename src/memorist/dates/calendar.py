"""Provides calendar arithmetic, and the English names of months, weekdays, holidays, seasons and numbers."""

from __future__ import annotations

from calendar import monthrange
from datetime import datetime, timedelta
from functools import cache
from typing import Literal

from ..languages import words

Grain = Literal["minute", "hour", "day", "weekend", "week", "month", "season", "quarter", "year", "decade"]

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sep", "sept"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            ("monday", "mon"),
            ("tuesday", "tue", "tues"),
            ("wednesday", "wed", "weds"),
            ("thursday", "thu", "thur", "thurs"),
            ("friday", "fri"),
            ("saturday", "sat"),
            ("sunday", "sun"),
        )
    )
    for name in names
}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
HOLIDAYS = {
    "new year's eve": (12, 31),
    "new year's day": (1, 1),
    "valentine's day": (2, 14),
    "halloween": (10, 31),
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "boxing day": (12, 26),
}
_UNITS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
NUMBERS = {word: value for value, word in enumerate((_UNITS + " eighteen nineteen").split(), start=1)}
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBERS |= {word: value for value, word in zip(range(20, 100, 10), _TENS, strict=True)}
NUMBERS |= {f"{tens}-{unit}": NUMBERS[tens] + value for tens in _TENS for unit, value in list(NUMBERS.items())[:9]}
NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "a couple": 2, "couple of": 2, "a few": 3, "few": 3, "several": 4}
NUMBERS |= {"a hundred": 100, "one hundred": 100, "a dozen": 12, "zero": 0}


_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_LENGTHS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "weekend": timedelta(days=7),
}


def number(text: str, lang: str = "en") -> int | None:
    """Return the number in a short text, written in digits or in a language's number words, or None if there is
    none."""
    word = " ".join(text.lower().replace(",", "").split())
    if word.isdecimal():
        return int(word) if len(word) <= 15 else None
    if lang != "en":
        return words(lang).table("numbers").get(word, _in_order(lang).get(word.replace(" ", "-")))
    return NUMBERS.get(word, NUMBERS.get(word.replace(" ", "-")))


@cache
def _in_order(lang: str) -> dict[str, int]:
    """Return the number words of a language that lists them from zero upwards."""
    return {word: value for value, word in enumerate(words(lang).list("in_order"))}


def day_start(when: datetime) -> datetime:
    """Return midnight at the start of the day."""
    return when.replace(hour=0, minute=0, second=0, microsecond=0)


def month_start(when: datetime, months: int = 0) -> datetime:
    """Return midnight on the first day of the month `months` months after that of `when`."""
    index = when.year * 12 + when.month - 1 + months
    return day_start(when).replace(year=index // 12, month=index % 12 + 1, day=1)


def add_months(when: datetime, months: int) -> datetime:
    """Return the same day `months` later. In a shorter month, the 31st becomes the last day."""
    first = month_start(when, months)
    return first.replace(day=min(when.day, monthrange(first.year, first.month)[1]))


def period(when: datetime, grain: Grain) -> tuple[datetime, datetime]:
    """Return the start and end of the day, week (from Monday), month, quarter, season, year or decade that contains a
    time."""
    day = day_start(when)
    if grain == "minute":
        start = when.replace(second=0, microsecond=0)
        return start, start + timedelta(minutes=1)
    if grain == "hour":
        start = when.replace(minute=0, second=0, microsecond=0)
        return start, start + timedelta(hours=1)
    if grain == "day":
        return day, day + timedelta(days=1)
    if grain in ("week", "weekend"):
        monday = day - timedelta(days=day.weekday())
        return (monday, monday + timedelta(days=7)) if grain == "week" else _weekend(monday)
    if grain == "year":
        return month_start(day.replace(month=1)), month_start(day.replace(month=1), 12)
    if grain == "decade":
        start = month_start(day.replace(year=day.year // 10 * 10, month=1))
        return start, month_start(start, 120)
    if grain == "quarter":
        start = month_start(day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1))
        return start, month_start(start, 3)
    start = month_start(day)
    return start, month_start(start, 3 if grain == "season" else 1)


def shift(when: datetime, count: int, grain: str) -> datetime:
    """Return the time that is `count` units later, or earlier if `count` is negative."""
    if grain in _MONTHS_IN:
        return add_months(when, count * _MONTHS_IN[grain])
    return when + count * _LENGTHS[grain]


def _weekend(monday: datetime) -> tuple[datetime, datetime]:
    return monday + timedelta(days=5), monday + timedelta(days=7)
