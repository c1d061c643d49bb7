"""Every store there is, each named as a user would name it: by a URL, or by two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from memorist import Memory
from memorist.stores.memory import MemoryStore
from memorist.testing import FakeClock
from tests.servers.postgres import Postgres
from tests.servers.redis import RedisServer, start_redis

STORES = ("memory", "sqlite", "postgres", "redis", "redis-cluster", "redis-before-sqlite", "redis-before-postgres")

Options = dict[str, Any]
Place = Callable[[str], Options]
OpenOn = Callable[..., Memory]


@pytest.fixture(scope="session")
def hot_server() -> Iterator[RedisServer]:
    """A Redis that keeps nothing: the hot side of two tiers."""
    server = start_redis(aof="no")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def other_database(postgres_server: Postgres) -> str:
    """A second database, so that two stores on one server can each have an org of the same name."""
    name = f"t{uuid4().hex[:12]}"
    with psycopg.connect(postgres_server.url_for(database="postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')  # pyright: ignore[reportArgumentType, reportCallIssue]
    return postgres_server.url_for(database=name)


@pytest.fixture
def store_options(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """What a memory on a store is opened with; the same within one test."""
    known_options: dict[str, Options] = {}

    def url_of(fixture: str) -> str:
        return str(request.getfixturevalue(fixture).url)

    def options(name: str) -> Options:
        if name == "memory":
            return {"url": MemoryStore()}
        if name == "sqlite":
            return {"url": tmp_path / "sqlite.db"}
        if name == "redis-before-sqlite":
            return {"url": tmp_path / "tiered.db", "hot": url_of("hot_server")}
        if name == "redis-before-postgres":
            return {"url": request.getfixturevalue("other_database"), "hot": url_of("hot_server")}
        return {"url": url_of({"redis-cluster": "redis_cluster"}.get(name, f"{name}_server"))}

    def find(name: str) -> Options:
        if name not in known_options:
            known_options[name] = options(name)
        return known_options[name]

    return find


@pytest.fixture
def open_on(store_options: Place, clock: FakeClock) -> Iterator[OpenOn]:
    """Opens a memory on a named store, closed after the test."""
    with ExitStack() as opened:

        def make(name: str, **more: Any) -> Memory:
            settings: Options = {**store_options(name), "clock": clock, "worker": False, "counter": "estimate", **more}
            return opened.enter_context(Memory(**settings))

        yield make
