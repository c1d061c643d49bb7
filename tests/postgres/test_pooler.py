"""Behind PgBouncer in transaction mode: many clients over few server connections, and a server killed behind it.

`MEMORIST_SOAK=1` runs 25 kills.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from memorist import Memory
from memorist.records import StateEntry
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Increment, Put
from memorist.stores.memory import MemoryStore
from memorist.stores.postgres import PostgresStore
from memorist_testing.properties import difference
from memorist_testing.samples import NOW, entry, thread
from tests.postgres.test_faults import SOAK, Writer, texts, wait_until
from tests.servers.pgbouncer import CONNECTIONS, PgBouncer
from tests.servers.postgres import Postgres, start_postgres

KILLS = 25 if SOAK else 1


@pytest.fixture(scope="module")
def pooler(postgres_server: Postgres) -> Iterator[PgBouncer]:
    running = PgBouncer(postgres_server)
    yield running
    running.stop()


def opened(url: str) -> PostgresStore:
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.open())
    return store


def test_a_new_database_is_migrated_and_used_through_the_pooler(
    new_database: Callable[[], str], pooler: PgBouncer
) -> None:
    name = new_database().rpartition("/")[2]
    with Memory(pooler.url_for(name), worker=False, embedder=None) as memory:
        memory.threads.create("global", id="t")
        memory.threads.append("t", {"role": "user", "content": "The harbour opens at nine."})
        assert memory.recall("When does the harbour open?")[0].text == "The harbour opens at nine."


def test_random_operations_answer_as_the_reference_store_does(pooler: PgBouncer) -> None:
    store, reference = opened(pooler.url_for("memorist")), MemoryStore()
    for seed in range(5):
        assert difference(store, reference, run_blocking, seed, range(40)) is None
    run_blocking(store.close())


def test_more_clients_than_connections_never_see_each_others_statements_or_orgs(pooler: PgBouncer) -> None:
    # Each store prepares its statements on whichever connection it is lent: one that PgBouncer gives away.
    stores = [opened(pooler.url_for("memorist")) for _ in range(3 * CONNECTIONS)]
    orgs, failures = [f"p{uuid4().hex[:8]}-{n}" for n in range(len(stores))], []

    def work(store: PostgresStore, org: str) -> None:
        try:
            run_blocking(store.apply([Put(thread(org)), Put(entry(org, "n", 0))], now=NOW))
            for _ in range(20):
                run_blocking(store.apply([Increment(entry(org, "n", 1))], now=NOW))
                row = run_blocking(store.get(StateEntry, (org, "global", "n"), now=NOW))
                assert row is not None and row.org == org
            assert row is not None and row.value == 20
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(stores, orgs, strict=True)]
    for worker in threads:
        worker.start()
    for worker in threads:
        worker.join()
    for store in stores:
        run_blocking(store.close())
    assert failures == []


def test_a_server_killed_behind_the_pooler_loses_nothing_and_doubles_nothing() -> None:
    server = start_postgres(fsync=True)
    pooler = PgBouncer(server)
    org, stop = f"o{uuid4().hex[:8]}", threading.Event()
    store = opened(pooler.url_for("memorist"))
    run_blocking(store.apply([Put(thread(org))], now=NOW))
    writers = [Writer(store, org, f"w{n}", stop) for n in range(4)]
    try:
        for writer in writers:
            writer.start()
        for _ in range(KILLS):
            before = sum(len(writer.acknowledged) for writer in writers)
            wait_until(lambda at=before: sum(len(w.acknowledged) for w in writers) > at + 40)
            server.kill()
            server.restart()
        before = sum(len(writer.acknowledged) for writer in writers)
        wait_until(lambda: sum(len(w.acknowledged) for w in writers) > before + 10)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert [writer.failure for writer in writers] == [None] * len(writers), "a caller's errors are ours"
    written = texts(store, org)
    assert len(set(written)) == len(written)
    assert {text for writer in writers for text in writer.acknowledged} == set(written)
    troubles = sum((writer.troubles for writer in writers), type(writers[0].troubles)())
    print(f"PgBouncer: {KILLS} kills, {len(written)} acknowledged, troubles {troubles}")
    run_blocking(store.close())
    pooler.stop()
    server.stop()
