"""Wraps the blocking facade so that it can be awaited, and one test can drive both facades."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from memorist.blocking.memory import Memory
from memorist.blocking.session import Session


class Awaited:
    """Wraps a blocking object, so that its methods can be awaited wherever those of its async twin are coroutines."""

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
            return lambda *args, **options: awaited(value(*args, **options), lambda: other(*args, **options))
        return Awaited(value, other) if _is_noun(value) else value


class _Entered:
    """Lets `async with` enter a blocking context manager."""

    def __init__(self, block: Any) -> None:
        self._block = block

    async def __aenter__(self) -> Any:
        entered = self._block.__enter__()
        return awaited(entered) if isinstance(entered, Memory) else Awaited(entered, entered._engine)

    async def __aexit__(self, *raised: Any) -> Any:
        return self._block.__exit__(*raised)


def awaited(value: Any, twin: Callable[[], Any] | None = None) -> Any:
    """Return a result of the blocking facade, wrapped to look like the result that `twin` of the async facade would
    return."""
    if isinstance(value, Memory):
        return Awaited(value, value._engine)
    if twin is not None and _is_noun(value):
        return Awaited(value, twin())
    return _Entered(value) if hasattr(value, "__enter__") else value


def _is_noun(value: Any) -> bool:
    is_generated = type(value).__module__.startswith("memorist.blocking")
    return is_generated and not hasattr(value, "__enter__") and not hasattr(value, "__next__")


def _awaitable(method: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **options: Any) -> Any:
        result = method(*args, **options)
        is_wrapped = _is_noun(result) or isinstance(result, Session)
        return Awaited(result, result._engine) if is_wrapped else result

    return call
