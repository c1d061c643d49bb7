"""MemoristSession: items as they were, whole exchanges at every limit, writers that race."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memorist import Memory
from memorist.adapters.openai_agents import MemoristSession, budgeted, recalling, whole_exchanges
from tests.adapters.conftest import OpenMemory

Items = list[Any]
CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": 1}', "id": "fc_1"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "seen"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}


def exchange(number: int) -> Items:
    """A turn with two parallel calls, their reasoning and an answer."""
    calls = [{**CALL, "call_id": f"c{number}{letter}"} for letter in "ab"]
    outputs = [{**OUTPUT, "call_id": f"c{number}{letter}"} for letter in "ab"]
    answer = {"role": "assistant", "content": [{"type": "output_text", "text": f"answer {number}"}], "type": "message"}
    return [
        {"role": "user", "content": f"question {number}"},
        {**REASONING, "id": f"rs_{number}"},
        *calls,
        *outputs,
        answer,
    ]


async def test_items_come_back_as_they_were_added(memory: Memory) -> None:
    session = MemoristSession("s", memory)
    assert await session.get_items() == [] and await session.pop_item() is None
    items: Items = [
        *exchange(1),
        {"type": "item_reference", "id": "x"},
        {"role": "user", "content": [{"type": "input_image"}]},
    ]
    await session.add_items(items)
    assert await session.get_items() == items
    assert await session.get_items(limit=2) == items[-2:] and await session.get_items(limit=0) == []
    assert await session.pop_item() == items[-1]
    await session.clear_session()
    assert await session.get_items() == []
    await session.add_items(items[:1])
    assert await session.get_items() == items[:1]


async def test_sessions_are_apart_and_last(open_memory: OpenMemory, url: Any) -> None:
    memory = open_memory()
    first, other = MemoristSession("one", memory), MemoristSession("other", memory)
    await first.add_items(exchange(1))
    await other.add_items(exchange(2))
    again = memory if url == "memory://" else open_memory()
    assert await MemoristSession("one", again).get_items() == exchange(1)
    own = MemoristSession("one", memory.scope(user="ada"))
    assert await own.get_items() == [] and own.thread == "user:ada/one"


@pytest.mark.parametrize("limit", range(1, 17))
async def test_no_limit_separates_a_call_from_its_output(limit: int) -> None:
    items = [*exchange(1), *exchange(2), *exchange(3)]
    newest = whole_exchanges(items, limit)
    called = {item.get("call_id") for item in newest if item.get("type") == "function_call"}
    assert {item["call_id"] for item in newest if item.get("type") == "function_call_output"} == called
    assert len(newest) <= limit and items[len(items) - len(newest) :] == newest
    thoughts = sum(item.get("type") == "reasoning" for item in newest)
    assert len(called) == 2 * thoughts


async def test_whole_exchanges_of_a_session(memory: Memory) -> None:
    session = MemoristSession("s", memory, whole=True)
    await session.add_items([*exchange(1), *exchange(2)])
    for limit in range(1, 17):
        newest: Items = await session.get_items(limit=limit)
        assert newest == whole_exchanges([*exchange(1), *exchange(2)], limit)


async def test_what_cannot_be_written_is_refused_and_nothing_is_kept(memory: Memory) -> None:
    session = MemoristSession("s", memory)
    with pytest.raises(TypeError):
        await session.add_items([{"role": "user", "content": "fine"}, {"role": "user", "content": object()}])  # type: ignore[list-item]
    assert await session.get_items() == []
    session.close()
    with pytest.raises(RuntimeError, match="is closed"):
        await session.add_items([])


async def test_racing_pops_each_get_another_item(memory: Memory) -> None:
    session = MemoristSession("s", memory)
    items: Items = [{"role": "user", "content": str(number)} for number in range(8)]
    await session.add_items(items)
    popped = await asyncio.gather(*(session.pop_item() for _ in range(8)))
    assert sorted(str(item["content"]) for item in popped if item) == [str(number) for number in range(8)]  # type: ignore[index]
    assert await session.get_items() == []


async def test_replacing_is_refused_where_others_have_added(memory: Memory) -> None:
    session = MemoristSession("s", memory)
    await session.add_items(exchange(1))
    earlier_items = await session.get_items()
    await session.add_items(exchange(2))
    summary: Items = [{"role": "assistant", "content": "short"}]
    assert not await session.replace_items(summary, expect=earlier_items)
    assert await session.replace_items(summary, expect=await session.get_items())
    assert await session.get_items() == summary


async def test_a_budget_keeps_exchanges_whole_and_the_new_input() -> None:
    history = [item for number in range(30) for item in exchange(number)]
    new: Items = [{"role": "user", "content": "now"}]
    for budget in (60, 120, 200, 400, 800):
        fitted: Items = budgeted(budget)(history, new)
        called = {item.get("call_id") for item in fitted if item.get("type") == "function_call"}
        assert {item["call_id"] for item in fitted if item.get("type") == "function_call_output"} == called
        assert fitted[-1] == new[0] and len(fitted) < len(history)


async def test_what_is_remembered_stands_behind_the_instructions(memory: Memory) -> None:
    from agents.run_config import CallModelData, ModelInputData

    memory.facts.set("global", "city", "Ada lives in Lisbon")
    data: Any = CallModelData(
        ModelInputData([{"role": "user", "content": "Where does Ada live?"}], "Be kind."), None, None
    )  # type: ignore[arg-type]
    filled = await recalling(memory)(data)
    assert filled.instructions is not None and filled.instructions.startswith("Be kind.")
    assert "Lisbon" in filled.instructions and "<recalled_memory>" in filled.instructions
