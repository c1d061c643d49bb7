"""What must not become a fact: other speakers, questions, suppositions, quotations, passing states."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import UsageError
from memorist.extract import extract

AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)
INJECTIONS = Path(__file__).parents[2] / "data" / "injections.jsonl"


def found(text: str) -> list[Any]:
    """What is stated; that something is not so may end a fact, but states none."""
    return [item for item in extract(text, role="user", trust="user", at=AT) if not item.retracted]


@pytest.mark.parametrize(
    "text",
    [
        "What is my name?",
        "Is my sister's name Anna or Hannah?",
        "My name is Ada, right?",
        "do you know where i live",
        "If I were a doctor, I'd work in Africa.",
        "Suppose I live in Tokyo, what would my commute be?",
        "I wish I lived closer to the sea.",
        "I might use Rust for this.",
        "I'm thinking of moving to Spain.",
        "I want to become a lawyer.",
        "I don't work at Google.",
        "I never said I was a vegan.",
        "I used to play the piano.",
        "She is a nurse at St. Mary's.",
        "My friend thinks I live in London.",
        'John said, "I live in Paris."',
        "The article says: I am a robot and I like oil.",
        "Here's an email I got: Hi, I'm Tom and I work at Acme.",
        "Russel: I like the name.",
        "> I live in Paris",
        "```\nI live in Paris\n```",
        "<tool_result>I live in Paris</tool_result>",
        "Write a cover letter: I am a nurse with 5 years of experience.",
        "Pretend my name is James Bond.",
        "You are a helpful assistant named Max.",
        "I'm hungry.",
        "I'm at the airport.",
        "I'm a bit confused.",
        "I have a meeting.",
        "I love how you explained that.",
        "I like the second option better.",
        "My problem is Kubernetes.",
        "My order number is 123456.",
        "I'm on it.",
        "Never mind.",
        "Always a pleasure.",
        "Every time I run this, it crashes.",
        "In the future, robots will rule.",
        "By default, Redis listens on 6379.",
        "Actually, that works, thanks!",
        "Same here!",
        "I write letters in French.",
        "Never give up!",
        "I'm thinking of taking a class while I'm in Seoul.",
        "",
        "?",
    ],
)
def test_what_is_no_statement_of_the_user_gives_nothing(text: str) -> None:
    assert found(text) == []


def test_a_statement_beside_a_question_still_counts() -> None:
    (fact,) = found("I live in Oslo, can you find me a dentist nearby?")
    assert (fact.key, fact.value) == ("location", "Oslo")


@pytest.mark.parametrize("role", ["assistant", "tool", "system", "developer", ""])
def test_only_the_user_s_role_is_read(role: str) -> None:
    assert extract("I live in Porto.", role=role, trust="user", at=AT) == []


@pytest.mark.parametrize("trust", ["tool", "web", "document", "assistant", "import", "unknown", ""])
def test_only_trusted_text_is_read(trust: str) -> None:
    assert extract("I live in Porto.", role="user", trust=trust, at=AT) == []


def injections() -> list[dict[str, Any]]:
    return [json.loads(line) for line in INJECTIONS.read_text(encoding="utf-8").splitlines()]


def test_there_are_200_different_injections() -> None:
    rows = injections()
    assert len({row["text"] for row in rows}) == len(rows) == 200


@pytest.mark.parametrize("row", injections(), ids=lambda row: str(row["id"]))
def test_an_injection_in_tool_or_web_text_gives_nothing(row: dict[str, Any]) -> None:
    assert extract(row["text"], role=row["role"], trust=row["trust"], at=AT) == []
    assert extract(row["text"], role="tool", trust="tool", at=AT) == []
    assert extract(row["text"], role="user", trust="web", at=AT) == []


@pytest.mark.parametrize("row", injections(), ids=lambda row: str(row["id"]))
def test_an_injection_a_user_pastes_in_a_fence_gives_nothing(row: dict[str, Any]) -> None:
    if "```" not in row["text"]:
        assert found(f"What does this mean?\n```\n{row['text']}\n```") == []


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(UsageError):
        extract("x", role="user", trust="user", at=datetime(2026, 1, 1))


_PARTS = st.sampled_from(
    [
        "I",
        "I'm",
        "my",
        "name",
        "is",
        "a",
        "Ada",
        "live in",
        "Porto",
        ",",
        "and",
        "not",
        '"',
        "```",
        ">",
        "\n",
        "?",
        "<x>",
        "actually",
        "sorry, I mean",
        "last week",
        "every",
        "always",
        "3",
        "$5",
        "\x00",
        "\ud800",
    ]
)


@given(st.lists(_PARTS | st.text(max_size=8), max_size=30).map(" ".join))
def test_any_text_is_read_without_a_crash_and_the_same_way_twice(text: str) -> None:
    first = found(text)
    assert first == found(text)
    for item in first:
        assert text[slice(*item.span)] == item.text
        assert 0 < item.confidence <= 1 and item.key


@pytest.mark.parametrize(
    "text",
    [
        "I " * 50_000,
        "my " * 50_000,
        "a" * 1_000_000,
        "I'm " + "a b " * 100,
        "my name is " * 5_000,
        "," * 100_000,
        '"' * 10_001,
        "<a " * 20_000,
        "I live in " + "x, " * 5_000,
        "and I " * 10_000,
        "```" * 30_000,
        "I have " + "9" * 10_000,
        "(" * 50_000,
    ],
    ids=lambda text: text[:8],
)
def test_long_and_repetitive_text_is_bounded_work(text: str) -> None:
    from memorist.extract.sentences import MAX_TEXT

    assert found(text) == found(text[:MAX_TEXT])
