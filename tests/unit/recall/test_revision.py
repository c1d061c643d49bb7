"""Later statements that revise earlier ones."""

from __future__ import annotations

import msgspec
import pytest

from memorist.recall import revision
from memorist.recall.analyze import tokens
from memorist.recall.revision import Statement, possible, quoted, sign_of_change


def said(text: str, at: int, *, own: bool = True, careful: bool = False) -> Statement:
    return Statement(text, frozenset(tokens(text)), at, own, careful, sign=sign_of_change(text))


def revised(statements: list[Statement]) -> dict[int, int]:
    return revision.revised(statements, possible(statements))


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Unser Treffen ist im Rathaus.", "Das Treffen wurde in die Bibliothek verlegt."),
        ("Je prends le train de Vannes.", "Je ne prends plus le train."),
        ("Trabajo con Marta en la biblioteca.", "Marta ya no trabaja en la biblioteca."),
        ("La riunione è in sala Dante.", "La riunione è stata spostata."),
        ("A senha do portão da garagem é girassol.", "A senha do portão da garagem mudou."),
        ("Mijn fiets staat bij het station.", "Ik heb mijn fiets verkocht."),
        ("会議室は三階です。", "会議室が変わりました。"),
        ("会议室在三楼。", "会议室改到五楼了。"),
    ],
)
def test_signs_of_change_are_known_in_other_languages(old: str, new: str) -> None:
    assert revised([said(new, 2), said("12", 1), said(old, 1)]) == {2: 0}
    assert sign_of_change(old) == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The launch budget is 40,000 euros.", "Finance says the launch budget is 32,500 euros."),
        ("The gym costs me 35 a month.", "The gym wants 42 a month from me."),
        ("Mi número de socio es el 4471.", "Mi número de socio es el 4417."),
        ("Der Jahresbeitrag beträgt 60 Euro.", "Der Jahresbeitrag beträgt 72 Euro."),
    ],
)
def test_the_same_statement_with_another_number_revises(old: str, new: str) -> None:
    assert revised([said(new, 2), said(old, 1)]) == {1: 0}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I ran 5 km in the park.", "I ran 8 km in the park."),
        ("The class on Monday is at 9.", "The class on Friday is at 11."),
        ("The rent is 900 a month.", "The gym is 35 a month."),
        ("Ward 3 needs 8 boxes of bandages this week.", "Ward 3 needs 2 boxes of gloves this week."),
        ("The launch budget is 40,000 euros.", "The launch budget is 40,000 euros, and 3 people know it."),
        ("The launch budget is 40,000 euros.", "Is the launch budget 32,500 euros?"),
    ],
)
def test_another_event_day_or_thing_revises_nothing(old: str, new: str) -> None:
    assert revised([said(new, 2), said(old, 1)]) == {}


def test_a_statement_that_repeats_the_value_of_a_fact_confirms_it() -> None:
    fact = msgspec.structs.replace(said("launch budget: 4,200 euros", 1), derived=True)
    assert revised([said("The launch is on 10 March now. The launch budget stays at 4,200 euros.", 2), fact]) == {}
    assert revised([said("Actually, the launch budget is now 3,100 euros.", 2), fact]) == {1: 0}
    moved = said("We moved the launch budget talk to 10 March.", 2)
    assert 2 not in revised([said("The launch budget is still 4,200 euros now.", 3), moved, fact])
    assert 1 in revised([moved, fact])


def test_another_spelling_of_a_name_revises_with_a_sign_of_change() -> None:
    old = said("The contact is Mr Hallworth.", 1)
    assert revised([said("Turns out he writes himself Hallsworth.", 2), old]) == {1: 0}
    assert revised([said("He writes himself Hallsworth.", 2), old]) == {}
    assert revised([said("Turns out he writes himself Holdsworthy.", 2), old]) == {}


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


def test_the_words_shared_must_be_about_the_change() -> None:
    """In long messages words are shared all over; the sentence with the sign of change decides."""
    old = "We set up the data frames. The survey needs that structure for the climate course in Lisbon."
    new = "The survey for the course in Lisbon sounds good. I like it. My laptop is now at the repair shop."
    assert revised([said(new, 2), said(old, 1)]) == {}
    moved = "Data visualisation sounds good. The climate course is no longer in Lisbon."
    assert revised([said(moved, 2), said(old, 1)]) == {1: 0}


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("Actually I moved to Porto.", True),
        ("No, actually it's Tuesday.", True),
        ("I was actually born in Manila.", False),
        ("We can't meet there any more.", True),
        ("No need to waste any more time on that.", False),
        ("I meant the second one.", True),
        ("That's exactly what I meant.", False),
    ],
)
def test_a_sign_of_change_is_told_from_a_manner_of_speaking(text: str, sign: bool) -> None:
    assert bool(sign_of_change(text)) is sign
