"""Shared by all tests: the public plugin, and real servers that the session starts for itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["memorist_testing.plugin", "memorist.checking.plugin"]

# `make test` gives the same verdict on the same code: Hypothesis takes the same examples each time, and how long one
# takes on a busy machine is no failure. The soak looks for new ones.
settings.register_profile("test", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("soak" if os.environ.get("MEMORIST_SOAK") else "test")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """A Postgres with pgvector, its schema in place."""
    from memorist.runtime import BlockingRuntime, run_blocking
    from memorist.stores.postgres import PostgresStore
    from tests.servers.postgres import start_postgres

    server = start_postgres()
    store = PostgresStore(server.url, runtime=BlockingRuntime())
    run_blocking(store.open())
    run_blocking(store.close())
    yield server
    server.stop()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Any]:
    """A Redis or Valkey that syncs every write."""
    from tests.servers.redis import start_redis

    server = start_redis()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[Any]:
    """A cluster of three masters."""
    from tests.servers.redis import start_redis_cluster

    cluster = start_redis_cluster()
    yield cluster
    cluster.stop()
