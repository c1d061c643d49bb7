"""Wraps the blocking facade so that it can be awaited, and one test can drive both facades."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..blocking.memory import Memory


class Awaited:
    """A blocking object whose methods can be awaited wherever those of its async twin are coroutines."""

    def __init__(self, blocking: Any, twin: Any) -> None:
        self._blocking = blocking
        self._twin = twin

    def __getattr__(self, name: str) -> Any:
        if name == "_core":
            return self._twin._core
        value, other = getattr(self._blocking, name), getattr(self._twin, name)
        if inspect.iscoroutinefunction(other):
            return _awaitable(value)
        if callable(value):
            return lambda *args, **options: awaited(value(*args, **options))
        return Awaited(value, other) if type(value).__module__.startswith("recollect.blocking") else value


class _Entered:
    """Lets `async with` enter a blocking context manager."""

    def __init__(self, block: Any) -> None:
        self._block = block

    async def __aenter__(self) -> Any:
        entered = self._block.__enter__()
        return awaited(entered) if isinstance(entered, Memory) else Awaited(entered, entered._engine)

    async def __aexit__(self, *raised: Any) -> Any:
        return self._block.__exit__(*raised)


def awaited(value: Any) -> Any:
    """A result of the blocking facade, wrapped to look like one of the async facade."""
    if isinstance(value, Memory):
        return Awaited(value, value._engine)
    return _Entered(value) if hasattr(value, "__enter__") else value


def _awaitable(method: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **options: Any) -> Any:
        return method(*args, **options)

    return call
