"""Damaged sources of every kind: a clear error and nothing imported, or all that can come in, the same every time.

MEMORIST_SOAK=1 pytest tests/importing/test_fuzz.py     10,000 for each source
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from memorist import MemoristError, Memory
from memorist.importing.pickles import point
from memorist.stores.memory import MemoryStore

from .conftest import DATA
from .damage import damaged
from .written import SOURCES

REAL = {
    "agents.db": "openai-agents",
    "agents-branches.db": "openai-agents",
    "langgraph-saver.db": "langgraph",
    "langgraph-store.db": "langgraph",
    "mem0": "mem0",
    "mem0-export.json": "mem0",
}
MANY = int(os.environ.get("MEMORIST_FUZZ", "0")) or (10_000 if os.environ.get("MEMORIST_SOAK") else 40)
QUIET: dict[str, Any] = {"embedder": None, "counter": "estimate", "worker": False, "extract": None}
_watching: list[set[str]] = []


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _watching and event in ("subprocess.Popen", "os.system", "os.exec", "os.remove", "os.rename", "socket.connect"):
        _watching[-1].add(event)


sys.addaudithook(_audit)


@pytest.fixture
def executed() -> Iterator[set[str]]:
    """What was run, removed or connected to while a source was read."""
    _watching.append(set())
    yield _watching[-1]
    _watching.pop()


@pytest.mark.parametrize("name", [*SOURCES, *REAL])
def test_damage_is_told_clearly_or_does_no_harm(tmp_path: Path, name: str, executed: set[str]) -> None:
    if name in REAL:
        kind, source = REAL[name], DATA / name
    else:
        kind, make, _ = SOURCES[name]
        source = make(tmp_path)
    errors = 0
    for seed in range(MANY):
        with TemporaryDirectory() as folder, Memory(MemoryStore(), **QUIET) as memory:
            errors += _imported(memory, damaged(source, Path(folder), seed), kind, f"seed {seed}")
    assert executed <= {"os.remove"}  # of the folders made here
    assert errors < MANY


def _imported(memory: Memory, path: Path, kind: str, what: str) -> bool:
    """Import a damaged source; whether it was refused. Either nothing is there then, or what the report says."""
    try:
        report = memory.import_from(path, kind=kind, source=what)
    except MemoristError as error:
        assert str(error) and "\n" not in str(error), what
        assert memory.namespaces() == [], f"{what}: half imported"
        return True
    assert sum(report.added.values()) + sum(report.known.values()) <= sum(report.found.values()), what
    assert all(problem.place and problem.reason for problem in report.problems), what
    again = memory.import_from(path, kind=kind, source=what)
    assert (again.added, again.found, again.failed) == ({}, report.found, report.failed), what
    if memory.namespaces():
        assert memory.forget(source=what).complete, what
    assert memory.namespaces() == [], f"{what}: not undone"
    return False


class _Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/pwned-by-a-pickle",)


@pytest.mark.parametrize("value", [_Evil(), {"a": _Evil()}, print, os.system, [pickle.loads]])
def test_a_pickle_that_calls_anything_is_refused(value: Any, executed: set[str]) -> None:
    with pytest.raises(ValueError, match="names something"):
        point(pickle.dumps(value))
    assert executed == set()
