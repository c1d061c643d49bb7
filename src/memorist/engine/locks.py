"""Provides locks by key. Each lock exists only while someone holds it or waits for it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from ..runtime import Runtime


class KeyedLocks:
    """Holds one lock per key in use. Unused locks are dropped, so memory does not grow with the number of keys."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._guard = threading.Lock()
        self._held: dict[object, tuple[AbstractAsyncContextManager[object], int]] = {}

    @asynccontextmanager
    async def hold(self, key: object) -> AsyncIterator[None]:
        """Hold a key's lock, which can have only one holder at a time in this process."""
        # Count in before waiting: otherwise the holder would drop the lock, and the next caller would create another.
        with self._guard:
            lock, users = self._held.get(key) or (self._runtime.lock(), 0)
            self._held[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            with self._guard:
                # The count may have changed while this caller held the lock, so it is read again.
                lock, users = self._held.pop(key)
                if users > 1:
                    self._held[key] = (lock, users - 1)
