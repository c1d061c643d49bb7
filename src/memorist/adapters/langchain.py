"""Provides LangChain with middleware for agents and a chat message history. It needs the `langchain` extra."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ToolCallRequest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool

from ..engine.recalling import Spaces
from ..errors import NotFound
from ..memory import AsyncMemory
from ..messages.message import Message
from ..ports import CounterSpec
from ..runtime import run_blocking
from ..values import JsonObject
from .fitting import Budget, fitting, recalled
from .handles import Handles, Source
from .stashing import DEFINITIONS, READ_TOOLS, Stashing

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}


class MemoristMiddleware(AgentMiddleware):
    """Fits requests to a token budget and adds recalled memories, without changing the agent's state.

    `budget` applies to the messages; tool calls stay with their results. `recall` adds memories for the last question
    after the system prompt, fenced as data.
    """

    def __init__(
        self,
        memory: Source,
        *,
        budget: Budget | None = None,
        recall: bool = True,
        namespaces: Spaces = None,
        top_k: int = 5,
        counter: CounterSpec = None,
    ) -> None:
        super().__init__()
        self._handles = Handles(memory)
        self._budget = budget
        self._recall = recall
        self._options: dict[str, Any] = {"namespaces": namespaces, "top_k": top_k}
        self._counter = counter

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Shorten the request, add memories, and call the handler."""
        return handler(run_blocking(self._request(self._handles.stepped, request)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Shorten the request, add memories, and call the handler."""
        return await handler(await self._request(self._handles.awaited, request))

    async def _request(self, memory: AsyncMemory, request: ModelRequest[Any]) -> ModelRequest[Any]:
        changes: dict[str, object] = {}
        if self._budget is not None:
            converted = [message_of(message) for message in request.messages]
            retained = fitting(converted, self._budget, counter=self._counter)
            changes["messages"] = [request.messages[index] for index in retained]
        if self._recall:
            question = next(
                (str(message.text) for message in reversed(request.messages) if message.type == "human"), ""
            )
            memories = await recalled(memory, question, **self._options)
            before = request.system_message.text if request.system_message is not None else ""
            if memories:
                changes["system_message"] = SystemMessage("\n\n".join(part for part in (before, memories) if part))
        return request.override(**changes) if changes else request


class MemoristStash(AgentMiddleware):
    """Stores long tool results when they arrive. The agent sees a preview, and two tools read the rest back.

    Results over `over_tokens` are stored next to the thread named by the run's `thread_id`.
    """

    def __init__(self, memory: Source, *, over_tokens: int = 2000, namespace: str | None = None) -> None:
        super().__init__()
        self._handles = Handles(memory)
        self._stashing = Stashing(namespace or self._handles.space("langchain"), over_tokens)
        self.tools = [self._tool(name) for name in READ_TOOLS]

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Run the tool, and shorten its result."""
        return run_blocking(self._shortened(self._handles.stepped, request, handler(request)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Run the tool, and shorten its result."""
        return await self._shortened(self._handles.awaited, request, await handler(request))

    async def _shortened(self, memory: AsyncMemory, request: ToolCallRequest, result: Any) -> Any:
        if not isinstance(result, ToolMessage) or request.tool_call["name"] in READ_TOOLS:
            return result
        if not isinstance(result.content, str):
            return result
        conversation = _conversation(request.runtime.config)
        text = await self._stashing.shorten(memory, conversation, result.content, key=result.tool_call_id)
        return result if text == result.content else result.model_copy(update={"content": text})

    def _tool(self, name: str) -> StructuredTool:
        def run(config: RunnableConfig, **arguments: Any) -> str:
            memory = self._handles.stepped
            return run_blocking(self._stashing.answer(memory, _conversation(config), name, arguments))

        async def arun(config: RunnableConfig, **arguments: Any) -> str:
            return await self._stashing.answer(self._handles.awaited, _conversation(config), name, arguments)

        definition = DEFINITIONS[name]
        return StructuredTool.from_function(
            func=run, coroutine=arun, name=name, description=definition["description"],
            args_schema=definition["parameters"], infer_schema=False,
        )  # fmt: skip


def _conversation(config: Any) -> str:
    """Return a run's thread id, or a shared one for runs without an id."""
    return str(((config or {}).get("configurable") or {}).get("thread_id") or "default")


class MemoristChatMessageHistory(BaseChatMessageHistory):
    """Stores the messages of one session as a thread."""

    def __init__(self, session_id: str, memory: Source, *, namespace: str | None = None) -> None:
        self._handles = Handles(memory)
        self._space = namespace or self._handles.space("langchain")
        self._thread = f"{self._space}/{session_id}"

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # theirs is an attribute
        """These are all messages, as they were added."""
        return run_blocking(self._messages(self._handles.stepped))

    async def aget_messages(self) -> list[BaseMessage]:
        """Return all messages, as they were added."""
        return await self._messages(self._handles.awaited)

    async def _messages(self, memory: AsyncMemory) -> list[BaseMessage]:
        try:
            messages = await memory.threads.messages(self._thread)
        except NotFound:
            return []
        return messages_from_dict([message.raw for message in messages])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages in one transaction."""
        run_blocking(self._add(self._handles.stepped, messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages in one transaction."""
        await self._add(self._handles.awaited, messages)

    async def _add(self, memory: AsyncMemory, messages: Sequence[BaseMessage]) -> None:
        if messages:
            await memory.threads.append(self._thread, *map(message_of, messages), create=self._space)

    def clear(self) -> None:
        """Remove all messages."""
        run_blocking(self._handles.stepped.threads.delete(self._thread))

    async def aclear(self) -> None:
        """Remove all messages."""
        await self._handles.awaited.threads.delete(self._thread)

    def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        self._handles.close()


def message_of(message: BaseMessage) -> Message:
    """Convert a LangChain message to ours, keeping the original in `raw`."""
    extra: JsonObject = {}
    if isinstance(message, AIMessage) and message.tool_calls:
        extra["tool_calls"] = [
            {
                "id": call["id"] or "",
                "type": "function",
                "function": {"name": call["name"], "arguments": str(call["args"])},
            }
            for call in message.tool_calls
        ]
    if isinstance(message, ToolMessage):
        extra["tool_call_id"] = message.tool_call_id
    role = ROLES.get(message.type.removesuffix("MessageChunk").lower(), "user")
    return Message(role=role, content=str(message.text), extra=extra, raw=message_to_dict(message))
