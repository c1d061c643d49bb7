"""Provides the conformance suite for the two facades, on every store.

    class TestMine(MemoryConformance):
        @pytest.fixture
        def url(self, tmp_path):
            return tmp_path / "memory.db"

Tests are written for `AsyncMemory`. When they run stepped, the same calls go to a blocking `Memory`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memorist.blocking.memory import Memory
from memorist.memory import AsyncMemory
from memorist.runtime import Runtime
from memorist.stores.base import Scan
from memorist.testing.clock import FakeClock

from .facades import awaited
from .plugin import Run
from .suite.batches import BatchTests
from .suite.busy import BusyTests
from .suite.calling import CallingTests
from .suite.closing import ClosingTests
from .suite.encryption import EncryptionTests
from .suite.facts import FactTests
from .suite.finding import FindingTests
from .suite.floor import FloorTests
from .suite.forgetting import ForgettingTests
from .suite.gate import DerivedGateTests, GateTests
from .suite.importing import ImportTests
from .suite.memories import MemoryViewTests
from .suite.nouns import NounTests
from .suite.parts import PartTests
from .suite.past import PastTests
from .suite.records import RecordTests
from .suite.reindexing import ReindexingTests
from .suite.scopes import ScopeTests
from .suite.sessions import SessionTests
from .suite.state import StateTests
from .suite.statements import StatementTests
from .suite.statistics import StatisticsTests
from .suite.thread_edits import ThreadEditTests
from .suite.thread_programs import ThreadProgramTests
from .suite.threads import ThreadTests
from .suite.watches import WatchTests

OpenMemory = Callable[..., Any]


class MemoryConformance(
    FactTests,
    ThreadTests,
    ThreadEditTests,
    ThreadProgramTests,
    StateTests,
    RecordTests,
    MemoryViewTests,
    NounTests,
    FindingTests,
    FloorTests,
    StatementTests,
    BusyTests,
    PartTests,
    PastTests,
    ReindexingTests,
    SessionTests,
    ForgettingTests,
    GateTests,
    DerivedGateTests,
    EncryptionTests,
    ScopeTests,
    WatchTests,
    ImportTests,
    CallingTests,
    BatchTests,
    StatisticsTests,
    ClosingTests,
):
    """Tests every promise of the public API. A subclass provides `url`."""

    @pytest.fixture
    def url(self) -> Any:
        """Return the URL to open memories with. All memories opened in one test see the same rows."""
        raise NotImplementedError("give the suite a url fixture")

    @pytest.fixture
    def hot(self) -> Any:
        """Return the hot store in front of it, if there is one."""
        return None

    @pytest.fixture
    def open_memory(
        self, url: Any, hot: Any, runtime: Runtime, run: Run, org: str, clock: FakeClock
    ) -> Iterator[OpenMemory]:
        """Return a function that opens memories with this test's org and clock. They are closed after the test."""
        opened: list[Any] = []

        def make(**options: Any) -> Any:
            quiet = {"embedder": None, "counter": "estimate", "worker": False, "extract": None}
            settings: dict[str, Any] = {"org": org, "clock": clock, "hot": hot, **quiet, **options}
            opened.append(awaited(Memory(url, **settings)) if runtime.blocking else AsyncMemory(url, **settings))
            return opened[-1]

        yield make
        for memory in opened:
            run(memory.close())

    @pytest.fixture
    def memory(self, open_memory: OpenMemory) -> Any:
        """Return a handle on the whole org."""
        return open_memory()

    @pytest.fixture
    def store_below(self, memory: Any) -> Any:
        """Return the store under the handle, for tests that count its reads or commits."""
        return memory._core.store

    @pytest.fixture
    def scan_table(self, memory: Any) -> Any:
        """Return a function that reads the rows of a table in this test's org, including expired ones."""
        core = memory._core

        async def scan(record_type: Any) -> Any:
            await core.shared.open()  # a memory that was never opened leaves the connections of its store open
            return await core.store.scan(Scan(record_type, (core.org,)), now=0)

        return scan
