"""What a hot store is for, and what it must never do: answer fast, and never answer with what has been replaced."""

import os
import random
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisServer, start_redis

from memorist.errors import Conflict, MemoristError, StoreUnavailable, UnknownOutcome
from memorist.messages.message import Message
from memorist.records import CachedEntity, Record, StateEntry, Thread, WorkingDocument
from memorist.runtime import BlockingRuntime, Runtime, run_blocking
from memorist.stores.base import (
    Change,
    Claims,
    Delete,
    DeleteRange,
    Diagnoses,
    Expect,
    Increment,
    Put,
    Scan,
    Scrubs,
    Store,
)
from memorist.stores.memory import MemoryStore
from memorist.stores.redis import RedisStore
from memorist.stores.redis.keys import base_of
from memorist.stores.sqlite import SqliteStore
from memorist.stores.tiered import TieredStore, copies
from memorist.stores.tiered.changes import WINDOW_MESSAGES
from memorist_testing.plugin import Run
from memorist_testing.samples import NOW, SECOND, WHEN, append, entry, fact, later, thread

K = ("global", "k")


class Counted(MemoryStore):
    """A durable store that counts who asks it, and fails when told."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.fail: Exception | None = None
        self.before_apply: Any = None
        self.after_apply: Any = None

    async def get_many(self, kind: Any, keys: Any, *, now: int) -> Any:
        self.reads += 1
        return await super().get_many(kind, keys, now=now)

    async def scan(self, scan: Any, *, now: int) -> Any:
        self.reads += 1
        return await super().scan(scan, now=now)

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[Any]:
        if self.before_apply is not None:
            self.before_apply()
        if self.fail is not None:
            raise self.fail
        results = await super().apply(changes, now=now)
        if self.after_apply is not None:
            self.after_apply()
        return results


@pytest.fixture(scope="module")
def hot_server() -> Iterator[RedisServer]:
    server = start_redis(aof="no", options={})
    yield server
    server.stop()


@pytest.fixture
def durable() -> Counted:
    return Counted()


@pytest.fixture(autouse=True)
def quick_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    """The breaker rests for a moment only, so that tests need not sleep."""
    monkeypatch.setattr(copies, "FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(copies, "MAX_PAUSE_SECONDS", 0.0)


@pytest.fixture
def store(durable: Counted, hot_server: RedisServer, runtime: Runtime, run: Run) -> Iterator[TieredStore]:
    tiered_store = tiered(durable, hot_server.url, runtime)
    run(tiered_store.open())
    yield tiered_store
    run(tiered_store.close())


def tiered(durable: Store, url: str, runtime: Runtime) -> TieredStore:
    return TieredStore(durable, RedisStore(url, runtime=runtime))


def working(org: str, doc: dict[str, Any], **more: Any) -> WorkingDocument:
    return WorkingDocument(org=org, user="ada", doc=doc, created_at=WHEN, updated_at=WHEN, **more)


def entity(org: str, value: Any) -> CachedEntity:
    return CachedEntity(
        org=org, type="customer", id="7", value=value, fresh_until=later(60), created_at=WHEN, updated_at=WHEN
    )


def test_rows_of_hot_kinds_are_read_from_the_hot_store_after_a_write(
    store: TieredStore, durable: Counted, run: Run, org: str
) -> None:
    rows: list[Record] = [entry(org), working(org, {"page": 1}), entity(org, {"name": "x"}), thread(org)]
    run(store.get(StateEntry, (org, *K), now=NOW))
    run(store.apply([Put(row) for row in rows], now=NOW))
    durable.reads = 0
    for row in rows:
        stored = run(store.get(type(row), row.row_key, now=NOW))
        assert stored is not None and stored.version == 1  # type: ignore[attr-defined]
    assert durable.reads == 0


def test_a_miss_is_filled_and_an_absence_is_remembered(
    store: TieredStore, durable: Counted, run: Run, org: str
) -> None:
    run(durable.apply([Put(entry(org, value="v"))], now=NOW))
    for key in ("k", "none"):
        run(store.get(StateEntry, (org, "global", key), now=NOW))
    durable.reads = 0
    assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "v"
    assert run(store.get(StateEntry, (org, "global", "none"), now=NOW)) is None
    assert durable.reads == 0


def test_live_history_is_read_from_the_hot_store_while_the_thread_grows(
    store: TieredStore, durable: Counted, run: Run, org: str
) -> None:
    run(store.apply([Put(thread(org)), append(org, "m1", "m2")], now=NOW))
    run(store.scan(Scan(Message, (org, "t"), reverse=True, limit=3), now=NOW))
    durable.reads = 0
    for number in range(3, 30):
        run(store.apply([append(org, f"m{number}")], now=NOW))
        messages = run(store.scan(Scan(Message, (org, "t"), reverse=True, limit=5), now=NOW))
        assert [message.content for message in messages] == [f"m{n}" for n in range(number, max(0, number - 5), -1)]
    assert durable.reads == 0


def test_history_longer_than_the_window_comes_whole_from_the_durable_store(
    store: TieredStore, durable: Counted, run: Run, org: str
) -> None:
    run(store.apply([Put(thread(org)), append(org, "first")], now=NOW))
    run(store.scan(Scan(Message, (org, "t"), reverse=True, limit=5), now=NOW))
    for start in range(0, WINDOW_MESSAGES + 50, 50):
        run(store.apply([append(org, *(f"m{start + n}" for n in range(50)))], now=NOW))
    newest = run(store.scan(Scan(Message, (org, "t"), reverse=True, limit=WINDOW_MESSAGES), now=NOW))
    assert [message.seq for message in newest] == list(range(WINDOW_MESSAGES + 51, 51, -1))
    messages = run(store.scan(Scan(Message, (org, "t"), reverse=True, limit=WINDOW_MESSAGES + 60), now=NOW))
    assert len(messages) == WINDOW_MESSAGES + 51


def test_deleted_messages_leave_the_window_and_the_hot_store(
    store: TieredStore, run: Run, org: str, hot_server: RedisServer
) -> None:
    run(store.apply([Put(thread(org)), append(org, "keep", "a hidden word", "last")], now=NOW))
    run(store.scan(Scan(Message, (org, "t"), reverse=True, limit=5), now=NOW))
    assert in_redis(hot_server, b"a hidden word")
    run(store.apply([Delete(Message, (org, "t", 2))], now=NOW))
    assert not in_redis(hot_server, b"a hidden word")
    messages = run(store.scan(Scan(Message, (org, "t"), reverse=True, limit=5), now=NOW))
    assert [message.content for message in messages] == ["last", "keep"]


def test_what_was_forgotten_by_range_leaves_the_hot_store(
    store: TieredStore, run: Run, org: str, hot_server: RedisServer
) -> None:
    run(store.apply([Put(entry(org, value="a hidden word")), Put(working(org, {"x": "a hidden word"}))], now=NOW))
    run(store.apply([DeleteRange(StateEntry, (org,)), DeleteRange(WorkingDocument, (org, "ada"))], now=NOW))
    assert not in_redis(hot_server, b"a hidden word")
    assert run(store.get(StateEntry, (org, *K), now=NOW)) is None


def in_redis(server: RedisServer, text: bytes) -> bool:
    with server.client() as client:
        return any(text in (client.get(key) or b"") for key in client.scan_iter() if client.type(key) == b"string")


def test_another_process_sees_a_write_as_soon_as_it_has_returned(
    store: TieredStore, durable: Counted, hot_server: RedisServer, runtime: Runtime, run: Run, org: str
) -> None:
    other = tiered(durable, hot_server.url, runtime)
    run(other.open())
    for number in range(20):
        writer, reader = (store, other) if number % 2 else (other, store)
        run(writer.apply([Put(entry(org, value=number))], now=NOW))
        assert run(reader.get(StateEntry, (org, *K), now=NOW)).value == number
        run(writer.apply([Increment(entry(org, "count"))], now=NOW))
        assert run(reader.get(StateEntry, (org, "global", "count"), now=NOW)).value == number + 1
    run(other.close())


def test_a_failed_write_leaves_the_old_value_in_service(
    store: TieredStore, durable: Counted, run: Run, org: str
) -> None:
    run(store.apply([Put(entry(org, value="old"))], now=NOW))
    with pytest.raises(Conflict):
        run(store.apply([Expect(StateEntry, (org, *K), 9), Put(entry(org, value="new"))], now=NOW))
    assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "old"
    durable.fail = StoreUnavailable("away")
    with pytest.raises(StoreUnavailable):
        run(store.apply([Put(entry(org, value="new"))], now=NOW))
    durable.fail = None
    assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "old"


def test_after_an_unknown_outcome_the_durable_store_is_asked(
    store: TieredStore, durable: Counted, run: Run, org: str
) -> None:
    run(store.apply([Put(entry(org, value="old"))], now=NOW))
    durable.fail = UnknownOutcome("the reply was lost")
    with pytest.raises(UnknownOutcome):
        run(store.apply([Put(entry(org, value="new"))], now=NOW))
    durable.fail = None
    assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "old"
    # It was done after all, a moment later: nobody has kept the old one meanwhile.
    run(durable.apply([Put(entry(org, value="new"))], now=NOW))
    assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "new"


def test_a_reader_that_was_overtaken_does_not_fill_in_what_it_read(
    store: TieredStore, durable: Counted, hot_server: RedisServer, runtime: Runtime, run: Run, org: str
) -> None:
    """The writer starts after the reader has read the durable store and before it fills."""
    run(durable.apply([Put(entry(org, value="old"))], now=NOW))
    run(store.get(StateEntry, (org, "global", "other"), now=NOW))
    copy_key = store._hot.copy_key(org, "state", K)
    generation, copies = run(store._hot.read(org, [copy_key], NOW))
    old = run(durable.get(StateEntry, (org, *K), now=NOW))
    run(store.apply([Put(entry(org, value="new"))], now=NOW))
    run(store._fill(org, generation, [(copy_key, copies[0], old)], NOW))
    assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "new"
    # The same with flushes, which take the versions away: nothing there before, nothing there after.
    hot_server.flush()
    generation, copies = run(store._hot.read(org, [copy_key], NOW))
    assert copies[0].version == 0
    run(store.apply([Put(entry(org, value="newer"))], now=NOW))
    hot_server.flush()
    run(store._fill(org, generation, [(copy_key, copies[0], old)], NOW))
    assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "newer"


def test_a_mark_written_after_a_flush_holds_until_the_batch_is_settled(
    store: TieredStore, durable: Counted, hot_server: RedisServer, run: Run, org: str
) -> None:
    """A reader who starts the next generation may not take away the mark of a write that is on its way."""
    run(store.apply([Put(entry(org, value="old"))], now=NOW))
    reader = tiered(durable, hot_server.url, BlockingRuntime())
    run_blocking(reader.open())

    def read() -> Any:
        return run_blocking(reader.get(StateEntry, (org, *K), now=NOW)).value

    values: list[Any] = []
    durable.before_apply = lambda: values.append(read())
    durable.after_apply = lambda: values.append(read())
    hot_server.flush()
    run(store.apply([Put(entry(org, value="new"))], now=NOW))
    assert values == ["old", "new"]


def test_of_all_who_find_no_generation_one_starts_the_next(
    store: TieredStore, durable: Counted, hot_server: RedisServer, run: Run, org: str
) -> None:
    """A reader who saw that there is none, and was overtaken by a write, joins the generation of the write."""
    run(store.apply([Put(entry(org, value="old"))], now=NOW))
    late = tiered(durable, hot_server.url, BlockingRuntime())
    run_blocking(late.open())
    hot_server.flush()
    look = late.hot.get

    async def look_and_be_overtaken(kind: Any, key: Any, *, now: int) -> Any:
        late.hot.get = look  # type: ignore[method-assign]  # once
        row = await look(kind, key, now=now)
        values.append(row)
        run_blocking(other._hot.mark(org, [other._hot.marking_put(copy_key, NOW)], NOW))
        return row

    other = tiered(durable, hot_server.url, BlockingRuntime())
    run_blocking(other.open())
    copy_key = other._hot.copy_key(org, "state", K)
    values: list[Any] = []
    late.hot.get = look_and_be_overtaken  # type: ignore[method-assign]  # see above
    assert run_blocking(late.get(StateEntry, (org, *K), now=NOW)).value == "old"
    _, copies = run_blocking(other._hot.read(org, [copy_key], NOW))
    assert values == [None]
    assert not copies[0].fillable, "the mark is gone"


def test_of_two_writers_at_once_the_last_to_commit_is_served(
    store: TieredStore, durable: Counted, hot_server: RedisServer, run: Run, org: str
) -> None:
    run(store.apply([Put(entry(org, value="old"))], now=NOW))
    other = tiered(durable, hot_server.url, BlockingRuntime())
    run_blocking(other.open())

    def overtake() -> None:
        durable.before_apply = None
        run_blocking(other.apply([Put(entry(org, value="first to commit"))], now=NOW))

    durable.before_apply = overtake
    run(store.apply([Put(entry(org, value="last to commit"))], now=NOW))
    for reader, way in ((store, run), (other, run_blocking)):
        assert way(reader.get(StateEntry, (org, *K), now=NOW)).value == "last to commit"
    run_blocking(other.close())


def test_the_hot_store_comes_back_in_the_middle_of_a_write(durable: Counted, hot_server: RedisServer, org: str) -> None:
    """The write could not be announced; before it commits, a reader fills in what it is about to replace."""
    with Proxy(hot_server.port) as proxy:
        stores = [tiered(durable, f"redis://127.0.0.1:{proxy.port}", BlockingRuntime()) for _ in range(2)]
        for store in stores:
            run_blocking(store.open())
            run_blocking(store.apply([Put(entry(org, value="old"))], now=NOW))

        def come_back() -> None:
            proxy.mode = "pass"
            for store in stores:
                run_blocking(store.get(StateEntry, (org, *K), now=NOW))

        durable.before_apply, proxy.mode = come_back, "reset"
        proxy.drop()
        run_blocking(stores[0].apply([Put(entry(org, value="new"))], now=NOW))
        durable.before_apply = None
        for store in reversed(stores):
            row = run_blocking(store.get(StateEntry, (org, *K), now=NOW))
            assert row is not None and row.value == "new"
            run_blocking(store.close())


def test_a_read_during_a_write_fills_nothing_that_outlives_it(
    store: TieredStore, durable: Counted, hot_server: RedisServer, run: Run, org: str
) -> None:
    run(store.apply([Put(entry(org, value="old"))], now=NOW))
    other = tiered(durable, hot_server.url, BlockingRuntime())
    run_blocking(other.open())
    durable.before_apply = lambda: run_blocking(other.get(StateEntry, (org, *K), now=NOW))
    for value in ("new", "newer"):
        run(store.apply([Put(entry(org, value=value))], now=NOW))
        assert run_blocking(other.get(StateEntry, (org, *K), now=NOW)).value == value  # type: ignore[union-attr]
    durable.before_apply = None
    run_blocking(other.close())


def test_a_hot_store_that_dies_costs_nothing_but_time_and_comes_back(
    durable: Counted, runtime: Runtime, run: Run, org: str
) -> None:
    server = start_redis(aof="no", options={})
    store = tiered(durable, server.url, runtime)
    run(store.open())
    run(store.apply([Put(entry(org, value="one")), Put(thread(org)), append(org, "a")], now=NOW))
    server.kill()
    assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "one"
    run(store.apply([Put(entry(org, value="two")), append(org, "b")], now=NOW))
    assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "two"
    assert "cannot be reached" in " ".join(run(store.diagnose())["problems"])
    server.restart()
    for _ in range(2):
        assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "two"
        assert len(run(store.scan(Scan(Message, (org, "t"), reverse=True, limit=5), now=NOW))) == 2
    durable.reads = 0
    assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "two"
    assert durable.reads == 0
    run(store.close())
    server.stop()


def test_a_hot_store_that_restarts_with_old_data_is_not_believed(
    durable: Counted, runtime: Runtime, run: Run, org: str
) -> None:
    """A snapshot from before the last write comes back to life: the copy in it is stale."""
    server = start_redis(aof="no", options={})
    store, idle = tiered(durable, server.url, runtime), tiered(durable, server.url, runtime)
    for tiered_store in (store, idle):
        run(tiered_store.open())
        run(tiered_store.apply([Put(entry(org, value="old"))], now=NOW))
        assert run(tiered_store.get(StateEntry, (org, *K), now=NOW)).value == "old"
    with server.client() as client:
        client.save()
    run(store.apply([Put(entry(org, value="new"))], now=NOW))
    server.kill()
    server.restart()
    with server.client() as client:
        assert client.dbsize() > 0
    for tiered_store in (idle, store):
        assert run(tiered_store.get(StateEntry, (org, *K), now=NOW)).value == "new"
    late = tiered(durable, server.url, runtime)
    run(late.open())
    assert run(late.get(StateEntry, (org, *K), now=NOW)).value == "new"
    for tiered_store in (store, idle, late):
        run(tiered_store.close())
    server.stop()


class Overtaken(RedisStore):
    """A hot store in which something happens between the answer to who the server is and its use."""

    meanwhile: Any = None

    async def incarnation(self) -> str:
        answer = await super().incarnation()
        if self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            await act(self)
        return answer


def test_a_restart_while_the_server_is_asked_who_it_is_is_noticed(
    durable: Counted, runtime: Runtime, run: Run, org: str
) -> None:
    server = start_redis(aof="no", options={})
    store = tiered(durable, server.url, runtime)
    run(store.open())
    run(store.apply([Put(entry(org, value="old"))], now=NOW))
    assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "old"
    with server.client() as client:
        client.save()
    run(store.apply([Put(entry(org, value="new"))], now=NOW))

    async def restart(hot: RedisStore) -> None:
        server.kill()
        server.restart()
        await hot.get(StateEntry, (org, *K), now=NOW)  # as another task or thread, over a connection of its own

    hot = Overtaken(server.url, runtime=runtime)
    hot.meanwhile = restart
    late = TieredStore(durable, hot)
    run(late.open())
    assert run(late.get(StateEntry, (org, *K), now=NOW)).value == "new"
    assert hot.meanwhile is None
    for tiers in (store, late):
        run(tiers.close())
    server.stop()


def test_a_write_that_cannot_reach_the_hot_store_is_not_undone_by_it(
    durable: Counted, hot_server: RedisServer, runtime: Runtime, run: Run, org: str
) -> None:
    """The server stays up and keeps its copies; only the way to it breaks, for one write."""
    with Proxy(hot_server.port) as proxy:
        store = tiered(durable, f"redis://127.0.0.1:{proxy.port}", runtime)
        run(store.open())
        for mode in ("reset", "black-hole", "cut-reply"):
            run(store.apply([Put(entry(org, value=f"before {mode}"))], now=NOW))
            assert run(store.get(StateEntry, (org, *K), now=NOW)).value == f"before {mode}"
            proxy.mode = mode
            proxy.drop()
            run(store.apply([Put(entry(org, value=f"after {mode}"))], now=NOW))
            proxy.mode = "pass"
            assert run(store.get(StateEntry, (org, *K), now=NOW)).value == f"after {mode}"
            assert run(store.get(StateEntry, (org, *K), now=NOW)).value == f"after {mode}"
        run(store.close())


def test_the_hot_store_fails_between_the_durable_write_and_its_own(
    durable: Counted, hot_server: RedisServer, runtime: Runtime, run: Run, org: str
) -> None:
    with Proxy(hot_server.port) as proxy:
        store = tiered(durable, f"redis://127.0.0.1:{proxy.port}", runtime)
        run(store.open())
        run(store.apply([Put(entry(org, value="old"))], now=NOW))

        def cut() -> None:
            proxy.mode = "reset"
            proxy.drop()

        durable.before_apply = cut
        run(store.apply([Put(entry(org, value="new"))], now=NOW))
        durable.before_apply, proxy.mode = None, "pass"
        assert run(store.get(StateEntry, (org, *K), now=NOW)).value == "new"
        other = tiered(durable, hot_server.url, runtime)
        run(other.open())
        assert run(other.get(StateEntry, (org, *K), now=NOW)).value == "new"
        run(other.close())
        run(store.close())


def test_two_durable_stores_share_a_hot_one_without_meeting(
    hot_server: RedisServer, runtime: Runtime, run: Run, org: str
) -> None:
    stores = [tiered(MemoryStore(), hot_server.url, runtime) for _ in range(2)]
    for number, store in enumerate(stores):
        run(store.open())
        run(store.apply([Put(entry(org, value=number))], now=NOW))
    for number, store in enumerate(stores):
        assert run(store.get(StateEntry, (org, *K), now=NOW)).value == number
        run(store.close())


def test_a_copy_is_trusted_for_a_minute_at_most(store: TieredStore, durable: Counted, run: Run, org: str) -> None:
    """The bound for what no protocol can see: a row changed behind the store's back."""
    run(store.apply([Put(entry(org, value="copied"))], now=NOW))
    run(store.get(StateEntry, (org, *K), now=NOW))
    run(durable.apply([Put(entry(org, value="behind"))], now=NOW))
    assert run(store.get(StateEntry, (org, *K), now=NOW + 61 * SECOND)).value == "behind"


def test_copies_of_keys_that_are_never_seen_again_do_not_pile_up(
    store: TieredStore, run: Run, org: str, hot_server: RedisServer
) -> None:
    for number in range(400):
        run(store.apply([Put(entry(org, f"k{number}"))], now=NOW + number * SECOND))
    with hot_server.client() as client:
        assert client.zcard(base_of(org) + b"@state") < 200
    assert len(run(store.scan(Scan(StateEntry, (org, "global")), now=NOW))) == 400


def test_powers_of_the_durable_store_show_through(store: TieredStore, run: Run, org: str) -> None:
    assert isinstance(store, Claims) and isinstance(store, Scrubs) and isinstance(store, Diagnoses)
    store.durable.search_text = lambda: "found"  # type: ignore[attr-defined]
    assert store.search_text() == "found"
    assert not hasattr(store, "search_vector")
    assert run(store.orgs()) == []
    run(store.apply([Put(fact(org))], now=NOW))
    assert run(store.orgs()) == [org]
    assert run(store.scrub()).done


@pytest.mark.parametrize("seed", range(int(os.environ.get("MEMORIST_TIER_SEEDS", "4"))))
def test_a_hot_store_killed_flushed_and_restarted_in_between_changes_no_answer(
    seed: int, org: str, tmp_path: Path
) -> None:
    """Random operations beside the reference store, while the hot server lives through whatever comes."""
    server = start_redis(aof="no", options={})
    runtime = BlockingRuntime()
    reference = MemoryStore()
    durable = SqliteStore(str(tmp_path / "store.db"), runtime=runtime, durability="normal")
    stores = [tiered(durable, server.url, runtime) for _ in range(2)]
    for store in stores:
        run_blocking(store.open())
    rng = random.Random(seed)
    dead = False
    makers = [random_operation(rng) for _ in range(300)]
    for number, make in enumerate(makers):
        event = rng.random()
        if event < 0.03 and not dead:
            with server.client() as client:
                client.save()
        elif event < 0.06:
            (server.restart if dead else server.kill)()
            dead = not dead
        elif event < 0.10 and not dead:
            server.flush()
        expected = run_blocking(outcome(make(org), reference))
        assert run_blocking(outcome(make(org), rng.choice(stores))) == expected, f"operation {number}"
    if dead:
        server.restart()
    for store in stores:
        assert everything(store, org) == everything(reference, org)
    for store in stores:
        run_blocking(store.close())
    server.stop()


async def outcome(work: Any, store: Store) -> Any:
    """What an operation answers, or which error it raises."""
    try:
        return await work(store)
    except MemoristError as error:
        return type(error).__name__


def everything(store: Store, org: str) -> list[Any]:
    """All rows of an org that a hot store may hold copies of."""
    kinds: tuple[Any, ...] = (StateEntry, Thread, Message, WorkingDocument)
    rows = [row for kind in kinds for row in run_blocking(store.scan(Scan(kind, (org,)), now=NOW))]
    return [(row, run_blocking(store.get(type(row), row.row_key, now=NOW))) for row in rows]


def random_operation(rng: random.Random) -> Any:
    """Something that the hot store holds, or that changes what it holds."""
    kind = rng.randrange(6)
    key, now = rng.choice("abc"), NOW + rng.randrange(3) * 30 * SECOND
    if kind == 0:
        return lambda o: lambda s: s.get(StateEntry, (o, "global", key), now=now)
    if kind == 1:
        return lambda o: lambda s: s.scan(Scan(Message, (o, "t"), reverse=True, limit=4), now=now)
    if kind == 2:
        value, ends = rng.randrange(100), rng.choice([None, later(30), later(60)])
        return lambda o: lambda s: s.apply([Put(entry(o, key, value, expires_at=ends))], now=now)
    if kind == 3:
        text = str(rng.randrange(10**6))
        return lambda o: lambda s: s.apply([Put(thread(o), absent=True), append(o, text)], now=now)
    if kind == 4:
        choices: list[Any] = [
            lambda o: Increment(entry(o, key)),
            lambda o: Delete(StateEntry, (o, "global", key)),
            lambda o: Delete(Message, (o, "t", 2)),
            lambda o: DeleteRange(StateEntry, (o, "global")),
            lambda o: DeleteRange(Message, (o, "t"), before=(3,)),
            lambda o: Put(working(o, {"k": key})),
        ]
        change = rng.choice(choices)
        return lambda o: lambda s: s.apply([change(o)], now=now)
    return lambda o: lambda s: s.get(Thread, (o, "t"), now=now)


def test_readers_beside_a_writer_never_see_time_go_backwards(
    hot_server: RedisServer, tmp_path: Path, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A counter only grows: a reader that once saw a value never sees an older one, whoever serves it."""
    # A writer that gives up on the hot store leaves others with old copies for `max_age`: here it never gives up.
    monkeypatch.setattr("memorist.stores.redis.store.CACHE_CONNECT_SECONDS", 60.0)
    monkeypatch.setattr("memorist.stores.redis.store.CACHE_SECONDS", 60.0)
    path = str(tmp_path / "store.db")
    stores = []
    for _ in range(4):
        runtime = BlockingRuntime()
        store = tiered(SqliteStore(path, runtime=runtime, durability="normal"), hot_server.url, runtime)
        run_blocking(store.open())
        stores.append(store)
    run_blocking(stores[0].apply([Put(entry(org, value=0))], now=NOW))
    ended, failures = threading.Event(), []
    returned = [0]

    def read(store: TieredStore) -> None:
        newest = 0
        while not ended.is_set():
            floor = returned[0]
            row = run_blocking(store.get(StateEntry, (org, *K), now=NOW))
            value = row.value if row is not None else -1
            if value < max(newest, floor):
                failures.append((value, newest, floor))
            newest = max(newest, value)

    readers = [threading.Thread(target=read, args=(store,)) for store in stores[1:]]
    for reader in readers:
        reader.start()
    for number in range(1, 301):
        run_blocking(stores[0].apply([Put(entry(org, value=number))], now=NOW))
        returned[0] = number
        if number % 60 == 0:
            hot_server.flush()
    time.sleep(0.05)
    ended.set()
    for reader in readers:
        reader.join()
    assert failures == []
    for store in stores:
        run_blocking(store.close())
