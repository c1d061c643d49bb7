"""Exports for other tools: they read them, and so do we."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memorist import Forbidden, Memory, UsageError

from .conftest import DATA

TEXT = "I live in Berlin — 東京 👩‍💻"
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Berlin"}'}}
AT = datetime(2024, 3, 1, 10, tzinfo=UTC)


@pytest.fixture
def filled(memory: Memory) -> Memory:
    """A memory with a thread, a fact and a document."""
    memory.threads.create("user:ada", "Trip", id="trip/1")
    memory.threads.append(
        "trip/1",
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": TEXT, "created_at": AT},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
        {"role": "assistant", "content": "It is sunny."},
    )
    memory.facts.set("user:ada", "likes", "tea")
    memory.documents.add("global", "# Plan\nfirst", id="plans/a.md", title="Plan")
    return memory


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_openai_lines_hold_the_messages_as_they_were(filled: Memory, tmp_path: Path) -> None:
    report = filled.export(tmp_path / "chats.jsonl", to="openai")
    assert report.counts == {"messages": 5, "threads": 1}
    (line,) = _lines(tmp_path / "chats.jsonl")
    assert (line["id"], line["title"], line["user"]) == ("trip/1", "Trip", "ada")
    messages = filled.threads.messages("trip/1")
    assert line["messages"] == [part for message in messages for part in message.openai()]
    assert line["times"][1] == "2024-03-01T10:00:00Z"


def test_anthropic_lines_are_valid_requests(filled: Memory, tmp_path: Path) -> None:
    filled.export(tmp_path / "chats.jsonl", to="anthropic")
    (line,) = _lines(tmp_path / "chats.jsonl")
    assert line["system"] == "Be brief."
    assert [message["role"] for message in line["messages"]] == ["user", "assistant", "user", "assistant"]
    assert line["messages"][0]["content"] == TEXT
    assert line["messages"][1]["content"][0]["type"] == "tool_use"
    assert line["messages"][2]["content"][0]["tool_use_id"] == "c1"


@pytest.mark.parametrize("to", ["openai", "anthropic", "langgraph"])
def test_what_is_exported_comes_in_again(filled: Memory, tmp_path: Path, to: Any) -> None:
    path = tmp_path / ("chats.db" if to == "langgraph" else "chats.jsonl")
    filled.export(path, to=to)
    with Memory(tmp_path / "other.db", embedder=None, counter="estimate", worker=False) as other:
        report = other.import_from(path, namespace="user:ada")
        assert (report.failed, report.added["messages"]) == (0, 5)
        messages = other.threads.messages("trip/1")
        assert [message.text for message in messages] == [message.text for message in filled.threads.messages("trip/1")]
        assert [call.name for message in messages for call in message.tool_calls] == ["weather"]


def test_markdown_is_a_folder_that_people_read(filled: Memory, tmp_path: Path) -> None:
    filled.export(tmp_path / "out", to="markdown")
    files = {
        str(path.relative_to(tmp_path / "out")): path.read_text("utf-8") for path in (tmp_path / "out").rglob("*.md")
    }
    thread = next(text for name, text in files.items() if "/threads/" in name)
    assert "# Trip" in thread and TEXT in thread and "called `weather`" in thread
    assert "- **likes**: tea" in files["user-ada/facts.md"]
    assert any("# Plan" in text for name, text in files.items() if "/documents/" in name)
    with pytest.raises(UsageError):
        filled.export(tmp_path / "out", to="markdown")
    assert filled.import_from(tmp_path / "out", namespace="user:notes").added == {"documents": 3}


def test_a_langgraph_file_is_what_its_own_packages_write(filled: Memory, tmp_path: Path) -> None:
    """The tables and columns are those of a file that LangGraph made; `samples/read_langgraph.py` has it read ours."""
    filled.export(tmp_path / "graph.db", to="langgraph")
    for table, sample in (("checkpoints", "langgraph-saver.db"), ("store", "langgraph-store.db")):
        theirs = _columns(DATA / sample, table)
        assert set(_columns(tmp_path / "graph.db", table)) <= set(theirs)


def _columns(path: Path, table: str) -> list[str]:
    file = sqlite3.connect(path)
    columns = [str(row[1]) for row in file.execute(f"PRAGMA table_info({table})")]
    file.close()
    return columns


def test_one_namespace_alone_is_exported(filled: Memory, tmp_path: Path) -> None:
    filled.threads.append("other", "hello", create="user:bob")
    report = filled.export(tmp_path / "chats.jsonl", to="openai", namespace="user:bob")
    assert report.counts == {"messages": 1, "threads": 1}
    with pytest.raises(UsageError):
        filled.export(tmp_path / "all.jsonl", namespace="user:bob")
    with pytest.raises(Forbidden):
        filled.scope(user="ada").export(tmp_path / "chats.jsonl", to="openai")
