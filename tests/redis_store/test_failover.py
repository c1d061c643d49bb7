"""Primaries killed under load, behind Sentinels and in a Cluster: `memorist_replicas=1` keeps what it acknowledged.

`MEMORIST_SOAK=1` runs 25 failovers of each kind, `MEMORIST_FAILOVERS=N` so many.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from memorist.errors import StoreUnavailable, UnknownOutcome, UsageError
from memorist.loop_runtime import AsyncRuntime
from memorist.messages.message import Message
from memorist.records import Thread
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Expect, Put, Scan
from memorist.stores.redis import RedisStore
from memorist.stores.redis import store as store_module
from memorist.stores.redis.urls import parse_url
from memorist_testing.samples import NOW, thread
from tests.postgres.test_faults import Writer, append_of
from tests.servers.redis import ClusterOfPairs, Failover, SentinelService, start_redis, wait_for

FAILOVERS = int(os.environ.get("MEMORIST_FAILOVERS") or (25 if os.environ.get("MEMORIST_SOAK") else 1))
ORGS = 3


@pytest.fixture(params=[SentinelService, ClusterOfPairs], ids=["sentinel", "cluster"])
def servers(request: pytest.FixtureRequest) -> Iterator[Failover]:
    running = request.param()
    yield running
    running.stop()


def opened(url: str) -> RedisStore:
    store = RedisStore(url, runtime=BlockingRuntime(), on_risk="ignore", timeout=10.0)
    run_blocking(store.open())
    return store


def texts(store: RedisStore, org: str) -> list[str]:
    messages = run_blocking(store.scan(Scan(Message, (org, "t")), now=NOW))
    assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
    return [message.text for message in messages]


def further(writers: list[Any], before: list[int], more: int) -> bool:
    """Whether each writer has had so many more acknowledged; what ended one is raised here."""
    for writer in writers:
        if writer.failure is not None:
            raise writer.failure
    return all(len(writer.acknowledged) > n + more for writer, n in zip(writers, before, strict=True))


def wait_until(condition: Callable[[], bool]) -> None:
    """A failover takes seconds, and many more on a busy machine."""
    wait_for(condition, lambda: "the writers came to a halt", 240)


def test_a_primary_killed_under_load_loses_nothing_that_was_acknowledged(servers: Failover) -> None:
    store, stop = opened(servers.url), threading.Event()
    orgs = [f"o{uuid4().hex[:8]}" for _ in range(ORGS)]
    for org in orgs:
        run_blocking(store.apply([Put(thread(org))], now=NOW))
    writers: list[Any] = [Writer(store, org, "w", stop) for org in orgs]  # type: ignore[arg-type]
    try:
        for writer in writers:
            writer.start()
        for _ in range(FAILOVERS):
            before = [len(writer.acknowledged) for writer in writers]
            wait_until(lambda at=before: further(writers, at, 5))
            servers.fail_over()
        before = [len(writer.acknowledged) for writer in writers]
        wait_until(lambda: further(writers, before, 0))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert [writer.failure for writer in writers] == [None] * ORGS, "a caller's errors are ours"
    for org, writer in zip(orgs, writers, strict=True):
        written = texts(store, org)
        assert len(set(written)) == len(written), "nothing is there twice"
        assert set(writer.acknowledged) <= set(written), "nothing acknowledged is lost"
    print(f"{type(servers).__name__}: {FAILOVERS} failovers,", end=" ")
    print(f"{sum(len(w.acknowledged) for w in writers)} acknowledged,", end=" ")
    print(f"troubles {sum((w.troubles for w in writers), type(writers[0].troubles)())}")
    run_blocking(store.close())


def test_a_write_that_no_replica_has_is_not_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_MAX_ATTEMPTS", 1)
    service = SentinelService(patience_ms=60_000)
    try:
        store = opened(service.url + "&memorist_replicas_timeout=0.05")
        run_blocking(store.apply([Put(thread("o"))], now=NOW))
        replica = next(node for port, node in service.nodes.items() if port != service.primary())
        replica.pause()
        with pytest.raises(UnknownOutcome, match="0 of 1 replicas"):
            run_blocking(store.apply([append_of("o", "m1", None)], now=NOW))
        # Sent again over another connection it writes nothing, and is still not acknowledged: the replica has neither.
        run_blocking(store.close())
        other = opened(service.url + "&memorist_replicas_timeout=0.05")
        for _ in range(2):
            with pytest.raises(UnknownOutcome, match="0 of 1 replicas"):
                run_blocking(other.apply([append_of("o", "m2", "key")], now=NOW))
        replica.resume()
        wait_until(lambda: _is_acknowledged(other))
        assert texts(other, "o") == ["m1", "m2"]
        run_blocking(other.close())
    finally:
        service.stop()


@pytest.mark.parametrize("blocking", [True, False], ids=["blocking", "async"])
def test_a_primary_that_was_demoted_is_not_asked(blocking: bool) -> None:
    service = SentinelService(patience_ms=60_000)
    runner = asyncio.Runner()
    try:
        runtime: Any = BlockingRuntime() if blocking else AsyncRuntime()
        run: Any = run_blocking if blocking else runner.run
        late = RedisStore(service.url, runtime=runtime, on_risk="ignore", timeout=10.0)
        run(late.apply([Put(thread("o"))], now=NOW))
        before = service.primary()
        with service.sentinels[0].client() as client:
            client.execute_command("SENTINEL", "FAILOVER", service.service)
        wait_until(lambda: service.primary() != before and service._knows_all())
        store = opened(service.url)
        # The replica that the old primary becomes is busy with its first copy for a while.
        wait_until(lambda: _appended(store, "m1"))
        assert texts(store, "o") == ["m1"]
        rows = run(late.scan(Scan(Message, ("o", "t")), now=NOW))
        assert [row.text for row in rows] == ["m1"]
        run(late.apply([append_of("o", "m2", "other")], now=NOW))
        assert texts(store, "o") == ["m1", "m2"]
        run(late.close())
        run_blocking(store.close())
    finally:
        runner.close()
        service.stop()


@pytest.mark.parametrize("blocking", [True, False], ids=["blocking", "async"])
def test_a_replica_that_the_sentinels_still_take_for_the_primary_is_not_asked(blocking: bool) -> None:
    service = SentinelService(patience_ms=60_000)
    runner = asyncio.Runner()
    try:
        runtime: Any = BlockingRuntime() if blocking else AsyncRuntime()
        run: Any = run_blocking if blocking else runner.run
        late = RedisStore(service.url, runtime=runtime, on_risk="ignore", timeout=10.0)
        replica = next(port for port in service.nodes if port != service.primary())

        async def check() -> None:
            clients = (await late._client._homes._settle()).clients
            manager = clients.main.connection_pool.sentinel_manager
            discover = manager.discover_master
            # Sentinels that have not heard of it yet; a real one is in this state for less than a second.
            manager.discover_master = lambda name: _answer(("127.0.0.1", replica), blocking)
            with pytest.raises(StoreUnavailable):
                await late.get(Thread, ("o", "t"), now=NOW)
            manager.discover_master = discover
            assert await late.get(Thread, ("o", "t"), now=NOW) is None
            await late.close()

        run(check())
    finally:
        runner.close()
        service.stop()


def _answer(address: tuple[str, int], blocking: bool) -> Any:
    async def later() -> tuple[str, int]:
        return address

    return address if blocking else later()


def _appended(store: RedisStore, text: str) -> bool:
    try:
        run_blocking(store.apply([append_of("o", text, text)], now=NOW))
    except (StoreUnavailable, UnknownOutcome):
        return False
    return True


def test_a_server_that_is_made_a_replica_during_a_write_does_not_say_that_nothing_was_done() -> None:
    first_server, other = start_redis(aof="no", options={}), start_redis(aof="no", options={})
    try:
        store = opened(first_server.url)
        run_blocking(store.apply([Put(thread("o"))], now=NOW))
        store._client.replicas = 1
        with first_server.client() as client:
            client.replicaof("127.0.0.1", other.port)
        # Nothing to write to: the script refuses nothing, and WAIT is refused.
        with pytest.raises(UnknownOutcome, match="became a replica"):
            run_blocking(store.apply([Expect(Thread, ("o", "t"), 1)], now=NOW))
        run_blocking(store.close())
    finally:
        first_server.stop()
        other.stop()


def _is_acknowledged(store: RedisStore) -> bool:
    try:
        return bool(run_blocking(store.apply([append_of("o", "m2", "key")], now=NOW))[0].replayed)
    except UnknownOutcome:
        return False


def test_urls_of_services_say_what_is_missing() -> None:
    options = parse_url("redis+sentinel://u:p@a:1,b/main/3?memorist_replicas=2&memorist_replicas_timeout=0.5&ssl=1")
    assert options.service == "main" and options.seeds == (("a", 1), ("b", 26379))
    assert (options.replicas, options.wait_ms, options.plain) == (2, 500, "redis://u:p@a:1/3?ssl=1")
    assert parse_url("valkey://h/1").plain == "redis://h/1"
    for url, message in (
        ("redis+sentinel://a:1", "name the service"),
        ("redis://h?memorist_replicas=x", "whole number"),
        ("redis://h?memorist_waits=1", "unknown option"),
    ):
        with pytest.raises(UsageError, match=message):
            parse_url(url)
