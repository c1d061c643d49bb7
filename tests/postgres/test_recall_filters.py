"""Recall with a filter on Postgres: the server filters, and only entries that pass are read by the client."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from memorist import Memory
from memorist.errors import CorruptRecord
from memorist.filters import parse_filter
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import EntryFilter
from memorist.stores.postgres import PostgresStore
from memorist.stores.postgres import search as search_module
from memorist_testing.samples import NOW, SECOND, later
from tests.postgres.test_search import item, put, vectors
from tests.recall.conftest import WordHashes

MANY = 600
RARE = EntryFilter(where=parse_filter({"tag": "rare"}))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many entries each search took from the server."""
    counts: list[int] = []
    records_of = search_module.records_of

    def counted(kind: Any, rows: Any) -> Any:
        counts.append(len(rows))
        return records_of(kind, rows)

    monkeypatch.setattr(search_module, "records_of", counted)
    return counts


@pytest.fixture
def store(new_database: Callable[[], str]) -> Iterator[PostgresStore]:
    store = PostgresStore(new_database(), runtime=BlockingRuntime())
    run_blocking(store.open())
    yield store
    run_blocking(store.close())


def fill(store: PostgresStore, rare: int = 100) -> Any:
    """Entries of which one in `rare` is tagged so; returns their vectors."""
    from memorist.recall.vectors import encode_many

    entry_vectors = vectors(MANY)
    coded = encode_many(entry_vectors)
    for start in range(0, MANY, 200):
        put(
            store,
            *(
                item(
                    "o", f"t#{n}", "tea" if n % 2 else "tea cup", embedder="e", vector=coded[n],
                    metadata={"tag": "rare" if n % rare == 7 else "bulk"}, created_at=later(n),
                )
                for n in range(start, start + 200)
            ),
        )  # fmt: skip
    return entry_vectors


def test_recall_with_a_filter_that_one_in_a_hundred_passes_reads_no_others(
    new_database: Callable[[], str], read: list[int]
) -> None:
    with Memory(new_database(), worker=False, extract=None, embedder=WordHashes(dimensions=256)) as memory:
        for week, (tag, count) in itertools.product(range(12), (("bulk", 99), ("rare", 1))):
            thread, marked = memory.threads.create("user:ada").id, {"tag": tag}
            texts = [f"The {tag} orchard report {n} of week {week}" for n in range(count)]
            memory.threads.append(thread, *({"role": "user", "content": text, "metadata": marked} for text in texts))
        memory.recall("orchard", namespaces="user:ada", top_k=1)
        read.clear()
        hits = memory.recall("orchard report", namespaces="user:ada", where={"tag": "rare"}, top_k=10)
        assert len(hits) == 10 and all("rare" in hit.text for hit in hits)
        assert read == [12, 12], "one search of words, one of vectors"


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "index"])
def test_a_filtered_search_of_vectors_gives_the_nearest_that_pass(
    store: PostgresStore, read: list[int], monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    entry_vectors = fill(store)
    if not exact:
        monkeypatch.setattr(search_module, "MAX_EXACT_ENTRIES", 10)
    hits = run_blocking(store.search_vector("o", "user:a", "e", entry_vectors[3].tolist(), limit=4, now=NOW, only=RARE))
    nearest = sorted((n for n in range(MANY) if n % 100 == 7), key=lambda n: -(entry_vectors[n] @ entry_vectors[3]))[:4]
    assert [entry.id for entry, _ in hits] == [f"t#{n}" for n in nearest]
    assert read == [4]


def test_where_the_index_gives_too_few_every_entry_that_passes_is_compared(
    store: PostgresStore, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry_vectors = fill(store, 300)
    monkeypatch.setattr(search_module, "MAX_EXACT_ENTRIES", 10)
    narrow = search_module._WIDEN_INDEX_SCAN.replace(b"60000", b"1").replace(b"$1", b"left($1, 1)")
    monkeypatch.setattr(search_module, "_WIDEN_INDEX_SCAN", narrow)
    statements: list[bytes] = []
    near_sql = search_module._near_sql

    def noted(*args: Any) -> bytes:
        statements.append(near_sql(*args))
        return statements[-1]

    monkeypatch.setattr(search_module, "_near_sql", noted)
    hits = run_blocking(store.search_vector("o", "user:a", "e", entry_vectors[3].tolist(), limit=2, now=NOW, only=RARE))
    assert {entry.id for entry, _ in hits} == {"t#7", "t#307"}
    assert [b"MATERIALIZED" in sql for sql in statements] == [False, True]


def test_times_and_kinds_are_filtered_by_the_server(store: PostgresStore, read: list[int]) -> None:
    fill(store)
    only = EntryFilter(("message",), NOW + 9 * SECOND, NOW + 13 * SECOND)
    entries = run_blocking(store.search_text("o", "user:a", ["cup"], limit=9, now=NOW, only=only))
    assert {entry.id for entry in entries} == {"t#10", "t#12"} and read == [2]
    none = EntryFilter(("fact",), NOW + 9 * SECOND)
    assert run_blocking(store.search_text("o", "user:a", ["cup"], limit=9, now=NOW, only=none)) == []


def test_what_the_server_cannot_compare_is_compared_here(store: PostgresStore, read: list[int]) -> None:
    put(store, *(item("o", f"t#{n}", "tea", metadata={"v": 2**53 + n % 2, "n": n}) for n in range(40)))
    only = EntryFilter(where=parse_filter({"v": 2**53 + 1}))
    entries = run_blocking(store.search_text("o", "user:a", ["tea"], limit=15, now=NOW, only=only))
    assert len(entries) == 15 and all(entry.metadata["n"] % 2 for entry in entries)
    assert read == [15, 40], "more is asked for while too few pass"


def test_an_entry_with_damaged_metadata_in_the_way_of_a_search_is_named(store: PostgresStore) -> None:
    put(store, *(item("o", f"t#{n}", "tea", metadata={"tag": "rare"}) for n in range(3)))
    with psycopg.connect(store.options.conninfo, autocommit=True) as connection:
        connection.execute("UPDATE memorist.entries SET metadata = '{\"tag\": ' WHERE id = 't#1'")
    with pytest.raises(CorruptRecord):
        run_blocking(store.search_text("o", "user:a", ["tea"], limit=5, now=NOW, only=RARE))
