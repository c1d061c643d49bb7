"""A core on each local store, awaited and stepped, with a clock that stands still."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.engine.core import Core, Shared
from recollect.runtime import Runtime
from recollect.scope import Scope
from recollect.stores.base import Store
from recollect.stores.memory import MemoryStore
from recollect.stores.sqlite import SqliteStore
from recollect.testing import FakeClock
from recollect.testing.plugin import Run


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, runtime: Runtime, run: Run, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore()
    if request.param == "sqlite":
        made = SqliteStore(str(tmp_path / "memory.db"), runtime=runtime, durability="normal")
    run(made.open())
    yield made
    run(made.close())


@pytest.fixture
def core(store: Store, runtime: Runtime, clock: FakeClock) -> Core:
    return Core(Shared(store, runtime, clock), Scope(root=True))


@pytest.fixture
def ada(core: Core) -> Core:
    return core.narrowed(core.scope.narrow(user="ada"))
