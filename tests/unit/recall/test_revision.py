"""Later statements that revise earlier ones."""

from __future__ import annotations

import pytest

from recollect.recall.analyze import tokens
from recollect.recall.revision import Statement, quoted, revised, sign_of_change


def said(text: str, at: int, *, own: bool = True, careful: bool = False) -> Statement:
    return Statement(text, frozenset(tokens(text)), at, own, careful, sign=sign_of_change(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Her favourite flowers are lilies.", "I got that wrong, she can't stand lilies, it's peonies she loves."),
        ("I'm vegan, have been since 2018.", "Small update, I'm not vegan anymore."),
        ("I work at Google, in the Zürich office.", "I left Google, by the way."),
        ("my address is 12 Quayside Row", "we moved house, new address: 7 Elm Grove"),
        ("The concert's on 8 May.", "So. The concert is off. We called it off together."),
        ("I'm lactose intolerant, I think.", "Got tested: not lactose intolerant at all, it was the flu."),
        ("Put it under Ann Kowal, that's me.", "It keeps getting misspelled, it's Anne Kowal."),
    ],
)
def test_a_later_statement_with_a_sign_of_change_revises_an_earlier_one(old: str, new: str) -> None:
    assert revised([said(new, 2), said("The weather is fine", 1), said(old, 1)]) == {2: 0}
    assert revised([said(new, 1), said(old, 2)]) == {}


def test_a_passing_word_in_common_revises_nothing() -> None:
    script = "I keep getting permission denied when I run my script on linux"
    assert revised([said("I've dropped out of the marathon. No running until summer.", 2), said(script, 1)]) == {}


def test_only_the_user_revises_and_a_passage_takes_two_words() -> None:
    rules = "The wifi is called Moewe and its password is harbour-2020. The bins go out on Wednesday."
    change = "The wifi password has changed, it's now seagull-4471."
    assert revised([said(change, 2), said(rules, 1, own=False, careful=True)]) == {1: 0}
    assert revised([said(change, 2, own=False), said(rules, 1, own=False, careful=True)]) == {}
    prices = "| 500 flyers A5 | 49 |\n| 500 flyers A6 | 39 |"
    raised = "We raised the A5 flyers: 500 of them are 64 euros from today."
    assert revised([said(raised, 2), said(prices, 1, own=False, careful=True)]) == {1: 0}
    assert revised([said("The bins have moved", 2), said(rules, 1, own=False, careful=True)]) == {}


def test_what_revises_is_quoted_in_one_line() -> None:
    assert quoted("No wait,\nit is tea.") == "No wait, it is tea."
    assert quoted("word " * 60).endswith(" …") and len(quoted("word " * 60)) <= 122
