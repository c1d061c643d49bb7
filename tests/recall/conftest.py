"""Recall through the public API: every store, both facades, with a small embedder of the tests' own."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memorist import AsyncMemory, Memory
from memorist.runtime import Runtime
from memorist.stores.memory import MemoryStore
from memorist.testing import FakeClock
from memorist_testing.facades import awaited
from memorist_testing.plugin import Run

OpenMemory = Callable[..., Any]


class WordHashes:
    """Texts with the same words have the same vector."""

    def __init__(self, name: str = "word-hashes", dimensions: int = 32) -> None:
        self.name = name
        self.dimensions = dimensions
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls += 1
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.01] * self.dimensions
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(f"{self.name} {word}".encode()) % self.dimensions] += 1.0
        return vector


class Failing(WordHashes):
    """An embedder whose server is away."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise ConnectionError("no one there")


@pytest.fixture(params=["memory", "sqlite", "postgres", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """What a memory under test is opened with; all opened in one test see the same rows."""
    if request.param == "memory":
        return MemoryStore()
    if request.param == "sqlite":
        return tmp_path / "memory.db"
    return request.getfixturevalue(f"{request.param}_server").url


@pytest.fixture
def open_memory(url: Any, runtime: Runtime, run: Run, org: str, clock: FakeClock) -> Iterator[OpenMemory]:
    """Opens memories of this test's org and clock, closed after it."""
    opened: list[Any] = []

    def make(**options: Any) -> Any:
        settings: dict[str, Any] = {
            "org": org, "clock": clock, "embedder": WordHashes(), "counter": "estimate", "worker": False,
            "extract": None, **options,
        }  # fmt: skip
        opened.append(awaited(Memory(url, **settings)) if runtime.blocking else AsyncMemory(url, **settings))
        return opened[-1]

    yield make
    for memory in opened:
        run(memory.close())


@pytest.fixture(params=["embedded", "lexical"])
def memory(open_memory: OpenMemory, request: pytest.FixtureRequest) -> Any:
    """One handle on the whole org, with vectors and without."""
    return open_memory(embedder=WordHashes() if request.param == "embedded" else None)
