from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.dates import parse_dates
from memorist.errors import UsageError

NOW = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)  # a Wednesday


def isos(text: str, prefer: str = "past") -> list[str]:
    return [date.iso for date in parse_dates(text, NOW, prefer=prefer)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("today", "2026-11-11"),
        ("yesterday", "2026-11-10"),
        ("tomorrow", "2026-11-12"),
        ("the day before yesterday", "2026-11-09"),
        ("the day after tomorrow", "2026-11-13"),
        ("last Tuesday", "2026-11-10"),
        ("last Wednesday", "2026-11-04"),
        ("next Wednesday", "2026-11-18"),
        ("this Friday", "2026-11-13"),
        ("next Tuesday", "2026-11-17"),
        ("Friday last week", "2026-11-06"),
        ("Monday of next week", "2026-11-16"),
        ("last week", "2026-11-02/2026-11-08"),
        ("this week", "2026-11-09/2026-11-15"),
        ("next weekend", "2026-11-21/2026-11-22"),
        ("last month", "2026-10"),
        ("next month", "2026-12"),
        ("last year", "2025"),
        ("next quarter", "2027-01-01/2027-03-31"),
        ("in two weeks", "2026-11-25"),
        ("in a couple of days", "2026-11-13"),
        ("ten days ago", "2026-11-01"),
        ("twenty-one days ago", "2026-10-21"),
        ("3 years ago", "2023"),
        ("two months ago", "2026-09"),
        ("half a year ago", "2026-05"),
        ("6 weeks from now", "2026-12-23"),
        ("2026-02-28", "2026-02-28"),
        ("28.02.2026", "2026-02-28"),
        ("2/28/2026", "2026-02-28"),
        ("28/2/2026", "2026-02-28"),
        ("February 28th, 2026", "2026-02-28"),
        ("the 3rd of March 2027", "2027-03-03"),
        ("12 May 1988", "1988-05-12"),
        ("Feb. 2020", "2020-02"),
        ("in 2015", "2015"),
        ("Q3 2025", "2025-07-01/2025-09-30"),
        ("summer of 2024", "2024-06-01/2024-08-31"),
        ("last summer", "2026-06-01/2026-08-31"),
        ("in the 1990s", "1990-01-01/1999-12-31"),
        ("last November", "2025-11"),
        ("tomorrow at 3pm", "2026-11-12T15:00"),
        ("at 12:30 am on 2026-01-05", "2026-01-05T00:30"),
        ("yesterday at noon", "2026-11-10T12:00"),
        ("between January 2025 and March 2025", "2025-01-01/2025-03-31"),
        ("from 20 December 2026 to 3 January 2027", "2026-12-20/2027-01-03"),
        ("Christmas 2024", "2024-12-25"),
    ],
)
def test_words_for_time_resolve_against_the_moment(text: str, iso: str) -> None:
    assert isos(text) == [iso]


@pytest.mark.parametrize(
    ("text", "past", "future"),
    [
        ("on Friday", "2026-11-06", "2026-11-13"),
        ("March 3rd", "2026-03-03", "2027-03-03"),
        ("the ninth of February", "2026-02-09", "2027-02-09"),
        ("May the twenty-first", "2026-05-21", "2027-05-21"),
        ("in March", "2026-03", "2027-03"),
        ("Halloween", "2026-10-31", "2027-10-31"),
        ("on the 19th", "2026-10-19", "2026-11-19"),
    ],
)
def test_what_has_no_year_goes_the_preferred_way(text: str, past: str, future: str) -> None:
    assert isos(text) == [past]
    assert isos(text, "future") == [future]


@pytest.mark.parametrize(
    "text",
    [
        "I may sit in the sun",
        "we march on",
        "2000 users",
        "version 3.11.7",
        "9999 years ago",
        "February 30",
        "in a while",
        "the second one",
        "the second may fail, the first may not",
        "call 2026",
        "sat down",
        "a mon ami",
        "14:99",
        "",
        "x" * 5000,
    ],
)
def test_other_words_and_impossible_dates_are_no_dates(text: str) -> None:
    assert parse_dates(text, NOW) == []


def test_several_dates_come_in_order_with_their_places() -> None:
    text = "I moved in March 2020 and left yesterday."
    dates = parse_dates(text, NOW)
    assert [item.iso for item in dates] == ["2020-03", "2026-11-10"]
    assert [text[slice(*item.span)].strip() for item in dates] == [item.text for item in dates]


def test_since_and_before_are_told() -> None:
    assert parse_dates("since March", NOW)[0].relation == "since"
    assert parse_dates("before 2020", NOW)[0].relation == "before"
    assert parse_dates("after last Tuesday", NOW)[0].relation == "after"


def test_distances_in_weeks_months_and_years_are_approximate() -> None:
    assert parse_dates("3 years ago", NOW)[0].approximate
    assert not parse_dates("3 days ago", NOW)[0].approximate


def test_the_answer_is_in_the_time_zone_of_the_question() -> None:
    late = datetime(2026, 11, 11, 23, 30, tzinfo=timezone(timedelta(hours=-8)))
    assert parse_dates("today", late)[0].start == datetime(2026, 11, 11, tzinfo=late.tzinfo)


def test_the_last_day_of_a_long_month_is_no_crash() -> None:
    end = datetime(2026, 3, 31, 12, tzinfo=UTC)
    assert parse_dates("last month", end)[0].iso == "2026-02"
    assert parse_dates("a month ago", end)[0].iso == "2026-02"
    assert parse_dates("in 11 months", end)[0].iso == "2027-02"


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(UsageError):
        parse_dates("today", datetime(2026, 1, 1))


@given(st.text(max_size=200), st.datetimes(timezones=st.just(UTC), min_value=datetime(1900, 1, 1)))
def test_any_text_gives_ranges_that_lie_in_it(text: str, now: datetime) -> None:
    for date in parse_dates(text, now):
        assert date.start < date.end
        assert 0 <= date.span[0] < date.span[1] <= len(text)
        assert date.iso


_WORDS = st.sampled_from(
    [
        "last",
        "next",
        "this",
        "in",
        "on",
        "3",
        "two",
        "March",
        "may",
        "Friday",
        "week",
        "weeks",
        "year",
        "ago",
        "2015",
        "2026-02-30",
        "31",
        "at",
        "5pm",
        "the",
        "of",
        "since",
        ",",
        "to",
        "and",
    ]
)


@given(st.lists(_WORDS, max_size=8).map(" ".join), st.datetimes(timezones=st.just(UTC)))
def test_any_mix_of_date_words_is_no_crash(text: str, now: datetime) -> None:
    assert parse_dates(text, now) == parse_dates(text, now)
