"""Answers that end too early: whole items of their lists are kept."""

from __future__ import annotations

import json

import pytest

from memorist.models.base import parse_cut_json

WHOLE = {"operations": [{"text": 'a "quoted" [brace} \\', "people": ["Ada", "Bob"]}, {"text": "b", "more": {"x": [1]}}]}


def test_whole_items_are_kept_wherever_the_answer_ends() -> None:
    text = json.dumps(WHOLE)
    first_end = text.index('}, {"text": "b"') + 1
    second_end = text.rindex("]}")
    for end in range(len(text)):
        items = WHOLE["operations"][: (end >= first_end) + (end >= second_end)]
        assert parse_cut_json(text[:end]) == ({"operations": items} if items else None), text[:end]


@pytest.mark.parametrize("text", ["", "{", "no JSON", '{"operations": [', "[" * 2000, '{"a": "'])
def test_nothing_whole_is_nothing(text: str) -> None:
    assert parse_cut_json(text) is None
