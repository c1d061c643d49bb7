"""Runs `find_tool`, which lets a model find the tools that its request left out.

A request contains `find_tool` if its tools exceed the budget. Run the model's call with `ToolFinder.run`, and add the
result to the conversation. The next request then contains the tools it found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .context.read_tools import Shape
from .context.reading import as_tools
from .context.tool_choice import FIND_TOOL, MAX_FOUND_TOOLS, find_tool_definition, list_tools, parse_find
from .engine.noun import core_of, facade_of
from .messages.message import Given
from .read_back import answer_calls
from .runtime import run_blocking
from .values import JsonMapping, JsonObject

if TYPE_CHECKING:
    from .blocking.memory import Memory
    from .context.given import Tool
    from .memory import AsyncMemory

__all__ = ["FIND_TOOL", "AsyncToolFinder", "ToolFinder"]


class ToolFinder:
    """Lets a model search a list of tools: answers its calls to `find_tool` with the recall of a `Memory`."""

    def __init__(self, memory: Memory, tools: Iterable[Tool]) -> None:
        self._engine = AsyncToolFinder(facade_of(core_of(memory), stepped=True), tools)

    def definition(self, shape: Shape = "openai") -> JsonObject:
        """Return the definition of `find_tool`."""
        return find_tool_definition(shape)

    def call(self, name: str, arguments: str | JsonMapping) -> str:
        """Run a model's call. If the arguments are wrong, the answer says why, so that the model can try again."""
        return run_blocking(self._engine.call(name, arguments))

    def run(self, message: Given | Sequence[Given]) -> list[JsonObject]:
        """Return the results of all calls to `find_tool` in an assistant's message, in the format of that message.

        OpenAI's Responses API returns a list of items; pass the list.
        """
        return run_blocking(self._engine.run(message))


class AsyncToolFinder:
    """Lets a model search a list of tools: answers its calls to `find_tool` with the recall of an `AsyncMemory`."""

    def __init__(self, memory: AsyncMemory, tools: Iterable[Tool]) -> None:
        self._memory = memory
        self._tools = as_tools(tools)

    def definition(self, shape: Shape = "openai") -> JsonObject:
        """Return the definition of `find_tool`."""
        return find_tool_definition(shape)

    async def call(self, name: str, arguments: str | JsonMapping) -> str:
        """Run a model's call. If the arguments are wrong, the answer says why, so that the model can try again."""
        call = parse_find(name, arguments)
        if isinstance(call, str):
            return call
        return list_tools(await self._memory.find_tools(call.query, self._tools, top_k=MAX_FOUND_TOOLS))

    async def run(self, message: Given | Sequence[Given]) -> list[JsonObject]:
        """Return the results of all calls to `find_tool` in an assistant's message, in the format of that message.

        OpenAI's Responses API returns a list of items; pass the list.
        """
        return await answer_calls(message, (FIND_TOOL,), self.call)
