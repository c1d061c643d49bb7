from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memorist.extract import KEYS, extract, slug

AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)  # a Wednesday


def facts(text: str) -> dict[str, Any]:
    found = extract(text, role="user", trust="user", at=AT)
    return {item.key: item.value for item in found if item.kind == "fact"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # names and contact
        ("My name's Priya, nice to meet you.", {"name": "Priya"}),
        ("hello, my name is kofi mensah", {"name": "kofi mensah"}),
        ("I'm Sarah from accounting.", {"name": "Sarah", "team": "accounting"}),
        ("My full name is María José García López.", {"name": "María José García López"}),
        ("I go by Max.", {"nickname": "Max"}),
        ("I use she/her pronouns.", {"pronouns": "she/her"}),
        ("My email is tom.baker@example.com", {"email": "tom.baker@example.com"}),
        ("You can text me at 415-555-0137.", {"phone": "415-555-0137"}),
        ("I'm forty-two years old.", {"age": 42}),
        ("I just turned 21!", {"age": 21}),
        ("My birthday is on the 14th of July.", {"birthday": "--07-14"}),
        ("I'm Canadian.", {"nationality": "Canadian"}),
        ("I'm left-handed.", {"condition.left_handed": True}),
        # work
        ("I work as a backend developer at Spotify.", {"role": "backend developer", "employer": "Spotify"}),
        ("I'm the CTO of a small fintech startup called Ledgerly.", {"role": "CTO", "employer": "Ledgerly"}),
        ("I'm head of engineering at Monzo.", {"role": "head of engineering", "employer": "Monzo"}),
        ("By profession I'm an architect.", {"role": "architect"}),
        ("I lead the data science team at Klarna.", {"team": "data science", "employer": "Klarna"}),
        ("I'm studying computer science at TU Delft.", {"studies": "computer science", "school": "TU Delft"}),
        ("I work in healthcare.", {"industry": "healthcare"}),
        ("My wife and I run a vineyard near Bordeaux.", {"role": "vineyard owner"}),
        ("I'm a nurse and live in Oslo.", {"role": "nurse", "location": "Oslo"}),
        (
            "I'm a second-year medical student at Johns Hopkins.",
            {"role": "second-year medical student", "school": "Johns Hopkins"},
        ),
        ("I work with Anna.", {}),
        ("After ten years as a chef I became a food critic.", {"role": "food critic"}),
        # places
        ("Home for me is Marseille.", {"location": "Marseille"}),
        ("I live in Bonn and work in Cologne.", {"location": "Bonn", "work_location": "Cologne"}),
        ("I'm from New Zealand but living in Scotland.", {"origin": "New Zealand", "location": "Scotland"}),
        ("We just moved from Austin to Denver.", {"location": "Denver"}),
        ("I reside in Zürich, Switzerland.", {"location": "Zürich, Switzerland"}),
        ("I was born in Nairobi and raised in London.", {"origin": "Nairobi"}),
        ("i live in new york", {"location": "new york"}),
        ("I'm in UTC+2.", {"timezone": "UTC+2"}),
        ("My office is in Warsaw.", {"work_location": "Warsaw"}),
        # taste
        ("i love sushi but i hate wasabi", {"likes.sushi": True, "likes.wasabi": False}),
        ("I'm not a fan of horror movies.", {"likes.horror_movies": False}),
        ("My go-to drink is an oat milk latte.", {"favorite.drink": "oat milk latte"}),
        ("Pizza is my favorite food.", {"favorite.food": "Pizza"}),
        ("I'm a vegetarian.", {"diet": "vegetarian"}),
        ("I have a peanut allergy.", {"allergy.peanut": True}),
        ("I play tennis and chess.", {"hobby.tennis": True, "hobby.chess": True}),
        ("I speak Spanish fluently and some Catalan.", {"language.spanish": True, "language.catalan": True}),
        ("Spicy food is not my thing.", {"likes.spicy_food": False}),
        ("I'm taking Italian lessons.", {"learning.italian": True}),
        # tools
        ("Our team relies on Jenkins for CI.", {"uses.tool.jenkins": True}),
        ("I've got a Garmin watch.", {"owns.garmin_watch": True}),
        ("I use VS Code and Docker every day.", {"uses.tool.vs_code": True, "uses.tool.docker": True}),
        ("My terminal is Kitty, and my shell is fish.", {"uses.terminal": "Kitty", "uses.shell": "fish"}),
        ("I've replaced Dropbox with Syncthing.", {"uses.tool.dropbox": False, "uses.tool.syncthing": True}),
        ("Our backend is written in Rust.", {"uses.tool.rust": True}),
        ("I don't use Facebook anymore.", {"uses.tool.facebook": False}),
        ("For design work I use Figma.", {"uses.tool.figma": True}),
        ("I own a Tesla Model 3.", {"owns.tesla_model_3": True}),
        ("I work mostly in Rust.", {"uses.tool.rust": True}),
        (
            "Our stack is Django, Celery and Redis.",
            {"uses.tool.django": True, "uses.tool.celery": True, "uses.tool.redis": True},
        ),
        # dates
        ("I have a flight to Rome on Friday at 7am.", {"date.flight_to_rome": "2026-11-13T07:00"}),
        ("I have an interview next Thursday at 10am.", {"date.interview": "2026-11-12T10:00"}),
        (
            "I have an exam on Monday and a job interview on Wednesday.",
            {"date.exam": "2026-11-16", "date.job_interview": "2026-11-18"},
        ),
        ("My wedding is on 12 June 2027.", {"date.wedding": "2027-06-12"}),
        ("My mom's birthday is April 2nd.", {"date.mother_birthday": "--04-02"}),
        ("My lease ends in June.", {"date.lease": "2027-06"}),
        ("I ran my first marathon in 2019.", {"date.ran_first_marathon": "2019"}),
        ("I'm leaving for Japan in three weeks.", {"date.leaving_for_japan": "2026-12-02"}),
        # numbers
        ("My salary is 65,000 euros.", {"number.salary": {"amount": 65000, "unit": "EUR"}}),
        ("I have 15 years of experience in nursing.", {"number.years_of_experience": 15}),
        ("My team has 8 people.", {"number.team_size": 8}),
        ("I weigh 68 kilos.", {"weight": {"amount": 68, "unit": "kg"}}),
        ("I'm 5'10\".", {"height": {"amount": 70, "unit": "in"}}),
        # relations
        ("My wife, Elena, is a teacher.", {"relation.wife": "Elena"}),
        ("My dad is called Hassan.", {"relation.father": "Hassan"}),
        (
            "I have a sister named Claire and a brother named Paul.",
            {"relation.sister": "Claire", "relation.brother": "Paul"},
        ),
        ("My colleague Raj and I built this.", {"relation.colleague.raj": "Raj"}),
        ("My kids are Ben and Lily.", {"relation.kids": ["Ben", "Lily"]}),
        ("I have a golden retriever called Sunny.", {"pet.golden_retriever": "Sunny"}),
        ("I have two cats, Luna and Sol.", {"pet.cats": ["Luna", "Sol"], "number.cats": 2}),
        ("I'm engaged to Fatima.", {"relation.fiance": "Fatima"}),
    ],
)
def test_a_statement_gives_its_facts(text: str, expected: dict[str, Any]) -> None:
    assert facts(text) == expected


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I live in Oslo.", "I moved to Bergen."),
        ("I love coffee.", "I don't like coffee."),
        ("I use Postgres.", "I stopped using PostgreSQL."),
        ("My editor is Vim.", "I use Emacs as my editor."),
        ("I work at Nokia.", "I joined Ericsson."),
        ("My manager is Tom.", "I report to Ann."),
        ("My favourite colour is red.", "My favorite color is blue."),
        ("I'm 30 years old.", "I just turned 31."),
        ("My mom is called Ana.", "My mother's name is Eva."),
    ],
)
def test_a_contradiction_lands_on_the_same_key(first: str, second: str) -> None:
    old, new = facts(first), facts(second)
    assert old.keys() == new.keys()
    assert old != new


def test_a_fact_carries_its_sentence_and_place() -> None:
    text = "Hi! I live in Porto. Can you help?"
    (fact,) = extract(text, role="user", trust="user", at=AT)
    assert text[slice(*fact.span)] == fact.text == "I live in Porto."
    assert 0 < fact.confidence < 1


def test_since_when_is_kept() -> None:
    (fact,) = extract("We moved to Rotterdam last month.", role="user", trust="user", at=AT)
    assert fact.valid_at == datetime(2026, 10, 1, tzinfo=UTC)


def test_the_speaker_is_kept() -> None:
    (fact,) = extract("I live in Porto.", role="user", trust="user", at=AT, speaker="ada")
    assert fact.speaker == "ada"


def test_every_key_is_in_the_table() -> None:
    import json
    from pathlib import Path

    roots = {key.split(".")[0] for key in KEYS}
    data = Path(__file__).parents[2] / "data" / "extraction.jsonl"
    for line in data.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for item in extract(row["text"], role=row["role"], trust=row["trust"], at=AT):
            assert item.kind == "learning" or item.key.split(".")[0] in roots


def test_slugs_fold_case_script_and_known_spellings() -> None:
    assert slug("PostgreSQL") == "postgres"
    assert slug("Black  Coffee!") == "black_coffee"
    assert slug("C++") == "cpp"
    assert slug("Борщ") == "борщ"
    assert slug("ﬁsh") == "fish"
    assert len(slug("word " * 100)) <= 80
