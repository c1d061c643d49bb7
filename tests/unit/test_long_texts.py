"""What is made of very long and very repetitive texts. How long it takes is measured by `bench/linear.py`."""

from __future__ import annotations

import pytest

from memorist.embed.wordllama import WordLlamaEmbedder
from memorist.engine.documents.chunking import chunk
from memorist.recall.query import MAX_CHARS, analyse


def count(text: str) -> int:
    return len(text) // 4 + 1


def test_of_a_very_long_question_both_ends_are_read() -> None:
    padding = "lorem ipsum " * 20_000
    read = analyse(f"Where is Lisbon? {padding} And where is Porto?")
    assert {"lisbon", "porto"} <= set(read.terms)
    assert len(padding) > MAX_CHARS


def test_a_page_of_dots_is_one_sentence() -> None:
    assert [piece.text for piece in chunk("." * 300, count)] == ["." * 300]
    assert [piece.text for piece in chunk("One... Two?! (Yes.) Three", count, target_tokens=3, overlap_tokens=0)] == [
        "One...", "Two?!", "(Yes.)", "Three",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "title"), [("# A title", "A title"), ("## B ##", "B"), ("### C#", "C#"), ("# " + "x #" * 3, "x #x #x")]
)
def test_a_heading_is_read_without_the_hashes_that_close_it(line: str, title: str) -> None:
    [piece] = chunk(f"{line}\n\nText.", count)
    assert piece.heading == title


def test_what_is_no_word_says_little_to_the_embedder() -> None:
    embedder = WordLlamaEmbedder()
    key = "QUJDRA" * 12
    short, long = embedder.embed([f"the key is {key}", f"the key is {key * 50}"])
    assert float(short @ long) > 0.95
