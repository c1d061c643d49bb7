"""Agent Framework: history and checkpoints against the in-memory ones, recall, compaction, types that are refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import Content, InMemoryCheckpointStorage, InMemoryHistoryProvider, WorkflowCheckpoint
from agent_framework import Message as FrameworkMessage
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.adapters.agent_framework import (
    BudgetCompaction,
    MemoristCheckpointStorage,
    MemoristContextProvider,
    MemoristHistoryProvider,
)
from tests.adapters.programs import answer, ram, tried

OPERATION = st.one_of(
    st.tuples(st.just("save"), st.sampled_from("ab"), st.integers(0, 3)),
    st.tuples(st.just("get"), st.sampled_from("ab")),
)
CHECKPOINT = st.one_of(
    st.tuples(st.just("save"), st.sampled_from(["w1", "w2"]), st.integers(0, 5), st.integers(0, 9)),
    st.tuples(st.just("load"), st.integers(0, 5)),
    st.tuples(st.just("delete"), st.integers(0, 5)),
    st.tuples(st.just("list"), st.sampled_from(["w1", "w2"])),
)


async def talk(provider: Any, states: dict[str, Any], program: list[Any]) -> list[Any]:
    answers = []
    for number, (name, session, *count) in enumerate(program):
        state = states.setdefault(session, {})
        if name == "save":
            messages = [
                FrameworkMessage("user", [f"{number}.{index}"], message_id=f"{number}.{index}")
                for index in range(count[0])
            ]
            await provider.save_messages(session, messages, state=state)
        else:
            answers.append([message.to_dict() for message in await provider.get_messages(session, state=state)])
    return answers


@tried
@given(st.lists(OPERATION, max_size=12))
def test_histories_are_the_same_on_both_providers(program: list[Any]) -> None:
    theirs = asyncio.run(talk(InMemoryHistoryProvider(), {}, program))
    with ram() as memory:
        assert asyncio.run(talk(MemoristHistoryProvider(memory), {}, program)) == theirs


async def keep(storage: Any, program: list[Any]) -> list[Any]:
    answers: list[Any] = []
    for number, (name, *g) in enumerate(program):
        if name == "save":
            checkpoint = WorkflowCheckpoint(
                workflow_name=g[0], graph_signature_hash="h", checkpoint_id=f"c{g[1]}",
                state={"n": g[2], "set": {1, 2}},
                timestamp=f"2026-01-01T00:00:{number:02}+00:00",
            )  # fmt: skip
            answers.append(await answer(lambda o=checkpoint: storage.save(o)))
        elif name == "load":
            answers.append(await answer(lambda g=g: storage.load(f"c{g[0]}"), lambda loaded: loaded.to_dict()))
        elif name == "delete":
            answers.append(await storage.delete(f"c{g[0]}"))
        else:
            latest = await storage.get_latest(workflow_name=g[0])
            ids = await storage.list_checkpoint_ids(workflow_name=g[0])
            all = await storage.list_checkpoints(workflow_name=g[0])
            answers.append((None if latest is None else latest.checkpoint_id, sorted(ids), len(all)))
    return answers


@tried
@given(st.lists(CHECKPOINT, max_size=12))
def test_checkpoints_are_the_same_on_both_storages(program: list[Any]) -> None:
    theirs = asyncio.run(keep(InMemoryCheckpointStorage(), program))
    with ram() as memory:
        assert asyncio.run(keep(MemoristCheckpointStorage(memory), program)) == theirs


class Unknown:
    """A type that nobody allowed."""


async def test_a_type_that_is_not_allowed_is_refused_when_it_is_saved(memory: Memory) -> None:
    checkpoint = WorkflowCheckpoint(workflow_name="w", graph_signature_hash="h", state={"x": Unknown()})
    storage = MemoristCheckpointStorage(memory)
    with pytest.raises(Exception, match="Unknown"):
        await storage.save(checkpoint)
    assert await storage.list_checkpoint_ids(workflow_name="w") == []
    allowed = MemoristCheckpointStorage(memory, allowed=[f"{Unknown.__module__}:Unknown"])
    loaded = await allowed.load(await allowed.save(checkpoint))
    assert isinstance(loaded.state["x"], Unknown)


async def test_a_conversation_that_is_sent_again_is_kept_once(memory: Memory) -> None:
    provider = MemoristHistoryProvider(memory)
    messages = [FrameworkMessage("user", [f"{number}"], message_id=f"m{number}") for number in range(4)]
    await provider.save_messages("s", messages[:2])
    await provider.save_messages("s", messages)
    assert [message.text for message in await provider.get_messages("s")] == ["0", "1", "2", "3"]
    loaded = await provider.get_messages("s")
    loaded[0].additional_properties["_excluded"] = True
    assert not (await provider.get_messages("s"))[0].additional_properties.get("_excluded")


async def test_racing_writers_lose_nothing(memory: Memory) -> None:
    provider = MemoristHistoryProvider(memory)
    works = [provider.save_messages("s", [FrameworkMessage("user", [f"{n}"], message_id=f"m{n}")]) for n in range(8)]
    await asyncio.gather(*works)
    assert sorted(message.text for message in await provider.get_messages("s")) == [str(n) for n in range(8)]


def exchange(number: int) -> list[FrameworkMessage]:
    call = Content.from_function_call(f"t{number}", "look", arguments='{"at": 1}')
    result = Content.from_function_result(f"t{number}", result="seen " * 20)
    return [
        FrameworkMessage("user", [f"question {number}"]), FrameworkMessage("assistant", [call]),
        FrameworkMessage("tool", [result]), FrameworkMessage("assistant", [f"answer {number}"]),
    ]  # fmt: skip


async def test_compaction_and_limits_keep_exchanges_whole(memory: Memory) -> None:
    messages = [message for number in range(12) for message in exchange(number)]
    messages.append(FrameworkMessage("user", ["now"]))
    assert await BudgetCompaction(200)(messages)
    included = [message for message in messages if not message.additional_properties.get("_excluded")]
    called = {c.call_id for message in included for c in message.contents if c.type == "function_call"}
    assert {c.call_id for message in included for c in message.contents if c.type == "function_result"} == called
    assert included[-1].text == "now" and len(included) < len(messages)
    assert not await BudgetCompaction(100_000)(messages)
    provider = MemoristHistoryProvider(memory, limit=3)
    await provider.save_messages("s", exchange(1))
    assert [message.text for message in await provider.get_messages("s")] == ["answer 1"] or len(
        await provider.get_messages("s")
    ) == 3


async def test_what_is_remembered_becomes_instructions(memory: Memory) -> None:
    from agent_framework import SessionContext

    memory.facts.set("global", "city", "Ada lives in Lisbon")
    context = SessionContext(session_id="s", input_messages=[FrameworkMessage("user", ["Where does Ada live?"])])
    provider: Any = MemoristContextProvider(memory)
    await provider.before_run(agent=None, session=None, context=context, state={})
    assert "Lisbon" in str(context.instructions)
