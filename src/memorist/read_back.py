"""Provides two tools that let a model read what its request left out: `read_more` and `search_history`.

A request may show only the outline of a long tool result, or leave out old messages. Send `ReadBack.tools` with the
request and run the model's calls with `ReadBack.call` or `ReadBack.run`. Both work in any loop that can call tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .context.read_tools import (
    MAX_HITS,
    MAX_LINES,
    SEARCH_HISTORY,
    ReadCall,
    Shape,
    copy_of,
    in_thread,
    list_hits,
    page,
    parse_call,
    readable_text,
    split_id,
    thread_of,
    tools,
)
from .context.stash import READ_MORE
from .errors import NotFound
from .messages.message import Given, Message, ToolCall, as_message
from .messages.stashed import Stashed
from .values import JsonMapping, JsonObject

if TYPE_CHECKING:
    from .blocking.memory import Memory
    from .memory import AsyncMemory

__all__ = ["MAX_LINES", "READ_MORE", "SEARCH_HISTORY", "AsyncReadBack", "ReadBack", "Stashed", "tools"]


class ReadBack:
    """Runs the two tools over one thread of a `Memory`."""

    def __init__(self, memory: Memory, thread: str) -> None:
        self._memory = memory
        self._thread = thread

    def tools(self, shape: Shape = "openai") -> list[JsonObject]:
        """Return the definitions of both tools."""
        return tools(shape)

    def call(self, name: str, arguments: str | JsonMapping) -> str:
        """Run a model's call. If the arguments are wrong, the answer says why, so that the model can try again."""
        call = parse_call(name, arguments)
        if isinstance(call, str):
            return call
        if name == SEARCH_HISTORY:
            hits = self._memory.recall(call.query, kinds="message", top_k=MAX_HITS, where=in_thread(self._thread))
            return list_hits(call.query, hits)
        return _answer(call, self._message(split_id(call.id)[0]))

    def run(self, message: Given | Sequence[Given]) -> list[JsonObject]:
        """Return the results of all calls to the two tools in an assistant's message, in the format of that message.

        OpenAI's Responses API returns a list of items; pass the list.
        """
        results: list[JsonObject] = []
        for asked in asked_messages(message):
            calls = _own_calls(asked)
            results += result_messages(asked, [(call, self.call(call.name, call_arguments(call))) for call in calls])
        return results

    def _message(self, id: str) -> Message | None:
        target = thread_of(self._thread, id) or copy_of(self._thread, id)
        if target is None:
            return None
        try:
            messages = self._memory.threads.messages(target[0], 1, after=target[1] - 1)
        except NotFound:
            return None
        return _named(messages, target[1], id)


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
        return _answer(call, await self._message(split_id(call.id)[0]))

    async def run(self, message: Given | Sequence[Given]) -> list[JsonObject]:
        """Return the results of all calls to the two tools in an assistant's message, in the format of that message.

        OpenAI's Responses API returns a list of items; pass the list.
        """
        results: list[JsonObject] = []
        for asked in asked_messages(message):
            calls = _own_calls(asked)
            results += result_messages(
                asked, [(call, await self.call(call.name, call_arguments(call))) for call in calls]
            )
        return results

    async def _message(self, id: str) -> Message | None:
        target = thread_of(self._thread, id) or copy_of(self._thread, id)
        if target is None:
            return None
        try:
            messages = await self._memory.threads.messages(target[0], 1, after=target[1] - 1)
        except NotFound:
            return None
        return _named(messages, target[1], id)


def _answer(call: ReadCall, message: Message | None) -> str:
    text = None if message is None else readable_text(message, split_id(call.id)[1])
    if text is None:
        return f"There is no message {call.id[:80]!r} in this conversation."
    return page(call.id, text, call)


def _named(messages: list[Message], seq: int, id: str) -> Message | None:
    """Return the message with a given number, if that is its id or the id it is shown under."""
    if not messages or messages[0].seq != seq or id not in (messages[0].id, messages[0].shown_id):
        return None
    return messages[0]


def asked_messages(message: Given | Sequence[Given]) -> list[Message]:
    """Return an assistant's message, or the items of a response, as messages."""
    items = [message] if isinstance(message, str | Mapping | Message) else message
    return [as_message(item) for item in items]


def _own_calls(message: Message) -> list[ToolCall]:
    return [call for call in message.tool_calls if call.name in (READ_MORE, SEARCH_HISTORY)]


def call_arguments(call: ToolCall) -> str | JsonMapping:
    """Return the arguments of a call: an object, or the text that the model wrote."""
    return call.arguments if isinstance(call.arguments, str | Mapping) else str(call.arguments)


def result_messages(asked: Message, answers: list[tuple[ToolCall, str]]) -> list[JsonObject]:
    """Return the answers to an assistant's calls, in the format of its message."""
    if asked.shape == "anthropic":
        blocks = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in answers]
        return [{"role": "user", "content": blocks}] if blocks else []
    if asked.shape == "responses":
        return [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text in answers]
    return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in answers]
