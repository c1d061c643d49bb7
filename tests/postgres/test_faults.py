"""A server killed under load, and replies cut on the way: nothing acknowledged is lost, nothing is there twice.

`MEMORIST_SOAK=1` runs 25 kills and 2,000 cuts.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from memorist.errors import StoreUnavailable, UnknownOutcome
from memorist.messages.message import Message
from memorist.records import StateEntry
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Append, Increment, Put, Scan
from memorist.stores.postgres import PostgresStore
from memorist_testing.samples import NOW, WHEN, entry, thread
from tests.postgres.turns import Turns, proxied
from tests.servers.postgres import Postgres, start_postgres

SOAK = bool(os.environ.get("MEMORIST_SOAK"))
KILLS = 25 if SOAK else 5
CUTS = 2000 if SOAK else 50
WRITERS = 4


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server of its own that flushes each commit to disk, to be killed at will."""
    server = start_postgres(fsync=True)
    yield server
    server.stop()


@pytest.fixture
def through(postgres_server: Postgres) -> Iterator[tuple[PostgresStore, Turns]]:
    """A store behind a proxy that can cut its replies."""
    with proxied(postgres_server.port) as proxy:
        url = postgres_server.url.replace(f":{postgres_server.port}/", f":{proxy.port}/")
        store = PostgresStore(url, runtime=BlockingRuntime())
        run_blocking(store.open())
        yield store, proxy
        run_blocking(store.close())


def append_of(org: str, text: str, key: str | None) -> Append:
    return Append(org, "t", (Message(org=org, thread="t", role="user", content=text),), WHEN, key)


def settle(store: PostgresStore) -> None:
    """Wait until the pool has replaced what was cut, so that the next cut meets a statement, not a new connection."""
    client: Any = store._session.pools._homes.peek()

    def settled() -> bool:
        stats = client._pool.get_stats()
        return bool(stats["pool_available"] == stats["pool_size"] > 0)

    wait_until(settled)


def texts(store: PostgresStore, org: str) -> list[str]:
    messages = run_blocking(store.scan(Scan(Message, (org, "t")), now=NOW))
    assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
    return [message.text for message in messages]


class Writer(threading.Thread):
    """Appends until told to stop; a text counts as acknowledged when its append has returned."""

    def __init__(self, store: PostgresStore, org: str, name: str, stop: threading.Event) -> None:
        super().__init__()
        self.acknowledged: list[str] = []
        self.troubles: Counter[str] = Counter()
        self.failure: BaseException | None = None
        self._store, self._org, self._name, self._end = store, org, name, stop

    def run(self) -> None:
        try:
            for n in range(10**9):
                if self._end.is_set():
                    return
                self._append(f"{self._name}-{n}")
        except BaseException as error:
            self.failure = error

    def _append(self, text: str) -> None:
        while True:
            try:
                run_blocking(self._store.apply([append_of(self._org, text, f"key-{text}")], now=NOW))
            except (StoreUnavailable, UnknownOutcome) as error:
                self.troubles[type(error).__name__] += 1
                time.sleep(0.02)
            else:
                self.acknowledged.append(text)
                return


def test_a_server_killed_under_load_loses_nothing_it_acknowledged(server: Postgres) -> None:
    org = f"o{uuid4().hex[:8]}"
    store = PostgresStore(server.url, runtime=BlockingRuntime(), connect_timeout=5)
    run_blocking(store.open())
    run_blocking(store.apply([Put(thread(org))], now=NOW))
    stop = threading.Event()
    writers = [Writer(store, org, f"w{n}", stop) for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    for _ in range(KILLS):
        acknowledged = sum(len(writer.acknowledged) for writer in writers)
        wait_until(lambda at=acknowledged: sum(len(w.acknowledged) for w in writers) > at + 40)
        server.kill()
        server.restart()
    stop.set()
    for writer in writers:
        writer.join()
        if writer.failure is not None:
            raise writer.failure
    written = texts(store, org)
    acknowledged_texts = [text for writer in writers for text in writer.acknowledged]
    assert len(set(written)) == len(written)
    assert set(acknowledged_texts) == set(written)
    # Whether a writer saw trouble depends on the moment: a keyed append is repeated by the store, a read as well.
    run_blocking(store.close())


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("the writers came to a halt")


def test_cut_replies_lose_and_double_nothing(through: tuple[PostgresStore, Turns]) -> None:
    store, proxy = through
    org = f"o{uuid4().hex[:8]}"
    run_blocking(store.apply([Put(thread(org))], now=NOW))
    for n in range(CUTS):
        proxy.mode = "cut"
        receipt = run_blocking(store.apply([append_of(org, f"m{n}", f"k{n}")], now=NOW))[0]
        assert (receipt.first, receipt.count) == (n + 1, 1)
    assert texts(store, org) == [f"m{n}" for n in range(CUTS)]
    assert proxy.cuts == CUTS


def test_a_cut_reply_without_a_key_is_told_as_unknown(through: tuple[PostgresStore, Turns]) -> None:
    store, proxy = through
    org = f"o{uuid4().hex[:8]}"
    run_blocking(store.apply([Put(entry(org, "n", 0))], now=NOW))
    proxy.mode = "cut"
    with pytest.raises(UnknownOutcome):
        run_blocking(store.apply([Increment(entry(org, "n", 1))], now=NOW))
    row = run_blocking(store.get(StateEntry, (org, "global", "n"), now=NOW))
    assert row is not None and row.value == 1


def test_a_retry_without_a_key_would_double(through: tuple[PostgresStore, Turns]) -> None:
    """The planted bug: what the test above would find if the store repeated what it may not."""
    store, proxy = through
    org = f"o{uuid4().hex[:8]}"
    run_blocking(store.apply([Put(thread(org))], now=NOW))
    for n in range(5):
        settle(store)
        proxy.mode = "cut"
        naive(lambda n=n: run_blocking(store.apply([append_of(org, f"m{n}", None)], now=NOW)))
    assert len(texts(store, org)) == 10


def naive(write: Callable[[], Any]) -> None:
    try:
        write()
    except UnknownOutcome:
        write()


def test_a_cut_read_is_repeated(through: tuple[PostgresStore, Turns]) -> None:
    store, proxy = through
    org = f"o{uuid4().hex[:8]}"
    run_blocking(store.apply([Put(entry(org, "n", 5))], now=NOW))
    proxy.mode = "cut"
    row = run_blocking(store.get(StateEntry, (org, "global", "n"), now=NOW))
    assert row is not None and row.value == 5


def test_a_reply_cut_for_good_is_unknown_never_nothing_done(postgres_server: Postgres) -> None:
    with proxied(postgres_server.port) as proxy:
        url = postgres_server.url.replace(f":{postgres_server.port}/", f":{proxy.port}/")
        store = PostgresStore(url, runtime=BlockingRuntime(), connect_timeout=1)
        org = f"o{uuid4().hex[:8]}"
        run_blocking(store.open())
        run_blocking(store.apply([Put(thread(org))], now=NOW))
        proxy.mode = "cut"
        proxy.stop_listening()
        with pytest.raises(UnknownOutcome):
            run_blocking(store.apply([append_of(org, "x", "k")], now=NOW))
        run_blocking(store.close())
