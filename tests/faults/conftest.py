"""For the tests that break things."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.places import KEPT, PlaceOn, place_named
from tests.servers.redis import RedisCluster, RedisServer, start_redis, start_redis_cluster


@pytest.fixture
def ram_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in RAM where there is one: these tests model the disk themselves, and real syncs would only be slow."""
    shm = Path("/dev/shm")
    if not shm.is_dir():
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="memorist-", dir=shm))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def kept_redis() -> Iterator[RedisServer]:
    """A Redis that keeps snapshots and an append-only file."""
    server = start_redis(options=KEPT)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def kept_cluster() -> Iterator[RedisCluster]:
    """A cluster whose nodes keep both too."""
    cluster = start_redis_cluster()
    for node in cluster.nodes:
        with node.client() as client:
            for name, value in KEPT.items():
                client.config_set(name, value)
    yield cluster
    cluster.stop()


@pytest.fixture
def place_on(request: pytest.FixtureRequest, tmp_path: Path, org: str) -> PlaceOn:
    """The place of a store by its name."""

    def server(durable: str) -> Any:
        return request.getfixturevalue("kept_cluster" if durable == "redis-cluster" else "kept_redis")

    return lambda name: place_named(name, org, tmp_path, lambda: request.getfixturevalue("postgres_server"), server)
