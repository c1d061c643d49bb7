"""Ordinary sentences change nothing: what a user stated before them is not marked as replaced."""

from __future__ import annotations

import pytest

from bench.marks import false_marks, pairs

pytestmark = pytest.mark.filterwarnings("ignore::memorist.types.NothingLasts")
MOVED = ("I live in Porto and I'm allergic to nuts.", "I moved to Oslo last week.")


def test_ordinary_sentences_mark_nothing() -> None:
    drawn = pairs()
    assert list(false_marks(drawn[::5])) == []


def test_a_stated_change_is_marked_with_what_holds_now() -> None:
    marks = list(false_marks([MOVED]))
    assert [text for text, _ in marks] == [MOVED[0]]
    assert "Oslo" in marks[0][1]
