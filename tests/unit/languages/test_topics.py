"""The room of languages: topics of keys, how they are told, which language a sentence is in."""

import ast
from pathlib import Path

import pytest

import memorist.languages
from memorist.extract.keys import KEYS
from memorist.languages import language_of, languages, topic_of, topics


@pytest.mark.parametrize("key", KEYS)
def test_every_key_has_a_topic(key: str) -> None:
    topic = topic_of(key.replace("<x>", "thing").replace("<category>", "editor"))
    assert topic is not None
    assert topic.ask and topic.tell


def test_the_longest_known_beginning_of_a_key_is_its_topic() -> None:
    topics = {key: topic_of(key) for key in ("allergy.peanuts", "uses.tool.git", "uses.editor", "my.blood_type")}
    assert {key: topic and topic.name for key, topic in topics.items()} == {
        "allergy.peanuts": "allergy",
        "uses.tool.git": "tool",
        "uses.editor": "uses",
        "my.blood_type": "blood",
    }
    assert topic_of("nothing.of.the.sort") is None


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("location", "Porto", "lives in Porto"),
        ("name", "Ada", "name: Ada"),
        ("role", "nurse", "occupation: nurse"),
        ("role", "a nurse on nights", "occupation: a nurse on nights"),
        ("role", "Krankenpfleger", "occupation: Krankenpfleger"),
        ("goal", "a marathon in May", "goal: a marathon in May"),
        ("likes.black_coffee", "black coffee", "likes black coffee"),
        ("likes.black_coffee", False, "dislikes black coffee"),
        ("allergy.peanuts", True, "allergic to peanuts"),
        ("number.budget", {"amount": 2500, "unit": "EUR"}, "budget: 2500 EUR"),
        ("pet.dog", ["Rex", "Bo"], "dog: Rex, Bo"),
        ("relation.sister.maria", "Maria", "sister: Maria"),
        ("note.my_car_is_red", "My car is red", "My car is red"),
        ("employer.acme", "Acme", "works for Acme"),
        ("employer.previous", "Initech", "employer previous: Initech"),
        ("location.office", "Linz", "location office: Linz"),
    ],
)
def test_a_fact_is_told_without_its_subject(key: str, value: object, text: str) -> None:
    topic = topic_of(key)
    assert topic is not None
    assert topic.tell_value(value, key) == text


def test_facts_of_things_are_not_single() -> None:
    assert {topic.name for topic in topics() if topic.single} >= {"name", "location", "diet"}
    assert not {topic.name for topic in topics() if topic.single} & {"likes", "allergy", "relation"}
    assert languages()[0] == "en"


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("I live in Porto.", "en"),
        ("Ich wohne in Porto.", "de"),
        ("我住在北京", "zh"),
        ("私は東京に住んでいます", "ja"),
        ("Mieszkam w Krakowie.", None),
        ("", None),
    ],
)
def test_the_language_of_a_sentence(sentence: str, code: str | None) -> None:
    assert language_of(sentence) == code


def test_the_room_imports_nothing_of_the_rest() -> None:
    for path in Path(memorist.languages.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_outside = isinstance(node, ast.ImportFrom) and node.level > 1
            assert not is_outside or node.module == "values", path  # the types of JSON
            assert not (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memorist")), path
