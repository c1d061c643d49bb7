"""Keeps a separate set of a driver's clients for each process and event loop, because a connection belongs to the loop
that opened it."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

from ..runtime import Runtime, run_blocking

T = TypeVar("T")
C = TypeVar("C")
_inherited: list[object] = []
"""Clients inherited through a fork. The child keeps them referenced, unused and open. Parent and child share the epoll
instance of the parent's loop, so closing a connection in the child would unregister its socket there, and the parent
would wait for its reply forever.
"""
_closing: set[object] = set()
"""Tasks that close clients in other threads. They are kept here because an event loop holds only weak references to its
tasks."""
_collecting = threading.Lock()


class _Home(Generic[C]):
    """Holds the clients of one process and event loop."""

    def __init__(self, pid: int, loop: Any, clients: C) -> None:
        self.pid, self.loop, self.clients = pid, loop, clients
        self.calls: list[None] = []
        """One item for each call in progress. This is a list, because threads can change it without a lock."""


class Homes(Generic[C]):
    """Creates clients where they are first used, and closes them everywhere.

    `dispose` closes a client created by `make` on the loop where it was used. If that loop has ended, `abandon`
    closes it without awaiting. Without `abandon`, the clients' sockets are closed when the clients are
    garbage-collected.
    """

    def __init__(
        self,
        runtime: Runtime,
        make: Callable[[], Awaitable[C]],
        dispose: Callable[[C], Coroutine[object, None, None]],
        abandon: Callable[[C], None] | None = None,
    ) -> None:
        self._runtime = runtime
        self._make = make
        self._dispose = dispose
        self._abandon = abandon
        self._homes: dict[object, _Home[C]] = {}
        self.closed = False

    async def use(self, work: Callable[[C], Awaitable[T]]) -> T:
        """Call a function with the clients of this process and event loop, which are created on first use."""
        # A dict read needs no lock: homes are added with `setdefault` and removed with `pop`, which are both atomic.
        home = self._homes.get(self._runtime.home()) or await self._settle()
        home.calls.append(None)
        try:
            # If a cancellation coincides with a timeout, a driver may swallow it or raise an error of its own instead.
            with self._runtime.cancellable():
                return await work(home.clients)
        finally:
            # If two threads leave at the same time, both may see that no call is left. Closing twice is harmless.
            home.calls.pop()
            if self.closed and not home.calls:
                await self._close(home)

    async def clients(self) -> C:
        """Return the clients of this process and event loop, which are created on first use."""
        home = self._homes.get(self._runtime.home()) or await self._settle()
        return home.clients

    def peek(self) -> C | None:
        """Return the clients of this process and event loop, if there are any."""
        home = self._homes.get(self._runtime.home())
        return None if home is None else home.clients

    def open(self) -> None:
        """Accept clients again, after `close`."""
        self.closed = False

    async def close(self) -> None:
        """Close all clients. A call in progress finishes first, and then closes the clients it used."""
        # Set this before looking at the calls in progress. A call that ends in between then sees it and closes its
        # clients; in the other order, nobody would.
        self.closed = True
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
        loop = None if self._runtime.blocking else key[1]  # type: ignore[index]  # the pid and the loop
        fresh = _Home(os.getpid(), loop, await self._make())
        home = self._homes.setdefault(key, fresh)
        if home is not fresh:  # another thread or task created its clients during our `await`
            await self._dispose(fresh.clients)
        return home

    async def _close(self, home: _Home[C]) -> None:
        # Remove the home before the `await` below, so that a new call creates clients instead of using closing ones.
        for key, other in list(self._homes.items()):
            if other is home:
                self._homes.pop(key, None)
        await self._dispose(home.clients)

    def _close_there(self, home: _Home[C]) -> None:
        """Close the clients of an event loop in another thread, from inside that thread."""

        # A driver's connection may be closed only on the loop that opened it.
        async def close() -> None:
            if not home.calls:
                await self._close(home)

        def start() -> None:
            task = home.loop.create_task(close())
            _closing.add(task)
            task.add_done_callback(_closing.discard)

        try:
            home.loop.call_soon_threadsafe(start)
        except RuntimeError:  # the loop ended meanwhile
            self._forget_ended()

    def abandon_all(self, pid: int) -> None:
        """Close the clients of a store that was dropped without `close`, unless they were inherited through a fork."""
        for home in self._homes.values() if os.getpid() == pid else ():
            if home.loop is None:
                run_blocking(self._dispose(home.clients))
            elif self._abandon is not None:
                self._abandon(home.clients)

    def _forget_ended(self) -> None:
        """Release the clients of another process, and of event loops that have ended."""
        ended: list[_Home[C] | None] = []
        for key, home in list(self._homes.items()):
            if home.pid != os.getpid():
                _inherited.append(self._homes.pop(key, None))
            elif home.loop is not None and home.loop.is_closed():
                ended.append(self._homes.pop(key, None))
        if self._abandon is not None:
            for home in filter(None, ended):
                self._abandon(home.clients)
        elif ended:
            home = None  # type: ignore[assignment]  # the last reference has to be the collector's
            # Nothing can be awaited on a loop that has ended, so garbage collection has to close the sockets. Drivers
            # report that to the running loop, so it happens in a thread that has none.
            collector = threading.Thread(target=_collect, args=(ended,), name="memorist-collector")
            collector.start()
            collector.join()


def _collect(ended: list[C]) -> None:
    with _collecting, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        ended.clear()
        gc.collect()
