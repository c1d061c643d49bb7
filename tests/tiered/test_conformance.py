"""A tiered store answers as the reference store does, whatever becomes of its hot side."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers.ports import free_port
from tests.servers.redis import RedisServer, start_redis

from memorist.runtime import Runtime
from memorist.stores.base import Store
from memorist.stores.memory import MemoryStore
from memorist.stores.redis import RedisStore
from memorist.stores.sqlite import SqliteStore
from memorist.stores.tiered import TieredStore
from memorist_testing.properties import StoreProperties
from memorist_testing.stores import MakeStore, StoreConformance


@pytest.fixture(scope="module")
def hot_server() -> Iterator[RedisServer]:
    server = start_redis(aof="no")
    yield server
    server.stop()


@pytest.fixture
def on_redis(hot_server: RedisServer, tmp_path: Path) -> MakeStore:
    def make(runtime: Runtime) -> Store:
        durable = SqliteStore(str(tmp_path / "store.db"), runtime=runtime, durability="normal")
        return TieredStore(durable, RedisStore(hot_server.url, runtime=runtime))

    return make


@pytest.fixture
def on_nothing(tmp_path: Path) -> MakeStore:
    def make(runtime: Runtime) -> Store:
        durable = SqliteStore(str(tmp_path / "store.db"), runtime=runtime, durability="normal")
        return TieredStore(durable, RedisStore(f"redis://127.0.0.1:{free_port()}", runtime=runtime))

    return make


class TestRedisBeforeSqlite(StoreConformance):
    @pytest.fixture
    def make_store(self, on_redis: MakeStore) -> MakeStore:
        return on_redis


class TestHotStoreAway(StoreConformance):
    @pytest.fixture
    def make_store(self, on_nothing: MakeStore) -> MakeStore:
        return on_nothing


class TestRedisBeforeRamProperties(StoreProperties):
    @pytest.fixture
    def make_store(self, hot_server: RedisServer) -> MakeStore:
        hot_server.flush()
        return lambda runtime: TieredStore(MemoryStore(), RedisStore(hot_server.url, runtime=runtime))


class TestRamBeforeRamProperties(StoreProperties):
    @pytest.fixture
    def make_store(self) -> MakeStore:
        return lambda runtime: TieredStore(MemoryStore(), MemoryStore())
