"""Both facades pass the suite, on the stores that need no server."""

from pathlib import Path
from typing import Any

import pytest

from memorist.stores.memory import MemoryStore
from memorist_testing.memories import MemoryConformance


class TestMemoryInRam(MemoryConformance):
    @pytest.fixture
    def url(self) -> Any:
        return MemoryStore()


class TestMemoryOnSqlite(MemoryConformance):
    @pytest.fixture
    def url(self, tmp_path: Path) -> Any:
        return tmp_path / "memory.db"
