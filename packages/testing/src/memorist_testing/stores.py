"""Provides the conformance suite for stores, which runs awaited and stepped.

    class TestMine(StoreConformance):
        @pytest.fixture
        def make_store(self, tmp_path):
            return lambda runtime: MyStore(tmp_path / "file", runtime=runtime)

Stores created in one test see the same rows. Each test has its own org, so that tests can share a server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from memorist.records import StateEntry
from memorist.runtime import Runtime
from memorist.stores.base import Put, Store

from .plugin import Run
from .samples import NOW, entry
from .suite.appends import Appends
from .suite.claims import ClaimTests
from .suite.concurrency import Concurrency
from .suite.expiry import Expiry
from .suite.filtering import Filtering
from .suite.inputs import Inputs
from .suite.isolation import Isolation
from .suite.reads import Reads
from .suite.writes import Writes

MakeStore = Callable[[Runtime], Store]


class StoreConformance(Reads, Filtering, Writes, Appends, Expiry, ClaimTests, Inputs, Isolation, Concurrency):
    """Tests every promise of the Store protocol. A subclass provides `make_store`."""

    @pytest.fixture
    def make_store(self) -> MakeStore:
        """Return a function that accepts a runtime and returns a store that is not open yet."""
        raise NotImplementedError("give the suite a make_store fixture")

    @pytest.fixture
    def store(self, make_store: MakeStore, runtime: Runtime, run: Run) -> Iterator[Store]:
        """Return an open store."""
        store = make_store(runtime)
        run(store.open())
        yield store
        run(store.close())

    async def test_opening_again_keeps_what_is_there(self, store: Store, org: str) -> None:
        await store.apply([Put(entry(org))], now=NOW)
        await store.open()
        assert await store.get(StateEntry, (org, "global", "k"), now=NOW) is not None

    async def test_a_store_says_its_name(self, store: Store) -> None:
        assert store.name
