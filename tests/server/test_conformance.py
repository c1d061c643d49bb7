"""The memory suite over HTTP: the same tests as for a file, with a server between, blocking and awaited."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from memorist import AsyncMemory, Memory
from memorist.errors import Forbidden
from memorist.runtime import Runtime
from memorist.testing.clock import FakeClock
from memorist_testing.facades import awaited
from memorist_testing.memories import MemoryConformance, OpenMemory
from memorist_testing.plugin import Run
from memorist_testing.suite.busy import BusyTests
from memorist_testing.suite.forgetting import ForgettingTests

from .running import Running, running


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
            server.memory._core.shared.parts.record_bytes = options.get("record_bytes")
            made = Memory(server.url, api_key=key) if runtime.blocking else AsyncMemory(server.url, api_key=key)
            opened.append(awaited(made) if isinstance(made, Memory) else made)
            return opened[-1]

        yield make
        for memory in opened:
            run(memory.close())
        server.clock = None
        server.memory._core.shared.parts.record_bytes = None

    async def test_a_rejected_value_does_not_come_back_from_a_derivation(  # type: ignore[override]
        self, memory: Any, open_memory: OpenMemory
    ) -> None:
        """As for a file, but the actor is the key's: a request cannot name another."""
        await memory.facts.set("user:ada", "home", "Rome", source="t#1")
        await memory.facts.reject("user:ada", "home", reason="never said")
        with pytest.raises(Forbidden):
            await memory.scope(actor="processor").facts.set("user:ada", "home", "Rome", source="t#1")
        derived = open_memory(actor="processor")
        await derived.facts.set("user:ada", "home", "Rome", source="t#1")
        assert await memory.facts.get("user:ada", "home") is None
        await derived.facts.set("user:ada", "home", "Oslo", source="t#2")
        assert (await memory.facts.get("user:ada", "home")).value == "Oslo"

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


for _name in [name for tests in (ForgettingTests, BusyTests) for name in vars(tests) if name.startswith("test_")]:
    # They look into the store behind the memory and change the actor, which a client cannot; `tests/conformance` runs
    # them on every store.
    setattr(OverHttp, _name, None)


@pytest.fixture(scope="module")
def over_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("http") / "memory.db") as made:
        yield made


@pytest.fixture(scope="module")
def over_postgres(postgres_server: Any) -> Iterator[Running]:
    with running(postgres_server.url) as made:
        yield made


@pytest.fixture(scope="module")
def over_redis(redis_server: Any) -> Iterator[Running]:
    with running(redis_server.url) as made:
        yield made


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
