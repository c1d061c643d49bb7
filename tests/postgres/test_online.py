"""Migrations under readers and writers: what is locked is read from pg_locks, not from a clock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Put
from memorist.stores.migrations import Migration
from memorist.stores.postgres import PostgresStore, schema
from memorist_testing.samples import NOW, append, fact, thread
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
def before(new_database: Callable[[], str]) -> str:
    """A database with rows."""
    url = new_database()
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


def test_a_migration_that_needs_a_table_for_itself_lets_the_others_go_first(
    before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "-- needs: 1\n--\nALTER TABLE memorist.facts ADD COLUMN mood text DEFAULT 'calm';"
    later = Migration(len(ALL) + 1, "column", 1, sql)
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
        table_state = watcher.execute(
            "SELECT relfilenode = oid, (SELECT count(*) FROM memorist.facts WHERE mood = 'calm') "
            "FROM pg_class WHERE oid = 'memorist.facts'::regclass"
        ).fetchone()
        assert table_state is not None and table_state[0] and table_state[1] > 0, (
            "a column with a default is added without a rewrite"
        )
