"""Provides the OpenAI Agents SDK with a session over a thread. It needs the `openai-agents` extra."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from agents.items import TResponseInputItem
from agents.memory import SessionSettings
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
from agents.run_config import CallModelData, ModelInputData
from agents.tool import FunctionTool, Tool
from agents.tool_context import ToolContext

from ..engine.recalling import Spaces
from ..errors import Conflict, NotFound
from ..memory import AsyncMemory
from ..messages.message import Message, text_of
from ..ports import CounterSpec
from ..values import JsonMapping, JsonObject
from .fitting import Budget, fitting, recalled
from .handles import Handles, Source
from .stashing import DEFINITIONS, READ_TOOLS, Stashing

T = TypeVar("T")
CALLS = ("_call",)
RESULTS = ("_call_output", "_output")


@dataclasses.dataclass(frozen=True)
class CompactionSnapshot:
    """Holds the newest items of a session, with the field names that the SDK's compaction expects."""

    items: list[TResponseInputItem]
    complete: bool
    """This is True if the session has no other items."""
    replace_suffix: Callable[[int, list[TResponseInputItem]], Awaitable[bool]]


class MemoristSession:
    """Represents a session of the SDK that is stored as a thread.

    It is durable, recall can search it, and several writers can use it.

    `memory` is a `Memory`, an `AsyncMemory` or a URL. The thread is in `namespace`, by default
    `workflow:openai-agents`, or the user's own if the memory is a user's handle. With `whole`, a limit never separates
    a tool call from its output or its reasoning; an exchange that a limit would split is left out.
    """

    def __init__(
        self,
        session_id: str,
        memory: Source,
        *,
        namespace: str | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        whole: bool = False,
    ) -> None:
        self.session_id = session_id
        self.session_settings: Any = coerce_session_settings(session_settings or SessionSettings())
        self._handles = Handles(memory)
        self._space = namespace or self._handles.space("openai-agents")
        self._thread = f"{self._space}/{session_id}"
        self._whole = whole
        self._closed = False

    @property
    def thread(self) -> str:
        """This is the id of the thread that contains the items."""
        return self._thread

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items in order, or only the newest ones if there is a limit."""
        session_limit = resolve_session_limit(limit, self.session_settings)
        return await self._run(lambda memory: self._items(memory, session_limit))

    async def _items(self, memory: AsyncMemory, limit: int | None) -> list[Any]:
        try:
            if limit is None or limit < 0:
                return [_item(message) for message in await memory.threads.messages(self._thread)]
            # One item more, to see whether the first one belongs to an exchange that the limit cuts.
            newest = await memory.threads.recent(self._thread, limit + self._whole) if limit else []
        except NotFound:
            return []
        items = [_item(message) for message in newest]
        return whole_exchanges(items, limit) if self._whole else items

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items in one transaction. They are durable when this method returns."""
        self._check_open()
        if items:
            messages = [message_of(item) for item in items]
            await self._run(lambda memory: memory.threads.append(self._thread, *messages, create=self._space))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the newest item. Concurrent callers get different ones."""

        async def pop(memory: AsyncMemory) -> Any:
            try:
                message = await memory.threads.pop(self._thread)
            except NotFound:
                return None
            return None if message is None else _item(message)

        popped: TResponseInputItem | None = await self._run(pop)
        return popped

    async def clear_session(self) -> None:
        """Remove all items. Facts extracted from them stay until they are forgotten."""
        await self._run(lambda memory: memory.threads.delete(self._thread))

    async def replace_items(self, items: Sequence[TResponseInputItem], *, expect: Sequence[TResponseInputItem]) -> bool:
        """Replace all items if they are still the expected ones (compare-and-set), and return False otherwise.

        Use it for compaction, so that items added by another run in the meantime are not lost.
        """
        messages = [message_of(item) for item in items]

        async def replace(memory: AsyncMemory) -> bool:
            thread = await memory.threads.get(self._thread)
            if thread is None:
                return False
            if [_item(message) for message in await memory.threads.messages(self._thread)] != list(expect):
                return False
            await memory.threads.replace(self._thread, messages, expect=thread.version)
            return True

        return await self._run(replace)

    async def _get_compaction_snapshot(
        self, limit: int, *, prune_prefix: Callable[[TResponseInputItem], bool] | None = None
    ) -> CompactionSnapshot | None:
        """Return the newest items for the SDK's compaction, with a function that replaces their suffix by
        compare-and-set.
        """

        async def newest(memory: AsyncMemory) -> list[Message]:
            try:
                return await memory.threads.recent(self._thread, limit + 1)
            except NotFound:
                return []

        seen = await self._run(newest)
        read = seen[-limit:] if limit else []

        async def replace_suffix(start: int, output: list[TResponseInputItem]) -> bool:
            expected = [message.seq for message in read[start:]]
            return bool(expected) and await self._run(
                lambda memory: self._replace_suffix(memory, expected, output, prune_prefix)
            )

        return CompactionSnapshot([_item(message) for message in read], len(seen) <= limit, replace_suffix)

    async def _replace_suffix(
        self,
        memory: AsyncMemory,
        expected: Sequence[int],
        output: Sequence[TResponseInputItem],
        pruned: Callable[[TResponseInputItem], bool] | None,
    ) -> bool:
        thread = await memory.threads.get(self._thread)
        stored = await memory.threads.messages(self._thread) if thread is not None else []
        if thread is None or [message.seq for message in stored[-len(expected) :]] != list(expected):
            return False
        before = [_item(message) for message in stored[: -len(expected)]]
        while pruned is not None and before and pruned(before[0]):
            before.pop(0)
        messages = [message_of(item) for item in (*before, *output)]
        try:
            await memory.threads.replace(self._thread, messages, expect=thread.version)
        except Conflict:
            return False
        return True

    def close(self) -> None:
        """Refuse further calls, and close the memory if it was opened from a URL."""
        self._closed = True
        self._handles.close()

    async def _run(self, work: Callable[[AsyncMemory], Coroutine[object, None, T]]) -> T:
        self._check_open()
        return await work(self._handles.awaited)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"{type(self).__name__} is closed")


def budgeted(
    budget: Budget, *, counter: CounterSpec = None
) -> Callable[[list[TResponseInputItem], list[TResponseInputItem]], list[TResponseInputItem]]:
    """Keep as much of the newest history as fits next to the new input, for `RunConfig(session_input_callback=…)`."""

    def fitted(history: list[TResponseInputItem], new: list[TResponseInputItem]) -> list[TResponseInputItem]:
        items = [*history, *new]
        retained = set(fitting([message_of(item) for item in items], budget, counter=counter))
        first = len(history)
        chosen = [item for index, item in enumerate(items) if index in retained or index >= first]
        return whole_exchanges(chosen, len(chosen))

    return fitted


def recalling(
    memory: Source, *, namespaces: Spaces = None, top_k: int = 5
) -> Callable[[CallModelData[Any]], Coroutine[object, None, ModelInputData]]:
    """Add memories for the last question after the instructions, for `RunConfig(call_model_input_filter=…)`."""
    handles = Handles(memory)

    async def filled(data: CallModelData[Any]) -> ModelInputData:
        request = data.model_data
        question = next((message_of(item).text for item in reversed(request.input) if _is_question(item)), "")
        memories = await recalled(handles.awaited, question, namespaces=namespaces, top_k=top_k)
        parts = [part for part in (request.instructions, memories) if part]
        return ModelInputData(input=request.input, instructions="\n\n".join(parts) or None)

    return filled


def stashing(
    tools: Sequence[Tool], memory: Source, session_id: str, *, over_tokens: int = 2000, namespace: str | None = None
) -> list[Tool]:
    """Return the tools for `Agent(tools=…)`, with long results stored and shortened, and two tools that read them
    back.
    """
    handles = Handles(memory)
    stash = Stashing(namespace or handles.space("openai-agents"), over_tokens)
    return [
        *(_stashed(tool, stash, handles, session_id) if isinstance(tool, FunctionTool) else tool for tool in tools),
        *(_read_tool(name, stash, handles, session_id) for name in READ_TOOLS),
    ]


def _stashed(tool: FunctionTool, stash: Stashing, handles: Handles, session_id: str) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        output = await tool.on_invoke_tool(context, arguments)
        if not isinstance(output, str):
            return output
        return await stash.shorten(handles.awaited, session_id, output, key=context.tool_call_id)

    return dataclasses.replace(tool, on_invoke_tool=invoke)


def _read_tool(name: str, stash: Stashing, handles: Handles, session_id: str) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        return await stash.answer(handles.awaited, session_id, name, arguments)

    definition = DEFINITIONS[name]
    return FunctionTool(name, definition["description"], definition["parameters"], invoke, strict_json_schema=False)


def message_of(item: JsonMapping) -> Message:
    """Convert an item to a message, keeping the original in `raw`."""
    try:
        json.dumps(item)
    except ValueError as problem:
        raise TypeError(f"a session item cannot be written as JSON: {problem}") from problem
    kind, role = item.get("type"), item.get("role")
    if role is not None:
        known_role = role if role in ("user", "assistant", "system", "developer", "tool") else "user"
        return Message(role=known_role, content=text_of(_parts(item.get("content"))), raw=item)
    call = item.get("call_id") or item.get("id") or ""
    if str(kind).endswith(RESULTS):
        return Message(role="tool", content=text_of(_parts(item.get("output"))), extra={"tool_call_id": call}, raw=item)
    if str(kind).endswith(CALLS) and call:
        function = {"name": item.get("name") or str(kind), "arguments": _text(item.get("arguments"))}
        extra = {"tool_calls": [{"id": call, "type": "function", "function": function}]}
        return Message(role="assistant", content="", extra=extra, raw=item)
    return Message(role="assistant", content="", raw=item)


def whole_exchanges(items: Sequence[JsonMapping], limit: int) -> list[JsonMapping]:
    """Return the newest items, at most `limit`, beginning with the start of an exchange, without outputs whose call was
    cut off.
    """
    first = max(0, len(items) - limit)
    for start in range(first, len(items)):
        if _begins(items, start) and not _orphans(items[start:]):
            return list(items[start:])
    return []


def _begins(items: Sequence[JsonMapping], index: int) -> bool:
    """Return whether an exchange starts at this index. Reasoning and calls belong to the items after them."""
    return _part(items[index]) != "result" and (index == 0 or _part(items[index - 1]) in ("message", "result"))


def _orphans(items: Sequence[JsonMapping]) -> bool:
    called = {item.get("call_id") for item in items if _part(item) == "call"}
    return any(_part(item) == "result" and item.get("call_id") not in called for item in items)


def _part(item: JsonMapping) -> str:
    if item.get("role") is not None:
        return "message"
    kind = str(item.get("type"))
    return "result" if kind.endswith(RESULTS) else "call" if kind.endswith(CALLS) and "call_id" in item else "thought"


def _is_question(item: object) -> bool:
    return isinstance(item, dict) and item.get("role") == "user"


def _item(message: Message) -> Any:
    return message.raw


def _parts(content: object) -> str | list[JsonObject]:
    """Convert text parts of the Responses API to the chat API's format."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return [{"type": "text", "text": _text(part.get("text"))} for part in content if isinstance(part, dict)]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
