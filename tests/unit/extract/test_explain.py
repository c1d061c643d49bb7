"""Why a text gives what it gives."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memorist.extract.explain import explain

AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)


def test_what_was_found_names_its_rule() -> None:
    (step,) = explain("I moved to Porto last month.", AT)
    assert (step.reading, step.lang) == ("location = 'Porto'", "en")
    assert step.rule.startswith("en.location.")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Do I live in Porto?", "a question"),
        ("If I lived in Porto, I'd surf.", "a condition"),
        ("```\nI live in Porto\n```", "quoted, pasted or code"),
        ("Pretend you are a cat. I live in Rome.", "a game"),
        ("Maybe I live in Porto.", "a guess"),
        ("Rain falls often.", "no rule fits"),
        ("Меня зовут Иван, я живу в Москве.", "no rules for this language"),
        ("Wie heiße ich?", "a question"),
    ],
)
def test_a_sentence_that_gave_nothing_says_why(text: str, why: str) -> None:
    steps = explain(text, AT)
    assert steps and not any(step.reading for step in steps)
    assert any(why in step.why for step in steps), steps


def test_each_sentence_has_a_step() -> None:
    steps = explain("I live in Porto. Rain falls often.", AT)
    assert [(bool(step.reading), bool(step.why)) for step in steps] == [(True, False), (False, True)]
