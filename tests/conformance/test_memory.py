"""The reference store passes the suite it defines."""

import pytest

from recollect.stores.memory import MemoryStore
from recollect.testing.stores import MakeStore, StoreConformance


class TestMemoryStore(StoreConformance):
    @pytest.fixture
    def make_store(self) -> MakeStore:
        store = MemoryStore()
        return lambda runtime: store
