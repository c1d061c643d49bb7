"""What a text tells that every request must hold."""

from __future__ import annotations

import pytest

from memorist.recall.signals import NAMES, alarm, signals


@pytest.mark.parametrize(
    "text",
    [
        "I was in A&E because somebody put sesame in the dressing and my throat closed up.",
        "Our son has epilepsy.",
        "Gestern hatte ich wieder einen Asthmaanfall, mein Asthma wird schlimmer.",
        "Je suis enceinte de trois mois.",
        "Quase fiquei sem insulina, sou diabético.",
        "我有哮喘。",
    ],
)
def test_a_sentence_about_somebodys_health_is_found(text: str) -> None:
    assert alarm(text) == text
    assert signals(text)[NAMES.index("alarms")]


@pytest.mark.parametrize(
    "text",
    [
        "I'm not allergic to nuts.",
        "Am I allergic to nuts?",
        "The essay on epilepsy is due on Friday.",
        "医生说我已经不对花生过敏了。",
        "We had pasta for dinner.",
    ],
)
def test_denials_questions_and_other_subjects_are_not(text: str) -> None:
    assert alarm(text) == ""


def test_only_the_sentence_that_says_it_is_given() -> None:
    assert alarm("We had a lovely day. My sister is allergic to cats. It rained.") == "My sister is allergic to cats."
