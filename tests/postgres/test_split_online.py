"""Tables are split by org while others read and write them, and while the split is killed again and again.

`MEMORIST_SOAK=1` does so with more rows, and with kills at random moments.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from memorist.cli.main import cli
from memorist.errors import StoreError, Unsupported, UsageError
from memorist.messages.message import Message
from memorist.records import Entry, Fact, FactVersion, StateEntry
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Delete, Increment, Put, Scan
from memorist.stores.codec import kinds
from memorist.stores.memory import MemoryStore
from memorist.stores.postgres import PostgresStore, partitioning
from memorist_testing.properties import difference
from memorist_testing.samples import NOW, append, entry, fact, job, thread
from tests.postgres.test_faults import wait_until
from tests.postgres.test_online import _LOCKS, HARMLESS, old_transaction, opened, waiting
from tests.postgres.test_search import encode_many, item, vectors

SOAK = bool(os.environ.get("MEMORIST_SOAK"))
ORGS = 50 if SOAK else 6
EACH = 200 if SOAK else 20
KILLS = 50 if SOAK else 2
PARTS = 3
TABLES = ["entries", "fact_versions", "facts", "messages", "state", "threads"]
"""Those that the writers of these tests write to; splitting all of them would only take longer."""
KILLED = """
import os, signal, sys
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.postgres import PostgresStore, partitioning
from memorist.stores.postgres.clients import Pool

url, left, tables = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
store = PostgresStore(url, runtime=BlockingRuntime())
run_blocking(store.open())
partitioning.BATCH = partitioning._MOST_ROWS = 7
asked = {"exchange": Pool.exchange, "script": Pool.script}

def counted(name):
    async def ask(self, channel, *rest):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return await asked[name](self, channel, *rest)
    return ask

for name in asked:
    setattr(Pool, name, counted(name))
for table in tables:
    run_blocking(store.partition(3, table=table))
"""


@pytest.fixture
def filled(new_database: Callable[[], str]) -> str:
    """A database with rows of some orgs, in plain tables."""
    url = new_database()
    store = opened(url)
    coded = encode_many(vectors(EACH))
    for n in range(ORGS):
        org = f"o{n}"
        changes: list[Any] = [Put(thread(org)), append(org, *(f"old {i}" for i in range(EACH)))]
        changes += [Put(fact(org, f"k{i}", i)) for i in range(EACH)] + [Put(fact(org, "k0", 1))]
        changes += [Put(item(org, f"t#{i}", f"tea w{i}", embedder="e", vector=coded[i])) for i in range(EACH)]
        run_blocking(store.apply(changes, now=NOW))
    run_blocking(store.close())
    return url


class Writer(threading.Thread):
    """Writes to an org and remembers what must be there: messages, a counter, facts that change, come and go."""

    def __init__(self, url: str, number: int) -> None:
        super().__init__(daemon=True)
        self.org = f"o{number % ORGS}"
        self.mark = f"w{number}"
        self.said: list[str] = []
        self.counted = 0
        self.facts: dict[str, int] = {}
        self.gone: set[str] = set()
        self.failure: BaseException | None = None
        self._url = url
        self._ended = threading.Event()

    def run(self) -> None:
        # Opened no further than a program of the version before would be: it only reads and writes.
        store = PostgresStore(self._url, runtime=BlockingRuntime())
        try:
            while not self._ended.is_set():
                self._turn(store, len(self.said))
        except BaseException as failure:
            self.failure = failure
        run_blocking(store.close())

    def _turn(self, store: PostgresStore, n: int) -> None:
        text, key = f"{self.mark} {n}", f"{self.mark}-{n % 7}"
        changes = [append(self.org, text), Increment(entry(self.org, self.mark, 1)), Put(fact(self.org, key, n))]
        run_blocking(store.apply(changes, now=NOW))
        self.said.append(text)
        self.counted += 1
        self.facts[key] = n
        old = f"k{n % EACH}"
        run_blocking(store.apply([Delete(Fact, (self.org, "global", old))], now=NOW))
        self.gone.add(old)
        found = run_blocking(store.scan(Scan(Message, (self.org, "t"), reverse=True, limit=50), now=NOW))
        assert [one.seq for one in found] == list(range(found[0].seq, found[0].seq - len(found), -1))
        assert run_blocking(store.term_counts(self.org, "user:a", ["tea"])) == {"tea": EACH}
        assert len(run_blocking(store.search_text(self.org, "user:a", ["tea"], limit=EACH, now=NOW))) == EACH

    def end(self) -> None:
        self._ended.set()
        self.join(120)


@contextmanager
def store_on(url: str) -> Iterator[PostgresStore]:
    """An open store, closed at the end."""
    store = opened(url)
    try:
        yield store
    finally:
        run_blocking(store.close())


def killed(url: str, requests: int, *tables: str) -> bool:
    """Split tables in a process that is killed before it sends one request more than these; False if it ended."""
    run = [sys.executable, "-c", KILLED, url, str(requests), *tables]
    ended = subprocess.run(run, timeout=300, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.returncode != 0


@contextmanager
def writing(url: str, count: int = 3) -> Iterator[list[Writer]]:
    """Writers to orgs of their own, stopped at the end and checked for failures."""
    writers = [Writer(url, number) for number in range(count)]
    for writer in writers:
        writer.start()
    try:
        yield writers
    finally:
        for writer in writers:
            writer.end()
    assert [writer.failure for writer in writers] == [None] * count


def split_tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'memorist'::regnamespace AND relkind = 'p'"
        ).fetchall()
    return {name for (name,) in found}


def left_over(url: str) -> int:
    """What is left of the means of a split: its schema, and triggers of its name."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'memorist_split%') "
            "+ (SELECT count(*) FROM pg_trigger WHERE tgname = 'memorist_split')"
        ).fetchone()
    assert found is not None
    return int(found[0])


def check(url: str, writers: list[Writer]) -> None:
    """Nothing that was acknowledged is missing, nothing is there twice."""
    store = opened(url)
    for number in range(ORGS):
        org = f"o{number}"
        mine = [writer for writer in writers if writer.org == org]
        messages = run_blocking(store.scan(Scan(Message, (org, "t")), now=NOW))
        assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
        said = [f"old {i}" for i in range(EACH)] + [text for writer in mine for text in writer.said]
        assert [message.text for message in messages] == said
        facts = {one.key: one for one in run_blocking(store.scan(Scan(Fact, (org, "global")), now=NOW))}
        wanted: dict[str, Any] = {f"k{i}": i for i in range(EACH)} | {"k0": 1}
        for writer in mine:
            wanted = {key: value for key, value in wanted.items() if key not in writer.gone} | writer.facts
            counter = run_blocking(store.get(StateEntry, (org, "global", writer.mark), now=NOW))
            assert counter is not None and counter.value == writer.counted
        assert {key: one.value for key, one in facts.items()} == wanted
        versions = run_blocking(store.scan(Scan(FactVersion, (org, "global")), now=NOW))
        places = [(one.key, one.version) for one in versions]
        assert len(places) == len(set(places))
        for key, one in facts.items():
            assert [version for name, version in places if name == key] == list(range(1, one.version))
        near = run_blocking(store.search_vector(org, "user:a", "e", vectors(1)[0].tolist(), limit=EACH, now=NOW))
        assert {one.id for one, _ in near} == {f"t#{i}" for i in range(EACH)}
    assert run_blocking(store.diagnose(deep=True))["damaged"] == {}
    run_blocking(store.close())


def test_tables_are_split_under_writers(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioning, "BATCH", 7)
    monkeypatch.setattr(partitioning, "_MOST_ROWS", 7)
    copied: list[int] = []
    store = opened(filled)
    with writing(filled) as writers:
        done = [run_blocking(store.partition(PARTS, table=name, progress=copied.append)) for name in TABLES]
    run_blocking(store.close())
    assert [one.table for [one] in done] == TABLES
    assert split_tables(filled) == set(TABLES) and left_over(filled) == 0
    assert max(copied) <= 7 and sum(copied) == sum(one.rows for [one] in done)
    check(filled, writers)


def test_a_split_that_is_killed_at_any_step_goes_on(filled: str) -> None:
    # Each time it comes a little further: what was done before takes few requests.
    requests = list(range(4, 200) if SOAK else (5, 8, 11, 15, 22, 40))
    with writing(filled) as writers:
        kills = [killed(filled, count, "facts", "messages") for count in requests]
        assert sum(kills) > 4, "it was killed at several steps"
        assert not killed(filled, 10_000, "facts", "messages")
    assert split_tables(filled) == {"facts", "messages"} and left_over(filled) == 0
    check(filled, writers)


def test_a_split_that_is_killed_at_random_moments_goes_on(filled: str) -> None:
    dice = random.Random(22)
    run = [sys.executable, "-m", "memorist", "--url", filled, "partition", str(PARTS)]
    run += [] if SOAK else ["--table", "messages"]
    with writing(filled, 6 if SOAK else 2) as writers:
        for _ in range(KILLS):
            process = subprocess.Popen(run)
            try:
                process.wait(dice.uniform(0.5, 12 if SOAK else 3))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        wait_until(lambda: subprocess.run(run, timeout=300, check=False).returncode == 0)
    assert split_tables(filled) == ({kind.table.name for kind in kinds()} if SOAK else {"messages"})
    assert left_over(filled) == 0
    check(filled, writers)


def test_a_new_table_is_fenced_and_has_all_that_the_old_one_had(filled: str) -> None:
    def described(where: str) -> list[Any]:
        with psycopg.connect(filled) as connection:
            return connection.execute(
                "SELECT c.relname::text, c.relrowsecurity AND c.relforcerowsecurity, "
                "  (SELECT array_agg(polname ORDER BY polname)::text FROM pg_policy WHERE polrelid = c.oid), "
                "  (SELECT array_agg(tgname ORDER BY tgname)::text FROM pg_trigger "
                "   WHERE tgrelid = c.oid AND NOT tgisinternal), "
                "  (SELECT array_agg(x.relname ORDER BY x.relname)::text FROM pg_index i "
                "   JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = c.oid AND i.indisvalid), "
                "  (SELECT array_agg((attname, atttypid, attnotnull, attgenerated, attstattarget) ORDER BY attnum)"
                "   ::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped), "
                "  c.relacl::text, c.relowner "
                "FROM pg_class c WHERE c.relnamespace = 'memorist'::regnamespace AND NOT c.relispartition "
                f"AND c.relkind IN ('r', 'p') AND c.relname <> 'migrations' AND {where} ORDER BY 1"  # type: ignore[arg-type]  # pyright: ignore
            ).fetchall()

    before = described("true")
    answer = CliRunner().invoke(cli, ["--url", filled, "partition", "2"])
    assert answer.exit_code == 0, answer.output
    assert "tables are split into 2" in answer.output
    assert described("c.relkind = 'p'") == before
    assert split_tables(filled) == {kind.table.name for kind in kinds()}
    again = CliRunner().invoke(cli, ["--url", filled, "partition", "2"])
    assert again.exit_code == 0 and "0 tables" in again.output
    check(filled, [])
    store, reference = opened(filled), MemoryStore()
    for seed in range(5):
        assert difference(store, reference, run_blocking, seed, range(40)) is None
    run_blocking(store.close())


def test_nobody_waits_for_a_split_but_for_its_two_short_locks(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old transaction holds the split in its index builds, and the locks are looked at there."""
    store = opened(filled)
    with psycopg.connect(filled, autocommit=True) as watcher, old_transaction(filled) as old:  # noqa: SIM117
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(lambda: run_blocking(store.partition(PARTS, table="facts")))
            waiting(watcher, "CREATE INDEX CONCURRENTLY%")
            ours = [old.info.backend_pid, watcher.info.backend_pid]
            held = {mode for mode, _ in watcher.execute(_LOCKS, [ours]).fetchall()}
            assert held and held <= HARMLESS
            with store_on(filled) as other:
                run_blocking(other.apply([Put(fact("o1", "k1", "new"))], now=NOW))
                notes = run_blocking(other.diagnose())["notes"]
            # A program that looks meanwhile finds the old table, and doctor says what is going on.
            assert split_tables(filled) == set()
            assert any("being split" in note for note in notes)
            assert old.execute("SELECT count(*) FROM memorist.facts").fetchone() == (ORGS * EACH,)
            monkeypatch.setattr(partitioning, "WAIT_SECONDS", 0)
            with pytest.raises(StoreError, match="another process"):
                run_blocking(store.partition(PARTS))
            old.rollback()
            [done] = future.result(120)
    assert done.rows == ORGS * EACH and split_tables(filled) == {"facts"}
    changed = run_blocking(store.get(Fact, ("o1", "global", "k1"), now=NOW))
    assert changed is not None and changed.value == "new"
    run_blocking(store.close())


def test_a_reader_who_holds_the_table_is_waited_for_and_blocks_nobody_else(filled: str) -> None:
    store = opened(filled)
    with psycopg.connect(filled, autocommit=True) as watcher, psycopg.connect(filled) as reader:
        reader.execute("SELECT count(*) FROM memorist.receipts")  # keeps its lock until the transaction ends
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(lambda: run_blocking(store.partition(PARTS, table="receipts")))
            waiting(watcher, "%memorist_split.switch%")
            # Between two tries of the switch a write passes; it waits for no longer than one try.
            with store_on(filled) as other:
                run_blocking(other.apply([append("o1", "meanwhile", key="k")], now=NOW))
            reader.rollback()
            [done] = future.result(120)
    assert split_tables(filled) == {"receipts"} and done.locked_seconds > 0
    run_blocking(store.close())


def test_a_split_can_be_given_up(filled: str) -> None:
    assert killed(filled, 14, "facts")
    assert left_over(filled) == 3
    with store_on(filled) as store, pytest.raises(UsageError, match="split into 3 already"):
        run_blocking(store.partition(5))
    answer = CliRunner().invoke(cli, ["--url", filled, "partition", "--undo"])
    assert answer.exit_code == 0 and "given up: facts" in answer.output
    assert left_over(filled) == 0 and split_tables(filled) == set()
    with psycopg.connect(filled) as connection:
        assert connection.execute("SELECT to_regclass('memorist.facts_0')").fetchone() == (None,)
    check(filled, [])
    with store_on(filled) as store:
        assert run_blocking(store.undo_partition()) == []


@pytest.mark.parametrize("way", ["again", "undo"])
def test_an_old_table_that_was_not_dropped_is_dropped_later(
    filled: str, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    async def stopped(self: Any, name: str) -> None:
        raise StoreError("stopped after the switch")

    with store_on(filled) as store:
        with monkeypatch.context() as dying, pytest.raises(StoreError, match="stopped"):
            dying.setattr(partitioning._Splitting, "_retire", stopped)
            run_blocking(store.partition(PARTS, table="facts"))
        assert split_tables(filled) == {"facts"} and left_over(filled) == 3
        if way == "again":
            assert run_blocking(store.partition(PARTS, table="facts")) == []
        else:
            assert run_blocking(store.undo_partition()) == []
    assert split_tables(filled) == {"facts"} and left_over(filled) == 0
    check(filled, [])


def test_a_column_that_a_migration_adds_meanwhile_is_not_lost(filled: str) -> None:
    store = opened(filled)
    assert killed(filled, 18, "facts")
    with psycopg.connect(filled, autocommit=True) as connection:
        connection.execute("ALTER TABLE memorist.facts ADD COLUMN mood text DEFAULT 'calm'")
        run_blocking(store.partition(PARTS, table="facts"))
        found = connection.execute("SELECT count(*) FROM memorist.facts WHERE mood = 'calm'").fetchone()
    assert found == (ORGS * EACH,) and split_tables(filled) == {"facts"} and left_over(filled) == 0
    run_blocking(store.close())


def test_a_copy_that_differs_is_not_used(filled: str) -> None:
    store = opened(filled)
    assert killed(filled, 14, "facts")
    with psycopg.connect(filled, autocommit=True) as connection:
        connection.execute("UPDATE memorist_split.facts SET value = '5' WHERE org = 'o0' AND key = 'k1'")
    with pytest.raises(StoreError, match="differs"):
        run_blocking(store.partition(PARTS, table="facts"))
    assert split_tables(filled) == set()
    run_blocking(store.close())


def test_only_the_owner_splits_and_only_what_there_is(filled: str, login: Callable[..., str], tmp_path: Any) -> None:
    store = PostgresStore(login(filled, "memorist_app"), runtime=BlockingRuntime())
    run_blocking(store.open())
    with pytest.raises(Unsupported, match="owner"):
        run_blocking(store.partition(2))
    for parts in (0, 1025, True):
        with pytest.raises(UsageError):
            run_blocking(store.partition(parts))
    with store_on(filled) as own, pytest.raises(UsageError, match="no table"):
        run_blocking(own.partition(2, table="nothing"))
    run_blocking(store.close())
    answer = CliRunner().invoke(cli, ["--url", str(tmp_path / "m.db"), "facts", "set", "global", "k", "1"])
    answer = CliRunner().invoke(cli, ["--url", str(tmp_path / "m.db"), "partition", "2"])
    assert answer.exit_code != 0 and isinstance(answer.exception, Unsupported)


def test_the_owner_and_those_above_the_fence_keep_their_rights(
    login: Callable[..., str], new_database: Callable[[], str]
) -> None:
    """As in docs/deploy-postgres.md: an owner who is no superuser, and a role that may bypass row-level security."""
    admin = new_database()
    owned, above = login(admin, "memorist_app", "memorist_worker"), login(admin)
    owner, searcher = (psycopg.sql.Identifier(url.split("//")[1].split("@")[0]) for url in (owned, above))
    database = psycopg.sql.Identifier(admin.rpartition("/")[2])
    with psycopg.connect(admin, autocommit=True) as connection:

        def run(text: str) -> None:
            connection.execute(psycopg.sql.SQL(text).format(owner, searcher, database))  # type: ignore[arg-type]

        run("CREATE EXTENSION vector; ALTER DATABASE {2} OWNER TO {0}; ALTER ROLE {1} BYPASSRLS")
        with store_on(owned) as store:
            run_blocking(store.apply([Put(item(f"o{n}", "t#1", "tea")) for n in range(9)], now=NOW))
            run("GRANT USAGE ON SCHEMA memorist TO {1}; GRANT SELECT ON memorist.entries TO {1}")
            for name in ("search_terms", "count_terms"):
                run(f"ALTER FUNCTION memorist.{name} OWNER TO {{1}}")
            run_blocking(store.partition(PARTS, table="entries"))
            with store_on(admin) as other:  # a superuser
                run_blocking(other.partition(PARTS, table="facts"))
            for n in range(9):
                assert len(run_blocking(store.search_text(f"o{n}", "user:a", ["tea"], limit=5, now=NOW))) == 1
            run_blocking(store.apply([Put(fact("o1"))], now=NOW))
            assert run_blocking(store.diagnose())["problems"][1:] == []
        found = connection.execute(
            "SELECT count(*), "
            "count(*) FILTER (WHERE relname ~ 'entries_' AND has_table_privilege(p.proowner, c.oid, 'SELECT')), "
            "count(DISTINCT relowner) FROM pg_class c, pg_proc p WHERE p.proname = 'search_terms' AND relname ~ "
            "'^(facts|entries)(_[0-9]+)?$' AND relnamespace = 'memorist'::regnamespace"
        ).fetchone()
    assert found == (2 + 2 * PARTS, PARTS, 1)


def test_entries_of_other_kinds_of_work_are_split_too(filled: str) -> None:
    store = opened(filled)
    run_blocking(store.apply([Put(job("o1", queue="index"))], now=NOW))
    run_blocking(store.partition(PARTS, table="jobs"))
    assert [one.org for one in run_blocking(store.claim("index", owner="w", now=NOW, lease=1))] == ["o1"]
    assert run_blocking(store.scan(Scan(Entry, ("o1", "user:a")), now=NOW))
    run_blocking(store.close())
