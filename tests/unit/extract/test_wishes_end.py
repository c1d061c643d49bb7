"""A wish ends where its writer begins to speak of something else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memorist.extract import extract

AT = datetime(2026, 11, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "wish", "fact"),
    [
        ("I prefer short answers, and I'm allergic to peanuts.", "I prefer short answers", "allergy.peanuts"),
        ("Please always answer in French and I'm allergic to nuts", "always answer in French", "allergy.nuts"),
        (
            "From now on, please answer in French, and I live in Porto.",
            "From now on, please answer in French",
            "location",
        ),
        ("From now on, I'd like you to answer in French", "From now on, I'd like you to answer in French", None),
        ("Always cite your sources when I ask about law", "Always cite your sources when I ask about law", None),
    ],
)
def test_a_wish_ends_where_a_statement_about_its_writer_begins(text: str, wish: str, fact: str | None) -> None:
    items = extract(text, at=AT)
    assert [item.value for item in items if item.kind == "learning"] == [wish]
    assert [item.key for item in items if item.kind == "fact"] == ([fact] if fact else [])
