"""Long tool results are sent as previews and read back by the model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memorist import Memory
from memorist.errors import UsageError
from memorist.read_back import ReadBack
from memorist.stores.memory import MemoryStore

LOG = "\n".join(f"line {n}: test_{n} {'FAILED' if n == 417 else 'passed'}" for n in range(1, 1_001))
OPENAI: list[Any] = [
    {"role": "user", "content": "Run the tests."},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "run_tests", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": LOG},
]  # fmt: skip
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
ANTHROPIC: list[Any] = [
    {"role": "user", "content": "Run the tests."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "run_tests", "input": {}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": LOG}, IMAGE]}]},
]  # fmt: skip
RESPONSES: list[Any] = [
    {"role": "user", "content": "Run the tests."},
    {"type": "function_call", "call_id": "c1", "name": "run_tests", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": LOG},
]


def open_ram() -> Memory:
    return Memory(MemoryStore(), user="ada", worker=False, embedder=None)


@pytest.mark.parametrize("turn", [OPENAI, ANTHROPIC, RESPONSES])
def test_a_long_result_is_a_preview_in_the_very_first_request(turn: list[Any]) -> None:
    with open_ram() as memory:
        memory.threads.append("talk", *turn, create="user:ada")
        context = memory.context(None, thread="talk", stash=400, recall=False, budget=3_000)
        for request in (context.openai(), context.anthropic(), context.responses()):
            written = json.dumps(request)
            assert "test_417 FAILED" in written and "test_500" not in written and "read_more" in written
            assert '"talk#3' in written.replace("\\", "") and "line 1000: test_1000 passed" in written
        assert context.tokens < 2_100  # the image alone takes up to 1,600
        if turn is ANTHROPIC:
            assert "https://example.org/a.png" in json.dumps(context.anthropic())
        again = memory.context(None, thread="talk", stash=400, recall=False, budget=3_000)
        assert again.openai() == context.openai()
        assert [message.text for message in memory.threads.messages("talk")][2] == LOG


def test_the_two_tools_take_the_shape_of_the_others_and_are_not_doubled() -> None:
    with open_ram() as memory:
        memory.threads.append("talk", *OPENAI, create="user:ada")
        own_tool = {
            "name": "search_history",
            "description": "Mine.",
            "input_schema": {"type": "object", "properties": {}},
        }
        context = memory.context("And?", thread="talk", stash=400, tools=[own_tool], recall=False)
        assert [tool["name"] for tool in context.anthropic()["tools"]] == ["search_history", "read_more"]


def test_an_executor_answers_the_calls_of_either_shape() -> None:
    with open_ram() as memory:
        memory.threads.append("talk", *OPENAI, create="user:ada")
        reader = ReadBack(memory, "talk")
        arguments = {"id": "talk#3", "pattern": "FAILED"}
        call = {"id": "r1", "type": "function", "function": {"name": "read_more", "arguments": json.dumps(arguments)}}
        other = {"id": "r2", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
        answers = reader.run({"role": "assistant", "content": None, "tool_calls": [call, other]})
        assert [answer["tool_call_id"] for answer in answers] == ["r1"] and "test_417" in answers[0]["content"]
        use = {"type": "tool_use", "id": "r1", "name": "read_more", "input": arguments}
        (answer,) = reader.run({"role": "assistant", "content": [use]})
        assert answer["content"][0]["tool_use_id"] == "r1" and "test_417" in answer["content"][0]["content"]


def test_a_result_of_a_framework_is_stored_beside_the_thread() -> None:
    with open_ram() as memory:
        memory.threads.create("user:ada", id="talk")
        short = memory.threads.stash("talk", LOG, over_tokens=400, key="c1")
        assert short == memory.threads.stash("talk", LOG, over_tokens=400, key="c1")
        assert short.id == "talk.results#1" and short.lines == 1_000 and 'read_more(id="talk.results#1")' in short.text
        assert memory.threads.stash("talk", "short", over_tokens=400).text == "short"
        reader = ReadBack(memory, "talk")
        assert "500: line 500" in reader.call("read_more", {"id": short.id, "from": 500, "lines": 1})
        assert "talk.results#1" in reader.call("search_history", {"query": "test_417 FAILED"})
        assert memory.threads.delete("talk") and memory.threads.get("talk.results") is None


def test_a_threshold_is_a_sensible_number() -> None:
    with open_ram() as memory:
        for wrong in (0, -5, True, 12):
            with pytest.raises(UsageError, match="stash"):
                memory.context("Hi", stash=wrong)
