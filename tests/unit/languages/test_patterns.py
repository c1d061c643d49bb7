"""Every line of every topic file that says what fires, what stays silent and what ends a fact."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from memorist.extract import Extracted, extract
from memorist.extract.matcher import matcher
from memorist.extract.slots import READERS
from memorist.extract.slots.declared import AFTER, BEFORE, READS
from memorist.languages import Topic, languages, slots, topics, words

AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)


def _cases(field: str) -> Iterator[Any]:
    for lang in languages():
        for topic in topics(lang):
            for text in getattr(topic, field):
                yield pytest.param(topic, text, id=f"{lang}-{topic.name}-{text}")


def _of(topic: Topic, text: str, *, retracted: bool = False) -> list[Extracted]:
    found = extract(text, role="user", trust="user", at=AT)
    own = f"/{topic.file}#{topic.name}."
    return [item for item in found if own in item.rule and item.retracted is retracted]


def _values(found: list[Extracted]) -> Any:
    return [item.key.rpartition(".")[2] for item in found]


@pytest.mark.parametrize(("topic", "text"), list(_cases("fires")))
def test_a_pattern_fires_on_its_examples(topic: Topic, text: str) -> None:
    found, wanted = _of(topic, text), topic.fires[text]
    assert found, [item.rule for item in extract(text, role="user", trust="user", at=AT)]
    assert all(item.lang == topic.lang for item in found)
    if isinstance(wanted, list) and not isinstance(found[0].value, list):
        assert _values(found) == wanted
    else:
        assert found[0].value == wanted


@pytest.mark.parametrize(("topic", "text"), list(_cases("silent")))
def test_a_topic_stays_silent_on_its_counterexamples(topic: Topic, text: str) -> None:
    assert _of(topic, text) == []


@pytest.mark.parametrize(("topic", "text"), list(_cases("retracts")))
def test_a_retraction_is_read_as_one(topic: Topic, text: str) -> None:
    (found,) = _of(topic, text, retracted=True)
    assert topic.retracts[text] in (found.value, found.key.rpartition(".")[2])
    assert _of(topic, text) == []


@pytest.mark.parametrize("lang", languages())
def test_every_slot_has_a_reader_or_a_closed_list(lang: str) -> None:
    names = {state.slot.rstrip("0123456789") for state in matcher(lang).states if state.slot}
    assert [
        name for name in names if name not in words(lang).classes and name not in READERS and name not in slots()
    ] == []


@pytest.mark.parametrize("lang", languages())
def test_every_topic_with_patterns_has_examples_of_both_kinds(lang: str) -> None:
    bare = [topic.name for topic in topics(lang) if topic.say and not topic.fires]
    assert bare == []
    assert matcher(lang).patterns


def test_slots_are_declared_by_known_names() -> None:
    known = {*READS, *BEFORE, *AFTER, "not_like"}
    assert {name: set(table) - known for name, table in slots().items() if set(table) - known} == {}
