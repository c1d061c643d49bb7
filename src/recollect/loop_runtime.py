"""The runtime of an event loop. No other module imports asyncio."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from .runtime import Background, run_blocking

T = TypeVar("T")


class AsyncRuntime:
    """Blocking functions go to one worker thread; a cancelled caller leaves the function to finish there."""

    blocking = False

    def __init__(self) -> None:
        self._worker: ThreadPoolExecutor | None = None
        self._pid = 0
        self._guard = threading.Lock()

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor(), function, *args)

    def _executor(self) -> ThreadPoolExecutor:
        # Threads do not survive a fork: a child makes its own worker.
        if self._worker is None or self._pid != os.getpid():
            with self._guard:
                if self._worker is None or self._pid != os.getpid():
                    self._worker = ThreadPoolExecutor(1, thread_name_prefix="recollect")
                    self._pid = os.getpid()
        return self._worker

    async def offload(self, function: Callable[..., T], *args: Any) -> T:
        return await asyncio.to_thread(function, *args)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def within(self, seconds: float, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await asyncio.wait_for(work(), seconds)

    async def gather(self, coros: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        return list(await asyncio.gather(*coros))

    async def resolve(self, value: T | Awaitable[T]) -> T:
        if inspect.isawaitable(value):
            return await value
        return value

    def lock(self) -> AbstractAsyncContextManager[Any]:
        return _LoopLock()

    def cancellable(self) -> AbstractContextManager[None]:
        return _Cancellable()

    async def run_other(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await asyncio.to_thread(lambda: run_blocking(work()))

    def home(self) -> object:
        return os.getpid(), asyncio.get_running_loop()

    def start(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> Background:
        return _TaskBackground(asyncio.get_running_loop().create_task(work(), name=name))

    async def close(self) -> None:
        if self._worker is not None and self._pid == os.getpid():
            self._worker.shutdown(wait=False)
        self._worker = None


class _Cancellable:
    """Counts the cancellations of its task before and after: one that came in between and was not raised is raised."""

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        self._before = self._task.cancelling() if self._task is not None else 0

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        missed = self._task is not None and self._task.cancelling() > self._before
        if missed and not isinstance(error, asyncio.CancelledError):
            raise asyncio.CancelledError from error


class _LoopLock:
    """One asyncio lock per event loop: a memory may be used from a new loop after the old one has gone."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def __aenter__(self) -> None:
        await self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()).acquire()

    async def __aexit__(self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None) -> None:
        self._locks[asyncio.get_running_loop()].release()


class _TaskBackground:
    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    async def join(self, timeout: float | None = None) -> bool:
        loop = self._task.get_loop()
        if loop is asyncio.get_running_loop():
            await asyncio.wait([self._task], timeout=timeout)
        elif loop.is_running():
            end = None if timeout is None else time.monotonic() + timeout
            while not self._task.done() and (end is None or time.monotonic() < end):  # noqa: ASYNC110  # another loop
                await asyncio.sleep(0.05)
        # A loop that does not run will not end its tasks: there is nothing to wait for.
        return self._task.done()

    def alive(self) -> bool:
        return not self._task.done() and not self._task.get_loop().is_closed()


def run_in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on a loop of its own in a thread of its own: a loop may be running in the caller's."""
    with ThreadPoolExecutor(1, thread_name_prefix="recollect") as pool:
        return pool.submit(lambda: asyncio.run(work())).result()
