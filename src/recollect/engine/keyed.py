"""Locks by name, which exist only while someone holds or awaits them; and what a batch already holds for a key."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from ..records import Key
from ..runtime import Runtime
from ..stores.base import Delete, Put
from .core import Core, R


class KeyedLocks:
    """One lock per key in use: nothing grows with the keys ever seen, and a new event loop meets new locks."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._guard = threading.Lock()
        self._held: dict[Any, tuple[AbstractAsyncContextManager[Any], int]] = {}

    @asynccontextmanager
    async def hold(self, key: Any) -> AsyncIterator[None]:
        """Only one holder of a key at a time in this process."""
        with self._guard:
            lock, users = self._held.get(key) or (self._runtime.lock(), 0)
            self._held[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._held.pop(key)
                if users > 1:
                    self._held[key] = (lock, users - 1)


def locks_of(core: Core, name: str) -> KeyedLocks:
    """The locks that all handles on one memory share for one purpose."""
    found = core.shared.parts.setdefault(f"{name} locks", None)
    if found is None:
        found = core.shared.parts[f"{name} locks"] = KeyedLocks(core.runtime)
    locks: KeyedLocks = found
    return locks


def pending(core: Core, kind: type[R], key: Key) -> tuple[bool, R | None]:
    """Whether the open batch has written this row already, and as what: a batch reads its own writes."""
    for change in reversed(core.batch or ()):
        if isinstance(change, Put) and type(change.record) is kind and change.record.row_key == key:
            return True, change.record
        if isinstance(change, Delete) and change.kind is kind and change.key == key:
            return True, None
    return False, None
