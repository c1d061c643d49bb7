"""LangGraph's own stores under the public suite: run by test_langgraph_store.py, which knows what they fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from memorist_testing.langgraph_store import BaseStoreConformance, SemanticSearchConformance
from tests.adapters.test_langgraph_store import INDEX


class TestInMemoryStore(BaseStoreConformance):
    @pytest.fixture
    def store(self) -> BaseStore:
        return InMemoryStore()


class TestInMemoryStoreSearched(SemanticSearchConformance):
    @pytest.fixture
    def store(self) -> BaseStore:
        return InMemoryStore(index=INDEX)


class TestSqliteStore(BaseStoreConformance):
    halves = ("plain",)

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[BaseStore]:
        with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
            store.setup()
            yield store
