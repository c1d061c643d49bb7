"""The SQLite store passes the suite."""

from pathlib import Path

import pytest

from memorist.stores.sqlite import SqliteStore
from memorist_testing.stores import MakeStore, StoreConformance


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> MakeStore:
        return lambda runtime: SqliteStore(str(tmp_path / "store.db"), runtime=runtime)
