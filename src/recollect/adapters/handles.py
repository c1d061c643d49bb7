"""A memory for both kinds of callers: frameworks call the same object from plain code and from coroutines."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from threading import Lock
from typing import Any, TypeVar

from ..blocking.memory import Memory
from ..errors import UsageError
from ..memory import AsyncMemory
from ..runtime import run_blocking

T = TypeVar("T")
Source = Memory | AsyncMemory | str | os.PathLike[str]
"""What an adapter is made with: a memory, which stays open, or the URL of one that is closed with the adapter."""
Work = Callable[[AsyncMemory], Coroutine[Any, Any, T]]
"""A piece of work, written once: it awaits the memory that it is given."""


class Handles:
    """One memory, awaited or stepped. An adapter writes its work once, as coroutines over an `AsyncMemory`.

    `run` steps such a coroutine over parts that block, without an event loop; `wait` awaits it over parts that do not.
    """

    def __init__(self, source: Source) -> None:
        self._owned = not isinstance(source, Memory | AsyncMemory)
        if self._owned and not isinstance(source, str | os.PathLike):
            raise UsageError("an adapter takes a Memory, an AsyncMemory or a URL")
        self.memory: Memory | AsyncMemory = source if isinstance(source, Memory | AsyncMemory) else Memory(source)
        self._stepped: AsyncMemory | None = None
        self._awaited: AsyncMemory | None = None
        self._lock = Lock()

    def run(self, work: Work[T]) -> T:
        """Do a piece of work in the calling thread."""
        return run_blocking(work(self.stepped))

    async def wait(self, work: Work[T]) -> T:
        """Do a piece of work on the caller's event loop."""
        return await work(self.awaited)

    @property
    def stepped(self) -> AsyncMemory:
        """The memory with awaited names, over parts that block: its coroutines never suspend."""
        if self._stepped is None:
            with self._lock:
                self._stepped = AsyncMemory._over(self.memory._core.beside(blocking=True))
        return self._stepped

    @property
    def awaited(self) -> AsyncMemory:
        """The memory for an event loop."""
        if self._awaited is None:
            with self._lock:
                self._awaited = self.memory.aio
        return self._awaited

    def space(self, name: str) -> str:
        """Where an adapter keeps its rows unless told: a user's handle writes only to the user's own namespace."""
        user = self.memory.user
        return f"workflow:{name}" if user is None else f"user:{user}"

    def close(self) -> None:
        """Close the memory, where this adapter opened it."""
        if self._owned:
            run_blocking(self.stepped.close())

    async def aclose(self) -> None:
        """The same from a coroutine."""
        if self._owned:
            await self.awaited.close()
