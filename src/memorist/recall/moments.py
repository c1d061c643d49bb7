"""Finds the times a question mentions, as intervals of when something was said; dates are parsed by `memorist.dates`.

What is stored was said in the past, so a future time gives no interval ("what do I have next Friday") and its words are
searched as words. A bare weekday means the last one only if the question is in the past tense.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from memorist.dates import DateRange, parse_dates
from memorist.languages import language_of, rules
from memorist.ports import EPOCH, to_datetime, to_micros

Interval = tuple[int, int]
Span = tuple[int, int]

_RULES = rules("en", "moments", "talk")
_PAST = _RULES.past
_SAID = _RULES.said
_WEEKS = _RULES.weeks
_DAY = timedelta(days=1)


def find_dates(text: str, now: int) -> tuple[list[Interval], list[Span]]:
    """Return the intervals a text mentions, relative to `now` (microseconds), and their character spans in the text."""
    at = to_datetime(now)
    lang = language_of(text) or "en"
    intervals: list[Interval] = []
    spans: list[Span] = []
    for found in parse_dates(text, at, prefer="past", lang=lang):
        start, end = _meant(found, at)
        if start >= end or start > at or (lang == "en" and _any_weekday(found, text)):
            continue
        intervals.append((to_micros(start), to_micros(end)))
        spans.append(found.span)
    return intervals, spans


def _any_weekday(found: DateRange, text: str) -> bool:
    """Return whether it is only the name of a weekday, in a question that is not in the past tense."""
    return found.grain == "day" and not _SAID.search(found.text) and found.text.isalpha() and not _PAST.search(text)


def _meant(found: DateRange, now: datetime) -> tuple[datetime, datetime]:
    """Return the interval to search for a parsed date: whole days, widened for "two weeks ago", open for "since"."""
    start, end = found.start, found.end
    if found.grain in ("minute", "hour"):  # people rarely remember the minute at which something was said
        start = start.replace(hour=0, minute=0, second=0, microsecond=0)
        end = start + _DAY
    if found.approximate and found.grain == "day" and _WEEKS.search(found.text):
        start, end = start - 3 * _DAY, end + 3 * _DAY
    if found.relation == "since":
        return start, max(now, end) + _DAY
    if found.relation == "after":
        return end, max(now, end) + _DAY
    if found.relation in ("before", "until"):
        return EPOCH, start if found.relation == "before" else end
    return start, end
