"""Servers shared by the tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.servers.redis import RedisCluster, RedisServer, start_redis, start_redis_cluster


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One server that fsyncs every write."""
    server = start_redis()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[RedisCluster]:
    """Three masters that fsync every write."""
    cluster = start_redis_cluster()
    yield cluster
    cluster.stop()
