"""Provides a second event loop, in its own thread, for work that grows with its input: recall, contexts and large
bodies.

The loop that answers connections therefore always has time for the next request. Python switches between threads every
few milliseconds, but a loop cannot do anything else until the current function returns. The memory's worker runs on the
lane too. There is only one lane, because a process's cached recall indexes belong to one event loop at a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")
LARGE_BODY_BYTES = 16 * 1024
"""A request with a larger body is read and answered on the lane."""
FINISH_SECONDS = 5.0
"""The time that tasks may take to end when the lane stops."""
JOIN_SECONDS = 10.0


class Lane:
    """Runs coroutines on its own event loop. Its thread starts when the first coroutine runs."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], Coroutine[object, None, T]]) -> T:
        """Return the result of a coroutine function. Cancelling the caller also cancels the coroutine."""
        loop = self._loop or self._start()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), loop))

    def _start(self) -> asyncio.AbstractEventLoop:
        self._loop = loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_serve, args=(loop,), name="memorist-lane", daemon=True)
        self._thread.start()
        return loop

    async def close(self) -> None:
        """Stop the loop after everything currently scheduled on it has run."""
        loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join, JOIN_SECONDS)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(_finish_tasks())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


async def _finish_tasks() -> None:
    """Wait for tasks to end, such as one that closes this loop's connections, and cancel those that do not."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=FINISH_SECONDS)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
