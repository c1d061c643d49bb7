from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memorist.extract import Extracted, extract

AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)


def read(text: str, *previous: Extracted) -> list[Extracted]:
    return extract(text, role="user", trust="user", at=AT, previous=previous)


@pytest.mark.parametrize(
    "text",
    [
        "Always use metric units.",
        "Never use emojis in your replies.",
        "Please answer in bullet points from now on.",
        "From now on, call functions by their full path.",
        "I prefer dark mode in all my apps.",
        "I'd rather have short answers.",
        "I want you to always cite sources.",
        "Whenever I ask for a recipe, make it vegetarian.",
        "Keep responses under 100 words.",
        "Don't call me sir.",
        "Don't ever deploy on Fridays.",
        "Stop using exclamation marks.",
        "When you write code for me, use type hints.",
        "Please write in British English.",
        "Please be concise in all your answers.",
        "I'd appreciate it if you always included sources.",
        "I drink my tea with milk.",
        "No bullet points, ever.",
        "Quick note on style: no bullet points, ever.",
    ],
)
def test_a_standing_instruction_is_a_preference(text: str) -> None:
    (learning,) = read(text)
    assert (learning.kind, learning.type) == ("learning", "preference")
    assert learning.value.lower().rstrip(".") in text.lower()


@pytest.mark.parametrize(
    "text",
    [
        "Use metric units here.",
        "Stop asking and just send the report now.",
        "I never want to go through this again.",
        "You can always count on me!",
        "They always remind me of home.",
        "From now on I will be careful.",
        "Always use tabs in this file.",
    ],
)
def test_what_is_for_now_or_for_nobody_is_no_preference(text: str) -> None:
    assert [item for item in read(text) if item.type == "preference"] == []


@pytest.mark.parametrize(
    "text",
    [
        "I usually work from home on Fridays.",
        "I wake up at 5:30 every morning.",
        "Every Monday I review the backlog.",
        "I tend to overpack.",
        "I sleep six hours a night.",
    ],
)
def test_a_habit_is_a_pattern(text: str) -> None:
    (learning,) = read(text)
    assert learning.type == "pattern"


def test_the_same_preference_has_the_same_key() -> None:
    assert read("Always use metric units.")[0].key == read("always use METRIC units!")[0].key


@pytest.mark.parametrize(
    ("text", "key", "value", "rejected"),
    [
        ("Actually, I live in Munich, not Berlin.", "location", "Munich", "Berlin"),
        ("No, I meant my manager is Tom.", "relation.manager", "Tom", None),
        ("Sorry, typo: my name is Jon, not John.", "name", "Jon", "John"),
        ("That's wrong, I'm 29, not 28.", "age", 29, "28"),
        ("I said I live in York, but I actually live in Leeds.", "location", "Leeds", None),
        ("Sorry, I should have said: I live in Basel.", "location", "Basel", None),
        ("Let me correct that: my son is 8.", "number.son_age", 8, None),
        ("Actually, my birthday is in May, not March.", "birthday", "--05", "March"),
        ("My flight is on Monday, sorry, I mean Tuesday.", "date.flight", "2026-11-17", None),
        ("I have three kids, no wait, I mean four.", "number.kids", 4, None),
        ("I live in Hamburg, sorry, I mean Munich.", "location", "Munich", None),
    ],
)
def test_a_correction_replaces_the_value_and_says_so(text: str, key: str, value: object, rejected: str | None) -> None:
    (fact,) = read(text)
    assert (fact.key, fact.value, fact.correction, fact.rejected) == (key, value, True, rejected)


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        ("I live in Hamburg.", "No, I meant Munich.", "Munich"),
        ("I live in Hamburg.", "Sorry, I mean Munich, not Hamburg.", "Munich"),
        ("My flight is on Monday.", "Actually, Tuesday.", "2026-11-17"),
        ("My budget is $500.", "Correction: 600", {"amount": 600, "unit": "USD"}),
        ("I have three kids.", "Sorry, I meant four.", 4),
    ],
)
def test_a_bare_correction_finds_what_it_corrects_in_the_message_before(first: str, second: str, value: object) -> None:
    before = read(first)
    (fact,) = read(second, *before)
    assert (fact.key, fact.value, fact.correction) == (before[0].key, value, True)


def test_a_bare_correction_of_nothing_known_is_kept_as_a_learning() -> None:
    (learning,) = read("No, I meant the staging database, not production.")
    assert (learning.type, learning.rejected) == ("correction", "production")


def test_a_date_does_not_correct_a_name() -> None:
    before = read("My name is Ada.")
    assert all(item.key != "name" for item in read("Sorry, I meant Tuesday, not Monday.", *before))


def test_the_later_of_two_statements_in_a_message_stands() -> None:
    (fact,) = read("I live in Oslo. Update: I live in Bergen.")
    assert fact.value == "Bergen"


@pytest.mark.parametrize(
    "text",
    [
        "Always include version numbers when I ask about libraries",
        "Never book anything unless I say so",
        "I prefer window seats when I fly long-haul",
    ],
)
def test_a_wish_is_kept_together_with_when_it_holds(text: str) -> None:
    assert [item.value for item in read(f"{text}.")] == [text]
