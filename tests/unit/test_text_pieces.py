"""Long texts are tokenised piece by piece, with the same result as at once."""

import pytest

from memorist.context.tokens import open_counter
from memorist.recall.analyze import words
from memorist.text_pieces import PIECE_CHARACTERS, text_pieces

PROSE = (
    "The pump in hall 7 didn't stop; Zoë said “it ran” <|endoftext|> for 9 hours.\n\n"
    "\tThen it rained, \r\n and so on.  "
)


def test_pieces_are_the_text_and_none_is_long() -> None:
    for text in (PROSE * 3_000, "x" * 170_000, "。" * 120_000, " " * 120_000, "short", ""):
        pieces = list(text_pieces(text))
        assert "".join(pieces) == text
        assert max(map(len, pieces)) <= PIECE_CHARACTERS


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_tokens_of_the_pieces_are_those_of_the_text(name: str) -> None:
    counter = open_counter(name)
    for shift in range(0, 60, 7):
        text = PROSE[shift:] + PROSE * 700
        whole = text[:PIECE_CHARACTERS]
        assert sum(counter.count_once(piece) for piece in text_pieces(whole, 1_000)) == counter.count_once(whole)


def test_the_words_of_a_long_text_are_those_of_its_parts() -> None:
    assert words(PROSE * 2_000) == words(PROSE) * 2_000
