"""Both facades pass the suite on Postgres, on Redis, on a Redis Cluster and on two tiers."""

from pathlib import Path
from typing import Any

import pytest

from memorist_testing.memories import MemoryConformance


class TestMemoryOnPostgres(MemoryConformance):
    @pytest.fixture
    def url(self, postgres_server: Any) -> Any:
        return postgres_server.url


class TestMemoryOnRedis(MemoryConformance):
    @pytest.fixture
    def url(self, redis_server: Any) -> Any:
        return redis_server.url


class TestMemoryOnRedisCluster(MemoryConformance):
    @pytest.fixture
    def url(self, redis_cluster: Any) -> Any:
        return redis_cluster.url


class TestMemoryOnTwoTiers(MemoryConformance):
    @pytest.fixture
    def url(self, tmp_path: Path) -> Any:
        return tmp_path / "memory.db"

    @pytest.fixture
    def hot(self, redis_server: Any) -> Any:
        return redis_server.url
