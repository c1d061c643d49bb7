"""Servers that die, replies that never come: acknowledged is kept, nothing is there twice, errors are honest.

`MEMORIST_SOAK=1` runs 500 kills and 2,000 cuts.
"""

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from memorist import Memory
from memorist.errors import NotFound, StoreError, StoreTimeout, StoreUnavailable, UnknownOutcome
from memorist.messages.message import Message
from memorist.records import StateEntry, Thread
from memorist.runtime import BlockingRuntime, Runtime, run_blocking
from memorist.stores.base import Increment, Put, Scan
from memorist.stores.redis import RedisStore
from memorist_testing.plugin import Run
from memorist_testing.samples import NOW, append, entry, thread
from tests.servers.ports import free_port
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisCluster, RedisServer, start_redis

SOAK = bool(os.environ.get("MEMORIST_SOAK"))
KILLS = 500 if SOAK else 5
CUTS = 2000 if SOAK else 50


@pytest.fixture
def mortal() -> Iterator[RedisServer]:
    server = start_redis(options={})
    yield server
    server.stop()


@pytest.fixture
def proxy(redis_server: RedisServer) -> Iterator[Proxy]:
    with Proxy(redis_server.port) as started:
        yield started


def through(proxy: Proxy, runtime: Runtime, **more: Any) -> RedisStore:
    return RedisStore(f"redis://127.0.0.1:{proxy.port}", runtime=runtime, on_risk="ignore", **more)


def is_apply(request: bytes) -> bool:
    return b"EVALSHA" in request


def contents(store: RedisStore, org: str) -> list[str]:
    return [message.content for message in run_blocking(store.scan(Scan(Message, (org, "t")), now=NOW))]


class Writer(threading.Thread):
    """Appends under keys until told to stop; each message is sent until its outcome is known."""

    def __init__(self, url: str, org: str, name: str, patience: tuple[type[Exception], ...] = ()) -> None:
        super().__init__()
        self.patience = (StoreUnavailable, UnknownOutcome, StoreTimeout, *patience)
        self.store = RedisStore(url, runtime=BlockingRuntime(), on_risk="ignore")
        self.org, self.label = org, name
        self.acknowledged: list[str] = []
        self.ended = threading.Event()
        self.broken: BaseException | None = None

    def run(self) -> None:
        number = 0
        try:
            while not self.ended.is_set():
                text = f"{self.label}-{number}"
                try:
                    run_blocking(self.store.apply([append(self.org, text, key=text)], now=NOW))
                except self.patience:
                    time.sleep(0.005)
                    continue
                self.acknowledged.append(text)
                number += 1
        except BaseException as error:
            self.broken = error
        finally:
            run_blocking(self.store.close())


def killed_under_load(
    kill: Any, restart: Any, url: str, org: str, *patience: type[Exception], kills: int = KILLS
) -> tuple[list[str], list[str]]:
    """What writers were told is there, and what is there, after a number of crashes."""
    store = RedisStore(url, runtime=BlockingRuntime(), on_risk="ignore")
    run_blocking(store.open())
    run_blocking(store.apply([Put(thread(org))], now=NOW))
    writers = [Writer(url, org, f"w{number}", patience) for number in range(3)]
    for writer in writers:
        writer.start()
    for _ in range(kills):
        before = sum(len(writer.acknowledged) for writer in writers)
        while sum(len(writer.acknowledged) for writer in writers) < before + 50 and all(w.is_alive() for w in writers):
            time.sleep(0.005)
        kill()
        restart()
    for writer in writers:
        writer.ended.set()
    for writer in writers:
        writer.join()
        assert writer.broken is None
    acknowledged = sorted(text for writer in writers for text in writer.acknowledged)
    messages = run_blocking(store.scan(Scan(Message, (org, "t")), now=NOW))
    assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
    thread_row = run_blocking(store.get(Thread, (org, "t"), now=NOW))
    assert thread_row is not None and thread_row.length == len(messages)
    run_blocking(store.close())
    return acknowledged, sorted(str(message.content) for message in messages)


def test_a_killed_server_loses_nothing_acknowledged_and_doubles_nothing(mortal: RedisServer, org: str) -> None:
    acknowledged, contents = killed_under_load(mortal.kill, mortal.restart, mortal.url, org)
    assert len(contents) == len(set(contents))
    assert set(acknowledged) <= set(contents)


def test_the_harness_sees_a_server_that_forgets(org: str) -> None:
    server = start_redis(aof="no", options={})

    def restart() -> None:
        server.restart()
        store = RedisStore(server.url, runtime=BlockingRuntime(), on_risk="ignore")
        run_blocking(store.apply([Put(thread(org), absent=True)], now=NOW))
        run_blocking(store.close())

    acknowledged, contents = killed_under_load(server.kill, restart, server.url, org, NotFound, kills=5)
    server.stop()
    assert not set(acknowledged) <= set(contents)


def test_cut_replies_double_nothing_and_lose_nothing(proxy: Proxy, runtime: Runtime, run: Run, org: str) -> None:
    store = through(proxy, runtime)
    run(store.apply([Put(thread(org))], now=NOW))
    proxy.only = is_apply
    for number in range(CUTS):
        cut, proxy.mode = proxy.cuts, "cut-reply"

        async def send(number: int = number) -> Any:
            return await store.apply([append(org, f"m{number}", key=f"k{number}")], now=NOW)

        threading.Thread(target=heal, args=(proxy, cut)).start()
        [result] = run(send())
        assert (result.first, result.replayed) == (number + 1, True)
    assert proxy.cuts >= CUTS
    messages = run(store.scan(Scan(Message, (org, "t")), now=NOW))
    assert [message.content for message in messages] == [f"m{number}" for number in range(CUTS)]
    run(store.close())


def heal(proxy: Proxy, cut: int) -> None:
    """Let replies through again after the next cut."""
    while proxy.cuts == cut:
        time.sleep(0.0005)
    proxy.mode = "pass"


def test_a_cut_reply_without_a_key_is_an_unknown_outcome_and_not_repeated(
    proxy: Proxy, runtime: Runtime, run: Run, org: str
) -> None:
    store = through(proxy, runtime)
    run(store.apply([Put(thread(org))], now=NOW))
    proxy.only, proxy.mode = is_apply, "cut-reply"
    for change in (append(org, "once"), Increment(entry(org)), Put(entry(org, "other"))):
        with pytest.raises(UnknownOutcome):
            run(store.apply([change], now=NOW))
    proxy.mode = "pass"
    assert len(run(store.scan(Scan(Message, (org, "t")), now=NOW))) == 1
    assert run(store.get(StateEntry, (org, "global", "k"), now=NOW)).value == 1
    assert run(store.get(StateEntry, (org, "global", "other"), now=NOW)).version == 1
    run(store.close())


def test_a_read_survives_a_cut_reply(proxy: Proxy, runtime: Runtime, run: Run, org: str) -> None:
    store = through(proxy, runtime)
    run(store.apply([Put(entry(org, value="v"))], now=NOW))
    proxy.only, proxy.mode = (lambda request: b"\r\nGET\r\n" in request), "cut-reply"
    threading.Thread(target=heal, args=(proxy, proxy.cuts)).start()
    assert run(store.get(StateEntry, (org, "global", "k"), now=NOW)).value == "v"
    run(store.close())


def test_a_server_that_stays_silent_is_a_timeout_for_reads_and_unknown_for_writes(
    proxy: Proxy, runtime: Runtime, run: Run, org: str
) -> None:
    store = through(proxy, runtime, timeout=0.3, connect_timeout=0.3)
    run(store.apply([Put(entry(org))], now=NOW))
    proxy.mode = "black-hole"
    with pytest.raises(StoreTimeout):
        run(store.get(StateEntry, (org, "global", "k"), now=NOW))
    # The broken connection is not used again, and a new one gets no answer: nothing was sent.
    with pytest.raises(StoreUnavailable):
        run(store.apply([Put(entry(org))], now=NOW))
    proxy.mode = "pass"
    assert run(store.apply([Put(entry(org))], now=NOW))[0].version == 2
    proxy.mode = "black-hole"
    with pytest.raises(UnknownOutcome):
        run(store.apply([Put(entry(org))], now=NOW))
    proxy.mode = "pass"
    run(store.close())


def test_a_reset_connection_is_replaced(proxy: Proxy, runtime: Runtime, run: Run, org: str) -> None:
    store = through(proxy, runtime)
    run(store.apply([Put(entry(org))], now=NOW))
    proxy.mode = "reset"
    proxy.drop()
    with pytest.raises(StoreError):
        run(store.get(StateEntry, (org, "global", "k"), now=NOW))
    proxy.mode = "pass"
    assert run(store.get(StateEntry, (org, "global", "k"), now=NOW)) is not None
    run(store.close())


def test_a_slow_server_is_waited_for(proxy: Proxy, runtime: Runtime, run: Run, org: str) -> None:
    store = through(proxy, runtime, timeout=5)
    proxy.mode, proxy.delay = "slow", 0.05
    run(store.apply([Put(entry(org, value="v"))], now=NOW))
    assert run(store.get(StateEntry, (org, "global", "k"), now=NOW)).value == "v"
    run(store.close())


def test_a_server_that_is_not_there_is_named_without_the_password(runtime: Runtime, run: Run) -> None:
    port = free_port()
    store = RedisStore(f"redis://ada:s3cret@127.0.0.1:{port}/0", runtime=runtime, connect_timeout=0.5)
    with pytest.raises(StoreUnavailable) as caught:
        run(store.open())
    assert f"127.0.0.1:{port}" in str(caught.value)
    error_text = repr(caught.value) + str(caught.value) + str(caught.value.__cause__) + str(caught.value.facts)
    assert "s3cret" not in error_text
    run(store.close())


def test_a_missing_password_is_told_apart_from_a_wrong_one(runtime: Runtime, run: Run) -> None:
    server = start_redis(aof="no", options={})
    with server.client() as client:
        client.config_set("requirepass", "s3cret")
    for url, code, text in (
        (server.url, "NOAUTH", "needs a password"),
        (server.url.replace("://", "://:wrong@"), "WRONGPASS", "refused the user name or password"),
    ):
        store = RedisStore(url, runtime=runtime)
        with pytest.raises(StoreError, match=text) as caught:
            run(store.open())
        assert caught.value.facts["code"] == code
        run(store.close())
    server.stop()


def test_a_host_that_does_not_answer_fails_within_the_connect_timeout(runtime: Runtime, run: Run) -> None:
    # 192.0.2.0/24 is reserved for documents: nothing answers there, or the network says so at once.
    store = RedisStore("redis://192.0.2.1:6379", runtime=runtime, connect_timeout=0.3)
    with pytest.raises(StoreUnavailable, match=r"192\.0\.2\.1:6379"):
        run(store.open())
    run(store.close())


def test_a_restarted_server_does_not_know_the_scripts_and_is_told_again(
    mortal: RedisServer, runtime: Runtime, run: Run, org: str
) -> None:
    store = RedisStore(mortal.url, runtime=runtime)
    run(store.open())
    run(store.apply([Put(thread(org)), append(org, "a")], now=NOW))
    mortal.kill()
    mortal.restart()
    # Neither a dead connection nor a forgotten script is seen by the caller, and no key is needed for that.
    run(store.apply([append(org, "b")], now=NOW))
    with mortal.client() as client:
        client.script_flush()
    run(store.apply([append(org, "c")], now=NOW))
    assert [message.content for message in run(store.scan(Scan(Message, (org, "t")), now=NOW))] == ["a", "b", "c"]
    run(store.close())


def test_a_full_server_refuses_writes_clearly_and_can_still_be_emptied(runtime: Runtime, run: Run, org: str) -> None:
    from memorist.stores.base import Delete

    server = start_redis(aof="no", options={"maxmemory": "8mb", "maxmemory-policy": "noeviction"})
    store = RedisStore(server.url, runtime=runtime, on_risk="ignore")
    written = 0
    with pytest.raises(StoreError, match="out of memory") as caught:
        for written in range(1000):
            run(store.apply([Put(entry(org, f"k{written:04}", "x" * 50_000))], now=NOW))
    assert not isinstance(caught.value, UnknownOutcome)
    assert "xxx" not in str(caught.value)
    assert len(run(store.scan(Scan(StateEntry, (org, "global")), now=NOW))) == written
    for number in range(written):
        assert run(store.apply([Delete(StateEntry, (org, "global", f"k{number:04}"))], now=NOW)) == [True]
    run(store.apply([Put(entry(org, "again"))], now=NOW))
    run(store.close())
    server.stop()


def test_a_full_server_still_answers_recalls_and_contexts(mortal: RedisServer, org: str) -> None:
    with Memory(mortal.url, org=org, user="ada", embedder=None, counter="estimate", worker=False) as memory:
        memory.threads.append("t", "I live in Rome and I prefer short answers.", create="user:ada")
        assert memory.recall("Where do I live?") != []
        memory.threads.append("t", "I have a dog called Rex.")
        with mortal.client() as client:
            client.config_set("maxmemory", 1)
        with pytest.raises(StoreError, match="out of memory"):
            memory.facts.set("user:ada", "city", "Rome")
        assert "Rome" in memory.recall("Where do I live?")[0].text
        assert "short answers" in str(memory.context("Where do I live?").messages())
        with mortal.client() as client:
            client.config_set("maxmemory", 0)
        assert "Rex" in memory.recall("What is my dog called?")[0].text


def test_a_replica_refuses_writes_clearly(redis_server: RedisServer, runtime: Runtime, run: Run, org: str) -> None:
    replica = start_redis(aof="no", options={"replicaof": f"127.0.0.1 {redis_server.port}"})
    store = RedisStore(replica.url, runtime=runtime, on_risk="ignore")
    with pytest.raises(StoreUnavailable, match="replica"):
        run(store.apply([Put(entry(org))], now=NOW))
    run(store.close())
    replica.stop()


def test_a_slot_on_its_way_to_another_node_is_waited_for_and_stays_whole(
    redis_cluster: RedisCluster, runtime: Runtime, run: Run, org: str
) -> None:
    from redis.crc import key_slot

    from memorist.stores.redis.keys import base_of

    store = RedisStore(redis_cluster.url, runtime=runtime, timeout=10)
    run(store.apply([Put(thread(org)), append(org, "a", "b")], now=NOW))
    slot = key_slot(base_of(org))
    share = 16384 // 3 + 1
    source, target = redis_cluster.nodes[slot // share], redis_cluster.nodes[(slot // share + 1) % 3]
    mover = threading.Thread(target=move_slot, args=(slot, source, target))
    begin_move(slot, source, target)
    mover.start()
    # The first of these waits until the slot has moved; none runs on half of it.
    for number in range(5):
        run(store.apply([append(org, f"m{number}")], now=NOW))
    mover.join()
    messages = run(store.scan(Scan(Message, (org, "t")), now=NOW))
    assert [message.content for message in messages] == ["a", "b", *(f"m{number}" for number in range(5))]
    run(store.close())
    begin_move(slot, target, source)
    move_slot(slot, target, source)


def begin_move(slot: int, source: RedisServer, target: RedisServer) -> None:
    with source.client() as old, target.client() as new:
        ids = [node.execute_command("CLUSTER", "MYID").decode() for node in (old, new)]
        new.execute_command("CLUSTER", "SETSLOT", str(slot), "IMPORTING", ids[0])
        old.execute_command("CLUSTER", "SETSLOT", str(slot), "MIGRATING", ids[1])


def move_slot(slot: int, source: RedisServer, target: RedisServer) -> None:
    time.sleep(0.2)
    with source.client() as old, target.client() as new:
        while keys := old.execute_command("CLUSTER", "GETKEYSINSLOT", str(slot), "2"):
            old.execute_command("MIGRATE", "127.0.0.1", str(target.port), "", "0", "5000", "KEYS", *keys)
            time.sleep(0.05)
        owner = new.execute_command("CLUSTER", "MYID").decode()
        for node in (new, old):
            node.execute_command("CLUSTER", "SETSLOT", str(slot), "NODE", owner)
