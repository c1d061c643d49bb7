"""Memory and AsyncMemory have the same names with the same signatures, so that code moves between them by `await`."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from recollect import AsyncMemory, Memory
from recollect.stores.memory import MemoryStore

# Entered by `with` on one side and by `async with` on the other.
DUNDERS = {"__enter__": "__aenter__", "__exit__": "__aexit__"}


def _public(thing: Any) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def _pairs() -> Iterator[tuple[str, Any, Any]]:
    """Every public callable of both sides, by name."""
    store = MemoryStore()
    blocking, awaiting = Memory(store, embedder=None, worker=False), AsyncMemory(store, embedder=None, worker=False)
    for name in sorted(_public(awaiting)):
        here, there = getattr(blocking, name, None), getattr(awaiting, name)
        if callable(there):
            yield name, here, there
        elif type(there).__module__.startswith("recollect.engine"):
            for method in sorted(_public(there)):
                if callable(getattr(there, method)):
                    yield f"{name}.{method}", getattr(here, method, None), getattr(there, method)


PAIRS = {name: (here, there) for name, here, there in _pairs()}


def _shape(method: Any) -> list[tuple[str, Any, Any, str]]:
    parameters = inspect.signature(method).parameters.values()
    return [(p.name, p.kind, repr(p.default), _plain(p.annotation)) for p in parameters]


def _plain(annotation: Any) -> str:
    return str(annotation).replace("builtins.", "").replace("engine.", "")


def test_both_sides_have_the_same_names() -> None:
    store = MemoryStore()
    blocking, awaiting = Memory(store, embedder=None, worker=False), AsyncMemory(store, embedder=None, worker=False)
    assert _public(blocking) == _public(awaiting)
    for name in _public(awaiting):
        there = getattr(awaiting, name)
        if type(there).__module__.startswith("recollect.engine"):
            assert _public(getattr(blocking, name)) == _public(there), name
    assert all(hasattr(Memory, here) and hasattr(AsyncMemory, there) for here, there in DUNDERS.items())


def test_both_are_opened_with_the_same_options() -> None:
    assert _shape(Memory.__init__) == _shape(AsyncMemory.__init__)


@pytest.mark.parametrize("name", PAIRS)
def test_the_signatures_are_the_same(name: str) -> None:
    here, there = PAIRS[name]
    assert here is not None
    assert _shape(here) == _shape(there)


@pytest.mark.parametrize("name", PAIRS)
def test_the_blocking_side_never_gives_a_coroutine(name: str) -> None:
    here, _ = PAIRS[name]
    assert not inspect.iscoroutinefunction(here)
