"""Memory and AsyncMemory have the same names with the same signatures, so that code moves between them by `await`.

The blocking classes are generated; these tests also hold the declaration they come from to its promises: every type is
told, and every type that comes back can be imported.
"""

import inspect
import re
import subprocess
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memorist
import memorist.types
from memorist import AsyncMemory, Memory
from memorist.protocol.surface import groups, operations
from memorist.stores.memory import MemoryStore

ROOT = Path(__file__).parents[2]
# Entered by `with` on one side and by `async with` on the other.
DUNDERS = {"__enter__": "__aenter__", "__exit__": "__aexit__"}
# Where a user's own JSON passes through: its type is the user's.
JSON = {
    "facts.set value", "facts.update value", "memories.update value", "review.edit value",
    "facts.correct value", "profile.set_preference value", "state.get default", "state.get return",
    "state.get_many default", "state.set value", "entities.get return", "working.update fields", "tasks.run state",
    "context scratchpad", "records.put data",
    # Without a namespace, the value is the second positional argument.
    "facts.set key", "facts.correct key", "records.put key", "profile.set_preference key",
}  # fmt: skip


def _public(thing: Any) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def _pairs() -> Iterator[tuple[str, Any, Any]]:
    """Every public callable of both sides, by name."""
    store = MemoryStore()
    blocking = Memory(store, embedder=None, worker=False)
    for operation in operations():
        here: Any = blocking
        for part in operation.name.split("."):
            here = getattr(here, part, None)
        yield operation.name, here, operation.function


PAIRS = {name: (here, awaited) for name, here, awaited in _pairs()}


def _shape(method: Any, skip: int = 0) -> list[tuple[str, Any, Any, str]]:
    parameters = list(inspect.signature(method).parameters.values())[skip:]
    return [(p.name, p.kind, repr(p.default), _plain(p.annotation)) for p in parameters]


def _plain(annotation: Any) -> str:
    return str(annotation).replace("builtins.", "")


def test_the_blocking_classes_are_as_generated() -> None:
    process = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "generate-blocking"), "--check"], capture_output=True, text=True
    )
    assert process.returncode == 0, process.stdout + process.stderr


def test_both_sides_have_the_same_names() -> None:
    store = MemoryStore()
    blocking, awaiting = Memory(store, embedder=None, worker=False), AsyncMemory(store, embedder=None, worker=False)
    assert _public(blocking) == _public(awaiting)
    for name in groups():
        assert _public(getattr(blocking, name)) == _public(getattr(awaiting, name)), name
    assert all(hasattr(Memory, here) and hasattr(AsyncMemory, awaited) for here, awaited in DUNDERS.items())


def test_both_are_opened_with_the_same_options() -> None:
    assert _shape(Memory.__init__) == _shape(AsyncMemory.__init__)


@pytest.mark.parametrize("name", PAIRS)
def test_the_signatures_are_the_same(name: str) -> None:
    here, awaited = PAIRS[name]
    assert here is not None
    assert _shape(here) == _shape(awaited, skip=1)
    assert inspect.getdoc(here) == inspect.getdoc(awaited)


@pytest.mark.parametrize("name", PAIRS)
def test_the_blocking_side_never_gives_a_coroutine(name: str) -> None:
    here, _ = PAIRS[name]
    assert not inspect.iscoroutinefunction(here)


def test_no_signature_has_a_bare_any() -> None:
    """Nor a parameter without a type: `Any` stands only where a user's own JSON passes through, under its own name."""
    init = [
        (f"open {name}", str(p.annotation))
        for name, p in inspect.signature(AsyncMemory.__init__).parameters.items()
        if name != "self"
    ]
    written = [
        (f"{operation.name} {p.name}", p.written) for operation in operations() for p in operation.parameters
    ] + init
    written += [(f"{operation.name} return", operation.written) for operation in operations()]
    assert len(written) > 300
    members = {where: [part.strip() for part in _members(text)] for where, text in written}
    assert [where for where, parts in members.items() if {"Any", "", "inspect._empty"} & {*parts}] == []
    assert {where for where, parts in members.items() if "Json" in parts} == JSON


def _members(annotation: str) -> list[str]:
    """The members of a union, outside of brackets."""
    flat = annotation
    while (shorter := re.sub(r"\[[^\[\]]*\]", "", flat)) != flat:
        flat = shorter
    return flat.split("|")


def test_every_type_that_comes_back_can_be_imported() -> None:
    kinds = {kind for operation in operations() for kind in _classes(operation.result)}
    ours = {
        kind for kind in kinds if kind.__module__.startswith("memorist.") and not getattr(kind, "_is_protocol", False)
    }
    assert len(ours) > 20
    homes = {id(getattr(home, name)): name for home in (memorist, memorist.types) for name in home.__all__}
    # The groups are reached through a memory, and made by nobody.
    hidden = {kind.__name__ for kind in ours if id(kind) not in homes and kind not in groups().values()}
    assert hidden == set()


def _classes(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _classes(inner)


def test_what_users_plug_in_can_be_imported() -> None:
    for name in ("Embedder", "Reranker", "Model", "TokenCounter", "Clock", "Store", "Policy"):
        assert name in (*memorist.__all__, *memorist.types.__all__)


def test_python_dash_m_runs_the_command_line() -> None:
    process = subprocess.run([sys.executable, "-m", "memorist", "--help"], capture_output=True, text=True)
    assert process.returncode == 0 and "Usage: memorist" in process.stdout
