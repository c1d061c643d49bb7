"""One AsyncMemory used from many threads and event loops: on one server, behind Sentinels, and on a Cluster."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from memorist import AsyncMemory
from memorist.loop_runtime import AsyncRuntime
from memorist.records import StateEntry
from memorist.stores.base import Increment
from memorist.stores.redis import RedisStore
from memorist_testing.samples import NOW, entry
from tests.servers.redis import RedisServer, SentinelService, wait_for

LOOPS, ROUNDS = 4, 40


@pytest.fixture(scope="module")
def sentinel_service() -> Iterator[SentinelService]:
    service = SentinelService(patience_ms=60_000)
    yield service
    service.stop()


@pytest.fixture(params=["redis_server", "sentinel_service", "redis_cluster"])
def servers(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def in_threads(work: Callable[[int], Coroutine[Any, Any, None]], threads: int = LOOPS) -> None:
    """Run a coroutine in several threads at once, each with its own event loop; the first error is raised here."""
    errors: list[BaseException] = []
    start = threading.Barrier(threads)

    def run(number: int) -> None:
        start.wait()
        try:
            asyncio.run(work(number))
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]


def data_nodes(servers: Any) -> list[RedisServer]:
    if isinstance(servers, SentinelService):
        return [*servers.nodes.values(), *servers.sentinels]
    return getattr(servers, "nodes", [servers])


def open_clients(nodes: list[RedisServer]) -> list[tuple[int, int]]:
    """The connections of programs to each node; Sentinels and replicas come and go by themselves."""
    connections = []
    for node in nodes:
        with node.client() as client:
            client_ids = {int(row["id"]) for row in client.client_list(_type="normal") if not row["name"]}
            connections += [(node.port, number) for number in client_ids - {client.client_id()}]
    return sorted(connections)


def test_one_memory_serves_event_loops_in_several_threads(servers: Any) -> None:
    store = RedisStore(servers.url, runtime=AsyncRuntime(), on_risk="ignore")
    converse_in_threads(AsyncMemory(store, org=new_org(), embedder=None, counter="estimate", worker=False))


def test_one_memory_with_a_hot_tier_serves_event_loops_in_several_threads(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"embedder": None, "counter": "estimate", "worker": False, "durability": "normal"}
    converse_in_threads(AsyncMemory(tmp_path / "memory.db", hot=redis_server.url, org=new_org(), **options))


def new_org() -> str:
    return f"o{uuid4().hex[:8]}"


def converse_in_threads(memory: AsyncMemory) -> None:
    """Write and read in several event loops at once; each must read what it wrote."""

    async def converse(number: int) -> None:
        thread = f"t{number}"
        await memory.threads.create("global", id=thread)
        for turn in range(ROUNDS):
            texts = [f"{number} {turn} {part}" for part in range(3)]
            await memory.threads.append(thread, texts[0])
            await asyncio.gather(*(memory.facts.set("global", f"{text}", text) for text in texts))
            [message] = await memory.threads.recent(thread, 1)
            assert message.text == texts[0]
            facts = await asyncio.gather(*(memory.facts.get("global", text) for text in texts))
            assert [fact and fact.value for fact in facts] == texts
            await memory.state.increment("turns")

    in_threads(converse)

    async def check() -> None:
        turns = await memory.state.get("turns")
        assert turns == LOOPS * ROUNDS
        await memory.close()

    asyncio.run(check())


def test_a_loop_that_ended_is_followed_by_others_and_leaves_no_connection(servers: Any, org: str) -> None:
    nodes = data_nodes(servers)
    before = open_clients(nodes)
    store = RedisStore(servers.url, runtime=AsyncRuntime(), on_risk="ignore")

    async def count() -> None:
        await asyncio.gather(*(store.apply([Increment(entry(org))], now=NOW) for _ in range(5)))

    for _ in range(3):
        asyncio.run(count())
        in_threads(lambda _: count(), 2)

    async def close() -> None:
        row = await store.get(StateEntry, (org, "global", "k"), now=NOW)
        assert row is not None and row.value == 45
        await store.close()

    asyncio.run(close())
    wait_for(lambda: open_clients(nodes) == before, lambda: "a loop that ended left a connection", 10)


def test_closing_in_one_loop_closes_the_connections_of_the_others(servers: Any, org: str) -> None:
    nodes = data_nodes(servers)
    before = open_clients(nodes)
    store = RedisStore(servers.url, runtime=AsyncRuntime(), on_risk="ignore")
    used, ended = threading.Event(), threading.Event()

    async def use(number: int) -> None:
        await store.apply([Increment(entry(org))], now=NOW)
        used.set()
        await asyncio.to_thread(ended.wait, 60)

    other = threading.Thread(target=lambda: asyncio.run(use(0)))
    other.start()
    assert used.wait(30)

    async def close() -> None:
        await store.apply([Increment(entry(org))], now=NOW)
        assert len(open_clients(nodes)) > len(before)
        await store.close()

    try:
        asyncio.run(close())
        wait_for(lambda: open_clients(nodes) == before, lambda: "the loop of another thread kept its connection", 10)
    finally:
        ended.set()
        other.join()


def test_calls_cancelled_in_several_loops_spoil_no_connection(servers: Any, org: str) -> None:
    store = RedisStore(servers.url, runtime=AsyncRuntime(), connections=3, on_risk="ignore")

    async def cancel_some(number: int) -> None:
        random_pauses = random.Random(number)
        for turn in range(ROUNDS):
            name = f"{number} {turn}"
            tasks = [asyncio.create_task(store.apply([Increment(entry(org, name))], now=NOW)) for _ in range(4)]
            for _ in range(random_pauses.randrange(12)):
                await asyncio.sleep(0)
            for task in tasks[:2]:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert not any(isinstance(result, BaseException) for result in results[2:]), results
            row = await store.get(StateEntry, (org, "global", name), now=NOW)
            assert row is not None and 2 <= row.value <= 4
            assert max(result[0] for result in results[2:] if isinstance(result, list)) <= row.value

    in_threads(cancel_some, 2)
    asyncio.run(store.close())
