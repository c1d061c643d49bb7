"""Defines the Runtime protocol, which hides all differences between blocking and async, and the blocking runtime.

The async runtime is in `loop_runtime.py`. Only that module imports asyncio, which takes as long to load as everything
else combined.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from types import CoroutineType, TracebackType
from typing import Protocol, TypeVar, Union

from .errors import SuspendedError, UsageError

T = TypeVar("T")
A = TypeVar("A")
Outcome = Union[T, "Failed"]
"""The outcome of one item of a batch: its result, or its error."""


class Failed:
    """Wraps the error of one item of a batch, because a result may be an error object too."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def run_blocking(coro: Coroutine[object, None, T]) -> T:
    """Run to completion a coroutine that never suspends, without an event loop."""
    # Every part of a blocking memory blocks in place: locks, sleeps and drivers return only when they are done. So no
    # `await` below here ever yields, and one step runs the coroutine to its end.
    try:
        coro.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    # The coroutine waits for a loop that does not run. Closing it runs its `finally` blocks, which release locks and
    # connections.
    coro.close()
    name = getattr(coro, "__qualname__", "a coroutine")
    raise SuspendedError(f"{name} needs an event loop and was reached from a blocking Memory; use AsyncMemory")


class Runtime(Protocol):
    """Runs functions, sleeps, waits and locks for stores and the engine, in place or on an event loop."""

    blocking: bool

    async def call(self, function: Callable[..., T], *args: object) -> T:
        """Run a store's blocking function in place, or on the worker thread so that the loop is not blocked."""
        ...

    async def brief(self, function: Callable[..., T], *args: object) -> T:
        """Run in place a function that takes a few microseconds, because a hop to the worker thread would cost more."""
        ...

    def batched(self, function: Callable[[Sequence[A]], Sequence[Outcome[T]]]) -> Callable[[A], Awaitable[T]]:
        """Return a function that processes items in batches. Items that arrive while the worker thread is busy share a
        batch."""
        ...

    async def offload(self, function: Callable[..., T], *args: object) -> T:
        """Run a user's slow function in place, or on a thread other than the store's worker."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def within(self, seconds: float, work: Callable[[], Coroutine[object, None, T]]) -> T:
        """Run a coroutine with a time limit, or raise TimeoutError. A blocking function that exceeds the limit keeps
        running in its thread, and its result is dropped."""
        ...

    async def gather(self, coros: Iterable[Coroutine[object, None, T]]) -> list[T]: ...

    async def resolve(self, value: T | Awaitable[T]) -> T:
        """Return the result of a user's function, awaiting it if it is awaitable."""
        ...

    def lock(self) -> AbstractAsyncContextManager[object]: ...

    def cancellable(self) -> AbstractContextManager[None]:
        """Return a context manager for driver calls that may swallow a cancellation. It raises a swallowed cancellation
        at the end."""
        ...

    async def run_other(self, work: Callable[[], Coroutine[object, None, T]]) -> T:
        """Run to completion a coroutine that belongs to the other runtime."""
        ...

    def home(self) -> object:
        """Return the owner of connections created now, which is this process and, on the async side, the running
        loop."""
        ...

    def start(self, work: Callable[[], Coroutine[object, None, None]], name: str) -> Background: ...

    async def close(self) -> None: ...


class Background(Protocol):
    """Represents work that runs in a background thread or task."""

    async def join(self, timeout: float | None = None) -> bool:
        """Wait until the work ends, and return whether it has."""
        ...

    def alive(self) -> bool: ...


class BlockingRuntime:
    """Does everything in the calling thread."""

    blocking = True

    async def call(self, function: Callable[..., T], *args: object) -> T:
        return function(*args)

    async def brief(self, function: Callable[..., T], *args: object) -> T:
        return function(*args)

    def batched(self, function: Callable[[Sequence[A]], Sequence[Outcome[T]]]) -> Callable[[A], Awaitable[T]]:
        async def alone(item: A) -> T:
            (outcome,) = function([item])
            if isinstance(outcome, Failed):
                raise outcome.error
            return outcome

        return alone

    async def offload(self, function: Callable[..., T], *args: object) -> T:
        return function(*args)

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251  # this runtime has no loop to stall

    async def within(self, seconds: float, work: Callable[[], Coroutine[object, None, T]]) -> T:
        done: list[T | BaseException] = []

        def run() -> None:
            try:
                done.append(run_blocking(work()))
            except BaseException as problem:
                done.append(problem)

        # Only a separate thread lets the caller stop waiting for a function that blocks.
        thread = threading.Thread(target=run, name="memorist-limited", daemon=True)
        thread.start()
        thread.join(seconds)
        if not done:
            raise TimeoutError
        if isinstance(done[0], BaseException):
            raise done[0]
        return done[0]

    async def gather(self, coros: Iterable[Coroutine[object, None, T]]) -> list[T]:
        # One after the other: without a loop, nothing could run while one of them waits.
        waiting = list(coros)
        try:
            return [await coro for coro in waiting]
        finally:
            for coro in waiting:
                coro.close()  # after a failure, the others were never started, and Python would warn about them

    async def resolve(self, value: T | Awaitable[T]) -> T:
        if isinstance(value, Awaitable):
            if isinstance(value, CoroutineType):
                stepped: T = run_blocking(value)
                return stepped
            raise UsageError("an async function was passed to a blocking Memory; use AsyncMemory")
        return value

    def lock(self) -> AbstractAsyncContextManager[object]:
        return _ThreadLock()

    def cancellable(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def run_other(self, work: Callable[[], Coroutine[object, None, T]]) -> T:
        # In another thread, because a loop may be running in this one.
        from .loop_runtime import run_in_thread

        return run_in_thread(work)

    def home(self) -> object:
        # A forked child must not use the sockets of its parent, because both would read the same replies.
        return os.getpid()

    def start(self, work: Callable[[], Coroutine[object, None, None]], name: str) -> Background:
        return _ThreadBackground(work, name)

    async def close(self) -> None:
        """Do nothing, because there is nothing to close."""


class _ThreadLock:
    """Wraps a thread lock in the interface of an async lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        # This blocks the thread, which is right here: the holder runs in another thread and needs no loop of ours.
        self._lock.acquire()

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self._lock.release()


class _ThreadBackground:
    def __init__(self, work: Callable[[], Coroutine[object, None, None]], name: str) -> None:
        # A daemon, because a worker that waits for jobs must not keep the interpreter from exiting.
        self._thread = threading.Thread(target=lambda: run_blocking(work()), name=name, daemon=True)
        self._thread.start()

    async def join(self, timeout: float | None = None) -> bool:
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def alive(self) -> bool:
        return self._thread.is_alive()


def runtime_for(blocking: bool) -> Runtime:
    """Return a runtime for blocking or for async callers. Only the async one loads asyncio."""
    if blocking:
        return BlockingRuntime()
    from .loop_runtime import AsyncRuntime

    return AsyncRuntime()
