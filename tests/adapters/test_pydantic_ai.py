"""MemoristConversationStore against Pydantic AI's in-memory store; racers; processors in a real agent."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, InMemoryConversationStore
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memorist import Memory
from memorist.adapters.pydantic_ai import MemoristConversationStore, budgeted, message_of, recalling
from tests.adapters.programs import answer, ram, tried

NAMES = ("a", "b", "c")
OPERATION = st.one_of(
    st.tuples(st.just("talk"), st.sampled_from(NAMES), st.integers(1, 3), st.sampled_from([None, "ada", "bob"])),
    st.tuples(st.just("stale"), st.sampled_from(NAMES)),
    st.tuples(
        st.just("load"), st.sampled_from(NAMES), st.sampled_from([None, 0, 1, 2, 5]), st.sampled_from([None, "ada"])
    ),
    st.tuples(st.just("branch"), st.sampled_from(NAMES), st.integers(0, 4)),
    st.tuples(st.just("fork"), st.sampled_from(NAMES), st.sampled_from([None, 0, 1, 3]), st.sampled_from(NAMES)),
    st.tuples(st.just("list"), st.sampled_from([None, "ada"]), st.sampled_from([None, 1])),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.sampled_from([None, "ada"])),
)


def turn(number: int) -> list[ModelMessage]:
    return [ModelRequest([UserPromptPart(f"question {number}")]), ModelResponse([TextPart(f"answer {number}")])]


def texts(conversation: Any) -> Any:
    if conversation is None:
        return None
    return [part.content for message in conversation.messages for part in message.parts]


async def run(store: Any, program: list[Any]) -> list[Any]:
    """One program: what each operation gives, in words that two stores can share."""
    answers: list[Any] = []
    old: dict[str, Any] = {}
    for number, (name, *operands) in enumerate(program):
        if name == "talk":
            conversation = await store.load(operands[0], scope=operands[2]) or Conversation(conversation_id=operands[0])
            old.setdefault(operands[0], await store.load(operands[0]))
            for index in range(operands[1]):
                conversation.messages.extend(turn(10 * number + index))
            answers.append(await answer(lambda c=conversation, s=operands[2]: store.save(c, scope=s), len))
        elif name == "stale":
            conversation = old.get(operands[0]) or Conversation(conversation_id=operands[0])
            conversation.messages.extend(turn(number))
            answers.append(await answer(lambda c=conversation: store.save(c), len))
        elif name == "load":
            answers.append(await answer(lambda g=operands: store.load(g[0], limit=g[1], scope=g[2]), texts))
        elif name == "branch":
            answers.append(await answer(lambda g=operands: store.branch(g[0], at=g[1]), texts))
        elif name == "fork":
            answers.append(await answer(lambda g=operands: store.fork(g[0], at=g[1], new_conversation_id=g[2]), texts))
        elif name == "list":
            listed = await store.list_conversations(scope=operands[0], limit=operands[1])
            answers.append(
                [
                    (conversation.conversation_id, conversation.scope, conversation.forked_from)
                    for conversation in listed
                ]
            )
        else:
            answers.append(await answer(lambda g=operands: store.delete(g[0], scope=g[1])))
    return answers


@tried
@given(st.lists(OPERATION, max_size=14))
def test_programs_give_the_same_on_both_stores(program: list[Any]) -> None:
    theirs = asyncio.run(run(InMemoryConversationStore(), program))
    with ram() as memory:
        assert asyncio.run(run(MemoristConversationStore(memory), program)) == theirs


async def test_one_of_eight_racers_wins(memory: Memory) -> None:
    store = MemoristConversationStore(memory)
    await store.save(Conversation(conversation_id="c", messages=turn(0)))
    loaded = [await store.load("c") for _ in range(8)]
    for number, conversation in enumerate(loaded):
        assert conversation is not None
        conversation.messages.extend(turn(number + 1))
    results = await asyncio.gather(
        *(store.save(conversation) for conversation in loaded if conversation), return_exceptions=True
    )
    assert sum(isinstance(result, list) for result in results) == 1
    assert all(isinstance(result, list | ConversationConflict) for result in results)
    final = await store.load("c")
    assert final is not None and len(final.messages) == 4


async def test_long_histories_and_tool_calls_come_back_equal(memory: Memory) -> None:
    store = MemoristConversationStore(memory)
    messages: list[ModelMessage] = [message for number in range(60) for message in turn(number)]
    messages += [
        ModelResponse([ToolCallPart("look", {"at": 1}, tool_call_id="t1")]),
        ModelRequest([ToolReturnPart("look", {"seen": [1, 2]}, tool_call_id="t1")]),
    ]
    await store.save(Conversation(conversation_id="long", messages=messages))
    loaded = await store.load("long")
    assert loaded is not None and loaded.messages == messages
    few = await store.load("long", limit=5)
    assert few is not None and few.messages == messages[-5:]
    assert len(memory.threads.messages(store.thread_of("long"))) == 121  # what was said, and what the tool gave


async def test_what_was_said_is_recalled_and_goes_with_the_conversation(memory: Memory) -> None:
    store = MemoristConversationStore(memory)
    await store.save(Conversation(conversation_id="c", messages=[ModelRequest([UserPromptPart("I live in Lisbon")])]))
    assert memory.recall("Where do I live?")[0].text == "I live in Lisbon"
    await store.delete("c")
    assert memory.recall("Where do I live?") == []


def test_a_budget_keeps_exchanges_whole() -> None:
    history: list[ModelMessage] = []
    for number in range(20):
        history += [
            ModelRequest([UserPromptPart(f"question {number}")]),
            ModelResponse([ToolCallPart("look", {"at": number}, tool_call_id=f"t{number}")]),
            ModelRequest([ToolReturnPart("look", "seen " * 20, tool_call_id=f"t{number}")]),
            ModelResponse([TextPart(f"answer {number}")]),
        ]
    history.append(ModelRequest([UserPromptPart("now")]))
    for budget in (40, 100, 200, 400):
        fitted = budgeted(budget)(history)
        called = {part.tool_call_id for m in fitted for part in m.parts if isinstance(part, ToolCallPart)}
        assert {part.tool_call_id for m in fitted for part in m.parts if isinstance(part, ToolReturnPart)} == called
        assert fitted[-1] is history[-1] and len(fitted) < len(history)


async def test_an_agent_with_memory(memory: Memory) -> None:
    memory.facts.set("global", "city", "Ada lives in Lisbon")
    prompts: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        prompts.append("\n".join(str(part.content) for message in messages for part in message.parts))  # type: ignore[union-attr]
        return ModelResponse([TextPart("Lisbon")])

    processor = recalling(memory)
    request = await processor([ModelRequest([UserPromptPart("Where does Ada live?")])])
    assert "Lisbon" in str(request[0].parts[0].content)  # type: ignore[union-attr]
    store = MemoristConversationStore(memory)
    agent: Agent[None, str] = Agent(FunctionModel(model))
    result = await agent.run("Where does Ada live?", conversation=Conversation(conversation_id="x"))
    await store.save(result)
    again = await store.load("x")
    assert again is not None and [message_of(message).text for message in again.messages] == [
        "Where does Ada live?",
        "Lisbon",
    ]
