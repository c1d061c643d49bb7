"""Provides functions for adapters with tool hooks. Long results are stored when they arrive, and two tools read them
back."""

from __future__ import annotations

from typing import Any

from ..context.read_tools import SEARCH_HISTORY, tools
from ..context.stash import READ_MORE, check_stash
from ..memory import AsyncMemory
from ..read_back import AsyncReadBack
from ..values import JsonMapping

READ_TOOLS = (READ_MORE, SEARCH_HISTORY)
DEFINITIONS = {tool["function"]["name"]: tool["function"] for tool in tools()}
"""The descriptions and parameters of the two tools, by name."""


class Stashing:
    """Stores results over a threshold next to the thread of their conversation."""

    def __init__(self, space: str, over_tokens: int) -> None:
        self._space = space
        self._over_tokens = check_stash(over_tokens) or over_tokens

    async def shorten(self, memory: AsyncMemory, conversation: str, text: str, *, key: str | None = None) -> str:
        """Return the text itself, or a preview if it is long.

        Pass the id of the tool call as `key` to make repeating it safe.
        """
        options: dict[str, Any] = {"over_tokens": self._over_tokens, "key": key, "create": self._space}
        return (await memory.threads.stash(self._thread(conversation), text, **options)).text

    async def answer(self, memory: AsyncMemory, conversation: str, name: str, arguments: str | JsonMapping) -> str:
        """Return the answer to a call to one of the two tools."""
        return await AsyncReadBack(memory, self._thread(conversation)).call(name, arguments)

    def _thread(self, conversation: str) -> str:
        return f"{self._space}/{conversation}"
