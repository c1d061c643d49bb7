"""Redis, standalone and Cluster, passes the suite and agrees with the reference store."""

import pytest

from memorist.stores.redis import RedisStore
from memorist_testing.properties import StoreProperties
from memorist_testing.stores import MakeStore, StoreConformance
from tests.servers.redis import RedisCluster, RedisServer


class TestStandalone(StoreConformance):
    @pytest.fixture
    def make_store(self, redis_server: RedisServer) -> MakeStore:
        return lambda runtime: RedisStore(redis_server.url, runtime=runtime, on_risk="refuse")


class TestCluster(StoreConformance):
    @pytest.fixture
    def make_store(self, redis_cluster: RedisCluster) -> MakeStore:
        return lambda runtime: RedisStore(redis_cluster.url, runtime=runtime, on_risk="refuse")


class TestStandaloneProperties(StoreProperties):
    @pytest.fixture
    def make_store(self, redis_server: RedisServer) -> MakeStore:
        redis_server.flush()
        return lambda runtime: RedisStore(redis_server.url, runtime=runtime, on_risk="refuse")


class TestClusterProperties(StoreProperties):
    @pytest.fixture
    def make_store(self, redis_cluster: RedisCluster) -> MakeStore:
        redis_cluster.flush()
        return lambda runtime: RedisStore(redis_cluster.url, runtime=runtime, on_risk="refuse")
