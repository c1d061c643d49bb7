"""Dates and times in a question, as intervals of microseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from recollect.ports import to_datetime, to_micros

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(_MONTHS) + "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365}
_COUNTS = {w: i for i, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
_COUNTS.update({"a": 1, "an": 1, "couple": 2})
_FLAGS = re.IGNORECASE

_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_DAY_MONTH = re.compile(rf"\b{_DAY}\s+(?:of\s+)?({_MONTH})\b\.?,?(?:\s+(\d{{4}})\b)?", _FLAGS)
_MONTH_DAY = re.compile(rf"\b({_MONTH})\.?\s+{_DAY}\b(?!\s*:)(?:,?\s+(\d{{4}})\b)?", _FLAGS)
_MONTH_YEAR = re.compile(rf"\b({_MONTH})\.?,?\s+(?:of\s+)?(\d{{4}})\b", _FLAGS)
_MONTH_ONLY = re.compile(rf"\b(?:in|during|of|since|early|late|mid)[\s-]+({_MONTH})\b", _FLAGS)
_YEAR = re.compile(r"\b(?:in|during|of|since)\s+((?:19|20)\d\d)\b", _FLAGS)
_AGO = re.compile(
    r"\b(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|couple of) (day|week|month|year)s? ago\b",
    _FLAGS,
)
_LAST = re.compile(r"\b(last|past|previous) (week|month|year)\b", _FLAGS)
_NEAR = re.compile(r"\b(yesterday|today)\b", _FLAGS)

Interval = tuple[int, int]
Span = tuple[int, int]


def find_dates(text: str, now: int) -> tuple[list[Interval], list[Span]]:
    """The intervals a text speaks of, seen from `now` (microseconds), and where in the text they stand."""
    today = to_datetime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    intervals: list[Interval] = []
    spans: list[Span] = []
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in spans):
                continue
            try:
                first, last = read(match, today)
            except (ValueError, OverflowError):
                continue  # 31 February is a number like any other
            intervals.append((to_micros(first), to_micros(last)))
            spans.append(match.span())
    return intervals, spans


def _month(name: str) -> int:
    return next(i + 1 for i, month in enumerate(_MONTHS) if month.startswith(name.lower()[:3]))


def _one_day(year: str | None, month: int, day: int, today: datetime) -> tuple[datetime, datetime]:
    start = datetime(int(year or today.year), month, day, tzinfo=UTC)
    if year is None and start > today:
        start = start.replace(year=start.year - 1)
    return start, start + timedelta(days=1)


def _whole_month(year: int, month: int) -> tuple[datetime, datetime]:
    after = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    return datetime(year, month, 1, tzinfo=UTC), after


def _bare_month(match: re.Match[str], today: datetime) -> tuple[datetime, datetime]:
    month = _month(match[1])
    return _whole_month(today.year - (month > today.month), month)


def _ago(match: re.Match[str], today: datetime) -> tuple[datetime, datetime]:
    word = match[1].lower().split()[0]
    count = int(word) if word.isdigit() else _COUNTS[word]
    unit = _UNITS[match[2].lower()]
    start = today - timedelta(days=count * unit)
    slack = timedelta(days=unit // 2 if unit > 1 else 0)
    return start - slack, start + slack + timedelta(days=1)


def _last(match: re.Match[str], today: datetime) -> tuple[datetime, datetime]:
    unit = match[2].lower()
    if unit == "week":
        monday = today - timedelta(days=today.weekday())
        return monday - timedelta(days=7), monday
    if unit == "month":
        end = today.replace(day=1)
        return (end - timedelta(days=1)).replace(day=1), end
    return datetime(today.year - 1, 1, 1, tzinfo=UTC), datetime(today.year, 1, 1, tzinfo=UTC)


def _near(match: re.Match[str], today: datetime) -> tuple[datetime, datetime]:
    start = today - timedelta(days=match[1].lower() == "yesterday")
    return start, start + timedelta(days=1)


_READERS = (
    (_ISO, lambda m, today: _one_day(m[1], int(m[2]), int(m[3]), today)),
    (_DAY_MONTH, lambda m, today: _one_day(m[3], _month(m[2]), int(m[1]), today)),
    (_MONTH_YEAR, lambda m, today: _whole_month(int(m[2]), _month(m[1]))),
    (_MONTH_DAY, lambda m, today: _one_day(m[3], _month(m[1]), int(m[2]), today)),
    (_MONTH_ONLY, _bare_month),
    (_YEAR, lambda m, today: (datetime(int(m[1]), 1, 1, tzinfo=UTC), datetime(int(m[1]) + 1, 1, 1, tzinfo=UTC))),
    (_AGO, _ago),
    (_LAST, _last),
    (_NEAR, _near),
)
