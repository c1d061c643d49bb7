"""SQLite against the reference store."""

from pathlib import Path

import pytest

from memorist.stores.sqlite import SqliteStore
from memorist_testing.properties import StoreProperties
from memorist_testing.stores import MakeStore


class TestSqliteStore(StoreProperties):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> MakeStore:
        return lambda runtime: SqliteStore(str(tmp_path / "store.db"), runtime=runtime, durability="normal")
