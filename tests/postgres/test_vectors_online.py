"""pgvector on a database that has entries already: nobody waits, none is missed, and an interrupted copy goes on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psycopg
import pytest

from memorist.records import Entry
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Put
from memorist.stores.postgres import PostgresStore
from memorist.stores.postgres import vectors as vectors_module
from memorist_testing.samples import NOW
from tests.postgres.test_online import _LOCKS, HARMLESS, migrating, old_transaction, opened, waiting
from tests.postgres.test_search import encode_many, item, put, vectors

COUNT = 30
COPIES = "SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass('memorist.entries_near_1536') AND indisvalid"


@pytest.fixture(params=[False, True], ids=["whole", "split"])
def without(request: pytest.FixtureRequest, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with entries and their vectors, as a server without pgvector left it; any number is many."""
    url = new_database()
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.create_partitioned(2) if request.param else store.open())
    coded = encode_many(vectors(COUNT))
    for n in range(COUNT):
        put(store, item(f"o{n % 3}", f"k{n:02}", "tea", embedder="e", vector=coded[n]))
    run_blocking(store.close())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE memorist.entries DROP COLUMN embedding CASCADE")
        connection.execute("DROP FUNCTION memorist.halves; DROP EXTENSION vector")
    monkeypatch.setattr(vectors_module, "MAX_ENTRIES_AT_ONCE", 0)
    monkeypatch.setattr(vectors_module, "_COPY_SQL", vectors_module._COPY_SQL.replace(b"LIMIT 500", b"LIMIT 7"))
    return url


def nearest_ids(store: PostgresStore) -> set[str]:
    every = set()
    for org in ("o0", "o1", "o2"):
        near = run_blocking(store.search_vector(org, "user:a", "e", vectors(1)[0].tolist(), limit=50, now=NOW))
        every |= {entry.id for entry, _ in near}
    return every


def test_the_copy_is_made_while_others_read_and_write(without: str) -> None:
    writer = PostgresStore(without, runtime=BlockingRuntime())  # opened no further: it only reads and writes
    coded = encode_many(np.asarray(vectors(COUNT + 1)))
    with psycopg.connect(without, autocommit=True) as watcher, old_transaction(without) as old, migrating(without):
        waiting(watcher, "CREATE INDEX CONCURRENTLY%")
        run_blocking(writer.apply([Put(item("o1", "new", "tea", embedder="e", vector=coded[COUNT]))], now=NOW))
        assert run_blocking(writer.get(Entry, ("o1", "user:a", "message", "t", "new"), now=NOW)) is not None
        # A program that looks meanwhile finds no copy, and searches by itself.
        assert watcher.execute(COPIES).fetchone() == (0,)
        ours = [old.info.backend_pid, watcher.info.backend_pid]
        lock_modes = {mode for mode, _ in watcher.execute(_LOCKS, [ours]).fetchall()}
        assert lock_modes and lock_modes <= HARMLESS, "nobody who reads or writes waits for the build"
        old.rollback()
    run_blocking(writer.close())
    store = opened(without)
    assert nearest_ids(store) == {f"k{n:02}" for n in range(COUNT)} | {"new"}
    run_blocking(store.close())


def test_a_copy_that_was_interrupted_goes_on(without: str) -> None:
    with psycopg.connect(without, autocommit=True) as watcher, old_transaction(without) as old:
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(opened, without)
            waiting(watcher, "CREATE INDEX CONCURRENTLY%")
            watcher.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> ALL (%s)",
                [[old.info.backend_pid, watcher.info.backend_pid]],
            )
            assert future.exception(120) is not None
        old.rollback()
    with ThreadPoolExecutor(3) as pool:
        stores = list(pool.map(lambda _: opened(without), range(3)))
    for store in stores:
        run_blocking(store.close())
    store = opened(without)
    assert nearest_ids(store) == {f"k{n:02}" for n in range(COUNT)}
    run_blocking(store.close())
