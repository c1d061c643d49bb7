"""Small findings of a hostile trial, each as the test that failed."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.errors import InvalidValue, NotFound, StoreUnavailable, UsageError
from memorist.stores.memory import MemoryStore

HUGE = (2**63, 2**70, -(2**63) - 1)


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: Any, tmp_path: Path) -> Any:
    url = MemoryStore() if request.param == "memory" else tmp_path / "memory.db"
    with Memory(url, worker=False, embedder=None) as opened:
        yield opened


@pytest.mark.parametrize("number", HUGE)
def test_numbers_beyond_64_bits_are_treated_alike_by_every_store(memory: Memory, number: int) -> None:
    memory.facts.set("user:ada", "home", "Porto")
    with pytest.raises(InvalidValue, match="at most 64 bits"):
        memory.state.increment("count", by=number)
    if number > 0:
        assert len(memory.audit.list(limit=number)) == 1
    else:
        with pytest.raises(UsageError):
            memory.audit.list(limit=number)


def test_files_that_cannot_be_used_raise_our_errors(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        memory.export(tmp_path / "no folder" / "all.jsonl")
    with pytest.raises(UsageError):
        memory.export(tmp_path)
    for use in (memory.export, memory.import_):
        with pytest.raises(UsageError, match="NUL"):
            use(f"{tmp_path}/a\0b")
    with pytest.raises(NotFound):
        memory.import_(tmp_path / "gone.jsonl")
    with pytest.raises(UsageError):
        memory.import_(tmp_path)


@pytest.mark.parametrize("name", ["x" * 300, "folder"])
def test_a_store_that_cannot_be_created_raises_our_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreUnavailable), Memory(tmp_path / name, worker=False) as opened:
        opened.facts.get("user:ada", "home")


def test_a_request_to_anthropic_has_a_message(memory: Memory) -> None:
    for options in ({}, {"system": "Be kind."}):
        messages = memory.context("", budget=1_000, **options).anthropic()["messages"]
        assert [message["role"] for message in messages] == ["user"]


def test_a_thread_named_like_a_namespace_takes_nothing_of_that_user_along(memory: Memory) -> None:
    memory.threads.append("user:ada", "Hello.", create="user:bob")
    memory.facts.set("user:ada", "home", "Porto")
    memory.facts.set("user:ada", "boat", "kayak", source="user:ada/home")
    memory.documents.add("user:ada", "Herons.", source="notes.md")
    memory.scope(user="ada").learnings.add("Likes tea")
    memory.forget(thread="user:ada")
    assert memory.threads.get("user:ada") is None
    assert {fact.key for fact in memory.facts.list("user:ada")} == {"home", "boat"}
    assert len(memory.documents.list("user:ada")) == 1
    assert len(memory.scope(user="ada").learnings.list()) == 1
    assert [event.action for event in memory.audit.list(subject="user:ada/home")] == ["set"]


@pytest.mark.parametrize("to", ["memorist", "openai"])
def test_an_export_replaces_no_device_and_no_pipe(memory: Memory, tmp_path: Path, to: Any) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="not a file"):
        memory.export(pipe, to=to)
    assert pipe.is_fifo()


@pytest.mark.parametrize("path", ["", ".", "folder\0/x", "x\0"])
def test_a_path_that_cannot_be_is_our_error(memory: Memory, path: str) -> None:
    with pytest.raises(UsageError):
        memory.export(path)
    with pytest.raises(UsageError):
        memory.import_(path)
    with pytest.raises(InvalidValue):
        memory.documents.add("user:ada", Path(path))


@pytest.mark.parametrize(
    "url", ["u:hunter2@host/db", "postgres:/u:hunter2@host/db", "sqlite://u:hunter2@h/x", "mysql://u:hunter2@h/x"]
)
def test_the_command_line_does_not_repeat_a_password(url: str) -> None:
    command = [sys.executable, "-m", "memorist", "--url", url, "stats"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode != 0
    assert "hunter2" not in process.stdout + process.stderr
