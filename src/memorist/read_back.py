"""Provides two tools that let a model read what its request left out: `read_more` and `search_history`.

A request may show only the outline of a long tool result, or leave out old messages. Send `ReadBack.tools` with the
request and run the model's calls with `ReadBack.call` or `ReadBack.run`. Both work in any loop that can call tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from .context.read_tools import (
    MAX_HITS,
    MAX_LINES,
    SEARCH_HISTORY,
    Shape,
    in_thread,
    list_hits,
    locate_copy,
    locate_message,
    page,
    parse_call,
    readable_text,
    split_id,
    tools,
)
from .context.stash import READ_MORE
from .engine.noun import core_of, facade_of
from .errors import NotFound
from .messages.message import Given, Message, ToolCall, as_message
from .messages.stashed import Stashed
from .runtime import run_blocking
from .values import JsonMapping, JsonObject

if TYPE_CHECKING:
    from .blocking.memory import Memory
    from .memory import AsyncMemory

__all__ = ["MAX_LINES", "READ_MORE", "SEARCH_HISTORY", "AsyncReadBack", "ReadBack", "Stashed", "tools"]


class ReadBack:
    """Runs the two tools over one thread of a `Memory`."""

    def __init__(self, memory: Memory, thread: str) -> None:
        self._engine = AsyncReadBack(facade_of(core_of(memory), stepped=True), thread)

    def tools(self, shape: Shape = "openai") -> list[JsonObject]:
        """Return the definitions of both tools."""
        return tools(shape)

    def call(self, name: str, arguments: str | JsonMapping) -> str:
        """Run a model's call. If the arguments are wrong, the answer says why, so that the model can try again."""
        return run_blocking(self._engine.call(name, arguments))

    def run(self, message: Given | Sequence[Given]) -> list[JsonObject]:
        """Return the results of all calls to the two tools in an assistant's message, in the format of that message.

        OpenAI's Responses API returns a list of items; pass the list.
        """
        return run_blocking(self._engine.run(message))


class AsyncReadBack:
    """Runs the two tools over one thread of an `AsyncMemory`."""

    def __init__(self, memory: AsyncMemory, thread: str) -> None:
        self._memory = memory
        self._thread = thread

    def tools(self, shape: Shape = "openai") -> list[JsonObject]:
        """Return the definitions of both tools."""
        return tools(shape)

    async def call(self, name: str, arguments: str | JsonMapping) -> str:
        """Run a model's call. If the arguments are wrong, the answer says why, so that the model can try again."""
        call = parse_call(name, arguments)
        if isinstance(call, str):
            return call
        if name == SEARCH_HISTORY:
            hits = await self._memory.recall(call.query, kinds="message", top_k=MAX_HITS, where=in_thread(self._thread))
            return list_hits(call.query, hits)
        id, part = split_id(call.id)
        message = await self._message(id)
        text = None if message is None else readable_text(message, part)
        if text is None:
            return f"There is no message {call.id[:80]!r} in this conversation."
        return page(call.id, text, call)

    async def run(self, message: Given | Sequence[Given]) -> list[JsonObject]:
        """Return the results of all calls to the two tools in an assistant's message, in the format of that message.

        OpenAI's Responses API returns a list of items; pass the list.
        """
        return await answer_calls(message, (READ_MORE, SEARCH_HISTORY), self.call)

    async def _message(self, id: str) -> Message | None:
        target = locate_message(self._thread, id) or locate_copy(self._thread, id)
        if target is None:
            return None
        thread, seq = target
        try:
            messages = await self._memory.threads.messages(thread, 1, after=seq - 1)
        except NotFound:
            return None
        # If the message was deleted, this is the next one. A copied message is also shown under its original id.
        return next((row for row in messages if row.seq == seq and id in (row.id, row.shown_id)), None)


async def answer_calls(
    message: Given | Sequence[Given], names: Sequence[str], answer: Callable[[str, str | JsonMapping], Awaitable[str]]
) -> list[JsonObject]:
    """Return the results of an assistant's calls to these tools, in the format of its message."""
    results: list[JsonObject] = []
    # The Responses API returns a list of items, and each call in it is an item of its own.
    for call_message in [message] if isinstance(message, str | Mapping | Message) else message:
        assistant = as_message(call_message)
        calls = [call for call in assistant.tool_calls if call.name in names]
        answers = [(call, await answer(call.name, _arguments(call))) for call in calls]
        results += _result_messages(assistant, answers)
    return results


def _arguments(call: ToolCall) -> str | JsonMapping:
    """Return the arguments of a call: an object, or the text that the model wrote."""
    return call.arguments if isinstance(call.arguments, str | Mapping) else str(call.arguments)


def _result_messages(call_message: Message, answers: list[tuple[ToolCall, str]]) -> list[JsonObject]:
    """Return the answers to an assistant's calls, in the format of its message."""
    if call_message.shape == "anthropic":
        blocks = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in answers]
        return [{"role": "user", "content": blocks}] if blocks else []
    if call_message.shape == "responses":
        return [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text in answers]
    return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in answers]
