"""A memory on every store, blocking and awaited, over a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memorist import AsyncMemory, Memory
from memorist.runtime import Runtime
from memorist.stores.memory import MemoryStore
from memorist.testing import FakeClock
from memorist_testing.plugin import Run

STORES = ("memory", "sqlite", "postgres", "redis", "cluster", "tiered")
OpenMemory = Callable[..., Any]


class Place(NamedTuple):
    """Where a memory is kept."""

    url: Any
    hot: Any = None


@pytest.fixture(params=STORES)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "memory":
        return Place(MemoryStore())
    if request.param == "sqlite":
        return Place(tmp_path / "memory.db")
    if request.param == "tiered":
        return Place(tmp_path / "memory.db", request.getfixturevalue("redis_server").url)
    servers = {"postgres": "postgres_server", "redis": "redis_server", "cluster": "redis_cluster"}
    return Place(request.getfixturevalue(servers[request.param]).url)


@pytest.fixture
def open_memory(location: Place, runtime: Runtime, run: Run, org: str, clock: FakeClock) -> Iterator[OpenMemory]:
    """Opens memories over this test's rows, closed after it."""
    opened: list[Any] = []

    def make(**options: Any) -> Any:
        quiet = {"embedder": None, "counter": "estimate", "worker": False}
        settings: dict[str, Any] = {"org": org, "clock": clock, "hot": location.hot, **quiet, **options}
        opened.append((Memory if runtime.blocking else AsyncMemory)(location.url, **settings))
        return opened[-1]

    async def close(memory: Any) -> None:
        await do(memory.close())

    yield make
    for memory in opened:
        run(close(memory))


@pytest.fixture
def memory(open_memory: OpenMemory) -> Any:
    """One handle on the whole org; nothing is derived until the test says so."""
    return open_memory()


async def do(value: Any) -> Any:
    """What either facade answered: awaited where it must be."""
    return await value if hasattr(value, "__await__") else value
