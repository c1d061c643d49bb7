"""Implements the runtime for asyncio. No other module imports asyncio."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future as Work
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from .runtime import Background, Failed, Outcome, run_blocking

T = TypeVar("T")
A = TypeVar("A")
CALLS_BEFORE_YIELD = 16
"""After this many calls in the calling thread, the coroutine yields to the event loop once."""
MAX_BATCH_CALLS = 64
"""The maximum number of items in one batch for the worker thread. The first item of a batch waits for the last."""


class AsyncRuntime:
    """Runs blocking functions on one worker thread. If the caller is cancelled, the function still finishes there."""

    blocking = False

    def __init__(self) -> None:
        self._worker: ThreadPoolExecutor | None = None
        self._pid = 0
        self._guard = threading.Lock()
        self._briefs = 0
        self._unsettled: set[Work[object]] = set()
        """Work still running on the worker thread although its caller was cancelled."""

    async def call(self, function: Callable[..., T], *args: object) -> T:
        work = self._executor().submit(function, *args)
        try:
            # A function that already runs on the thread cannot be cancelled. It finishes there, and its result is
            # dropped.
            return await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            self._abandon(work)
            raise

    def _abandon(self, work: Work[Any]) -> None:
        """Keep a reference to work whose caller was cancelled until it has ended."""
        self._unsettled.add(work)
        work.add_done_callback(self._unsettled.discard)

    async def brief(self, function: Callable[..., T], *args: object) -> T:
        if self._unsettled:
            # Code that cleans up after a cancelled write must see its result, so this call queues behind it on the
            # worker thread.
            return await self.call(function, *args)
        # A coroutine that never suspends would keep the loop from running other tasks and timeouts.
        self._briefs += 1
        if self._briefs % CALLS_BEFORE_YIELD == 0:
            await asyncio.sleep(0)
        return function(*args)

    def batched(self, function: Callable[[Sequence[A]], Sequence[Outcome[T]]]) -> Callable[[A], Awaitable[T]]:
        return _Batches(self, function).add

    def _executor(self) -> ThreadPoolExecutor:
        # Threads do not survive a fork, so a child creates its own worker.
        if self._worker is None or self._pid != os.getpid():
            with self._guard:
                if self._worker is None or self._pid != os.getpid():
                    # One thread, so that calls run in the order in which they were sent.
                    self._worker = ThreadPoolExecutor(1, thread_name_prefix="memorist")
                    self._pid = os.getpid()
        return self._worker

    async def offload(self, function: Callable[..., T], *args: object) -> T:
        return await asyncio.to_thread(function, *args)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def within(self, seconds: float, work: Callable[[], Coroutine[object, None, T]]) -> T:
        return await asyncio.wait_for(work(), seconds)

    async def gather(self, coros: Iterable[Coroutine[object, None, T]]) -> list[T]:
        return list(await asyncio.gather(*coros))

    async def resolve(self, value: T | Awaitable[T]) -> T:
        if inspect.isawaitable(value):
            return await value
        return value

    def lock(self) -> AbstractAsyncContextManager[object]:
        return _LoopLock()

    def cancellable(self) -> AbstractContextManager[None]:
        return _Cancellable()

    async def run_other(self, work: Callable[[], Coroutine[object, None, T]]) -> T:
        return await asyncio.to_thread(lambda: run_blocking(work()))

    def home(self) -> object:
        # A connection is bound to the loop that opened it, because its reader and timers run only there.
        return os.getpid(), asyncio.get_running_loop()

    def start(self, work: Callable[[], Coroutine[object, None, None]], name: str) -> Background:
        return _TaskBackground(asyncio.get_running_loop().create_task(work(), name=name))

    async def close(self) -> None:
        if self._worker is not None and self._pid == os.getpid():
            # Waiting here would block the loop. Work that is already on the thread still finishes.
            self._worker.shutdown(wait=False)
        self._worker = None


class _Batches(Generic[A, T]):
    """Batches items for the worker thread. Items that arrive while it is busy are sent together, in order, in one hop.

    Each event loop has its own queue. An item whose caller was cancelled while it waited is dropped. An item that is
    already being processed is finished, and its result is discarded.
    """

    def __init__(self, runtime: AsyncRuntime, function: Callable[[Sequence[A]], Sequence[Outcome[T]]]) -> None:
        self._runtime = runtime
        self._function = function
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue[A, T]] = WeakKeyDictionary()

    async def add(self, item: A) -> T:
        """Queue an item and wait for its result, which arrives when its whole batch is done."""
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        # A forked child inherits the queue, but not the thread that would answer its callers.
        if queue is None or queue.pid != os.getpid():
            queue = self._queues[loop] = _Queue(os.getpid())
        future: asyncio.Future[T] = loop.create_future()
        queue.waiting.append((item, future))
        if queue.work is None:
            self._send(loop, queue)
        try:
            return await future
        except asyncio.CancelledError:
            if queue.work is not None and future in queue.sent:
                self._runtime._abandon(queue.work)
            raise

    def _send(self, loop: asyncio.AbstractEventLoop, queue: _Queue[A, T]) -> None:
        batch: list[tuple[A, asyncio.Future[T]]] = []
        while queue.waiting and len(batch) < MAX_BATCH_CALLS:
            item, future = queue.waiting.popleft()
            if not future.done():
                batch.append((item, future))
        queue.sent, queue.work = [future for _, future in batch], None
        if not batch:
            return
        items = [item for item, _ in batch]
        try:
            queue.work = self._runtime._executor().submit(self._run, loop, queue, items)
        except RuntimeError as error:  # the worker thread was shut down
            self._settle(queue, [Failed(error)] * len(items))

    def _run(self, loop: asyncio.AbstractEventLoop, queue: _Queue[A, T], items: list[A]) -> None:
        """Process a batch on the worker thread, and notify the loop directly. An intermediate future would cost another
        iteration of the loop."""
        outcomes: Sequence[Outcome[T]]
        try:
            outcomes = self._function(items)
        except BaseException as error:
            outcomes = [Failed(error)] * len(items)
        if not loop.is_closed():  # a closed loop has no waiting callers
            loop.call_soon_threadsafe(self._done, loop, queue, outcomes)

    def _done(self, loop: asyncio.AbstractEventLoop, queue: _Queue[A, T], outcomes: Sequence[Outcome[T]]) -> None:
        self._settle(queue, outcomes)
        self._send(loop, queue)

    def _settle(self, queue: _Queue[A, T], outcomes: Sequence[Outcome[T]]) -> None:
        for future, outcome in zip(queue.sent, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, Failed):
                future.set_exception(outcome.error)
            else:
                future.set_result(outcome)


class _Queue(Generic[A, T]):
    """Holds the items of one event loop: those that are waiting, and those on the worker thread."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.waiting: deque[tuple[A, asyncio.Future[T]]] = deque()
        self.sent: list[asyncio.Future[T]] = []
        """The callers of the batch currently on the worker thread."""
        self.work: Work[None] | None = None
        """The batch itself, or None while there is none."""


class _Cancellable:
    """Raises a cancellation that a driver swallowed, by comparing the task's count of cancellations before and
    after."""

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        self._before = self._task.cancelling() if self._task is not None else 0

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        missed = self._task is not None and self._task.cancelling() > self._before
        if missed and not isinstance(error, asyncio.CancelledError):
            raise asyncio.CancelledError from error


class _LoopLock:
    """Holds one asyncio lock per event loop, because a memory may be used from a new loop after the old one has
    ended."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def __aenter__(self) -> None:
        await self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()).acquire()

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
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
        # The tasks of a loop that is not running never end, so there is nothing to wait for.
        return self._task.done()

    def alive(self) -> bool:
        return not self._task.done() and not self._task.get_loop().is_closed()


def run_in_thread(work: Callable[[], Coroutine[object, None, T]]) -> T:
    """Run a coroutine in a new thread with its own event loop, because a loop may be running in the caller's thread."""
    with ThreadPoolExecutor(1, thread_name_prefix="memorist") as pool:
        return pool.submit(lambda: asyncio.run(work())).result()
