"""SQLite against the reference store."""

from pathlib import Path

import pytest

from recollect.stores.sqlite import SqliteStore
from recollect.testing.properties import StoreProperties
from recollect.testing.stores import MakeStore


class TestSqliteStore(StoreProperties):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> MakeStore:
        return lambda runtime: SqliteStore(str(tmp_path / "store.db"), runtime=runtime, durability="normal")
