"""A model reads back what its request left out."""

from __future__ import annotations

import asyncio
import json

import pytest

from memorist import AsyncMemory, ElideToolResults, Memory
from memorist.read_back import MAX_LINES, AsyncReadBack, ReadBack, tools
from memorist.stores.memory import MemoryStore

LOG = "\n".join(f"line {number}: test_{number} {'FAILED' if number == 417 else 'passed'}" for number in range(1, 1001))
CALL = {"id": "c1", "type": "function", "function": {"name": "run_tests", "arguments": "{}"}}
TURN = [
    {"role": "user", "content": "Run the tests."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": LOG},
    {"role": "assistant", "content": "One failed."},
]


def open_ram() -> Memory:
    return Memory(MemoryStore(), user="ada", worker=False, embedder=None)


def test_a_result_that_was_elided_is_read_back_by_the_id_in_its_marker() -> None:
    with open_ram() as memory:
        thread = memory.threads.create("user:ada", id="talk").id
        memory.threads.append(thread, *TURN)
        context = memory.context("Which one?", thread=thread, budget=2000, policy=ElideToolResults(100), recall=False)
        assert "test_417" not in str(context.messages()) and "talk#3" in str(context.messages())
        read = ReadBack(memory, thread)
        assert read.call("read_more", {"id": "talk#3", "pattern": "failed"}) == (
            "talk#3, 1000 lines:\n417: line 417: test_417 FAILED"
        )
        middle = read.call("read_more", json.dumps({"id": "talk#3", "from": 500, "lines": 2}))
        assert middle.splitlines()[1:] == [
            "500: line 500: test_500 passed", "501: line 501: test_501 passed", "(499 more; read on from 502)"
        ]  # fmt: skip
        assert len(read.call("read_more", {"id": "talk#3"}).splitlines()) == MAX_LINES + 2


def test_a_pattern_may_be_one_of_several_texts() -> None:
    rows = "| id | state |\n| 1 | open |\n| 2 | closed |\nid 3 is open"
    turn = [*TURN[:2], {"role": "tool", "tool_call_id": "c1", "content": rows}]
    with open_ram() as memory:
        thread = memory.threads.create("user:ada", id="talk").id
        memory.threads.append(thread, *turn)

        def numbers(pattern: str) -> list[str]:
            answer = ReadBack(memory, thread).call("read_more", {"id": "talk#3", "pattern": pattern})
            return [line.partition(":")[0] for line in answer.splitlines()[1:]]

        assert numbers("CLOSED|is open") == ["3", "4"]
        assert numbers("1 | open") == ["2"], "a text that contains | itself is looked for first"
        assert numbers("closed|") == ["3"] and numbers("|||") == [] and numbers("(a+)+$|open") == ["2", "4"]


def test_results_of_one_message_have_ids_and_line_numbers_of_their_own() -> None:
    rows = json.dumps({"rows": [{"id": n, "name": f"name {n}"} for n in range(900)]})
    uses = [{"type": "tool_use", "id": f"u{n}", "name": "run", "input": {}} for n in range(3)]
    results = [
        {"type": "tool_result", "tool_use_id": f"u{n}", "content": text} for n, text in enumerate((rows, "ok", LOG))
    ]
    with open_ram() as memory:
        thread = memory.threads.create("user:ada", id="talk").id
        memory.threads.append(
            thread, "Run all.", {"role": "assistant", "content": uses}, {"role": "user", "content": results}
        )
        blocks = memory.context(None, thread=thread, stash=500).anthropic()["messages"][-1]["content"]
        contents = [block["content"] for block in blocks]
        assert (
            'read_more(id="talk#3.1")' in contents[0]
            and contents[1] == "ok"
            and 'read_more(id="talk#3.3")' in contents[2]
        )
        assert "417: line 417: test_417 FAILED" in contents[2].splitlines()
        read = ReadBack(memory, thread)
        assert read.call("read_more", {"id": "talk#3.3", "from": 417, "lines": 1}).splitlines()[1] == (
            "417: line 417: test_417 FAILED"
        )
        assert '"name": "name 7"' in read.call("read_more", {"id": "talk#3.1", "pattern": "name 7"})
        for wrong in ("talk#3.4", "talk#3.x", "talk#2.1"):
            assert read.call("read_more", {"id": wrong}) == f"There is no message {wrong!r} in this conversation."


def test_arguments_may_be_null_or_numbers_in_quotation_marks() -> None:
    with open_ram() as memory:
        thread = memory.threads.create("user:ada", id="talk").id
        memory.threads.append(thread, *TURN)
        arguments = {"id": "talk#3", "from": "417", "lines": "1", "pattern": None, "query": None}
        assert ReadBack(memory, thread).call("read_more", arguments).splitlines()[1] == "417: line 417: test_417 FAILED"


def test_history_is_searched_within_its_thread_only() -> None:
    with open_ram() as memory:
        thread = memory.threads.create("user:ada", id="talk").id
        memory.threads.append(thread, *TURN, {"role": "user", "content": "The harbour gate has a blue lever."})
        memory.threads.append(memory.threads.create("user:ada", id="other").id, "The harbour gate is closed.")
        read = ReadBack(memory, thread)
        excerpts = read.call("search_history", {"query": "harbour gate lever"})
        assert excerpts.splitlines()[0].startswith("talk#5 (") and "other#1" not in excerpts
        assert read.call("read_more", {"id": "other#1"}) == "There is no message 'other#1' in this conversation."


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("read_more", "{"), ("read_more", {}), ("read_more", {"id": 3}), ("search_history", {"query": " "}), ("rm", {}),
     ("read_more", {"id": "talk#3", "file": "/etc/passwd"}), ("read_more", {"id": "talk#99"})],
)  # fmt: skip
def test_a_wrong_call_gets_an_answer_that_says_so(name: str, arguments: object) -> None:
    with open_ram() as memory:
        memory.threads.append(memory.threads.create("user:ada", id="talk").id, *TURN)
        answer = ReadBack(memory, "talk").call(name, arguments)  # type: ignore[arg-type]
        assert any(word in answer for word in ("wrong", "needs", "There is no"))


def test_the_tools_have_both_shapes_and_an_awaited_twin() -> None:
    assert [tool["function"]["name"] for tool in tools()] == ["read_more", "search_history"]
    assert [tool["name"] for tool in tools("anthropic")] == ["read_more", "search_history"]

    async def main() -> str:
        async with AsyncMemory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
            thread = (await memory.threads.create("user:ada", id="talk")).id
            await memory.threads.append(thread, *TURN)
            return await AsyncReadBack(memory, thread).call("read_more", {"id": "talk#3", "from": 1000})

    assert asyncio.run(main()) == "talk#3, 1000 lines:\n1000: line 1000: test_1000 passed"


def test_the_items_of_a_response_are_answered_together() -> None:
    calls = [
        {"type": "function_call", "call_id": f"r{line}", "name": "read_more", "arguments": json.dumps(arguments)}
        for line, arguments in enumerate(
            [{"id": "talk#3", "pattern": "FAILED"}, {"id": "talk#3", "from": 9, "lines": 1}]
        )
    ]
    items = [{"type": "reasoning", "id": "rs_1", "summary": []}, *calls]

    async def main() -> list[dict[str, object]]:
        async with AsyncMemory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
            await memory.threads.append("talk", *TURN, create="user:ada")
            return await AsyncReadBack(memory, "talk").run(items)

    with open_ram() as memory:
        memory.threads.append("talk", *TURN, create="user:ada")
        first, second = ReadBack(memory, "talk").run(items)
        assert first["call_id"] == "r0" and "test_417 FAILED" in first["output"]
        assert second["call_id"] == "r1" and "line 9: test_9" in second["output"]
    assert asyncio.run(main()) == [first, second]
