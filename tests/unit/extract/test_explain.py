"""Why a text gives what it gives."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memorist.extract.explain import explain

AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)


def test_what_matched_names_its_pattern() -> None:
    (step, *_) = explain("I moved to Porto last month.", AT)
    assert (step.found, step.lang) == ("location = 'Porto'", "en")
    assert step.rule.startswith("en/places#location.say.")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Do I live in Porto?", "a question"),
        ("If I lived in Porto, I'd surf.", "a supposition"),
        ("```\nI live in Porto\n```", "quoted, pasted, forwarded, code"),
        ("Pretend you are a cat. I live in Rome.", "said in a game"),
        ("Maybe I live in Porto.", "a guess"),
        ("Rain falls often.", "no pattern fits"),
        ("Меня зовут Иван, я живу в Москве.", "no patterns for this language"),
        ("Wie heiße ich?", "a question"),
    ],
)
def test_what_was_not_taken_says_why(text: str, why: str) -> None:
    steps = explain(text, AT)
    assert steps and not any(step.found for step in steps)
    assert any(why in step.why for step in steps), steps


def test_a_pattern_that_fits_without_giving_a_fact_says_what_was_missing() -> None:
    steps = explain("I live in the past.", AT)
    assert any("en/places#location" in step.rule and step.why == "'the past' is no {place}" for step in steps)


def test_other_speakers_are_not_read() -> None:
    (step,) = explain("I live in Porto.", AT, role="tool", trust="tool")
    assert step.why == "only a user's own words are read"


@pytest.mark.parametrize(
    ("text", "near", "why"),
    [
        ("Do I live in Porto?", "location = 'Porto'", "a question"),
        ("If I live in Porto, I surf.", "location = 'Porto'", "a supposition"),
        ("Maybe I live in Porto.", "location = 'Porto'", "a guess"),
        ("She says I live in Porto.", "location = 'Porto'", "somebody else says"),
        ("My sister lives in Porto.", "location = 'Porto'", "said of somebody else: My sister"),
        ('The man wrote "I live in Porto" on a wall.', "location = 'Porto'", "quoted"),
        ("> I live in Porto\nThanks.", "location = 'Porto'", "quoted"),
        ("I'm allergic to mondays, lol", "allergy.mondays = True", "a joke"),
        ("Wohne ich in Berlin?", "location = 'Berlin'", "a question"),
    ],
)
def test_what_almost_matched_says_what_it_would_have_given_and_what_spoke_against_it(
    text: str, near: str, why: str
) -> None:
    steps = explain(text, AT)
    assert not any(step.found for step in steps)
    (close,) = [step for step in steps if step.near]
    assert (close.near, why in close.why) == (near, True), close
    assert "#" in close.rule


def test_where_no_pattern_fits_the_one_that_went_furthest_is_named() -> None:
    (step,) = explain("Ich wohne.", AT)
    assert step.rule.startswith("de/places#location") and "does up to" in step.why


@pytest.mark.parametrize(
    "text",
    [
        "I live in Emacs.",
        "I moved to Porto last month and I love fado.",
        "私は東京に住んでいます。",
        "Ich wohne in Berlin.",
    ],
)
def test_a_clause_that_gave_a_fact_has_no_near_misses(text: str) -> None:
    steps = explain(text, AT)
    assert steps and all(step.found and not step.near and not step.why for step in steps)


def test_of_two_clauses_only_the_one_that_gave_nothing_says_why() -> None:
    first, second = explain("Ich wohne in Berlin, und meine Schwester mag Käse.", AT)
    assert (first.found, first.why) == ("location = 'Berlin'", "")
    assert (second.found, second.said) == ("", "meine Schwester mag Käse") and "{person}" in second.why


def test_a_correction_is_explained_by_what_was_said_before() -> None:
    steps = explain("I live in Hamburg. No, I meant Munich.", AT)
    assert [step.found for step in steps] == ["location = 'Hamburg'", "location = 'Munich'"]
