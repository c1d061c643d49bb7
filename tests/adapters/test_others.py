"""LlamaIndex, Strands, LangChain, AutoGen and Haystack, each with the real framework and a scripted model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory

# -- LlamaIndex


async def test_llama_index_messages_are_kept_archived_and_removed(memory: Memory) -> None:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.storage.chat_store.base_db import MessageStatus

    from memorist.adapters.llama_index import MemoristChatStore

    store = MemoristChatStore(memory)
    messages = [ChatMessage(role="user" if n % 2 == 0 else "assistant", content=f"m{n}") for n in range(6)]
    assert await store.get_messages("k") == [] and await store.get_keys() == []
    await store.add_messages("k", messages[:5])
    await store.add_message("k", messages[5])
    assert await store.get_messages("k") == messages and await store.count_messages("k") == 6
    assert await store.get_messages("k", limit=2, offset=1) == messages[1:3]
    assert await store.archive_oldest_messages("k", 2) == messages[:2]
    assert await store.get_messages("k") == messages[2:]
    assert await store.get_messages("k", status=MessageStatus.ARCHIVED) == messages[:2]
    assert await store.get_messages("k", status=None) == messages
    assert await store.delete_oldest_messages("k", 1) == [messages[2]]
    assert await store.delete_message("k", 0) == messages[0]
    assert await store.get_messages("k", status=None) == [messages[1], *messages[3:]]
    assert await store.get_keys() == ["k"]
    await store.set_messages("k", messages[:1])
    assert await store.get_messages("k") == messages[:1]
    await store.delete_messages("k")
    assert await store.get_keys() == []


async def test_llama_index_archives_for_racers_once_each(memory: Memory) -> None:
    from llama_index.core.base.llms.types import ChatMessage

    from memorist.adapters.llama_index import MemoristChatStore

    store = MemoristChatStore(memory)
    await store.add_messages("k", [ChatMessage(role="user", content=f"m{n}") for n in range(8)])
    batches = await asyncio.gather(*(store.archive_oldest_messages("k", 1) for _ in range(8)))
    assert sorted(str(batch[0].content) for batch in batches) == [f"m{n}" for n in range(8)]


async def test_llama_index_memory_with_store_and_block(memory: Memory) -> None:
    from llama_index.core.base.llms.types import ChatMessage

    from memorist.adapters.llama_index import MemoristMemoryBlock

    block = MemoristMemoryBlock(memory)
    await block.aput([ChatMessage(role="user", content="I live in Lisbon")])
    block_text = await block.aget([ChatMessage(role="user", content="Where do I live?")])
    assert "Lisbon" in block_text and "<recalled_memory>" in block_text


# -- Strands


def test_strands_keeps_sessions_agents_and_messages(memory: Memory) -> None:
    from strands.types.exceptions import SessionException
    from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

    from memorist.adapters.strands import MemoristSessionRepository

    repository = MemoristSessionRepository(memory)
    session = Session(session_id="s", session_type=SessionType.AGENT)
    repository.create_session(session)
    with pytest.raises(SessionException):
        repository.create_session(session)
    agent = SessionAgent(agent_id="a", state={"n": 1}, conversation_manager_state={})
    repository.create_agent("s", agent)
    for number in range(12):
        statement: Any = {"role": "user", "content": [{"text": f"said {number}"}]}
        repository.create_message("s", "a", SessionMessage(message=statement, message_id=number))
    stored = repository.list_messages("s", "a", limit=3, offset=9)
    assert [message.message["content"][0]["text"] for message in stored] == ["said 9", "said 10", "said 11"]
    assert repository.read_session("s") == session
    redacted = repository.read_message("s", "a", 3)
    assert redacted is not None
    redacted.redact_message = {"role": "user", "content": [{"text": "[gone]"}]}
    repository.update_message("s", "a", redacted)
    assert [message.text for message in memory.threads.messages(repository.thread_of("s", "a"))][3] == "[redacted]"
    assert repository.read_agent("s", "none") is None and repository.read_message("s", "a", 99) is None


async def test_strands_memory_store_is_searched(memory: Memory) -> None:
    from memorist.adapters.strands import MemoristMemoryStore

    store = MemoristMemoryStore(memory)
    await store.add("Ada lives in Lisbon")
    await store.add("Ada lives in Lisbon")
    await store.add_messages([{"role": "user", "content": [{"text": "I like tea"}]}])
    assert (await store.search("Where does Ada live?"))[0].content.endswith("Ada lives in Lisbon")
    assert len(memory.facts.list("workflow:strands")) == 1


# -- LangChain


def test_langchain_history_comes_back_as_it_was_added(memory: Memory) -> None:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    from memorist.adapters.langchain import MemoristChatMessageHistory

    history = MemoristChatMessageHistory("s", memory)
    messages = [
        SystemMessage("be kind"), HumanMessage("hi", id="1"),
        AIMessage("", tool_calls=[{"name": "look", "args": {"at": 1}, "id": "t1"}]),
        ToolMessage("seen", tool_call_id="t1"),
    ]  # fmt: skip
    history.add_messages(messages)
    asyncio.run(history.aadd_messages([AIMessage("done")]))
    assert history.messages == [*messages, AIMessage("done")] == asyncio.run(history.aget_messages())
    history.clear()
    assert history.messages == []


@pytest.mark.parametrize("budget", [80, 90, 120, 200, 400])
def test_langchain_requests_fit_and_exchanges_stay_whole(memory: Memory, budget: int) -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langchain_core.tools import tool

    from memorist.adapters.langchain import MemoristMiddleware, message_of
    from memorist.context.measure import count_message
    from memorist.context.tokens import open_counter

    requests: list[list[Any]] = []

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

        def _generate(self, messages: list[Any], *args: Any, **options: Any) -> Any:
            requests.append(messages)
            return super()._generate(messages, *args, **options)

    @tool
    def look(at: int) -> str:
        """Look somewhere."""
        return "seen " * 15

    replies = []
    for number in range(8):
        replies += [
            AIMessage("", tool_calls=[{"name": "look", "args": {"at": number}, "id": f"t{number}"}]),
            AIMessage("ok"),
        ]
    memory.facts.set("global", "city", "Ada lives in Lisbon")
    agent = create_agent(
        Model(messages=iter(replies)), tools=[look], middleware=[MemoristMiddleware(memory, budget=budget)]
    )
    state: Any = {"messages": []}
    for number in range(8):
        state = agent.invoke({"messages": [*state["messages"], HumanMessage(f"Where does Ada live? {number}")]})
    assert len(state["messages"]) == 32
    counter = open_counter(None)
    for request in requests:
        talk = [message for message in request if message.type != "system"]
        called = {call["id"] for message in talk if isinstance(message, AIMessage) for call in message.tool_calls}
        assert {message.tool_call_id for message in talk if isinstance(message, ToolMessage)} == called
        assert sum(count_message(message_of(message), counter) for message in talk) <= budget
        assert "Lisbon" in request[0].text


# -- AutoGen


async def test_autogen_memory_fills_a_context(memory: Memory) -> None:
    from autogen_core.memory import MemoryContent, MemoryMimeType
    from autogen_core.model_context import BufferedChatCompletionContext
    from autogen_core.models import SystemMessage, UserMessage

    from memorist.adapters.autogen import MemoristMemory

    autogen_memory = MemoristMemory(memory)
    await autogen_memory.add(MemoryContent(content="Ada lives in Lisbon", mime_type=MemoryMimeType.TEXT))
    context = BufferedChatCompletionContext(buffer_size=10)
    await context.add_message(UserMessage(content="Where does Ada live?", source="user"))
    result = await autogen_memory.update_context(context)
    assert "Lisbon" in str(result.memories.results[0].content)
    last = (await context.get_messages())[-1]
    assert isinstance(last, SystemMessage) and "<recalled_memory>" in last.content
    await autogen_memory.clear()
    assert (await autogen_memory.query("Lisbon")).results == []


def test_autogen_memory_keeps_its_namespaces_through_its_configuration(tmp_path: Path) -> None:
    from memorist.adapters.autogen import MemoristMemory

    autogen_memory = MemoristMemory(str(tmp_path / "memory.db"), namespaces=["user:ada", "global"], top_k=3)
    again = MemoristMemory.load_component(autogen_memory.dump_component())
    assert (again._namespaces, again._top_k) == (["user:ada", "global"], 3)


# -- Haystack


def test_haystack_compacts_to_whole_exchanges_or_not_at_all() -> None:
    from haystack.dataclasses import ChatMessage, ToolCall

    from memorist.adapters.haystack import MemoristCompactor

    class Words:
        def count(self, messages: list[Any], tools: Any = None) -> int:
            return sum(len(str(message.to_dict()).split()) for message in messages)

    messages = [ChatMessage.from_system("be kind")]
    for number in range(12):
        call = ToolCall(tool_name="look", arguments={"at": number}, id=f"t{number}")
        messages += [
            ChatMessage.from_user(f"question {number}"), ChatMessage.from_assistant(tool_calls=[call]),
            ChatMessage.from_tool("seen " * 20, origin=call), ChatMessage.from_assistant(f"answer {number}"),
        ]  # fmt: skip
    compactor, counter = MemoristCompactor(), Words()
    for target in (60, 150, 300, 600):
        compacted: Any = compactor.compact(messages, target, counter)  # type: ignore[arg-type]
        assert compacted is not None and len(compacted) < len(messages)
        called = {call.id for message in compacted for call in message.tool_calls}
        assert {result.origin.id for message in compacted for result in message.tool_call_results} == called
        assert compacted[0].text == "be kind" and compacted[-1] == messages[-1]
    assert compactor.compact(messages, 1_000_000, counter) is None  # type: ignore[arg-type]
    assert MemoristCompactor.from_dict(compactor.to_dict()).counter is None
