"""Postgres keeps every promise of the Store protocol, and answers as the reference store does."""

import pytest

from recollect.stores.postgres import PostgresStore
from recollect.testing import StoreConformance
from recollect.testing.properties import StoreProperties
from recollect.testing.stores import MakeStore


class TestPostgres(StoreConformance):
    @pytest.fixture
    def make_store(self, postgres_url: str) -> MakeStore:
        return lambda runtime: PostgresStore(postgres_url, runtime=runtime)


class TestPostgresBehindAPooler(StoreConformance):
    @pytest.fixture
    def make_store(self, postgres_url: str) -> MakeStore:
        return lambda runtime: PostgresStore(f"{postgres_url}?recollect_prepare=off", runtime=runtime)


class TestPostgresProperties(StoreProperties):
    @pytest.fixture
    def make_store(self, postgres_url: str) -> MakeStore:
        return lambda runtime: PostgresStore(postgres_url, runtime=runtime)
