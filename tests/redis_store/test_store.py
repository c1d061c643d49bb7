"""What is particular to Redis: keys, promises, collecting, files, forks, loops, threads, and counted round trips."""

import asyncio
import multiprocessing
import os
import random
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.crc import key_slot

from memorist.errors import CorruptRecord, InvalidValue, SchemaError, StoreError, Unsupported, UsageError
from memorist.loop_runtime import AsyncRuntime
from memorist.messages.message import Message
from memorist.ports import to_datetime
from memorist.records import Entry, Fact, Job, StateEntry, StoredRecord, Thread, view_of
from memorist.runtime import BlockingRuntime, Runtime, run_blocking
from memorist.stores.base import DeleteRange, Expect, Increment, Put, Scan
from memorist.stores.redis import DurabilityWarning, RedisStore
from memorist.stores.redis.keys import base_of, bounds, encode_key, stamp, unstamp
from memorist.values import INT_MAX, INT_MIN
from memorist_testing.plugin import Run
from memorist_testing.samples import ADVERSARIAL, NOW, SECOND, WHEN, append, entry, fact, job, later, thread
from tests.servers.redis import RedisServer, products, start_redis, wait_for

names = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)


@pytest.fixture
def store(redis_server: RedisServer, runtime: Runtime, run: Run) -> Iterator[RedisStore]:
    opened = RedisStore(redis_server.url, runtime=runtime, on_risk="refuse")
    run(opened.open())
    yield opened
    run(opened.close())


# -- keys


@given(st.lists(st.tuples(names, st.integers(INT_MIN, INT_MAX), names), max_size=8))
def test_encoded_keys_sort_as_their_columns_do(keys: list[tuple[str, int, str]]) -> None:
    assert sorted(keys, key=encode_key) == sorted(keys)


@given(names, names, names, names)
def test_a_prefix_never_reaches_into_a_longer_name(first: str, second: str, other: str, last: str) -> None:
    low, high = bounds((first,), None, None, None)
    assert (low <= encode_key((other, last)) < high) == (first == other)
    assert (encode_key((first, second)) == encode_key((first + second, ""))) == (second == "")


@given(st.lists(names.filter(bool), min_size=2, max_size=2, unique=True))
def test_no_org_can_spell_the_keys_of_another(orgs: list[str]) -> None:
    own, other = (base_of(org) for org in orgs)
    assert not own.startswith(other) and not other.startswith(own)
    for base in (own, other):
        assert base.count(b"{") == base.count(b"}") == 1


@given(st.integers(-(6 * 10**16), 25 * 10**16), st.integers(-(6 * 10**16), 25 * 10**16))
def test_stamps_sort_as_times_do_and_come_back(micros: int, other: int) -> None:
    assert (stamp(micros) < stamp(other)) == (micros < other)
    assert unstamp(stamp(micros).encode()) == micros


def test_everything_of_an_org_is_in_one_slot() -> None:
    for org in ADVERSARIAL:
        slots = {key_slot(base_of(org) + rest) for rest in (b"", b"facts:{x}", b"@facts", b"!facts", b"jobs:}{")}
        assert len(slots) == 1


def test_a_key_with_a_nul_is_refused(store: RedisStore, run: Run, org: str) -> None:
    with pytest.raises(InvalidValue):
        run(store.get(StateEntry, (org, "global", "a\0b"), now=NOW))


def test_a_batch_over_two_orgs_is_refused_whole(store: RedisStore, run: Run, org: str) -> None:
    with pytest.raises(Unsupported):
        run(store.apply([Put(entry(org)), Put(entry(f"{org}2"))], now=NOW))
    assert run(store.get(StateEntry, (org, "global", "k"), now=NOW)) is None


# -- numbers


def test_counters_are_exact_to_the_last_of_64_bits(store: RedisStore, run: Run, org: str) -> None:
    rng = random.Random(7)
    total = 0
    for _ in range(200):
        by = rng.choice([rng.randrange(-(2**62), 2**62), rng.randrange(-(2**54), 2**54), 1, -1])
        if not INT_MIN <= total + by <= INT_MAX:
            by = -by
        total += by
        assert run(store.apply([Increment(entry(org, value=by))], now=NOW)) == [total]
    run(store.apply([Put(entry(org, value=INT_MAX - 1))], now=NOW))
    assert run(store.apply([Increment(entry(org))], now=NOW)) == [INT_MAX]
    with pytest.raises(InvalidValue):
        run(store.apply([Put(entry(org, "other")), Increment(entry(org))], now=NOW))
    assert run(store.get(StateEntry, (org, "global", "other"), now=NOW)) is None


def test_a_batch_sees_its_own_changes_in_order(store: RedisStore, run: Run, org: str) -> None:
    results = run(
        store.apply(
            [
                Put(thread(org)),
                append(org, "a", key="k"),
                Expect(Thread, (org, "t"), 2),
                append(org, "b"),
                Put(entry(org, value=1)),
                Increment(entry(org, value=5)),
                DeleteRange(StateEntry, (org, "global")),
                Increment(entry(org, value=3)),
            ],
            now=NOW,
        )
    )
    assert [getattr(result, "first", result) for result in results[1:4]] == [1, None, 2]
    assert results[5:] == [6, 1, 3]


def test_vectors_and_other_bytes_come_back_exactly(store: RedisStore, run: Run, org: str) -> None:
    row = Entry(org=org, ns="global", kind="fact", id="x", terms="a", vector=bytes(range(256)) * 4, created_at=WHEN)
    run(store.apply([Put(row)], now=NOW))
    [stored] = run(store.scan(Scan(Entry, (org, "global"), index="by_stamp"), now=NOW))
    assert stored == row


# -- promises of the server


@pytest.mark.parametrize(
    ("options", "durability", "words"),
    [
        ({"appendonly": "no"}, "full", "no append-only file"),
        ({"appendonly": "yes", "appendfsync": "everysec"}, "full", "appendfsync everysec"),
        ({"appendonly": "yes", "appendfsync": "no"}, "normal", "appendfsync no"),
        ({"maxmemory-policy": "allkeys-lru"}, "full", "allkeys-lru"),
    ],
)
def test_a_weak_server_is_warned_of_refused_or_ignored_as_asked(
    options: dict[str, str], durability: str, words: str
) -> None:
    server = start_redis(options=options)

    def opened(on_risk: str) -> None:
        store = RedisStore(server.url, runtime=BlockingRuntime(), durability=durability, on_risk=on_risk)
        try:
            run_blocking(store.open())
        finally:
            run_blocking(store.close())

    with pytest.warns(DurabilityWarning, match=words):
        opened("warn")
    with pytest.raises(StoreError, match=words):
        opened("refuse")
    opened("ignore")
    server.stop()


def test_everysec_is_enough_for_normal_durability() -> None:
    server = start_redis(aof="everysec")
    store = RedisStore(server.url, runtime=BlockingRuntime(), durability="normal", on_risk="refuse")
    run_blocking(store.open())
    run_blocking(store.close())
    server.stop()


def test_a_server_that_hides_its_settings_is_said_to_be_unchecked() -> None:
    server = start_redis(options={})
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "-config")
    url = server.url.replace("redis://", "redis://app:pw@")
    store = RedisStore(url, runtime=BlockingRuntime())
    with pytest.warns(DurabilityWarning, match="could not be checked"):
        run_blocking(store.open())
    report = run_blocking(store.diagnose())
    assert any("could not be checked" in problem for problem in report["problems"])
    run_blocking(store.close())
    wrong = RedisStore(url.replace(":pw@", ":no-pass@"), runtime=BlockingRuntime())
    with pytest.raises(StoreError, match="password") as caught:
        run_blocking(wrong.open())
    assert "no-pass" not in str(caught.value)
    run_blocking(wrong.close())
    server.stop()


def test_doctor_hears_versions_settings_and_damage(
    store: RedisStore, run: Run, org: str, redis_server: RedisServer
) -> None:
    before = run(store.diagnose(deep=True))["problems"]  # other tests may have left damage on this server
    run(store.apply([Put(fact(org)), Put(entry(org))], now=NOW))
    report = run(store.diagnose(deep=True))
    assert report["problems"] == before
    assert report["nodes"][0]["server"].split()[0] in ("redis", "valkey")
    assert report["rows"]["facts"] >= 1
    key = base_of(org) + b"facts:global\0k\0"
    with redis_server.client() as client:
        client.setrange(key, client.strlen(key) - 3, "?")
        after = run(store.diagnose(deep=True))["problems"]
        assert after != before and any("damaged" in problem for problem in after)
        client.delete(key)


@pytest.mark.parametrize("byte", range(0, 60, 3))
def test_a_flipped_bit_is_never_served(
    store: RedisStore, run: Run, org: str, redis_server: RedisServer, byte: int
) -> None:
    run(store.apply([Put(thread(org)), append(org, "a text that is long enough to be flipped somewhere")], now=NOW))
    key = base_of(org) + b"messages:t\0" + b"8" + b"%015x" % 1
    with redis_server.client() as client:
        client.setbit(key, byte * 8 + 3, 1 - client.getbit(key, byte * 8 + 3))
    with pytest.raises(CorruptRecord):
        run(store.scan(Scan(Message, (org, "t")), now=NOW))


def test_a_newer_schema_is_refused(runtime: Runtime, run: Run) -> None:
    server = start_redis(options={})
    with server.client() as client:
        client.set("mm:schema", "99")
    store = RedisStore(server.url, runtime=runtime, on_risk="ignore")
    with pytest.raises(SchemaError):
        run(store.open())
    run(store.close())
    server.stop()


def test_bad_urls_and_options_are_refused_without_a_connection() -> None:
    for url in ("http://x", "redis", "redis+cluster://h:1/3"):
        with pytest.raises(UsageError):
            RedisStore(url, runtime=BlockingRuntime())
    with pytest.raises(UsageError):
        RedisStore("redis://h", runtime=BlockingRuntime(), on_risk="maybe")


def test_a_cluster_url_on_a_single_server_says_so(redis_server: RedisServer) -> None:
    store = RedisStore(
        redis_server.url.replace("redis://", "redis+cluster://").removesuffix("/0"), runtime=BlockingRuntime()
    )
    with pytest.raises(StoreError, match="not part of a cluster"):
        run_blocking(store.open())
    run_blocking(store.close())


def test_a_unix_socket_works(tmp_path: Path, org: str) -> None:
    server = start_redis(options={"unixsocket": str(tmp_path / "s")})
    store = RedisStore(f"unix://{tmp_path / 's'}", runtime=BlockingRuntime())
    run_blocking(store.open())
    run_blocking(store.apply([Put(entry(org))], now=NOW))
    run_blocking(store.close())
    server.stop()


# -- collecting


def test_the_server_collects_a_row_only_long_after_its_end(
    store: RedisStore, run: Run, org: str, redis_server: RedisServer
) -> None:
    run(store.apply([Put(entry(org, expires_at=later(60))), Put(entry(org, "forever"))], now=NOW))
    with redis_server.client() as client:
        remaining_ms = client.pttl(base_of(org) + b"state:global\0k\0")
        assert 60_000 + 24 * 3600 * 1000 < remaining_ms <= 60_000 + 2 * 24 * 3600 * 1000
        assert client.pttl(base_of(org) + b"state:global\0forever\0") == -1


def test_what_the_server_collected_is_gone_from_orders_and_indexes_too(
    store: RedisStore, run: Run, org: str, redis_server: RedisServer
) -> None:
    run(store.apply([Put(thread(org, ns="user:a", expires_at=later(60)))], now=NOW))
    with redis_server.client() as client:
        client.delete(base_of(org) + b"threads:t\0")
        assert run(store.scan(Scan(Thread, (org, "user:a"), index="by_ns"), now=NOW)) == []
        run(store.apply([Put(thread(org, ns="user:b"))], now=NOW))
        assert run(store.scan(Scan(Thread, (org, "user:a"), index="by_ns"), now=NOW)) == []
        assert len(run(store.scan(Scan(Thread, (org,)), now=NOW))) == 1
        client.delete(base_of(org) + b"threads:t\0")
        assert run(store.scan(Scan(Thread, (org,)), now=NOW)) == []
        assert client.exists(base_of(org) + b"@threads") == 0


def test_scrub_leaves_no_deleted_text_in_any_file(runtime: Runtime, run: Run, org: str) -> None:
    for product in products():
        server = start_redis(product=product, options={"save": "3600 1"})
        store = RedisStore(server.url, runtime=runtime)
        run(store.open())
        run(store.apply([Put(fact(org, value="a very secret sentence")), Put(fact(org, "k2", "kept"))], now=NOW))
        with server.client() as client:
            client.save()
        assert in_files(server, b"very secret sentence")
        run(store.apply([DeleteRange(Fact, (org, "global"), before=("k2",))], now=NOW))
        run(store.scrub())
        assert not in_files(server, b"very secret sentence")
        assert in_files(server, b"kept")
        run(store.close())
        server.stop()


def in_files(server: RedisServer, text: bytes) -> bool:
    assert server.folder is not None
    return any(text in file.read_bytes() for file in server.folder.rglob("*") if file.is_file() and file.name != "log")


# -- pages, round trips


def test_scans_longer_than_a_page_are_whole(store: RedisStore, run: Run, org: str) -> None:
    run(store.apply([Put(thread(org)), append(org, *(f"m{number}" for number in range(2500)))], now=NOW))
    messages = run(store.scan(Scan(Message, (org, "t")), now=NOW))
    assert [message.seq for message in messages] == list(range(1, 2501))
    messages = run(store.scan(Scan(Message, (org, "t"), reverse=True, limit=1700), now=NOW))
    assert [message.seq for message in messages] == list(range(2500, 800, -1))


def test_rows_too_large_for_one_page_come_in_several(store: RedisStore, run: Run, org: str) -> None:
    for number in range(5):
        run(store.apply([Put(entry(org, f"k{number}", "x" * 3_000_000))], now=NOW))
    rows = run(store.scan(Scan(StateEntry, (org, "global")), now=NOW))
    assert [item.key for item in rows] == [f"k{number}" for number in range(5)]


def test_one_unit_of_work_is_one_round_trip(store: RedisStore, run: Run, org: str) -> None:
    # The first job of an org, and then one in 20 s, also enters it in the register of work.
    run(store.apply([Put(thread(org)), append(org, *"abcdef"), Put(job(org, queue="q"), absent=True)], now=NOW))
    run(store.scan(Scan(Message, (org, "t"), reverse=True, limit=3), now=NOW))
    works: list[Any] = [
        lambda: store.apply(
            [append(org, "a", key="k"), Put(fact(org)), Put(job(org, queue="q"), absent=True)], now=NOW
        ),
        lambda: store.scan(Scan(Message, (org, "t"), reverse=True, limit=3), now=NOW),
        lambda: store.get(Thread, (org, "t"), now=NOW),
        lambda: store.get_many(Fact, [(org, "global", "k"), (org, "global", "l")], now=NOW),
    ]
    for work in works:
        before = store.round_trips
        run(work())
        assert store.round_trips == before + 1


# -- processes, threads, loops


def append_many(url: str, org: str, label: str, count: int) -> None:
    store = RedisStore(url, runtime=BlockingRuntime(), on_risk="ignore")
    for number in range(count):
        run_blocking(store.apply([append(org, f"{label}-{number}", key=f"{label}-{number}")], now=NOW))
    run_blocking(store.close())


def test_eight_processes_on_one_thread_leave_no_gap_and_no_double(redis_server: RedisServer, org: str) -> None:
    store = RedisStore(redis_server.url, runtime=BlockingRuntime())
    run_blocking(store.apply([Put(thread(org))], now=NOW))
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        workers = [context.Process(target=append_many, args=(redis_server.url, org, f"p{n}", 100)) for n in range(8)]
        for worker in workers:
            worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    messages = run_blocking(store.scan(Scan(Message, (org, "t")), now=NOW))
    assert [message.seq for message in messages] == list(range(1, 801))
    assert {message.content for message in messages} == {f"p{n}-{number}" for n in range(8) for number in range(100)}
    for label in range(8):
        own_texts = [message.content for message in messages if message.content.startswith(f"p{label}-")]
        assert own_texts == [f"p{label}-{number}" for number in range(100)]
    run_blocking(store.close())


def test_a_connection_is_not_carried_over_a_fork(redis_server: RedisServer, org: str) -> None:
    store = RedisStore(redis_server.url, runtime=BlockingRuntime())
    run_blocking(store.apply([Put(entry(org, value="parent"))], now=NOW))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            for number in range(50):
                run_blocking(store.apply([Put(entry(org, f"child{number}"))], now=NOW))
            code = 0
        finally:
            os._exit(code)
    for _ in range(50):
        row = run_blocking(store.get(StateEntry, (org, "global", "k"), now=NOW))
        assert row is not None and row.value == "parent"
    assert os.waitpid(child, 0)[1] == 0
    assert len(run_blocking(store.scan(Scan(StateEntry, (org, "global")), now=NOW))) == 51
    run_blocking(store.close())


def test_threads_share_a_store(redis_server: RedisServer, org: str) -> None:
    store = RedisStore(redis_server.url, runtime=BlockingRuntime())
    failed: list[BaseException] = []

    def count() -> None:
        try:
            for _ in range(50):
                run_blocking(store.apply([Increment(entry(org))], now=NOW))
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=count) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failed == []
    row = run_blocking(store.get(StateEntry, (org, "global", "k"), now=NOW))
    assert row is not None and row.value == 400
    run_blocking(store.close())


def test_a_store_goes_on_in_a_new_event_loop(redis_server: RedisServer, org: str) -> None:
    store = RedisStore(redis_server.url, runtime=AsyncRuntime())
    for number in range(3):
        assert asyncio.run(store.apply([Increment(entry(org))], now=NOW)) == [number + 1]

    async def close() -> None:
        assert await store.get(StateEntry, (org, "global", "k"), now=NOW) is not None
        await store.close()

    asyncio.run(close())


def test_more_tasks_than_connections_wait_for_their_turn(redis_server: RedisServer, org: str) -> None:
    async def main() -> None:
        store = RedisStore(redis_server.url, runtime=AsyncRuntime(), connections=4)
        await asyncio.gather(*(store.apply([Increment(entry(org))], now=NOW) for _ in range(200)))
        assert store.connections_made <= 4
        row = await store.get(StateEntry, (org, "global", "k"), now=NOW)
        assert row is not None and row.value == 200
        await store.close()

    asyncio.run(main())


def connected(server: RedisServer) -> int:
    with server.client() as client:
        return int(client.info("clients")["connected_clients"]) - 1


def test_calls_that_outlast_closing_leave_no_connection(redis_server: RedisServer, org: str) -> None:
    async def main() -> None:
        store = RedisStore(redis_server.url, runtime=AsyncRuntime(), connections=4)
        await store.open()
        calls = [asyncio.create_task(store.apply([Increment(entry(org))], now=NOW)) for _ in range(40)]
        await asyncio.sleep(0.002)
        await store.close()
        assert sorted(await asyncio.gather(*calls)) == [[number] for number in range(1, 41)]
        assert await store.get(StateEntry, (org, "global", "k"), now=NOW) is not None

    def blocking(store: RedisStore, begun: threading.Barrier) -> None:
        for number in range(50):
            run_blocking(store.apply([Increment(entry(org, "l"))], now=NOW))
            if number == 5:
                begun.wait()

    before = connected(redis_server)
    asyncio.run(main())
    wait_for(lambda: connected(redis_server) == before, lambda: "an awaited call left its connection")
    store, begun = RedisStore(redis_server.url, runtime=BlockingRuntime()), threading.Barrier(5)
    users = [threading.Thread(target=blocking, args=(store, begun)) for _ in range(4)]
    for user in users:
        user.start()
    begun.wait()
    run_blocking(store.close())
    for user in users:
        user.join()
    wait_for(lambda: connected(redis_server) == before, lambda: "a blocking call left its connection", 5)
    assert run_blocking(store.get(StateEntry, (org, "global", "l"), now=NOW)).value == 200  # type: ignore[union-attr]


def test_a_cancelled_call_is_whole_or_absent_and_spoils_no_connection(redis_server: RedisServer, org: str) -> None:
    async def main() -> None:
        store = RedisStore(redis_server.url, runtime=AsyncRuntime(), connections=2)
        await store.apply([Put(thread(org))], now=NOW)
        rng = random.Random(3)
        for number in range(100):
            task = asyncio.create_task(store.apply([append(org, f"a{number}", f"b{number}")], now=NOW))
            for _ in range(rng.randrange(8)):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        contents = [message.content for message in await store.scan(Scan(Message, (org, "t")), now=NOW)]
        assert [text[1:] for text in contents[::2]] == [text[1:] for text in contents[1::2]]
        assert [text[0] for text in contents] == ["a", "b"] * (len(contents) // 2)
        await store.close()

    asyncio.run(main())


def test_workers_of_many_orgs_take_the_oldest_job_first(store: RedisStore, run: Run, org: str) -> None:
    queue = f"q-{org}"
    for number in range(6):
        run(store.apply([Put(job(f"{org}-{number}", queue=queue, run_at=later(-number)))], now=NOW))
    batches = [run(store.claim(queue, owner="w;%", now=NOW, lease=SECOND, limit=2)) for _ in range(4)]
    assert [[claimed.org[-1] for claimed in some] for some in batches] == [["5", "4"], ["3", "2"], ["1", "0"], []]
    assert {claimed.owner for some in batches for claimed in some} == {"w;%"}
    waiting_jobs = run(store.scan(Scan(Job, (queue,), index="ready"), now=NOW))
    assert [waiting.org[-1] for waiting in waiting_jobs] == ["5", "4", "3", "2", "1", "0"]
    assert all(waiting.leased_until == to_datetime(NOW + SECOND) for waiting in waiting_jobs)


@pytest.mark.parametrize("product", products())
def test_redis_and_valkey_both_do(product: str, runtime: Runtime, run: Run, org: str) -> None:
    server = start_redis(product=product)
    store = RedisStore(server.url, runtime=runtime, on_risk="refuse")
    run(store.open())
    run(store.apply([Put(thread(org)), append(org, "a", key="k"), Increment(entry(org, value=2**60))], now=NOW))
    assert run(store.apply([append(org, "a", key="k")], now=NOW))[0].replayed
    assert run(store.apply([Increment(entry(org, value=2**60))], now=NOW)) == [2**61]
    assert len(run(store.scan(Scan(Message, (org, "t"), reverse=True, limit=5), now=NOW))) == 1
    assert run(store.purge(now=int(time.time() * SECOND))) == {}
    run(store.close())
    server.stop()


async def test_a_scan_of_keys_fetches_no_rows(store: RedisStore, org: str, monkeypatch: pytest.MonkeyPatch) -> None:
    long, sizes = "x" * 5000, []
    rows = [
        Put(StateEntry(org=org, ns=ns, key=f"k{number}", value=long, created_at=WHEN, updated_at=WHEN, expires_at=ends))
        for ns in ("global", "user:ada")
        for number, ends in enumerate((None, later(5), later(500)))
    ]
    await store.apply(rows, now=NOW)
    await store.apply([Put(thread(org, "t", ns="user:ada"))], now=NOW)
    script = store._client.script

    async def listening(*args: Any, **options: Any) -> Any:
        reply = await script(*args, **options)
        sizes.extend(len(part or b"") for part in reply)
        return reply

    monkeypatch.setattr(store._client, "script", listening)
    view = view_of(StateEntry)
    keys = await store.scan(Scan(view, (org,)), now=NOW + 10 * SECOND)
    assert [(row.org, row.ns, row.key, row.expires_at) for row in keys] == [
        (org, "global", "k0", None), (org, "global", "k2", later(500)),
        (org, "user:ada", "k0", None), (org, "user:ada", "k2", later(500)),
    ]  # fmt: skip
    newest = await store.scan(Scan(view, (org, "user:ada"), reverse=True, limit=1), now=NOW)
    assert [row.key for row in newest] == ["k2"]
    assert sum(sizes) < 1000


async def test_a_scan_of_a_view_fetches_no_long_column_it_does_not_read(
    store: RedisStore, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = (0, 20, 255, 256, 5_000, 70_000)  # each is another length in MessagePack
    rows = [
        StoredRecord(
            org=org, ns="global", key=f"k{number}", data=b"\xff;" * (size // 2), size=size,
            metadata={"note": "é;%" * number, "n": INT_MAX}, created_at=to_datetime(NOW), updated_at=to_datetime(NOW),
        )
        for number, size in enumerate(sizes)
    ]  # fmt: skip
    await store.apply([Put(row) for row in rows], now=NOW)
    answer_sizes: list[int] = []
    script = type(store._client).script

    async def watch(self: Any, *arguments: Any, **options: Any) -> Any:
        reply = await script(self, *arguments, **options)
        answer_sizes.append(sum(len(part) for part in reply if part))
        return reply

    monkeypatch.setattr(type(store._client), "script", watch)
    whole = await store.scan(Scan(StoredRecord, (org, "global")), now=NOW)
    head = view_of(StoredRecord, "size", "metadata", "version", "created_at", "updated_at")
    heads = await store.scan(Scan(head, (org, "global")), now=NOW)
    names = ("key", "size", "metadata", "version", "created_at", "updated_at", "expires_at")
    assert [[getattr(row, name) for name in names] for row in heads] == [
        [getattr(row, name) for name in names] for row in whole
    ]
    assert answer_sizes[0] > 75_000 and answer_sizes[1] < 3_000
    with_data = await store.scan(Scan(view_of(StoredRecord, "data"), (org, "global")), now=NOW)
    assert [row.data for row in with_data] == [row.data for row in rows], "a view may also read the long column"
