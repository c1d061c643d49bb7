"""The memory suite over HTTP: the same tests as for a file, with a server between, blocking and awaited."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from memorist import AsyncMemory, Memory
from memorist.errors import Forbidden
from memorist.runtime import Runtime
from memorist.stores.base import Scan
from memorist.testing.clock import FakeClock
from memorist_testing.facades import awaited
from memorist_testing.memories import MemoryConformance, OpenMemory
from memorist_testing.plugin import Run
from memorist_testing.suite.busy import BusyTests
from memorist_testing.suite.encryption import EncryptionTests
from memorist_testing.suite.gate import DerivedGateTests

from .running import Running, running


def _set_server_options(server: Running, options: dict[str, Any]) -> None:
    """Give a server that runs the options that a test opens its memory with, since a client cannot choose them."""
    shared = server.memory._core.shared
    shared.parts.record_bytes = options.get("record_bytes")
    shared.parts.extract = options.get("extract")


class OverHttp(MemoryConformance):
    """A subclass gives `server`."""

    @pytest.fixture
    def open_memory(  # type: ignore[override]  # the url and its options are the server's
        self, server: Running, runtime: Runtime, run: Run, org: str, clock: FakeClock
    ) -> Iterator[OpenMemory]:
        opened: list[Any] = []
        server.clock = clock

        def make(**options: Any) -> Any:
            who = {"org": org, **options}
            key = server.key(**{name: who[name] for name in ("org", "user", "actor", "read", "write") if name in who})
            _set_server_options(server, options)
            client = Memory(server.url, api_key=key) if runtime.blocking else AsyncMemory(server.url, api_key=key)
            opened.append(awaited(client) if isinstance(client, Memory) else client)
            return opened[-1]

        yield make
        for memory in opened:
            run(memory.close())
        server.clock = None
        _set_server_options(server, {})

    @pytest.fixture
    def store_below(self, memory: Any, server: Running) -> Any:
        return server.memory._core.store

    @pytest.fixture
    def scan_table(self, memory: Any, server: Running, org: str) -> Any:
        async def scan(record_type: Any) -> Any:
            rows = server.memory._core.store.scan(Scan(record_type, (org,)), now=0)
            assert server.loop is not None
            # The store belongs to the server's loop, which runs in another thread.
            return asyncio.run_coroutine_threadsafe(rows, server.loop).result(30)

        return scan

    async def test_a_request_cannot_name_another_actor_than_its_key(self, memory: Any) -> None:
        with pytest.raises(Forbidden):
            await memory.scope(actor="processor").facts.set("user:ada", "home", "Rome", source="t#1")

    async def test_abandoned_uploads_are_collected(self, memory: Any, clock: FakeClock) -> None:
        """A batch that is given up sent nothing: there is nothing to collect."""
        with pytest.raises(ZeroDivisionError):
            async with memory.batch() as batch:
                await batch.records.put("user:ada", ("k",), b"x" * 600_000)
                raise ZeroDivisionError
        assert await memory.records.get("user:ada", ("k",)) is None
        clock.advance(3601)
        await memory.process("gc")  # what other tests left
        (report,) = await memory.process("gc")
        assert report.counts.get("uploads") is None


_LOCAL = (BusyTests, EncryptionTests, DerivedGateTests)
for _name in [name for tests in _LOCAL for name in vars(tests) if name.startswith("test_")]:
    # They write between two commits of the store, have its keys or derive, which the server does; `tests/conformance`
    # runs them on every store.
    setattr(OverHttp, _name, None)
for _name in (
    "test_a_context_costs_the_same_however_many_users_there_are",
    # It ages entries and sweeps in the store itself.
    "test_private_words_are_in_no_index_after_a_rebuild_either",
    # A client has no handle over all orgs: see `test_tenants`.
    "test_a_handle_on_one_of_all_orgs_neither_rewrites_nor_sees_what_belongs_to_all",
):
    setattr(OverHttp, _name, None)


@pytest.fixture(scope="module")
def over_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("http") / "memory.db") as started:
        yield started


@pytest.fixture(scope="module")
def over_postgres(postgres_server: Any) -> Iterator[Running]:
    with running(postgres_server.url) as started:
        yield started


@pytest.fixture(scope="module")
def over_redis(redis_server: Any) -> Iterator[Running]:
    with running(redis_server.url) as started:
        yield started


class TestOverHttpOnSqlite(OverHttp):
    @pytest.fixture
    def server(self, over_sqlite: Running) -> Running:
        return over_sqlite


# What stands below a server is tested by itself in every run; through HTTP it takes four minutes more: `make soak`.
if os.environ.get("MEMORIST_SOAK"):

    class TestOverHttpOnPostgres(OverHttp):
        @pytest.fixture
        def server(self, over_postgres: Running) -> Running:
            return over_postgres

    class TestOverHttpOnRedis(OverHttp):
        @pytest.fixture
        def server(self, over_redis: Running) -> Running:
            return over_redis
