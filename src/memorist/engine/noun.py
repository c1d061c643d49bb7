"""Connects the facades (`Memory`, `AsyncMemory`) with the engine: their nouns, their core, and the facade of a core."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar, overload

if TYPE_CHECKING:
    from .core import Core

T = TypeVar("T")


class Facade(Protocol):
    """Represents a public handle that knows how to create its nouns."""

    @property
    def _core(self) -> Core: ...

    def _make_noun(self, name: str, noun_type: Callable[..., T]) -> T: ...


class Noun(Generic[T]):
    """Declares a noun of a facade. It is created on first use and then stored as an attribute of the handle."""

    def __init__(self, noun_type: type[T]) -> None:
        self.noun_type = noun_type

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, handle: None, owner: object) -> Self: ...
    @overload
    def __get__(self, handle: Facade, owner: object) -> T: ...

    def __get__(self, handle: Facade | None, owner: object) -> T | Self:
        if handle is None:
            return self
        # Of two threads that come here at once, both must get the noun that stays.
        noun: T = handle.__dict__.setdefault(self._name, handle._make_noun(self._name, self.noun_type))
        return noun


def core_of(handle: Facade) -> Core:
    """Return the engine behind a handle, for code (the server, MCP, adapters) that needs more than public methods."""
    return handle._core


_facades: dict[bool, Callable[[Any], object]] = {}
"""Functions that create a facade over a core, for blocking (True) and async callers."""


def register_facades(*, blocking: Callable[[Any], object], awaited: Callable[[Any], object]) -> None:
    """Let the engine create memories (for processors, and for `task.batch()`) without importing upwards."""
    _facades.update({True: blocking, False: awaited})


def facade_of(core: Any, *, stepped: bool = False) -> Any:
    """Return a `Memory` over a handle if its callers block, or otherwise an `AsyncMemory`.

    With `stepped`, return an `AsyncMemory` in either case. If its parts block, `run_blocking` runs its coroutines.
    """
    return _facades[core.runtime.blocking and not stepped](core)
