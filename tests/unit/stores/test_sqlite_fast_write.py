"""One message or one new fact is one statement, and writes what the general way writes under the same guards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from memorist import Memory
from memorist.errors import NotFound
from memorist.stores.sqlite import fast_write
from memorist.stores.sqlite.connection import Connections
from memorist.stores.sqlite.fast_write import FastWrite
from memorist.testing import FakeClock

OPTIONS: dict[str, Any] = {"embedder": None, "counter": "estimate", "worker": False}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What came of each statement of the fast way."""
    outcomes: list[bool] = []
    write_one = Connections.write_one

    def noted(self: Connections, sql: str, values: Any) -> bool:
        outcomes.append(write_one(self, sql, values))
        return outcomes[-1]

    monkeypatch.setattr(Connections, "write_one", noted)
    return outcomes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(path: Path, written: list[bool]) -> Iterator[Memory]:
    with Memory(path, all_orgs=True, **OPTIONS) as opened:
        opened.threads.create("global", id="t")
        for n in range(3):
            opened.threads.append("t", f"message {n}")
        yield opened


def run(path: Path, sql: str) -> list[Any]:
    """Behind the back of the memory, but through the same SQLite: another one in this process would drop our locks."""
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def rows(path: Path, *tables: str) -> list[Any]:
    return [run(path, f"SELECT * FROM {table} ORDER BY 1, 2, 3") for table in tables]


def test_the_third_message_of_a_process_takes_the_narrow_way(memory: Memory, written: list[bool]) -> None:
    assert written == [True]
    assert memory.threads.append("t", "one more")[0].message.seq == 4
    assert written == [True, True]
    assert [message.text for message in memory.threads.recent("t", 2)] == ["message 2", "one more"]


def test_both_ways_write_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: list[bool]) -> None:
    def work(path: Path) -> list[Any]:
        with Memory(path, clock=FakeClock(), **OPTIONS) as memory:
            memory.threads.create("global", id="t")
            for n in range(6):
                tool = {"role": "tool", "content": [{"type": "text", "text": f"é\x00{n}"}], "tool_call_id": "c"}
                memory.threads.append("t", tool if n % 2 else {"role": "user", "content": f"{n} \U0001f600"})
            for n in range(3):
                memory.facts.set("global", f"é{n}", {"n": n}, ttl=60 if n else None)
        events = run(path, "SELECT action, kind, subject, actor, created_at FROM audit ORDER BY id")
        return [events, *rows(path, "threads", "messages", "jobs", "facts")]

    narrowly = work(tmp_path / "narrow.db")
    assert written == [True] * 7
    monkeypatch.setattr(FastWrite, "apply", lambda self, changes: None)
    assert narrowly == work(tmp_path / "general.db")


def test_numbers_go_on_after_those_of_another_process(path: Path, memory: Memory, written: list[bool]) -> None:
    with Memory(path, **OPTIONS) as other:
        other.threads.append("t", "theirs")
    assert memory.threads.append("t", "mine")[0].message.seq == 5
    assert written == [True, False]
    assert [message.seq for message in memory.threads.recent("t", 9)] == [1, 2, 3, 4, 5]


def test_a_thread_that_others_write_to_is_not_tried_again_at_once(
    path: Path, memory: Memory, written: list[bool]
) -> None:
    with Memory(path, **OPTIONS) as other:
        for n in range(4):
            other.threads.append("t", f"theirs {n}")
            memory.threads.append("t", f"mine {n}")
    assert written == [True, False]


def test_a_job_that_was_done_meanwhile_is_asked_for_again(memory: Memory, path: Path, written: list[bool]) -> None:
    for org, id in (("default", "another"), ("other", "t")):
        memory.scope(org=org).threads.create("global", id=id)
        memory.scope(org=org).threads.append(id, "has a job too")
    run(path, "DELETE FROM jobs WHERE org = 'default' AND item = 'thread:t'")
    memory.threads.append("t", "to be indexed")
    assert written == [True, False]
    assert len(run(path, "SELECT * FROM jobs WHERE org = 'default' AND item = 'thread:t'")) == 1


def test_a_deleted_thread_takes_no_message(path: Path, memory: Memory) -> None:
    with Memory(path, **OPTIONS) as other:
        other.threads.delete("t")
    with pytest.raises(NotFound):
        memory.threads.append("t", "too late")
    assert rows(path, "messages") == [[]]


def test_a_thread_made_anew_elsewhere_gives_its_expiry(path: Path, memory: Memory, written: list[bool]) -> None:
    with Memory(path, **OPTIONS) as other:
        other.threads.delete("t")
        recreated = other.threads.create("global", id="t", ttl=60)
        other.threads.append("t", "as", "many", "messages")
    receipt = memory.threads.append("t", "mine")[0]
    assert (receipt.message.seq, receipt.message.expires_at) == (7, recreated.expires_at)
    assert written == [True, False]


def test_messages_of_a_thread_that_expires_take_its_expiry(path: Path, written: list[bool]) -> None:
    with Memory(path, **OPTIONS) as memory:
        thread = memory.threads.create("global", ttl=60)
        for n in range(4):
            assert memory.threads.append(thread.id, f"{n}")[0].message.expires_at == thread.expires_at
    assert written == []


def test_a_replayed_key_gives_the_first_numbers(memory: Memory, written: list[bool]) -> None:
    first = memory.threads.append("t", "once", key="k")[0].message.seq
    assert memory.threads.append("t", "once", key="k")[0].message.seq == first
    assert memory.threads.append("t", "next")[0].message.seq == first + 1
    assert len(written) == 2


def test_a_new_version_of_a_fact_goes_the_general_way(memory: Memory, written: list[bool]) -> None:
    first, second = (memory.facts.set("global", "city", city) for city in ("Lisbon", "Porto"))
    assert (first.version, second.version, second.created_at) == (1, 2, first.created_at)
    assert written == [True, True]
    assert [fact.value for fact in memory.facts.history("global", "city")] == ["Lisbon", "Porto"]


def test_a_fact_set_by_another_process_gets_its_next_version(path: Path, memory: Memory, written: list[bool]) -> None:
    with Memory(path, **OPTIONS) as other:
        other.facts.set("global", "city", "Lisbon")
    assert memory.facts.set("global", "city", "Porto").version == 2
    assert written == [True, True, False]


def test_a_fact_made_again_counts_on_from_its_history(path: Path, memory: Memory, written: list[bool]) -> None:
    with Memory(path, **OPTIONS) as other:
        other.facts.set("global", "city", "Lisbon")
        other.facts.set("global", "city", "Porto")
    run(path, "DELETE FROM facts; DELETE FROM jobs WHERE item = 'fact:city'")
    assert memory.facts.set("global", "city", "Braga").version == 2
    assert written[-1] is False


def test_a_fact_whose_job_waits_already_goes_the_general_way(path: Path, memory: Memory, written: list[bool]) -> None:
    memory.facts.set("global", "city", "Lisbon")
    run(path, "DELETE FROM facts")
    with Memory(path, **OPTIONS) as other:
        assert other.facts.set("global", "city", "Porto").version == 1
    assert written[-1] is False
    assert run(path, "SELECT version FROM jobs WHERE item = 'fact:city'") == [(2,)]


def late(path: Path) -> int:
    """The number given to a message by a process that does not know of the thread's last change."""
    with Memory(path, **OPTIONS) as memory, Memory(path, **OPTIONS) as other:
        memory.threads.create("global", id="t")
        for n in range(3):
            memory.threads.append("t", f"{n}")
        other.threads.append("t", "theirs")
        other.threads.delete_messages("t", ids=["t#4"])
        return memory.threads.append("t", "mine")[0].message.seq


def test_a_number_is_never_given_twice(path: Path) -> None:
    assert late(path) == 5


def test_without_the_guard_it_would_be(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unguarded = fast_write.SCHEMA.replace("AND length = new.seq - 1", "")
    monkeypatch.setattr("memorist.stores.sqlite.connection.SCHEMA", unguarded)
    assert late(path) == 4
