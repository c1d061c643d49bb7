"""Why a text gives what it gives."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.extract.explain import explain

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
        ("```\nI live in Porto\n```", "quoted, pasted or code"),
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
    steps = explain("I live in Emacs.", AT)
    assert any("en/places#location" in step.rule and "{place}" in step.why for step in steps)


def test_other_speakers_are_not_read() -> None:
    (step,) = explain("I live in Porto.", AT, role="tool", trust="tool")
    assert step.why == "only a user's own words are read"
