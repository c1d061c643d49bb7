"""Opens a memory for both blocking and async code, because frameworks call the same object from both."""

from __future__ import annotations

import os
from threading import Lock

from ..blocking.memory import Memory
from ..errors import UsageError
from ..memory import AsyncMemory, stepped
from ..runtime import run_blocking

Source = Memory | AsyncMemory | str | os.PathLike[str]
"""The argument of an adapter: a memory, which the adapter leaves open, or a URL, which it opens and closes itself."""


class Handles:
    """Provides blocking and async access to one memory, so that an adapter can be written once, as coroutines.

    A blocking method runs them over `stepped` with `run_blocking`, without an event loop; an async method runs them
    over `awaited`.
    """

    def __init__(self, source: Source) -> None:
        self._owned = not isinstance(source, Memory | AsyncMemory)
        if self._owned and not isinstance(source, str | os.PathLike):
            raise UsageError(f"an adapter takes a Memory, an AsyncMemory or a URL, not {type(source).__name__}")
        self.memory: Memory | AsyncMemory = source if isinstance(source, Memory | AsyncMemory) else Memory(source)
        self._stepped: AsyncMemory | None = None
        self._awaited: AsyncMemory | None = None
        self._lock = Lock()

    @property
    def stepped(self) -> AsyncMemory:
        """This is an AsyncMemory over blocking parts, so its coroutines never suspend."""
        if self._stepped is None:
            with self._lock:
                self._stepped = stepped(self.memory)
        return self._stepped

    @property
    def awaited(self) -> AsyncMemory:
        """This is the memory for an event loop."""
        if self._awaited is None:
            with self._lock:
                self._awaited = self.memory.aio
        return self._awaited

    def space(self, name: str) -> str:
        """Return an adapter's default namespace: `workflow:<name>`, or the user's own, the only one that a user's
        handle may write to.
        """
        user = self.memory.user
        return f"workflow:{name}" if user is None else f"user:{user}"

    def close(self) -> None:
        """Close the memory if this adapter opened it."""
        if self._owned:
            run_blocking(self.stepped.close())

    async def aclose(self) -> None:
        """Do the same as `close` for async callers."""
        if self._owned:
            await self.awaited.close()
