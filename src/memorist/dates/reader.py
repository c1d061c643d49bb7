"""Parses dates and relative times in English text, and resolves them against the time it was written.

Weeks begin on Monday. "Last Tuesday" and "next Tuesday" are the nearest ones before and after today, never today.
`prefer` decides whether a date without a year, or a weekday alone, is in the past or the future. In 03/04/2026 the
month comes first unless that is impossible, and in 03.04.2026 the day comes first. "In two weeks" is a day, "two months
ago" is a month and "3 years ago" is a year. These are marked as `approximate`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import cast

from ..errors import UsageError
from .calendar import HOLIDAYS, MONTHS, SEASONS, WEEKDAYS, Grain, day_start, month_start, number, period, shift
from .lists import listed_dates
from .range import DateRange, Prefer, Relation, Span

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY = "|".join(sorted(WEEKDAYS, key=len, reverse=True))
_COUNT = (
    r"\d{1,4}|a couple of|a couple|a few|several|an?|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|ninety)"
    r"(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?"
)
_UNIT = r"(minute|hour|day|week|weekend|month|quarter|year|decade)s?"
_YEAR = r"(19\d\d|20\d\d)"
_ORDINAL = r"(\d{1,2})(?:st|nd|rd|th)?"
_ORDINAL_WORDS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third "
    "twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
)
_ORDINALS = {word: value for value, word in enumerate(_ORDINAL_WORDS.split(), start=1)}
_ORDINAL_WORD = "(" + "|".join(sorted(_ORDINALS, key=len, reverse=True)) + ")"
_CLOCK = re.compile(
    r"\s*,?\s*(?:at|@|around|by)?\s*(?:(?P<h>\d{1,2})(?::(?P<m>[0-5]\d))?\s*(?P<ap>[ap])\.?m\b\.?|(?P<H>[01]?\d"
    r"|2[0-3]):(?P<M>[0-5]\d)\b"
    r"|(?P<word>noon|midnight)\b)",
    re.I,
)
_CLOCK_BEFORE = re.compile(
    r"(?:\bat\s+)?(?:(?P<h>\d{1,2})(?::(?P<m>[0-5]\d))?\s*(?P<ap>[ap])\.?m\.?|(?P<H>[01]?\d"
    r"|2[0-3]):(?P<M>[0-5]\d)|(?P<word>noon|midnight))"
    r",?\s+(?:on\s+)?$",
    re.I,
)
_RELATION = re.compile(r"\b(since|ever since|until|till|before|after|from)\s+(?:the\s+|about\s+|around\s+)?$", re.I)
_RELATIONS: dict[str, Relation] = {
    "since": "since",
    "ever since": "since",
    "until": "until",
    "till": "until",
    "before": "before",
    "after": "after",
}
_PARTS = {"morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 24)}
_SIMPLE = {"today": 0, "yesterday": -1, "tomorrow": 1, "day before yesterday": -2, "day after tomorrow": 2}

Found = tuple[datetime, datetime, Grain, bool, bool]
Resolve = Callable[[re.Match[str], datetime, Prefer], Found | None]


def _plain(span: Span, grain: Grain, *, approximate: bool = False) -> Found:
    return span[0], span[1], grain, approximate, False


def _simple(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    word = " ".join(match[1].lower().split())
    return _plain(period(now + timedelta(days=_SIMPLE[word]), "day"), "day")


def _tonight(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    text = match[0].lower()
    offset = -1 if text.startswith(("last", "yesterday")) else 1 if text.startswith("tomorrow") else 0
    part = next((word for word in _PARTS if word in text), "night")
    day = day_start(now) + timedelta(days=offset)
    first, last = _PARTS[part]
    return day + timedelta(hours=first), day + timedelta(hours=last), "day", True, False


def _relative(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    """Parse phrases such as "last week", "this month" and "next year"."""
    grain = cast("Grain", match[2].lower())
    step = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0}.get(match[1].lower(), 1)
    return _plain(period(shift(now.replace(day=1) if grain == "month" else now, step, grain), grain), grain)


def _stretch(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    """Parse phrases such as "the last three weeks" or "the next 10 days", which are intervals up to now or from now."""
    count, unit = number(match[2]), match[3].lower()
    if count is None:
        return None
    other = shift(now, -count if match[1].lower() in ("last", "past", "previous") else count, unit)
    return min(now, other), max(now, other), "day", True, False


def _distance(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    """Parse phrases such as "three years ago", "in two weeks" and "ten days from now"."""
    words = match[0].lower()
    count = number(match["n"])
    if count is None:
        return None
    unit = match[match.lastindex or 0].lower()
    back = words.endswith(("ago", "back", "earlier"))
    grain = cast("Grain", "day" if unit in ("week", "weekend") else unit)
    moment = shift(now, -count if back else count, unit)
    return _plain(period(moment, grain), grain, approximate=grain not in ("minute", "hour") and unit != "day")


def _half_year(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    return _plain(period(shift(now, -6, "month"), "month"), "month", approximate=True)


def _weekday(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    if (
        match.string[max(0, match.start() - 8) : match.start()]
        .lower()
        .endswith(("easter ", "good ", "black ", "ash ", "cyber ", "palm "))
    ):
        return None
    word = (match[1] or "").lower().strip()
    ahead = (WEEKDAYS[match[2].lower()] - now.weekday()) % 7
    if word == "this":
        offset = ahead
    elif word in ("last", "past", "previous") or (word not in ("next", "coming") and prefer == "past"):
        offset = ahead - 7
    else:
        offset = ahead or 7
    return _plain(period(now + timedelta(days=offset), "day"), "day")


def _weekday_of_week(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    """Parse phrases such as "Friday last week" and "Tuesday of next week"."""
    step = {"last": -7, "this": 0, "next": 7}[match[2].lower()]
    return _plain(period(now + timedelta(days=WEEKDAYS[match[1].lower()] - now.weekday() + step), "day"), "day")


def _near(now: datetime, month: int, day: int, prefer: Prefer, grain: Grain) -> Found:
    """Return a month and day in the nearest year in the direction of `prefer`."""
    start, end = period(month_start(now).replace(month=month, day=day), grain)
    if prefer == "past" and start > now:
        start, end = period(month_start(now).replace(year=now.year - 1, month=month, day=day), grain)
    elif prefer == "future" and end <= now:
        start, end = period(month_start(now).replace(year=now.year + 1, month=month, day=day), grain)
    return start, end, grain, False, grain == "day"


def _dated(month: int, day: int, year: str | None, now: datetime, prefer: Prefer) -> Found | None:
    if year is None:
        if month == 2 and day == 29:
            return None
        return _near(now, month, day, prefer, "day")
    return _plain(period(month_start(now).replace(year=int(year), month=month, day=day), "day"), "day")


def _month_day(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    return _dated(MONTHS[match[1].lower()], _nth(match[2]), match[3], now, prefer)


def _day_month(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    return _dated(MONTHS[match[2].lower()], _nth(match[1]), match[3], now, prefer)


def _nth(text: str) -> int:
    """Return a day of a month, written in digits or as a word, such as "9" or "ninth"."""
    return _ORDINALS.get(text.lower()) or int(text)


def _days_of_month(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    """Parse phrases such as "from 1 to 14 August"."""
    last = _dated(MONTHS[match[3].lower()], int(match[2]), match[4], now, prefer)
    if last is None or int(match[1]) >= int(match[2]):
        return None
    return last[0].replace(day=int(match[1])), last[1], "day", False, last[4]


def _iso(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    return _dated(int(match[2]), int(match[3]), match[1], now, prefer)


def _slashes(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    first, second = int(match[1]), int(match[3])
    month, day = (second, first) if match[2] == "." or first > 12 else (first, second)
    return _dated(month, day, match[4], now, prefer)


def _day_of_month(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    """Parse phrases such as "on the 19th", which may be in this month, the previous one or the next one."""
    day = int(match[1])
    day_range = period(month_start(now).replace(day=day), "day")
    if prefer == "future" and day_range[1] <= now:
        day_range = period(month_start(now, 1).replace(day=day), "day")
    elif prefer == "past" and day_range[0] > now:
        day_range = period(month_start(now, -1).replace(day=day), "day")
    return _plain(day_range, "day")


def _month_year(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    month = MONTHS[match[1].lower()]
    return _plain(period(month_start(now).replace(year=int(match[2]), month=month), "month"), "month")


def _month(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    word = match[1].lower()
    way: Prefer = "past" if word in ("last", "since", "past") else "future" if word in ("next", "coming") else prefer
    month_range = _near(now, MONTHS[match[2].lower()], 1, way, "month")
    if word == "last" and month_range[0] <= now < month_range[1]:
        return _plain(period(month_start(now, -12), "month"), "month")
    return month_range


def _season(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    word, month = (match[1] or "").lower(), SEASONS[match[2].lower()]
    if match[3]:
        return _plain(period(month_start(now).replace(year=int(match[3]), month=month), "season"), "season")
    way: Prefer = "past" if word == "last" else "future" if word in ("next", "this", "coming") else prefer
    season_range = _near(now, month, 1, way, "season")
    if word == "last" and season_range[1] > now:
        return _plain(period(month_start(season_range[0], -12), "season"), "season")
    return season_range


def _quarter(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    year = int(match[2] or now.year)
    return _plain(period(month_start(now).replace(year=year, month=int(match[1]) * 3 - 2), "quarter"), "quarter")


def _year(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    return _plain(period(month_start(now).replace(year=int(match[1]), month=1), "year"), "year")


def _decade(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    digits = match[1]
    year = int(digits) if len(digits) == 4 else int(digits) + (1900 if int(digits) > 29 else 2000)
    return _plain(period(month_start(now).replace(year=year, month=1), "decade"), "decade", approximate=True)


def _holiday(match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    month, day = HOLIDAYS[match[2].lower().replace("’", "'")]
    word = (match[1] or "").lower().strip()
    way: Prefer = "past" if word == "last" else "future" if word in ("next", "this") else prefer
    return _dated(month, day, match[3], now, prefer) if match[3] else _near(now, month, day, way, "day")


def _rule(pattern: str, resolve: Resolve) -> tuple[re.Pattern[str], Resolve]:
    return re.compile(rf"(?<![\w-]){pattern}(?!\w)", re.I), resolve


# Longer patterns first: text matched by one rule is not matched again by a later one.
_RULES = (
    _rule(r"(\d{4})-(\d{2})-(\d{2})(?=T|\b)", _iso),
    _rule(r"(\d{1,2})([/.])(\d{1,2})\2(\d{4})", _slashes),
    _rule(rf"({_MONTH})\.?\s+(?:the\s+)?{_ORDINAL}(?:\s*,?\s+{_YEAR})?(?!:\d|\s?[ap]m)", _month_day),
    _rule(
        rf"(?:the\s+)?{_ORDINAL}\s*(?:-|–|to|until|till|through)\s*(?:the\s+)?{_ORDINAL}\s+(?:of\s+)?"
        rf"({_MONTH})\.?(?:\s*,?\s+{_YEAR})?",
        _days_of_month,
    ),
    _rule(rf"(?:the\s+)?{_ORDINAL}\s+(?:of\s+)?({_MONTH})\.?(?:\s*,?\s+{_YEAR})?", _day_month),
    # "second may" and "may first" are no dates.
    _rule(rf"(?:the\s+)?{_ORDINAL_WORD}\s+of\s+({_MONTH})\b(?:\s*,?\s+{_YEAR})?", _day_month),
    _rule(rf"({_MONTH})\s+the\s+{_ORDINAL_WORD}\b(?:\s*,?\s+{_YEAR})?", _month_day),
    _rule(rf"({_MONTH})\.?,?\s+(?:of\s+)?{_YEAR}", _month_year),
    _rule(
        r"(?:on|by|until|since|before|after) the (\d{1,2})(?:st|nd|rd|th)(?! (?:floor|century|time|of|day|page|line"
        r"|row|street|avenue|grade|try|attempt))",
        _day_of_month,
    ),
    _rule(r"(?:the\s+)?(day (?:before yesterday|after tomorrow))", _simple),
    _rule(r"(?:tonight|(?:last|tomorrow) night|(?:this|yesterday|tomorrow) (?:morning|afternoon|evening))", _tonight),
    _rule(r"(today|yesterday|tomorrow)", _simple),
    _rule(r"half a year ago", _half_year),
    _rule(rf"(?P<n>{_COUNT})\s+(?:more\s+)?{_UNIT}\s+(?:ago|back|earlier|from (?:now|today))", _distance),
    _rule(rf"(?:in|within)\s+(?:about\s+|another\s+)?(?P<n>{_COUNT})\s+(?:more\s+)?{_UNIT}(?:'s? time)?", _distance),
    _rule(rf"(last|past|previous|next|coming)\s+({_COUNT})\s+{_UNIT}", _stretch),
    _rule(rf"({_DAY})\s+(?:of\s+)?(last|this|next) week", _weekday_of_week),
    _rule(r"(last|past|previous|this|current|next|coming)\s+(week|weekend|month|quarter|year|decade)", _relative),
    _rule(rf"(last\s+|past\s+|this\s+|next\s+|coming\s+)?({_DAY})", _weekday),
    _rule(
        rf"(in|since|last|next|this|coming|by|until|before|after|during|of|around|early|late|mid)[\s-]+({_MONTH})",
        _month,
    ),
    _rule(
        rf"(?:(last|next|this|in|the)\s+)?(?:the\s+)?(spring|summer|autumn|fall|winter)(?:\s+(?:of\s+)?{_YEAR})",
        _season,
    ),
    _rule(r"(last|next|this|coming)\s+(spring|summer|autumn|fall|winter)()", _season),
    _rule(rf"Q([1-4])(?:\s+(?:of\s+)?{_YEAR})?", _quarter),
    _rule(r"(?:in |during )?the (?:early |late |mid-?)?'?((?:19|20)?\d0)s", _decade),
    _rule(
        rf"(?:in|since|during|by|until|before|after|around|year|from|of|between)\s+{_YEAR}(?![\d,.]\d|\s*(?:items"
        r"|users|people|rows|%|\$))",
        _year,
    ),
    _rule(
        r"(last |next |this )?("
        rf"{'|'.join(sorted(HOLIDAYS, key=len, reverse=True)).replace(chr(39), '[’' + chr(39) + ']')})"
        rf"(?:,?\s+{_YEAR})?",
        _holiday,
    ),
)
# A cheap pre-check: no rule can match a text without a digit or one of these words.
_SIGN = re.compile(
    rf"\d|\b(?:{_MONTH}|{_DAY}|to(?:day|night|morrow)|yesterday|morning|afternoon|evening|night|"
    rf"{'|'.join(sorted(HOLIDAYS, key=len, reverse=True)).replace(chr(39), '.')}|"
    rf"spring|summer|autumn|fall|winter|half a year|(?:minute|hour|day|week|month|quarter|year|decade)s?|weekends?)\b",
    re.I,
)
_AMBIGUOUS = re.compile(r"(?:mar|may|march|sat|sun|mon|wed|jan|dec|sep|fri)", re.I)


def parse_dates(text: str, now: datetime, *, prefer: Prefer = "past", lang: str = "en") -> list[DateRange]:
    """Return every date, period or relative time in a text, in order."""
    if now.tzinfo is None:
        raise UsageError("the datetime is naive; pass an aware one, such as datetime.now(timezone.utc)")
    if lang != "en":
        return listed_dates(text, now, prefer, lang)
    if not _SIGN.search(text):
        return []
    taken = bytearray(len(text))
    date_ranges: list[DateRange] = []
    for pattern, resolve in _RULES:
        for match in pattern.finditer(text):
            if any(taken[match.start() : match.end()]) or _just_a_word(match):
                continue
            reading = _resolve(resolve, match, now, prefer)
            if reading is not None:
                taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
                date_ranges.append(_with_clock(text, match, reading))
    return _joined(text, sorted(date_ranges, key=lambda item: item.span))


def _resolve(resolve: Resolve, match: re.Match[str], now: datetime, prefer: Prefer) -> Found | None:
    try:
        return resolve(match, now, prefer)
    except (ValueError, OverflowError):  # not a date that exists: February 30th, 9,999 years ago
        return None


def _just_a_word(match: re.Match[str]) -> bool:
    """Return whether a match is an ordinary word. Words such as `mon`, `sat` and `sun` are dates only if they are
    capitalised."""
    text = match[0].strip(". ")
    return bool(_AMBIGUOUS.fullmatch(text)) and text[0].islower()


def _with_clock(text: str, match: re.Match[str], reading: Found) -> DateRange:
    start, end, grain, approximate, yearless = reading
    first, last = match.span()
    relation = _RELATION.search(text, max(0, first - 24), first)
    clock = _CLOCK.match(text, last) or _CLOCK_BEFORE.search(text, max(0, first - 16), first)
    if clock and grain == "day" and end - start <= timedelta(days=1):
        hour, minute = _clock_time(clock)
        if hour < 24:
            start, end = period(day_start(start) + timedelta(hours=hour, minutes=minute), "minute")
            grain, first, last = "minute", min(first, clock.start()), max(last, clock.end())
    relation_word = _RELATIONS.get(relation[1].lower(), "in") if relation else _leading(match[0])
    return DateRange(start, end, grain, text[first:last].strip(), (first, last), relation_word, approximate, yearless)


def _leading(text: str) -> Relation:
    return _RELATIONS.get(text.split(maxsplit=1)[0].lower(), "in")


def _clock_time(match: re.Match[str]) -> tuple[int, int]:
    if match["word"]:
        return (12 if match["word"].lower() == "noon" else 0), 0
    if match["H"]:
        return int(match["H"]), int(match["M"])
    hour = int(match["h"])
    if hour > 12:
        return 24, 0
    return hour % 12 + (12 if match["ap"].lower() == "p" else 0), int(match["m"] or 0)


def _joined(text: str, ranges: list[DateRange]) -> list[DateRange]:
    """Merge `between X and Y`, `from X to Y` and `3 March of last year` into one range each."""
    out: list[DateRange] = []
    for item in ranges:
        before = out[-1] if out else None
        if (
            before
            and before.yearless
            and _NEXT_YEAR.fullmatch(text[before.span[1] : item.span[1]])
            and item.grain == "year"
        ):
            start = before.start.replace(year=item.start.year)
            span = (before.span[0], item.span[1])
            out[-1] = DateRange(
                start, start + (before.end - before.start), before.grain, text[slice(*span)], span, before.relation
            )
        elif before and _is_pair(text, before, item):
            end = item.end if item.end > before.start else item.end + timedelta(days=7)
            span = (before.span[0], item.span[1])
            phrase = text[slice(*span)]
            out[-1] = DateRange(before.start, end, "day", phrase, span, "in", before.approximate, before.yearless)
        else:
            out.append(item)
    return out


_NEXT_YEAR = re.compile(r",?\s+(?:of\s+)?(?:last|this|next) year", re.I)


def _is_pair(text: str, left: DateRange, right: DateRange) -> bool:
    if right.end <= left.start - timedelta(days=7):
        return False
    between = text[left.span[1] : right.span[0]].strip().lower()
    opening = text[max(0, left.span[0] - 9) : left.span[0]].rstrip().lower() + left.text.lower()
    return (between == "and" and "between" in opening) or (
        between in ("to", "until", "till", "through", "-", "–") and left.grain == right.grain
    )
