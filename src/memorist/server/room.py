"""Limits concurrent requests (backpressure): some run, others wait in a queue, and the rest receive a 503 at once."""

from __future__ import annotations

from types import TracebackType

import anyio

from ..errors import StoreUnavailable

MAX_CONCURRENT_CALLS = 64
MAX_WAITING_CALLS = 256


class Room:
    """Implements a semaphore with a bounded queue. Entering it raises StoreUnavailable when the queue is full."""

    def __init__(self) -> None:
        self._most = MAX_CONCURRENT_CALLS + MAX_WAITING_CALLS
        self._places = anyio.Semaphore(MAX_CONCURRENT_CALLS, fast_acquire=True)
        self.taken = 0
        """The number of running or waiting requests."""

    async def __aenter__(self) -> None:
        if self.taken >= self._most:
            raise StoreUnavailable("the server is busy; try again in a moment")
        self.taken += 1
        try:
            # Without an `await` in the usual case, which would let other tasks run between counting and entering.
            self._places.acquire_nowait()
        except anyio.WouldBlock:
            await self._wait()

    async def _wait(self) -> None:
        try:
            await self._places.acquire()
        except BaseException:
            # Also when the caller is cancelled: `__aexit__` does not run if `__aenter__` raises.
            self.taken -= 1
            raise

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.taken -= 1
        self._places.release()
