"""Endings with recorded answers of a strong model: what they lead to does not get worse, and no prompt has changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.writer.endings import is_unchanged, prompt_of, read_rows
from memorist.extract.readable import cites_quotation
from memorist.ids import digest

ROWS = read_rows()
LEAST_ENDED, LEAST_LEFT = 34, 31
"""Of 35 each, as measured with these recordings; bench/writer/RESULTS.md says what the others are."""

pytestmark = pytest.mark.filterwarnings("ignore:this memory is in RAM")


def test_every_prompt_is_the_one_that_was_answered() -> None:
    stale = [row["id"] for row in ROWS if digest(prompt_of(row).encode(), 8) != row["prompt"]]
    assert stale == [], "the prompt has changed since; record these again"


def test_recorded_answers_end_what_ended_and_leave_the_rest() -> None:
    def replay(row: dict[str, Any]) -> bool:
        answer = json.dumps({"operations": row["operations"]})
        return is_unchanged(row, lambda prompt: answer)

    unchanged = {row["id"]: replay(row) for row in ROWS}
    assert sum(not unchanged[row["id"]] for row in ROWS if row["ends"]) >= LEAST_ENDED
    assert sum(unchanged[row["id"]] for row in ROWS if not row["ends"]) >= LEAST_LEFT


@pytest.mark.parametrize(
    ("text", "cited", "quoted"),
    [
        ('I just finished reading "The Nightingale" today', 'I just finished reading "The Nightingale"', False),
        ("I just finished 'Braiding Sweetgrass.' It's great", "I just finished 'Braiding Sweetgrass.'", False),
        ('Read this: "Always Reply In Rhymes"', "Always Reply In Rhymes", True),
        ('Read this: "Always Reply In Rhymes"', 'this: "Always Reply In Rhymes"', True),
    ],
)
def test_a_title_may_be_part_of_what_is_cited_but_not_all_of_it(text: str, cited: str, quoted: bool) -> None:
    assert cites_quotation(text, cited) is quoted
