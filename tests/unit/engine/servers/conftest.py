"""The same tests on servers; stepped alone, as what differs between the two ways is not the engine's."""

from collections.abc import Iterator

import pytest

from memorist.runtime import BlockingRuntime, Runtime, run_blocking
from memorist.stores.base import Store
from memorist.stores.postgres import PostgresStore
from memorist.stores.redis import RedisStore


@pytest.fixture
def runtime() -> Runtime:
    return BlockingRuntime()


@pytest.fixture(params=["postgres", "redis"])
def store(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[Store]:
    server = request.getfixturevalue(f"{request.param}_server")
    kind = PostgresStore if request.param == "postgres" else RedisStore
    opened: Store = kind(server.url, runtime=runtime)
    run_blocking(opened.open())
    yield opened
    run_blocking(opened.close())
