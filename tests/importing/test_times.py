"""What is derived from imported messages has the time it was said; contradictions resolve by it, in any order."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memorist import Memory

BERLIN, ROME, PARIS = (datetime(year, 5, 1, tzinfo=UTC) for year in (2021, 2022, 2023))


def _write_messages(folder: Path, name: str, *messages: tuple[datetime, str]) -> Path:
    path = folder / f"{name}.jsonl"
    rows = [
        {"role": "user", "content": text, "thread_id": f"{name}-{number}", "timestamp": at.isoformat()}
        for number, (at, text) in enumerate(messages)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def _moves(folder: Path, order: tuple[int, ...]) -> list[Path]:
    moves = [(BERLIN, "I live in Berlin."), (ROME, "I live in Rome."), (PARIS, "I live in Paris.")]
    return [_write_messages(folder, f"talk{index}", moves[index]) for index in order]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_the_newest_word_counts_in_whatever_order_it_comes_in(
    memory: Memory, tmp_path: Path, order: tuple[int, ...]
) -> None:
    for path in _moves(tmp_path, order):
        memory.import_from(path, namespace="user:ada")
        memory.jobs.drain()
    now = memory.facts.get("user:ada", "location")
    assert now is not None
    assert (now.value, now.updated_at) == ("Paris", PARIS)
    past = memory.facts.history("user:ada", "location")
    assert [(fact.value, fact.updated_at) for fact in past] == [("Berlin", BERLIN), ("Rome", ROME), ("Paris", PARIS)]
    assert [fact.version for fact in past] == [1, 2, 3]
    for at, city in ((BERLIN, "Berlin"), (datetime(2022, 12, 1, tzinfo=UTC), "Rome"), (PARIS, "Paris")):
        fact = memory.facts.get("user:ada", "location", as_of=at)
        assert fact is not None and fact.value == city
    assert memory.facts.get("user:ada", "location", as_of=datetime(2020, 1, 1, tzinfo=UTC)) is None
    assert memory.doctor(deep=True).problems == []


def test_what_is_said_now_counts_more_than_what_is_imported_later(memory: Memory, tmp_path: Path) -> None:
    memory.threads.append("here", "I live in Oslo.", create="user:ada")
    memory.jobs.drain()
    memory.import_from(_moves(tmp_path, (0,))[0], namespace="user:ada")
    memory.jobs.drain()
    now = memory.facts.get("user:ada", "location")
    assert now is not None and now.value == "Oslo"
    assert [fact.value for fact in memory.facts.history("user:ada", "location")] == ["Berlin", "Oslo"]


def test_what_ended_is_not_brought_back_by_what_was_said_before(memory: Memory, tmp_path: Path) -> None:
    memory.import_from(_write_messages(tmp_path, "new", (ROME, "I am no longer vegetarian.")), namespace="user:ada")
    memory.facts.set("user:ada", "location", "Oslo")
    memory.facts.delete("user:ada", "location")
    memory.import_from(_write_messages(tmp_path, "old", (BERLIN, "I live in Berlin.")), namespace="user:ada")
    memory.jobs.drain()
    assert memory.facts.get("user:ada", "location") is None
    assert [fact.value for fact in memory.facts.history("user:ada", "location")] == ["Berlin", "Oslo", None]


def test_forgetting_the_import_takes_its_history_along(memory: Memory, tmp_path: Path) -> None:
    first = memory.import_from(_moves(tmp_path, (2,))[0], namespace="user:ada")
    second = memory.import_from(_moves(tmp_path, (0,))[0], namespace="user:ada")
    memory.jobs.drain()
    assert memory.why("user:ada/location").sources
    for report in (second, first):
        assert memory.forget(source=report.source).complete
    assert memory.facts.history("user:ada", "location") == []


def test_imported_facts_are_put_where_their_time_is(memory: Memory, tmp_path: Path) -> None:
    memory.facts.set("user:me", "mem0/1", "said here")
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"results": [{"id": "1", "memory": "before", "hash": "", "created_at": "2021-05-01"}]}))
    memory.import_from(path, kind="mem0")
    assert [fact.value for fact in memory.facts.history("user:me", "mem0/1")] == ["before", "said here"]


def test_learnings_have_the_time_they_were_said(memory: Memory, tmp_path: Path) -> None:
    memory.import_from(
        _write_messages(tmp_path, "talk", (BERLIN, "Please always answer in French.")), namespace="user:ada"
    )
    memory.jobs.drain()
    learnings = memory.scope(user="ada").learnings.list()
    assert [learning.created_at for learning in learnings] == [BERLIN]
