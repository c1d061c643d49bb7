"""Files that the real packages wrote: everything in them comes in as they give it back themselves, and once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from memorist import Memory
from memorist.importing.files import SourceFiles
from memorist.importing.readers import READERS, reader_for

from .conftest import DATA, expected

KINDS = {
    "agents.db": "openai-agents",
    "agents-branches.db": "openai-agents",
    "agents-sqlalchemy.db": "openai-agents",
    "langgraph-saver.db": "langgraph",
    "langgraph-store.db": "langgraph",
    "mem0": "mem0",
    "mem0/history.db": "mem0",
    "mem0-export.json": "mem0",
    "mcp-memory.jsonl": "mcp",
}


@pytest.mark.parametrize("name", KINDS)
def test_each_sample_is_recognised_by_its_reader_alone(name: str) -> None:
    files = SourceFiles(DATA / name)
    assert reader_for("auto", files).kind == KINDS[name]
    assert [kind for kind, reader in READERS.items() if reader.recognises(files)] == [KINDS[name]]


@pytest.mark.parametrize("name", KINDS)
def test_each_sample_comes_in_whole_and_once_and_goes_again(memory: Memory, name: str) -> None:
    first = memory.import_from(DATA / name)
    assert (first.failed, first.added) == (0, first.found)
    assert memory.import_from(DATA / name).added == {}
    assert memory.forget(source=first.source).complete
    assert memory.namespaces() == []
    assert memory.doctor(deep=True).problems == []


@pytest.mark.parametrize("name", ["agents", "agents-branches", "agents-sqlalchemy"])
def test_items_of_agents_sessions_are_there_to_the_byte(memory: Memory, name: str) -> None:
    memory.import_from(DATA / f"{name}.db")
    for session, items in expected(name).items():
        messages = memory.threads.messages(session)
        assert [original(message) for message in messages] == items


def original(message: Any) -> Any:
    """The item that a message came from."""
    return (message.responses() if message.shape == "responses" else message.openai())[0]


def test_agents_items_read_as_messages(memory: Memory) -> None:
    memory.import_from(DATA / "agents.db")
    user, reasoning, call, result, answer, thanks = memory.threads.messages("session-1")
    assert user.text == "I live in Berlin. My name is Ada — 東京 👩‍💻\n\twith a tab."
    assert reasoning.role == call.role == "assistant"
    assert [tool_call.name for tool_call in call.tool_calls] == ["weather"]
    assert (result.role, result.tool_results[0].id) == ("tool", "call_1")
    assert "sunny, 21°" in str(result.content)
    assert (answer.text, thanks.text) == ("It is sunny in Berlin.", "Thanks!")


def test_messages_of_a_langgraph_saver_are_there_to_the_byte(memory: Memory) -> None:
    memory.import_from(DATA / "langgraph-saver.db")
    for thread, items in expected("langgraph")["threads"].items():
        messages = memory.threads.messages(thread)
        assert [message.raw for message in messages] == items
        assert [message.text for message in messages] == [item["content"] for item in items]
        times = [message.created_at for message in messages if message.created_at is not None]
        assert len(times) == len(messages)
        assert times == sorted(times) and times[0] < times[-1]
        stored = memory.threads.get(thread)
        assert stored is not None and stored.ns == "user:ada"
    assert [message.role for message in memory.threads.messages("weather-2")] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_items_of_a_langgraph_store_go_where_our_store_reads_them(memory: Memory) -> None:
    memory.import_from(DATA / "langgraph-store.db")
    for id, value in expected("langgraph")["items"].items():
        space, _, key = id.partition("/")
        fact = memory.facts.get(f"workflow:store/{space}", key)
        assert fact is not None and fact.value == value


def test_memories_of_mem0_come_with_their_history(memory: Memory) -> None:
    memory.import_from(DATA / "mem0")
    recorded = expected("mem0")
    facts = {fact.key: fact for ns in ("user:ada", "agent:writer") for fact in memory.facts.list(ns, prefix="mem0/")}
    assert {key.removeprefix("mem0/"): fact.value for key, fact in facts.items()} == recorded["memories"]
    for id, events in recorded["history"].items():
        ns = "user:ada" if f"mem0/{id}" in facts else "user:me"
        past = memory.facts.history(ns, f"mem0/{id}")
        assert [fact.value for fact in past] == [text if event != "DELETE" else None for event, text in events]
        assert [fact.updated_at for fact in past] == sorted(fact.updated_at for fact in past)


def test_a_value_that_held_before_is_found_by_its_time(memory: Memory) -> None:
    memory.import_from(DATA / "mem0")
    id = next(id for id, events in expected("mem0")["history"].items() if len(events) == 2 and events[1][0] == "UPDATE")
    before, now = memory.facts.history("user:ada", f"mem0/{id}")
    at: datetime = before.updated_at
    fact = memory.facts.get("user:ada", f"mem0/{id}", as_of=at)
    assert fact is not None and fact.value == before.value != now.value


def test_the_graph_of_the_mcp_server_is_what_our_graph_tools_keep(memory: Memory) -> None:
    memory.import_from(DATA / "mcp-memory.jsonl", namespace="global")
    values = {fact.key: dict(fact.value) for fact in memory.facts.list("global")}
    assert sorted(value.pop("order") for value in values.values()) == [1, 2, 3]
    assert values == {
        "entity/Ada": {
            "name": "Ada",
            "entityType": "person",
            "observations": ["lives in Berlin", "likes tea — 東京 👩‍💻"],
        },
        "entity/Acme": {"name": "Acme", "entityType": "company", "observations": ["makes anvils"]},
        "relation/Ada/works at/Acme": {"from": "Ada", "to": "Acme", "relationType": "works at"},
    }
