"""Subjects of life whose change is told in other words than their state."""

from __future__ import annotations

import pytest

from memorist.languages import languages
from memorist.languages.files import read
from memorist.recall import revision
from memorist.recall.analyze import tokens
from memorist.recall.revision import Statement, possible, sign_of_change
from memorist.recall.subjects import SUBJECTS, told_of, turned


def said(text: str, at: int) -> Statement:
    terms = frozenset(tokens(text))
    return Statement(text, terms, at, True, sign=sign_of_change(text), tells=told_of(text), turns=turned(text))


def revised(old: str, new: str) -> bool:
    statements = [said(new, 2), said(old, 1), said("Why is the sky blue?", 1), said("I like tea.", 1)]
    return revision.revised(statements, possible(statements)) == {1: 0}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I rent a room above a chip shop in Hull.", "New place at last! A one-bed in York, got the keys on Tuesday."),
        ("We're in a tiny flat in Leeds.", "The removal van came, I’m writing this from our new kitchen in Aberdeen."),
        ("I work for a small publisher.", "They let me go last Thursday."),
        ("I'm a junior dev at a fintech in Tallinn.", "Handed in my notice, starting at a games studio next month."),
        ("I work Tuesdays to Saturdays.", "My days have changed: I'm on Monday to Thursday."),
        ("We're a team of five.", "Two more joined, so we're seven now."),
        ("Please always answer me in French.", "You can go back to English, the exam is over."),
        ("I'm 14 weeks pregnant.", "The baby came on Friday!"),
        ("Wir wohnen in Kassel.", "Der Umzug ist geschafft, seit Samstag sind wir in Rostock zu Hause."),
        ("Je suis serveuse dans un bistrot.", "J'ai démissionné hier."),
        ("Vivimos en un piso en Málaga.", "Ya estamos en la casa nueva, en Ronda."),
        ("Abito a Padova.", "Ci siamo trasferiti a Lecce."),
        ("Trabalho num banco.", "Fui despedido ontem."),
        ("We wonen in een flat in Almere.", "We hebben de sleutel van ons nieuwe huis in Hoorn."),
        ("札幌に住んでいます。", "先月、福岡に引っ越しました。"),
        ("我住在成都。", "我们上个月搬家到厦门了。"),
    ],
)
def test_a_change_revises_what_was_told_of_the_same_subject(old: str, new: str) -> None:
    assert revised(old, new)
    assert not revised(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Leeds.", "My colleague moved out of her flat, she has a new house in Berlin."),
        ("I live in Lisbon.", "We moved the database to Kubernetes."),
        ("I live in Vienna.", "Back in Vienna after two weeks of holiday!"),
        ("I live in Leeds.", "They let me go last Thursday."),
        ("I work at the hospital.", "Should I quit my job?"),
        ("We're expecting a baby in May.", "My cousin gave birth yesterday."),
        ("Ik woon in Leiden.", "Mijn broer is verhuisd naar Gouda."),
        ("我住在上海。", "我哥哥搬到北京了。"),
    ],
)
def test_another_person_or_subject_and_a_question_revise_nothing(old: str, new: str) -> None:
    assert not revised(old, new)


def test_every_language_names_known_subjects_only() -> None:
    for code in languages():
        listed = read(code, "talk").get("subjects", {})
        assert set(listed.get("told", {})) | set(listed.get("turned", {})) <= set(SUBJECTS)
    assert len(SUBJECTS) <= 8, "one bit of a byte each"


def test_a_text_that_asks_without_a_question_mark_is_not_revised() -> None:
    leaves, new = said("why do leaves change colour", 1), said("The colour changed, it's teal now.", 2)
    assert revision.revised([new, leaves], possible([new, leaves])) == {}


def test_long_messages_share_more_than_two_words_to_be_revised() -> None:
    """Two long messages have words in common by chance."""
    many = "agenda minutes speakers catering badges hall maps lunch tables microphones flowers parking hotels taxis"
    more = "recordings interpreters sponsors banners volunteers projector stage lights screens water coffee snacks keys"
    old = said(f"The panel is about bridges and rivers. We have {many} {more} {many} list.", 1)
    new = said(f"I changed the poster of the panel with bridges. We order {more} and {many} tomorrow.", 2)
    assert len(old.terms) > revision.LONG
    assert revision.revised([new, old], possible([new, old])) == {}
    short = said("The panel is about bridges and rivers.", 1)
    alone = said("I changed the panel, it is no more about bridges.", 2)
    assert revision.revised([alone, short], possible([alone, short])) == {1: 0}
