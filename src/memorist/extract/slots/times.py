"""Readers of dates, counts and amounts."""

from __future__ import annotations

import re

from ...dates import DateRange, number
from ..amounts import amount, measure
from ..keys import slug
from .around import Around, Reading, one


def read_number(text: str, around: Around) -> list[Reading]:
    """A number in digits or words."""
    return one(number(text, around.ph.lang))


def read_amount(text: str, around: Around) -> list[Reading]:
    """A number with its unit, if it has one."""
    return one(amount(text, around.ph.lang))


def read_measure(text: str, around: Around) -> list[Reading]:
    """A height or a weight."""
    return one(measure(text, around.ph.lang))


def only_date(text: str, around: Around) -> DateRange | None:
    """The only date of a phrase, when the phrase is little more than that."""
    found = around.dates(text)
    return found[0] if len(found) == 1 and not around.ph.without_tail(text[: found[0].span[0]]) else None


def read_date(text: str, around: Around) -> list[Reading]:
    """A date and little else."""
    found = only_date(text, around)
    return one(found.iso) if found else []


def read_when(text: str, around: Around) -> list[Reading]:
    """The only date of a phrase, whatever stands beside it."""
    found = around.dates(text)
    return one(found[0].iso) if len(found) == 1 else []


def read_recurring(text: str, around: Around) -> list[Reading]:
    """A date that comes every year, where no year was said."""
    found = only_date(text, around)
    return one((_yearless(found) if found.yearless else found.iso) if found else None)


def read_birthday(text: str, around: Around) -> list[Reading]:
    """A day or month of every year; a year too, where it was said."""
    if re.match(r"(?:the )?(?:feb(?:ruary)? (?:the )?29|29(?:th|\.)?(?: of)? feb)", text, re.I):
        return one("--02-29")
    found = around.dates(text, "past")
    if not found or len(text[: found[0].span[0]].split()) > 3 or found[0].grain not in ("day", "month", "year"):
        return []
    first = found[0]
    if first.grain == "month" and not re.search(r"\d{4}", first.text):
        return one(f"--{first.start.month:02d}")
    return one(_yearless(first) if first.grain == "day" and first.yearless else first.iso)


def _yearless(date: DateRange) -> str:
    return f"--{date.start.month:02d}-{date.start.day:02d}"


def read_counting(text: str, around: Around) -> list[Reading]:
    """So many of something: "two small dogs"."""
    ph, parts = around.ph, text.split()
    counts = ((size, number(" ".join(parts[:size]), around.ph.lang)) for size in (3, 2, 1) if len(parts) > size)
    size, value = next(((size, value) for size, value in counts if value is not None), (0, None))
    if value is None or parts[0].lower() in ph.lists.set("articles"):
        return []
    said = ph.separator.split(" ".join(parts[size:]))[0]
    said = ph.cut(ph.role_ends.sub("", ph.thing_ends.sub("", f" {said}")), most=4)
    ours = not ph.starts(around.sentence, "we") or ph.holds(said, "ours")
    if not said or not ours or (said[0].isupper() and ph.lang == "en") or ph.starts(said, "not_counted"):
        return []
    return [Reading(value, slug(said))]
