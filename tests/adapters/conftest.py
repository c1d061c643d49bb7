"""A memory for each test, on every store that an adapter promises to work on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from memorist import Memory
from memorist.testing import FakeClock

OpenMemory = Callable[..., Memory]
STORES = ("memory", "sqlite", "postgres", "redis")


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """What a memory is opened with."""
    if request.param == "memory":
        return "memory://"
    if request.param == "sqlite":
        return tmp_path / "memory.db"
    return request.getfixturevalue(f"{request.param}_server").url


@pytest.fixture
def open_memory(url: Any, clock: FakeClock) -> Iterator[OpenMemory]:
    """Opens memories of this test's own org, closed after it."""
    opened: list[Memory] = []
    org = f"org-{uuid4().hex[:12]}"

    def make(**options: Any) -> Memory:
        settings: dict[str, Any] = {"embedder": None, "extract": None, "worker": False, "org": org, "clock": clock}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened.append(Memory(url, **{**settings, **options}))
        return opened[-1]

    yield make
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    """One of them, without vectors."""
    return open_memory()
