"""Sentences written before anyone looked at what the rules make of them, and what was learned from them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from bench.extraction_fresh import FIRST_LOOK, rows, score
from memorist.extract import extract
from memorist.extract.extractor import MAX_CLAUSES, _clauses, unread

AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)  # a Wednesday


def facts(text: str) -> dict[str, Any]:
    return {item.key: item.value for item in extract(text, role="user", trust="user", at=AT) if item.kind == "fact"}


def learnings(text: str) -> list[tuple[str | None, Any]]:
    found = extract(text, role="user", trust="user", at=AT)
    return [(item.type, item.value) for item in found if item.kind == "learning"]


def test_every_batch_has_sentences_with_and_without_facts() -> None:
    batches = Counter(row["batch"] for row in rows()).keys()
    assert batches >= FIRST_LOOK.keys()
    for batch in batches:
        empty = sum(not row["expected"] and not row.get("retracts") for row in rows(batch))
        assert 1 / 5 < empty / len(list(rows(batch))) < 1 / 2
    texts = [row["text"] for row in rows()]
    assert len(set(texts)) == len(texts)


MENDED = (*range(1, 10), 10, 13, 14, 16, 17, 18)
"""The batches that patterns were mended for and that are read well since."""


@pytest.mark.parametrize("batch", MENDED)
def test_what_the_batches_taught_is_not_lost(batch: int) -> None:
    result = score(batch)
    assert result["precision"] >= 0.95
    assert result["recall"] >= (0.85 if batch < 14 else 0.75)


@pytest.mark.parametrize(("role", "trust"), [("tool", "tool"), ("assistant", "assistant"), ("user", "web")])
def test_the_same_sentences_from_other_speakers_give_nothing(role: str, trust: str) -> None:
    assert not any(extract(row["text"], role=role, trust=trust, at=AT) for row in rows())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the subject left out, shared, or spoken for
        ("Been working as a baker since 2012.", {"role": "baker"}),
        ("Born and raised in Oslo.", {"origin": "Oslo"}),
        ("me and my husband have a beagle called Rolf", {"pet.beagle": "Rolf"}),
        ("Our team hosts everything on Heroku.", {"uses.tool.heroku": True}),
        (
            "I'm Ines, 41, from Porto, a translator.",
            {"name": "Ines", "age": 41, "origin": "Porto", "role": "translator"},
        ),
        ("I'm a Swede living in Lima.", {"location": "Lima"}),
        ("The town I live in is Bamberg.", {"location": "Bamberg"}),
        ("Having grown up in Quito, I love mountains.", {"origin": "Quito", "likes.mountains": True}),
        ("Beatrix, my supervisor, is away.", {"relation.supervisor": "Beatrix"}),
        ("Name: Ada Lind. Location: Umeå.", {"name": "Ada Lind", "location": "Umeå"}),
        ("I take notes in Notion and manage tasks in Todoist.", {"uses.tool.notion": True, "uses.tool.todoist": True}),
        ("You got my name wrong. It's Catriona.", {"name": "Catriona"}),
        ("My email is a@example.org, number is 0161 496 0000.", {"email": "a@example.org", "phone": "0161 496 0000"}),
        # values end where they end
        ("I've been working at Nokia for 3 years.", {"employer": "Nokia"}),
        ("I'm from the Netherlands originally.", {"origin": "the Netherlands"}),
        ("Sci-fi is my favourite genre, no contest.", {"favorite.genre": "Sci-fi"}),
        ("I've lived in Taipei my whole life.", {"location": "Taipei"}),
        # one reading of a clause, the later of two
        ("My native language is Tamil.", {"native_language": "Tamil"}),
        ("I'm an engineer by training, but I work as a notary.", {"role": "notary"}),
    ],
)
def test_a_statement_is_read_however_it_is_put(text: str, expected: dict[str, Any]) -> None:
    assert facts(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I have a PhD in procrastination, lol.",
        "I'd love to visit the temple and take part in the festival.",
        "I'm interested in the boots from North Face.",
        "I'm in a meeting, talk later.",
        "I'm heading to the gym.",
        "I'm thinking maybe I play them the notes, then we do a call on WhatsApp.",
        "I like the sound of the second recipe.",
        '"name": "ASECH",',
        "Title: A strategy for growth",
        "Using NLP, create a summary.",
        "I mean, now we have drones.",
        "I don't want to waste time.",
        "Learning Spanish is hard.",
        "Love and kindness should be everywhere.",
    ],
)
def test_what_only_looks_like_a_statement_gives_nothing(text: str) -> None:
    assert extract(text, role="user", trust="user", at=AT) == []


def test_what_one_asks_to_have_remembered_is_kept_even_if_no_rule_reads_it() -> None:
    assert learnings("Please remember that the spare key is under the pot.") == [
        ("preference", "the spare key is under the pot")
    ]
    assert learnings("Remember the Alamo!") == []


def test_a_polite_request_for_good_is_a_preference() -> None:
    assert learnings("Could you always answer in bullet points?") == [("preference", "always answer in bullet points")]


def test_the_simple_present_tells_a_habit() -> None:
    assert learnings("I walk to the office.") == [("pattern", "I walk to the office")]
    assert learnings("When I walk to the office it rains.") == []


@pytest.mark.parametrize(
    "text",
    [
        "Nazywam się Piotr, mieszkam w Krakowie i pracuję w Allegro.",
        "Benim adım Ayşe, Ankara'da yaşıyorum.",
        "Jag heter Erik och bor i Malmö.",
        "Меня зовут Иван, я живу в Москве.",
        "제 이름은 지민이고 서울에 살아요.",
        "اسمي ليلى وأعيش في القاهرة.",
    ],
)
def test_a_language_without_patterns_gives_nothing_and_is_known_as_such(text: str) -> None:
    assert extract(text, role="user", trust="user", at=AT) == []
    assert unread(text)


@pytest.mark.parametrize("text", ["I live in Oslo.", "ok", "Ich wohne in Berlin.", "", "```code```"])
def test_what_can_be_read_or_says_nothing_is_not_unread(text: str) -> None:
    assert not unread(text)


def test_a_message_of_very_many_statements_is_read_up_to_a_bound() -> None:
    assert len(list(_clauses("I like tea and I use Vim. " * 700))) == MAX_CLAUSES
