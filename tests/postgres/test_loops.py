"""One memory in several event loops, threads and processes: each call returns, and nobody breaks the pool of others."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from memorist import AsyncMemory
from memorist.errors import StoreTimeout
from memorist.loop_runtime import AsyncRuntime
from memorist.messages.message import Message
from memorist.records import StateEntry, Thread
from memorist.stores.base import Increment, Put, Scan
from memorist.stores.postgres import PostgresStore
from memorist_testing.samples import NOW, append, entry, thread
from tests.postgres.turns import proxied
from tests.servers.postgres import Postgres
from tests.servers.redis import wait_for

CALLS = 200
WAIT_SECONDS = 20.0
"""A call that has not returned by then hangs."""


@pytest.fixture
def org() -> str:
    return f"o{uuid4().hex[:10]}"


def in_threads(*works: Callable[[], Awaitable[Any]]) -> None:
    """Run each in a loop and a thread of its own, at the same time; all must end."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(works))

    def run(work: Callable[[], Awaitable[Any]]) -> None:
        async def whole() -> None:
            await asyncio.wait_for(work(), WAIT_SECONDS)

        try:
            start.wait()
            asyncio.run(whole())
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=[work], daemon=True) for work in works]
    for worker in threads:
        worker.start()
    for worker in threads:
        worker.join(WAIT_SECONDS + 10)
    assert not any(worker.is_alive() for worker in threads), "a loop never ended"
    assert failures == []


@pytest.mark.parametrize("pool_size", [1, 10])
def test_two_loops_read_and_write_through_one_memory(postgres_url: str, org: str, pool_size: int) -> None:
    url = f"{postgres_url}?memorist_pool_size={pool_size}"
    memory = AsyncMemory(url, org=org, worker=False, embedder=None)

    def work(name: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            async def call(number: int) -> None:
                if number % 4 == 0:
                    await memory.state.increment("n")
                elif number % 4 == 1:
                    await memory.threads.append(f"t-{name}", f"message {number}", create="global")
                elif number % 4 == 2:
                    assert (await memory.state.get("never")) is None
                else:
                    await memory.facts.list("global")

            await asyncio.gather(*(call(number) for number in range(CALLS)))

        return run

    in_threads(work("a"), work("b"))

    async def check() -> None:
        state = await memory.state.get("n")
        assert state == CALLS // 2
        for name in "ab":
            assert len(await memory.threads.messages(f"t-{name}")) == CALLS // 4
        await memory.close()

    asyncio.run(check())


def test_a_loop_that_was_closed_is_followed_by_another_while_a_third_runs(postgres_url: str, org: str) -> None:
    store = PostgresStore(postgres_url, runtime=AsyncRuntime(), pool_size=2)
    stop = threading.Event()

    async def steady() -> None:
        await store.open()
        while not stop.is_set():
            await asyncio.gather(*(store.apply([Increment(entry(org, "steady", 1))], now=NOW) for _ in range(5)))

    def short_lived() -> None:
        async def work() -> None:
            await asyncio.gather(*(store.apply([Increment(entry(org, "short", 1))], now=NOW) for _ in range(5)))

        for _ in range(10):
            asyncio.run(work())

    async def others() -> None:
        try:
            await asyncio.to_thread(short_lived)
        finally:
            stop.set()

    asyncio.run(store.open())
    in_threads(steady, others)
    row = asyncio.run(store.get(StateEntry, (org, "global", "short"), now=NOW))
    asyncio.run(store.close())
    assert row is not None and row.value == 50


def test_loops_that_ended_leave_no_connections(
    new_database: Callable[[], str], org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An attempt to connect that ended with its loop is logged, and whoever keeps that record keeps the connection.
    monkeypatch.setattr(logging.getLogger("psycopg.pool"), "disabled", True)
    url = new_database()
    store = PostgresStore(url, runtime=AsyncRuntime(), pool_size=3)

    async def work() -> None:
        await store.open()
        await asyncio.gather(*(store.apply([Increment(entry(org, "n", 1))], now=NOW) for _ in range(6)))

    for _ in range(6):
        asyncio.run(work())
    with psycopg.connect(url, autocommit=True) as connection:
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        counts: list[Any] = []

        def few() -> bool:
            gc.collect()  # the connection of such an attempt is part of a reference cycle
            counts[:] = connection.execute(others).fetchone() or []
            return bool(counts[0] <= 3)

        # Each loop that ended takes its connections along; the server needs a moment to notice.
        wait_for(few, lambda: f"{counts} connections are left", WAIT_SECONDS)
    asyncio.run(store.close())


def test_a_pool_whose_loop_ends_just_as_it_has_work_ends_too(postgres_url: str, org: str) -> None:
    store = PostgresStore(postgres_url, runtime=AsyncRuntime(), pool_size=1)

    async def nothing() -> None: ...

    async def leave(pauses: int) -> None:
        await store.open()
        await store.get(Thread, (org, "t"), now=NOW)
        client = store._session.pools._homes.peek()
        assert client is not None
        await client._pool._sched.enter(60, nothing)
        # `asyncio.run` cancels the tasks of the pool, and waits for them.
        for _ in range(pauses):
            await asyncio.sleep(0)

    def many() -> None:
        for pauses in range(5):
            asyncio.run(leave(pauses))

    thread = threading.Thread(target=many, daemon=True)
    thread.start()
    thread.join(WAIT_SECONDS)
    assert not thread.is_alive(), "a loop waits for a task of the pool"
    asyncio.run(store.close())


def test_a_child_forked_while_a_loop_runs_has_a_pool_of_its_own(postgres_url: str, org: str) -> None:
    store = PostgresStore(postgres_url, runtime=AsyncRuntime(), pool_size=2)

    async def many() -> None:
        await asyncio.gather(*(store.apply([Increment(entry(org, "n", 1))], now=NOW) for _ in range(20)))

    async def parent() -> None:
        await store.open()
        await many()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                # The child has a copy of the running loop, and must not touch it: a new thread has none.
                runner = threading.Thread(target=lambda: asyncio.run(many()))
                runner.start()
                runner.join(WAIT_SECONDS)
                status = int(runner.is_alive())
            finally:
                os._exit(status)
        await many()
        _, status = await asyncio.to_thread(os.waitpid, pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        await many()
        row = await store.get(StateEntry, (org, "global", "n"), now=NOW)
        assert row is not None and row.value == 80
        await store.close()

    asyncio.run(parent())


def test_cancelled_calls_of_one_loop_leave_the_pool_usable(postgres_url: str, org: str) -> None:
    store = PostgresStore(postgres_url, runtime=AsyncRuntime(), pool_size=2)

    async def cancelling() -> None:
        await store.open()
        await store.apply([Put(thread(org))], now=NOW)
        for number in range(60):
            tasks = [asyncio.ensure_future(store.apply([append(org, f"{number}")], now=NOW)) for _ in range(5)]
            for _ in range(number % 15):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(store.get(Thread, (org, "t"), now=NOW) for _ in range(10)))
        rows = await store.scan(Scan(Message, (org, "t")), now=NOW)
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))

    async def steady() -> None:
        for _ in range(100):
            await store.apply([Increment(entry(org, "n", 1))], now=NOW)

    in_threads(cancelling, steady)
    asyncio.run(store.close())


def test_a_server_that_stops_answering_ends_the_call(postgres_server: Postgres, org: str) -> None:
    async def work() -> None:
        with proxied(postgres_server.port) as proxy:
            url = postgres_server.url.replace(f":{postgres_server.port}/", f":{proxy.port}/")
            store = PostgresStore(
                url, runtime=AsyncRuntime(), pool_size=1, statement_timeout=0.5, lock_timeout=0.5, connect_timeout=1
            )
            await store.open()
            proxy.mode = "silent"
            with pytest.raises(StoreTimeout):
                await asyncio.wait_for(store.get(Thread, (org, "t"), now=NOW), WAIT_SECONDS)
            proxy.mode = "pass"
            assert await store.get(Thread, (org, "t"), now=NOW) is None
            await store.close()

    asyncio.run(work())


def test_a_call_that_is_cancelled_as_it_gets_a_connection_ends_cancelled(postgres_url: str, org: str) -> None:
    store = PostgresStore(postgres_url, runtime=AsyncRuntime(), pool_size=1)

    async def work() -> None:
        await store.open()
        for pauses in range(8):
            first = asyncio.ensure_future(store.get(Thread, (org, "t"), now=NOW))
            second = asyncio.ensure_future(store.get(Thread, (org, "t"), now=NOW))
            await first  # hands the only connection to the second call
            for _ in range(pauses % 4):
                await asyncio.sleep(0)
            if second.cancel():
                with pytest.raises(asyncio.CancelledError):
                    await second
        await store.close()

    asyncio.run(work())
