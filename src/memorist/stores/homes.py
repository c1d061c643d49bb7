"""Keeps a driver's clients once per process and event loop, because a connection belongs to the loop that opened it."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from ..runtime import Runtime

T = TypeVar("T")
C = TypeVar("C")
_inherited: list[object] = []
"""What came over a fork; the child keeps it referenced, unused and open.

Parent and child share the epoll instance of the parent's loop: closing a connection in the child would unregister its
socket there, and the parent would wait for its reply forever.
"""
_closing: set[Any] = set()
"""Tasks that close clients in other threads; an event loop keeps only weak references to its tasks."""
_collecting = threading.Lock()


class _Home(Generic[C]):
    """The clients of one process and event loop."""

    def __init__(self, pid: int, loop: Any, clients: C) -> None:
        self.pid, self.loop, self.clients = pid, loop, clients
        self.calls: list[None] = []
        """One item for each call under way; a list, because its changes need no lock among threads."""


class Homes(Generic[C]):
    """Makes clients where they are first used, and closes them everywhere.

    `make` must not suspend; `dispose` closes what it made, on the loop where it was used.
    """

    def __init__(self, runtime: Runtime, make: Callable[[], C], dispose: Callable[[C], Awaitable[None]]) -> None:
        self._runtime = runtime
        self._make = make
        self._dispose = dispose
        self._homes: dict[object, _Home[C]] = {}
        self._closed = False

    async def use(self, work: Callable[[C], Awaitable[T]]) -> T:
        """Do something with the clients of this process and event loop."""
        home = self._homes.get(self._runtime.home()) or await self._settle()
        home.calls.append(None)
        try:
            # When a cancellation coincides with a timeout, a driver swallows it or turns it into an error of its own.
            with self._runtime.cancellable():
                return await work(home.clients)
        finally:
            # Of two threads that leave at the same time both may find no call left; closing twice does no harm.
            home.calls.pop()
            if self._closed and not home.calls:
                await self._close(home)

    def peek(self) -> C | None:
        """The clients of this process and event loop, if there are any."""
        home = self._homes.get(self._runtime.home())
        return None if home is None else home.clients

    def open(self) -> None:
        """Keep clients again, after `close`."""
        self._closed = False

    async def close(self) -> None:
        """Close all clients. A call under way finishes, and then closes those that it used."""
        self._closed = True
        self._forget_ended()
        here = self._runtime.home()
        for key, home in list(self._homes.items()):
            if key != here:
                self._close_there(home)
            elif not home.calls:
                await self._close(home)

    async def _settle(self) -> _Home[C]:
        self._forget_ended()
        key = self._runtime.home()
        fresh = _Home(os.getpid(), None if self._runtime.blocking else key[1], self._make())  # type: ignore[index]
        home = self._homes.setdefault(key, fresh)
        if home is not fresh:  # another thread was faster
            await self._dispose(fresh.clients)
        return home

    async def _close(self, home: _Home[C]) -> None:
        # Whoever comes now gets new clients, and never a connection that is being closed.
        for key, other in list(self._homes.items()):
            if other is home:
                self._homes.pop(key, None)
        await self._dispose(home.clients)

    def _close_there(self, home: _Home[C]) -> None:
        """Close the clients of an event loop in another thread, over there."""

        async def close() -> None:
            if not home.calls:
                await self._close(home)

        def start() -> None:
            task = home.loop.create_task(close())
            _closing.add(task)
            task.add_done_callback(_closing.discard)

        with contextlib.suppress(RuntimeError):  # the loop ends right now, and its connections with it
            home.loop.call_soon_threadsafe(start)

    def _forget_ended(self) -> None:
        """Let go of the clients of another process, and of event loops that have ended."""
        ended: list[Any] = []
        for key, home in list(self._homes.items()):
            if home.pid != os.getpid():
                _inherited.append(self._homes.pop(key, None))
            elif home.loop is not None and home.loop.is_closed():
                ended.append(self._homes.pop(key, None))
        if ended:
            home = None  # type: ignore[assignment]  # the last reference has to be the collector's
            # Nothing can be awaited on a loop that has ended: collecting the connections closes their sockets. Drivers
            # complain of that to the running loop, so it is done in a thread that has none.
            collector = threading.Thread(target=_collect, args=(ended,), name="memorist-collector")
            collector.start()
            collector.join()


def _collect(ended: list[Any]) -> None:
    with _collecting, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        ended.clear()
        gc.collect()
