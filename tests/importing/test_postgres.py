"""What the real packages kept on a Postgres server comes in as they give it back (see samples/dump_postgres.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from memorist import CorruptRecord, Memory, StoreUnavailable

from .conftest import DATA, expected
from .test_samples import original

KINDS = {
    "agents-postgres": "openai-agents",
    "langgraph-postgres": "langgraph",
    "langgraph-postgres-shallow": "langgraph",
}


@pytest.fixture
def restored(request: pytest.FixtureRequest, postgres_server: Any) -> Iterator[str]:
    """The URL of a database of its own that holds a sample."""
    database = f"sample_{uuid4().hex}"
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{database}"')
    url: str = postgres_server.url_for(database=database)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((DATA / f"{request.param}.sql").read_bytes())
    yield url
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{database}" WITH (FORCE)')


@pytest.mark.parametrize(("restored", "kind"), KINDS.items(), indirect=["restored"])
def test_each_is_recognised_and_comes_in_whole_and_once_and_goes_again(
    memory: Memory, restored: str, kind: str
) -> None:
    preview = memory.import_from(restored, dry_run=True)
    assert (preview.kind, preview.failed, preview.added) == (kind, 0, {})
    assert memory.namespaces() == []
    first = memory.import_from(restored)
    assert (first.failed, first.added) == (0, preview.found)
    assert memory.import_from(restored).added == {}
    assert memory.forget(source=first.source).complete
    assert memory.namespaces() == []


@pytest.mark.parametrize("restored", ["agents-postgres"], indirect=True)
def test_items_of_agents_sessions_are_there_to_the_byte(memory: Memory, restored: str) -> None:
    memory.import_from(restored.replace("postgresql:", "postgresql+asyncpg:"))  # as SQLAlchemy writes it
    for session, items in expected("agents-postgres").items():
        messages = memory.threads.messages(session)
        assert [original(message) for message in messages] == items
        assert all(message.created_at is not None and message.created_at.year == 2026 for message in messages)


@pytest.mark.parametrize(
    ("restored", "name"),
    [(name, name) for name in KINDS if name.startswith("langgraph")],
    indirect=["restored"],
)
def test_threads_and_items_of_langgraph_are_there_to_the_byte(memory: Memory, restored: str, name: str) -> None:
    memory.import_from(restored)
    recorded = expected(name)
    for thread, items in recorded["threads"].items():
        messages = memory.threads.messages(thread)
        assert [message.raw for message in messages] == items
        assert [message.text for message in messages] == [item["content"] for item in items]
        stored = memory.threads.get(thread)
        assert stored is not None and stored.ns == "user:ada"
    for id, value in recorded["items"].items():
        space, _, key = id.partition("/")
        fact = memory.facts.get(f"workflow:store/{space}", key)
        assert fact is not None and fact.value == value


@pytest.mark.parametrize("restored", ["langgraph-postgres"], indirect=True)
def test_the_times_are_those_of_the_checkpoints(memory: Memory, restored: str) -> None:
    memory.import_from(restored)
    times = [message.created_at for message in memory.threads.messages("weather-1")]
    present = [time for time in times if time is not None]
    assert len(present) == len(times)
    assert present == sorted(present) and present[0] < present[-1]


@pytest.mark.parametrize("restored", ["agents-postgres"], indirect=True)
def test_a_row_that_is_damaged_is_told_with_its_place_and_the_rest_comes_in(memory: Memory, restored: str) -> None:
    with psycopg.connect(restored, autocommit=True) as connection:
        connection.execute("UPDATE agent_messages SET message_data = '{\"role\": ' WHERE id = 2")
    report = memory.import_from(restored)
    assert [(problem.place, problem.reason) for problem in report.problems] == [
        ("row 2 of agent_messages", "it is not JSON")
    ]
    assert report.added == {"threads": 2, "messages": 11}
    with pytest.raises(CorruptRecord, match="row 2 of agent_messages"):
        memory.import_from(restored, strict=True, source="again")


def test_a_server_that_is_not_there_is_told_clearly_and_without_its_password(memory: Memory) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        memory.import_from("postgresql://ada:secret@127.0.0.1:1/db?connect_timeout=5")
    assert "cannot be reached" in str(caught.value) and "secret" not in str(caught.value)
