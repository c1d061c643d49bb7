"""The settings of a thread's last request are stored with the thread, for the inspector to build the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist import Chain, ElideToolResults, Memory, NotFound, SlidingWindow, Summarize, TokenBudget
from memorist.engine.sessions.assembling import Recall
from memorist.engine.sessions.settings import RequestSettings, stored_settings
from memorist.records import RequestLog
from memorist.runtime import run_blocking

WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def settings_of(memory: Memory, thread: str) -> RequestSettings | None:
    return run_blocking(stored_settings(memory._core, thread))


def version_of(memory: Memory, thread: str) -> int:
    log = run_blocking(memory._core.get(RequestLog, thread))
    return 0 if log is None else log.version


def opened(path: Path) -> Memory:
    memory = Memory(str(path / "own.db"), worker=False, embedder=None)
    memory.threads.create("user:ada", id="talk")
    memory.threads.append("talk", {"role": "user", "content": "I live in Lisbon."})
    return memory


def test_a_context_stores_its_settings_with_the_thread(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        assert settings_of(memory, "talk") is None
        memory.context(
            "Where?", thread="talk", budget=TokenBudget(3000, memory=500, output_reserve=200), layout="standard",
            policy=Chain(ElideToolResults(500), SlidingWindow()), recall=Recall(top_k=3, kinds=("fact",)),
            system="Be brief.", tools=[WEATHER],
        )  # fmt: skip
        settings = settings_of(memory, "talk")
        assert settings is not None
        assert settings.budget["total"] == 3000 and settings.budget["output_reserve"] == 200
        assert settings.policy is not None and settings.policy["kind"] == "chain"
        assert (settings.layout, settings.recall, settings.top_k, settings.kinds) == ("standard", True, 3, ["fact"])
        assert settings.tools == ["weather"] and settings.tools_tokens > 0 and settings.system_tokens > 0
        assert "Be brief" not in str(settings), "of the system prompt only its size is stored"


def test_unchanged_settings_are_written_once(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.context("Where?", thread="talk")
        first = version_of(memory, "talk")
        memory.context("Where, again?", thread="talk", system="Another prompt.")
        assert version_of(memory, "talk") == first
        memory.context("Where?", thread="talk", budget=2000)
        assert version_of(memory, "talk") == first + 1


def test_the_report_of_a_request_leaves_the_settings_as_they_are(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        context = memory.context("Where?", thread="talk", budget=2000)
        memory.threads.report("talk", {"input_tokens": 10, "output_tokens": 2}, pieces=context.pieces)
        settings = settings_of(memory, "talk")
        assert settings is not None and settings.budget["total"] == 2000
        memory.context("Where?", thread="talk", budget=2500)
        assert len(memory.threads.requests("talk")) == 1


def test_a_handle_that_may_only_read_stores_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        reader = memory.scope(user="mei", read=["user:ada"])
        reader.context("Where?", thread="talk")
        assert settings_of(memory, "talk") is None


def test_a_policy_with_a_model_is_stored_without_it(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.context("Where?", thread="talk", policy=Summarize(keep=3, model=lambda messages: "short"))
        settings = settings_of(memory, "talk")
        assert settings is not None and settings.policy is not None
        assert (settings.policy["kind"], settings.policy["keep"], settings.policy_functions) == ("summarize", 3, True)


def test_the_request_of_an_earlier_time_stores_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.context("Where?", thread="talk", as_of=memory._core.at())
        assert settings_of(memory, "talk") is None


def test_a_context_before_its_thread_says_that_the_thread_came_later(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        with pytest.raises(NotFound, match="no thread 'talk' here; it did not exist at 2020-01-01T00:00:00"):
            memory.context("Where?", thread="talk", as_of="2020-01-01T00:00:00Z")
        with pytest.raises(NotFound, match="create it first"):
            memory.context("Where?", thread="no such thread")
