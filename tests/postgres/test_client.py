"""How the store talks to its server: round trips, timeouts, forks, loops, threads, options and failures."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from memorist.errors import Conflict, StoreTimeout, StoreUnavailable, UsageError
from memorist.loop_runtime import AsyncRuntime
from memorist.messages.message import Message
from memorist.records import Fact, StateEntry, Thread
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Append, Change, Delete, DeleteRange, Expect, Increment, Load, Put, Scan
from memorist.stores.postgres import PostgresStore
from memorist_testing.samples import NOW, WHEN, append, entry, fact, job, thread
from tests.postgres.turns import proxied
from tests.servers.ports import free_port
from tests.servers.postgres import Postgres
from tests.servers.redis import wait_for


@pytest.fixture
def org() -> str:
    return f"o{uuid4().hex[:10]}"


@pytest.fixture
def make(postgres_url: str) -> Iterator[Callable[..., PostgresStore]]:
    stores: list[PostgresStore] = []

    def open_one(url: str = postgres_url, **options: Any) -> PostgresStore:
        store = PostgresStore(url, runtime=BlockingRuntime(), **options)
        stores.append(store)
        run_blocking(store.open())
        return store

    yield open_one
    for store in stores:
        run_blocking(store.close())


def connections(store: PostgresStore) -> list[Any]:
    """The open connections of this process."""
    client = store._session.pools._homes.peek()
    assert client is not None
    return [connection for connection in client.connections if not connection.closed]


def test_each_unit_of_work_is_one_round_trip(postgres_server: Postgres, make: Any, org: str) -> None:
    with proxied(postgres_server.port) as proxy:
        store = make(postgres_server.url.replace(f":{postgres_server.port}/", f":{proxy.port}/"))
        units: list[Callable[[], Any]] = [
            lambda: store.apply([Put(thread(org))], now=NOW),
            lambda: store.apply([append(org, "one", "two", key="k"), Put(job(org, queue="q"), absent=True)], now=NOW),
            lambda: store.apply([append(org, "one", "two", key="k")], now=NOW),
            lambda: store.apply(
                [Put(fact(org)), Expect(Thread, (org, "t"), 2), Increment(entry(org, "n", 1))], now=NOW
            ),
            lambda: store.apply([append(org, *(str(n) for n in range(100)))], now=NOW),
            lambda: store.get(Fact, (org, "global", "k"), now=NOW),
            lambda: store.get_many(Message, [(org, "t", n) for n in range(50)], now=NOW),
            lambda: store.scan(Scan(Message, (org, "t"), reverse=True, limit=20), now=NOW),
            lambda: store.claim("q", owner="w", now=NOW, lease=1, org=org),
            lambda: store.claim("q", owner="w", now=NOW, lease=1),
            lambda: store.purge(now=NOW),
        ]
        for unit in units:
            before, counted = proxy.turns, store.round_trips
            run_blocking(unit())
            assert (proxy.turns - before, store.round_trips - counted) == (1, 1)


def test_a_server_that_is_not_there_is_named_and_its_password_is_not() -> None:
    port = free_port()
    store = PostgresStore(f"postgresql://ada:s3cret@127.0.0.1:{port}/db", runtime=BlockingRuntime(), connect_timeout=3)
    with pytest.raises(StoreUnavailable, match=f"127.0.0.1:{port}") as caught:
        run_blocking(store.open())
    assert "s3cret" not in str(caught.value) and caught.value.__cause__ is not None


def test_a_server_that_says_nothing_is_given_up(postgres_server: Postgres) -> None:
    with proxied(postgres_server.port) as proxy:
        proxy.mode = "silent"
        url = f"postgresql://postgres:s3cret@127.0.0.1:{proxy.port}/memorist"
        store = PostgresStore(url, runtime=BlockingRuntime(), connect_timeout=2)
        with pytest.raises(StoreUnavailable, match=f"127.0.0.1:{proxy.port}") as caught:
            run_blocking(store.open())
        assert "s3cret" not in str(caught.value)


def test_an_url_that_cannot_be_read_does_not_show_its_password() -> None:
    with pytest.raises(UsageError) as caught:
        PostgresStore("postgresql://ada:s3cret@host:notaport/db?nonsense=1", runtime=BlockingRuntime())
    assert "s3cret" not in str(caught.value)


def test_options_come_from_the_url_and_keywords_win() -> None:
    url = "postgresql://h/db?memorist_prepare=off&sslmode=prefer&memorist_pool_size=3&memorist_lock_timeout=2"
    store = PostgresStore(url, runtime=BlockingRuntime(), pool_size=4)
    options = store.options
    assert (options.prepare, options.pool_size, options.lock_timeout) == (False, 4, 2.0)
    assert "sslmode=prefer" in options.conninfo and "memorist_" not in options.conninfo
    for wrong in ("memorist_prepare=maybe", "memorist_pool_size=0", "memorist_lock_timeout=-1", "memorist_x=1"):
        with pytest.raises(UsageError):
            PostgresStore(f"postgresql://h/db?{wrong}", runtime=BlockingRuntime())


def test_a_missing_driver_is_told_with_the_command_to_install_it() -> None:
    program = "import sys; sys.modules['psycopg'] = None; import memorist.stores.postgres"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 1 and "Unsupported" in ended.stderr
    assert 'pip install ".[postgres]"' in ended.stderr


def test_only_so_many_statements_are_kept_prepared(make: Any, org: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.stores.postgres.pipeline.MAX_PREPARED", 3)
    store = make()
    for n in range(4):
        run_blocking(store.apply([Put(entry(org, str(n))), Put(fact(org, str(n))), Put(thread(org, str(n)))], now=NOW))
    assert len(run_blocking(store.scan(Scan(StateEntry, (org,)), now=NOW))) == 4
    # A connection with that many is replaced, so a later exchange does not add to them.
    assert all(len(connection.state.names) < 3 for connection in connections(store))


def test_a_table_changed_under_prepared_statements_is_met_with_new_ones(
    new_database: Callable[[], str], make: Any, org: str
) -> None:
    url = new_database()
    store = make(url)
    run_blocking(store.apply([Put(entry(org))], now=NOW))
    for _ in range(3):
        run_blocking(store.get(StateEntry, (org, "global", "k"), now=NOW))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE memorist.state ALTER COLUMN version TYPE integer")
    assert run_blocking(store.get(StateEntry, (org, "global", "k"), now=NOW)) is not None
    assert run_blocking(store.apply([Put(entry(org))], now=NOW))[0].version == 2


def test_a_held_row_lock_ends_in_a_timeout(postgres_url: str, make: Any, org: str) -> None:
    store = make(lock_timeout=0.5)
    run_blocking(store.apply([Put(thread(org))], now=NOW))
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT 1 FROM memorist.threads WHERE org = %s FOR UPDATE", (org,))
        with pytest.raises(StoreTimeout):
            run_blocking(store.apply([append(org, "x")], now=NOW))
    assert run_blocking(store.apply([append(org, "x")], now=NOW))[0].first == 1


def test_a_slow_statement_ends_in_a_timeout(postgres_url: str, make: Any, org: str) -> None:
    store = make(lock_timeout=20, statement_timeout=1.5)
    run_blocking(store.apply([Put(thread(org))], now=NOW))
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT 1 FROM memorist.threads WHERE org = %s FOR UPDATE", (org,))
        with pytest.raises(StoreTimeout):
            run_blocking(store.apply([append(org, "x")], now=NOW))


@pytest.mark.parametrize(
    ("durability", "server", "setting"),
    [("full", "off", "on"), ("normal", "on", "off"), ("full", "remote_apply", "remote_apply")],
)
def test_durability_is_seen_to_in_each_writing_transaction(
    new_database: Callable[[], str], make: Any, org: str, durability: str, server: str, setting: str
) -> None:
    url = new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {url.rpartition('/')[2]} SET synchronous_commit = {server}")  # pyright: ignore
    run_blocking(make(url).close())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE public.seen (setting text); GRANT INSERT ON public.seen TO memorist_app;"
            "CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "INSERT INTO public.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;"
            "CREATE TRIGGER note AFTER INSERT ON memorist.state FOR EACH ROW EXECUTE FUNCTION public.note()"
        )
    store = make(url, durability=durability)
    run_blocking(store.apply([Put(entry(org))], now=NOW))
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT setting FROM public.seen").fetchall() == [(setting,)]


def test_a_connection_closed_by_the_server_is_replaced(postgres_url: str, make: Any, org: str) -> None:
    store = make()
    run_blocking(store.apply([Put(entry(org))], now=NOW))
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'memorist' "
            "AND pid <> pg_backend_pid()"
        )
    assert run_blocking(store.apply([Put(entry(org))], now=NOW))[0].version == 2


def test_a_connection_that_a_firewall_dropped_is_replaced_before_a_write_is_lost_on_it(
    postgres_server: Postgres, make: Any, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxied(postgres_server.port) as proxy:
        url = postgres_server.url.replace(f":{postgres_server.port}/", f":{proxy.port}/")
        store = make(url, connect_timeout=1)
        run_blocking(store.apply([Put(entry(org, "n", 0))], now=NOW))
        monkeypatch.setattr("memorist.stores.postgres.pipeline.IDLE_CHECK_SECONDS", -1.0)
        proxy.mode = "drop"
        assert run_blocking(store.apply([Increment(entry(org, "n", 1))], now=NOW)) == [1]


def test_a_child_opens_connections_of_its_own(make: Any, org: str) -> None:
    store = make()
    run_blocking(store.apply([Put(entry(org, "n", 0))], now=NOW))
    child = os.fork()
    if child == 0:
        try:
            for _ in range(20):
                run_blocking(store.apply([Increment(entry(org, "n", 1))], now=NOW))
            run_blocking(store.close())
            os._exit(0)
        finally:
            os._exit(1)
    for _ in range(20):
        run_blocking(store.apply([Increment(entry(org, "n", 1))], now=NOW))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    row = run_blocking(store.get(StateEntry, (org, "global", "n"), now=NOW))
    assert row.value == 40


def test_eight_processes_append_to_one_thread(make: Any, org: str) -> None:
    store = make()
    run_blocking(store.apply([Put(thread(org))], now=NOW))
    children = []
    for worker in range(8):
        child = os.fork()
        if child == 0:
            try:
                for n in range(40):
                    run_blocking(store.apply([append(org, f"{worker}-{n}", key=f"{worker}-{n}")], now=NOW))
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 8
    messages = run_blocking(store.scan(Scan(Message, (org, "t")), now=NOW))
    assert [message.seq for message in messages] == list(range(1, 321))
    assert {message.text for message in messages} == {f"{worker}-{n}" for worker in range(8) for n in range(40)}
    for worker in range(8):
        own = [message.text for message in messages if message.text.startswith(f"{worker}-")]
        assert own == [f"{worker}-{n}" for n in range(40)]


def test_more_threads_than_connections_wait_in_line(make: Any, org: str) -> None:
    store = make(pool_size=2)
    run_blocking(store.apply([Put(thread(org))], now=NOW))
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(lambda n: run_blocking(store.apply([append(org, str(n))], now=NOW)), range(120)))
    messages = run_blocking(store.scan(Scan(Message, (org, "t")), now=NOW))
    assert [message.seq for message in messages] == list(range(1, 121))
    assert len(connections(store)) <= 2


def test_one_store_serves_one_event_loop_after_another(postgres_url: str, org: str) -> None:
    store = PostgresStore(postgres_url, runtime=AsyncRuntime(), pool_size=2)

    async def work() -> None:
        await store.open()
        await asyncio.gather(*(store.apply([Increment(entry(org, "n", 1))], now=NOW) for _ in range(20)))

    for _ in range(3):
        asyncio.run(work())
    row = asyncio.run(store.get(StateEntry, (org, "global", "n"), now=NOW))
    asyncio.run(store.close())
    assert row is not None and row.value == 60


def test_a_cancelled_write_is_whole_or_absent_and_costs_no_place(postgres_url: str, org: str) -> None:
    async def work() -> None:
        store = PostgresStore(postgres_url, runtime=AsyncRuntime(), pool_size=2)
        await store.open()
        await store.apply([Put(thread(org))], now=NOW)
        for n in range(60):
            task = asyncio.ensure_future(store.apply([append(org, f"{n}a", f"{n}b")], now=NOW))
            for _ in range(n % 12):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        messages = await store.scan(Scan(Message, (org, "t")), now=NOW)
        assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
        texts = [message.text for message in messages]
        assert [text[:-1] for text in texts[::2]] == [text[:-1] for text in texts[1::2]]
        await asyncio.gather(*(store.get(Thread, (org, "t"), now=NOW) for _ in range(10)))
        await store.close()

    asyncio.run(work())


def test_creating_the_same_row_at_once_succeeds_once(make: Any, org: str) -> None:
    store = make()
    start = threading.Barrier(8)

    def create(n: int) -> bool:
        start.wait()
        try:
            run_blocking(store.apply([Expect(Fact, (org, "global", "k"), 0), Put(fact(org, value=n))], now=NOW))
        except Exception as error:
            assert type(error).__name__ == "Conflict" and error.actual == 1  # type: ignore[attr-defined]
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(create, range(8))) == 1


def test_a_row_that_appears_after_it_was_expected_absent_is_not_replaced(
    postgres_url: str, make: Any, org: str
) -> None:
    store = make()
    creation = [
        Expect(Fact, (org, "global", "k"), 0),
        Increment(entry(org, "gate", 1)),  # waits here for the lock
        Load(fact(org, value="second", version=1)),
    ]
    with waits_at_gate(postgres_url, store, org, creation) as late:
        run_blocking(store.apply([Put(fact(org, value="first"))], now=NOW))
    with pytest.raises(Conflict):
        late.result(60)
    row = run_blocking(store.get(Fact, (org, "global", "k"), now=NOW))
    assert row is not None and row.value == "first"


def test_a_row_that_appears_after_it_was_expected_absent_is_not_deleted(postgres_url: str, make: Any, org: str) -> None:
    """As when two callers create one thread at once, and each first removes the remains of an expired one."""
    store = make()
    creation = [
        Expect(Thread, (org, "t"), 0),
        Increment(entry(org, "gate", 1)),  # waits here for the lock
        DeleteRange(Message, (org, "t")),
        Delete(Thread, (org, "t")),
        Put(thread(org)),
        append(org, "second"),
    ]
    with waits_at_gate(postgres_url, store, org, creation) as late:
        run_blocking(store.apply([Put(thread(org)), append(org, "first")], now=NOW))
    with pytest.raises(Conflict):
        late.result(60)
    rows = run_blocking(store.scan(Scan(Message, (org, "t")), now=NOW))
    assert [row.text for row in rows] == ["first"]


@contextmanager
def waits_at_gate(url: str, store: PostgresStore, org: str, changes: Sequence[Change]) -> Iterator[Future[Any]]:
    """Hold back changes at their increment of `gate` until the block ends."""
    run_blocking(store.apply([Put(entry(org, "gate", 0))], now=NOW))
    with psycopg.connect(url) as gate, ThreadPoolExecutor(1) as threads:
        gate.execute("SELECT 1 FROM memorist.state WHERE org = %s FOR UPDATE", (org,))
        late = threads.submit(lambda: run_blocking(store.apply(changes, now=NOW)))
        with psycopg.connect(url, autocommit=True) as watcher:
            waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%state AS t%'"
            wait_for(lambda: watcher.execute(waits).fetchone() != (0,), lambda: "nobody waits", 60)
        yield late
        gate.rollback()


def test_every_version_replaced_at_once_is_kept(make: Any, org: str) -> None:
    from memorist.records import FactVersion

    store = make()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: run_blocking(store.apply([Put(fact(org, value=n))], now=NOW)), range(80)))
    versions = run_blocking(store.scan(Scan(FactVersion, (org,)), now=NOW))
    last = run_blocking(store.get(Fact, (org, "global", "k"), now=NOW))
    assert [version.version for version in versions] == list(range(1, 80)) and last.version == 80
    assert sorted([*(version.value for version in versions), last.value]) == list(range(80))


def test_batches_that_name_rows_in_opposite_order_lock_them_in_one(
    new_database: Callable[[], str], make: Any, org: str
) -> None:
    store = make(new_database())
    keys = ["a", "b", "c", "d"]

    def work(n: int) -> None:
        order = keys if n % 2 else keys[::-1]
        run_blocking(store.apply([Increment(entry(org, key, 1)) for key in order], now=NOW))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(120)))
    rows = run_blocking(store.scan(Scan(StateEntry, (org,)), now=NOW))
    assert [row.value for row in rows] == [120] * 4
    assert deadlocks(store) == 0


def deadlocks(store: PostgresStore) -> int:
    name = psycopg.conninfo.conninfo_to_dict(store.options.conninfo)["dbname"]
    with psycopg.connect(store.options.conninfo) as connection:
        row = connection.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = %s", (name,)).fetchone()
    assert row is not None
    return int(row[0])


def test_a_deadlock_is_broken_and_both_get_through(new_database: Callable[[], str], make: Any, org: str) -> None:
    store = make(new_database())
    ids = ["t0", "t1"]
    run_blocking(store.apply([Put(thread(org, id)) for id in ids], now=NOW))

    def work(n: int) -> None:
        order = ids if n % 2 else ids[::-1]
        run_blocking(store.apply([append(org, *map(str, range(400)), thread=id) for id in order], now=NOW))

    for n in range(40):
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, range(n * 4, n * 4 + 4)))
        if deadlocks(store):
            break
    assert deadlocks(store), "no deadlock was ever met"
    for id in ids:
        messages = run_blocking(store.scan(Scan(Message, (org, id)), now=NOW))
        assert [message.seq for message in messages] == list(range(1, (n + 1) * 1600 + 1))


def test_damaged_evidence_is_never_served(postgres_url: str, make: Any, org: str) -> None:
    from memorist.errors import CorruptRecord

    store = make()
    run_blocking(store.apply([Put(thread(org)), append(org, "one", "two")], now=NOW))
    columns = {
        "content": "'\"x\"'",
        "created_at": "created_at + 1",
        "pinned": "true",
        "role": "'tool'",
    }
    for column, value in columns.items():
        with psycopg.connect(postgres_url) as other:
            where = "WHERE org = %s AND seq = 2"
            other.execute(f"UPDATE memorist.messages SET {column} = {value} {where}", (org,))  # pyright: ignore
            other.commit()
            with pytest.raises(CorruptRecord):
                run_blocking(store.scan(Scan(Message, (org, "t")), now=NOW))
            other.execute("DELETE FROM memorist.messages WHERE org = %s", (org,))
            other.execute("UPDATE memorist.threads SET length = 0 WHERE org = %s", (org,))
        run_blocking(store.apply([append(org, "one", "two")], now=NOW))


def test_a_fork_while_others_write_leaves_the_parent_whole(make: Any, org: str) -> None:
    store = make()
    stop = time.monotonic() + 1.0
    run_blocking(store.apply([Put(thread(org))], now=NOW))

    def write() -> int:
        count = 0
        while time.monotonic() < stop:
            run_blocking(
                store.apply(
                    [Append(org, "t", (Message(org=org, thread="t", role="user", content="x"),), WHEN)], now=NOW
                )
            )
            count += 1
        return count

    with ThreadPoolExecutor(2) as threads:
        futures = [threads.submit(write) for _ in range(2)]
        for _ in range(5):
            child = os.fork()
            if child == 0:
                try:
                    row = run_blocking(store.get(Thread, (org, "t"), now=NOW))
                    os._exit(0 if row is not None else 2)
                finally:
                    os._exit(1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        written = sum(future.result() for future in futures)
    assert run_blocking(store.get(Thread, (org, "t"), now=NOW)).length == written
