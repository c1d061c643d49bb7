"""Messages as people type them: without apostrophes, capitals, commas; and scenes and mails in which "I" is nobody."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memorist.extract import extract

AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)  # a Wednesday


def facts(text: str) -> dict[str, Any]:
    return {item.key: item.value for item in extract(text, role="user", trust="user", at=AT) if item.kind == "fact"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("im 23 i live in oslo i work at lidl", {"age": 23, "location": "oslo", "employer": "lidl"}),
        ("hey there my names sam", {"name": "sam"}),
        ("u can call me jay", {"nickname": "jay"}),
        ("im allergic to cats n dust", {"allergy.cats": True, "allergy.dust": True}),
        ("not a fan of olives tbh", {"likes.olives": False}),
        ("im married w 3 kids", {"marital_status": "married", "number.kids": 3}),
        ("my daughters called mia shes 6", {"relation.daughter": "mia"}),
        ("idk if it matters but im from peru", {"origin": "peru"}),
        ("if it helps, im in gmt+1", {"timezone": "gmt+1"}),
        ("My neighbour Mrs. Alvarez waters my plants.", {"relation.neighbour.mrs_alvarez": "Mrs. Alvarez"}),
    ],
)
def test_what_is_left_out_while_typing_is_restored(text: str, expected: dict[str, Any]) -> None:
    assert facts(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Everyone at work thinks I'm Canadian.",
        "every city i lived in was cold",
        "the company i work for sucks",
        "lol im literally a potato today",
        "I'm totally a morning person, said nobody ever.",
        "I just love being stuck in traffic.",
        "I'm a lawyer in the movie.",
        "I'm basically a professional napper at this point.",
        "names dont matter",
        "doing a master's is expensive",
        "moving to the next question",
    ],
)
def test_what_only_sounds_like_a_statement_gives_nothing(text: str) -> None:
    assert extract(text, role="user", trust="user", at=AT) == []


@pytest.mark.parametrize(
    "text",
    [
        "Pretend you are my doctor. I have diabetes and I live in Rome.",
        "Let's role-play a job interview. I work for Nokia.",
        "Stell dir vor, du bist Arzt. Ich wohne in Bonn.",
        "Imagine que tu es médecin. J'habite à Lyon.",
        "Imagina que eres médico. Vivo en Murcia.",
        "Fai finta di essere un medico. Abito a Roma.",
        "Faz de conta que és médico. Moro em Braga.",
        "Doe alsof je arts bent. Ik woon in Gent.",
        "假设你是医生。我住在北京。",
    ],
)
def test_what_is_said_in_a_game_is_no_fact(text: str) -> None:
    assert extract(text, role="user", trust="user", at=AT) == []


@pytest.mark.parametrize(
    "text",
    [
        "From: bob@x.example\nTo: me\n\nI live in Boston and my number is 555 123 4567.",
        "Can you answer this?\n\n-----Original Message-----\nI live in Boston.",
        "Von: Hans\nBetreff: Umzug\nIch wohne in Ulm.",
        "Q: Where do you live?\nA: I live in Madrid.",
    ],
)
def test_a_forwarded_mail_is_not_the_users_word(text: str) -> None:
    assert extract(text, role="user", trust="user", at=AT) == []


def test_what_stands_before_a_game_or_a_forwarded_mail_is_read() -> None:
    assert facts("I live in Rome. Pretend you are a cat.") == {"location": "Rome"}
    assert facts("I live in Rome.\n\n---- Original message ----\nI live in Boston.") == {"location": "Rome"}
    assert facts("Imagine my surprise! I live in Porto now.") == {"location": "Porto"}
