"""Migrations under readers and writers: what is locked is read from pg_locks, not from a clock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from memorist.records import StateEntry
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Put
from memorist.stores.migrations import Migration
from memorist.stores.postgres import PostgresStore, schema
from memorist_testing.samples import NOW, append, entry, fact, thread
from tests.servers.redis import wait_for

HARMLESS = {"AccessShareLock", "RowShareLock", "RowExclusiveLock", "ShareUpdateExclusiveLock"}
"""Locks under which others read and write."""
_LOCKS = """
SELECT l.mode, c.relname::text FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
WHERE l.granted AND c.relnamespace = 'memorist'::regnamespace AND c.relkind IN ('r', 'p')
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.pid <> ALL (%s)
"""
_WAITS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE %s
"""
ALL = schema.migrations()


def opened(url: str) -> PostgresStore:
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.open())
    return store


@pytest.fixture
def before(new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> str:
    """A database that the version before the online migration made and filled."""
    url = new_database()
    with monkeypatch.context() as older:
        older.setattr(schema, "migrations", lambda: ALL[:5])
        store = opened(url)
        for number in range(10):
            changes = [Put(thread(f"o{number}")), append(f"o{number}", "one"), Put(fact(f"o{number}"))]
            run_blocking(store.apply(changes, now=NOW))
        run_blocking(store.close())
    return url


@contextmanager
def migrating(url: str) -> Iterator[ThreadPoolExecutor]:
    """Open the database with all migrations on a thread; waits for it at the end."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: run_blocking(opened(url).close()))
        yield pool
        future.result(120)


@contextmanager
def old_transaction(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A transaction that began before the migration: a build waits for its end, and can be looked at meanwhile."""
    with psycopg.connect(url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM memorist.migrations")
        yield connection


def waiting(connection: psycopg.Connection[Any], statement: str) -> None:
    """Until the migration waits in a statement like this."""
    wait_for(lambda: connection.execute(_WAITS, [statement]).fetchone()[0] > 0, lambda: "nobody waits", 120)  # type: ignore[index]


def indexes(url: str) -> set[str]:
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT c.relname::text FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid "
            "WHERE x.indisvalid AND c.relnamespace = 'memorist'::regnamespace"
        ).fetchall()
    return {name for (name,) in found}


@pytest.mark.parametrize("split", [False, True], ids=["whole", "split"])
def test_an_index_is_built_while_others_read_and_write(before: str, split: bool) -> None:
    if split:
        with psycopg.connect(before, autocommit=True) as connection:
            connection.execute("SELECT memorist.partition_by_org(2)")
    with psycopg.connect(before, autocommit=True) as watcher, old_transaction(before) as old, migrating(before):
        waiting(watcher, "CREATE INDEX CONCURRENTLY%")
        store = PostgresStore(before, runtime=BlockingRuntime())  # a program of the version before: it only writes
        run_blocking(store.apply([Put(entry("o1", "k", 1, ns="global"))], now=NOW))
        assert run_blocking(store.get(StateEntry, ("o1", "global", "k"), now=NOW)) is not None
        ours = [old.info.backend_pid, watcher.info.backend_pid]
        held = {mode for mode, _ in watcher.execute(_LOCKS, [ours]).fetchall()}
        assert held and held <= HARMLESS, "nobody who reads or writes waits for the build"
        old.rollback()
        run_blocking(store.close())
    made = indexes(before)
    assert "facts_ends" in made and "facts_expiry" not in made
    assert not split or {"facts_0_ends", "facts_1_ends"} <= made


def test_a_build_that_was_interrupted_is_done_again(before: str) -> None:
    with psycopg.connect(before, autocommit=True) as watcher, old_transaction(before) as old:
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(opened, before)
            waiting(watcher, "CREATE INDEX CONCURRENTLY%")
            watcher.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> ALL (%s)",
                [[old.info.backend_pid, watcher.info.backend_pid]],
            )
            assert future.exception(120) is not None
        old.rollback()
    with ThreadPoolExecutor(4) as pool:
        for store in pool.map(opened, [before] * 4):
            run_blocking(store.close())
    assert "facts_ends" in indexes(before)
    with psycopg.connect(before) as connection:
        rows = connection.execute("SELECT version FROM memorist.migrations ORDER BY 1").fetchall()
    assert [version for (version,) in rows] == [one.number for one in ALL]


def test_a_migration_that_needs_a_table_for_itself_lets_the_others_go_first(
    before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_blocking(opened(before).close())
    sql = "-- needs: 3\n--\nALTER TABLE memorist.facts ADD COLUMN mood text DEFAULT 'calm';"
    later = Migration(len(ALL) + 1, "column", 3, sql)
    monkeypatch.setattr(schema, "migrations", lambda: [*ALL, later])
    with psycopg.connect(before, autocommit=True) as watcher, psycopg.connect(before) as reader:
        reader.execute("SELECT count(*) FROM memorist.facts")  # and its lock is kept until the transaction ends
        with migrating(before):
            waiting(watcher, "%ADD COLUMN mood%")
            written = threading.Event()

            def write() -> None:
                store = PostgresStore(before, runtime=BlockingRuntime())
                run_blocking(store.apply([Put(fact("o1", value=2))], now=NOW))
                run_blocking(store.close())
                written.set()

            writer = threading.Thread(target=write)
            writer.start()
            # The reader holds its lock, the migration wants the table: the write passes between two of its tries.
            assert written.wait(60)
            reader.rollback()
            writer.join()
        kept = watcher.execute(
            "SELECT relfilenode = oid, (SELECT count(*) FROM memorist.facts WHERE mood = 'calm') "
            "FROM pg_class WHERE oid = 'memorist.facts'::regclass"
        ).fetchone()
        assert kept is not None and kept[0] and kept[1] > 0, "a column with a default is added without a rewrite"
