"""The reference store passes the suite it defines."""

import pytest

from memorist.stores.memory import MemoryStore
from memorist_testing.stores import MakeStore, StoreConformance


class TestMemoryStore(StoreConformance):
    @pytest.fixture
    def make_store(self) -> MakeStore:
        store = MemoryStore()
        return lambda runtime: store
