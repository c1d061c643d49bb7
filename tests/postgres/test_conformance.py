"""Postgres keeps every promise of the Store protocol, and answers as the reference store does."""

import pytest

from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.memory import MemoryStore
from memorist.stores.postgres import PostgresStore
from memorist_testing import StoreConformance
from memorist_testing.properties import StoreProperties, difference
from memorist_testing.stores import MakeStore


class TestPostgres(StoreConformance):
    @pytest.fixture
    def make_store(self, postgres_url: str) -> MakeStore:
        return lambda runtime: PostgresStore(postgres_url, runtime=runtime)


class TestPostgresProperties(StoreProperties):
    @pytest.fixture
    def make_store(self, postgres_url: str) -> MakeStore:
        return lambda runtime: PostgresStore(postgres_url, runtime=runtime)


def test_without_prepared_statements_answers_are_the_same(postgres_url: str) -> None:
    store = PostgresStore(f"{postgres_url}?memorist_prepare=off", runtime=BlockingRuntime())
    run_blocking(store.open())
    reference = MemoryStore()
    for seed in range(1000, 1040):
        assert difference(store, reference, run_blocking, seed, range(40)) is None
    run_blocking(store.close())
