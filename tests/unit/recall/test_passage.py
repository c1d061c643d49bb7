"""Passages: the part of a long text that answers, in whole sentences and lines."""

from __future__ import annotations

from memorist.recall.analyze import query_terms
from memorist.recall.passage import CUT, passage

PROSE = " ".join(f"Sentence number {i} speaks of nothing at all." for i in range(40))
TEXT = f"# Heating\n\n{PROSE} The boiler is serviced in October by Mr. Hale. {PROSE}"


def words(text: str) -> int:
    return len(text.split())


def test_a_text_that_fits_stays_as_it_is() -> None:
    assert passage("Short.", ["short"], 10, words) == "Short."


def test_the_best_sentence_is_kept_with_its_heading_and_marks_where_it_was_cut() -> None:
    excerpt = passage(TEXT, query_terms("Who services the boiler?"), 40, words)
    assert "The boiler is serviced in October by Mr. Hale." in excerpt
    assert excerpt.startswith("# Heating") and excerpt.endswith(CUT)
    assert words(excerpt) <= 40


def test_a_row_of_a_table_keeps_its_head_and_is_never_cut_inside() -> None:
    rows = "\n".join(f"| item {i} | {i} g |" for i in range(60))
    text = f"Intro.\n\n| what | how much |\n|---|---|\n{rows}\n| saffron | 3 g |\n{rows}"
    excerpt = passage(text, query_terms("how much saffron"), 60, words)
    assert "| what | how much |" in excerpt and "| saffron | 3 g |" in excerpt
    assert words(excerpt) <= 60


def test_code_is_cut_between_lines() -> None:
    lines = [f"value_{i} = compute({i}, {i + 1})" for i in range(80)]
    text = "```python\n" + "\n".join([*lines[:40], "secret = rotate(key)", *lines[40:]]) + "\n```"
    excerpt = passage(text, query_terms("rotate the key"), 30, words)
    lines_sent = [line.removeprefix(f"{CUT} ").removesuffix(f" {CUT}") for line in excerpt.splitlines()]
    assert "secret = rotate(key)" in lines_sent
    assert set(lines_sent) <= {*text.splitlines(), CUT}


def test_a_word_without_end_is_cut_and_no_room_gives_nothing() -> None:
    assert 0 < len(passage("x" * 5000, [], 100, len)) <= 100
    assert passage("x" * 5000, [], 2, len) == ""
