"""Searching entries: exact terms, one org and namespace, nearest first, and no pgvector at all."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest

from memorist.recall.vectors import encode_many
from memorist.records import Entry
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Delete, EntryFilter, Put, Scan, SearchesText, SearchesVectors
from memorist.stores.postgres import PostgresStore
from memorist.stores.postgres import search as search_module
from memorist_testing.samples import NOW, SECOND, WHEN, later


@pytest.fixture
def org() -> str:
    return f"o{uuid4().hex[:10]}"


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_url, runtime=BlockingRuntime())
    run_blocking(store.open())
    yield store
    run_blocking(store.close())


def item(org: str, id: str, terms: str, context: str = "", **more: Any) -> Entry:
    values = {"ns": "user:a", "kind": "message", "parent": "t", "created_at": WHEN} | more
    return Entry(org=org, id=id, terms=terms, context_terms=context, **values)


def put(store: PostgresStore, *entries: Entry) -> None:
    run_blocking(store.apply([Put(entry) for entry in entries], now=NOW))


def words(store: PostgresStore, org: str, *terms: str, limit: int = 10, **more: Any) -> list[str]:
    only = EntryFilter(**more.pop("only", {}))
    entries = run_blocking(store.search_text(org, more.pop("ns", "user:a"), terms, limit=limit, now=NOW, only=only))
    return [entry.id for entry in entries]


def test_entries_with_more_and_rarer_terms_come_first(store: PostgresStore, org: str) -> None:
    common = [item(org, f"c{n}", "tea cup") for n in range(5)]
    put(
        store,
        *common,
        item(org, "rare", "violin cup"),
        item(org, "both", "violin tea"),
        item(org, "near", "x", "violin"),
    )
    assert len(words(store, org, "tea", "violin")) == 8
    assert words(store, org, "tea", "violin", limit=2) == ["both", "rare"]
    assert words(store, org, "nothing") == [] and words(store, org) == []


def test_terms_are_never_syntax(store: PostgresStore, org: str) -> None:
    odd = [
        "a|b",
        "!a",
        "a&b",
        "it's",
        "a\\b",
        "<->",
        "(a)",
        "a:*",
        "'",
        "\\",
        "日本",
        "é",
        "e\u0301",
        "%",
        "$1",
        '"q"',
        "A",
    ]
    put(store, *(item(org, str(n), term) for n, term in enumerate(odd)))
    for n, term in enumerate(odd):
        assert words(store, org, term) == [str(n)]
    assert run_blocking(store.term_counts(org, "user:a", odd)) == dict.fromkeys(odd, 1)
    assert words(store, org, "a") == [] and words(store, org, "") == []


def test_a_term_too_long_for_an_index_is_left_out(store: PostgresStore, org: str) -> None:
    put(store, item(org, "long", "x" * 3000 + " short"))
    assert words(store, org, "short") == ["long"] and words(store, org, "x" * 3000) == []


def test_other_orgs_and_namespaces_are_not_found(store: PostgresStore, org: str) -> None:
    put(store, item(org, "mine", "tea"), item(org, "theirs", "tea", ns="user:b"), item(org + "x", "other", "tea"))
    assert words(store, org, "tea") == ["mine"]
    assert words(store, org, "tea", ns="user:b") == ["theirs"]
    assert run_blocking(store.term_counts(org, "user:a", ["tea", "no"])) == {"tea": 1, "no": 0}


def test_kinds_expiry_and_deletion_are_seen_at_once(store: PostgresStore, org: str) -> None:
    put(store, item(org, "m", "tea"), item(org, "f", "tea", kind="fact"), item(org, "e", "tea", expires_at=later(1)))
    assert set(words(store, org, "tea")) == {"m", "f", "e"}
    assert words(store, org, "tea", only={"kinds": ("fact",)}) == ["f"]
    assert words(store, org, "tea", only={"kinds": ()}) == []
    late = run_blocking(store.search_text(org, "user:a", ["tea"], limit=9, now=NOW + 2 * SECOND))
    assert {entry.id for entry in late} == {"m", "f"}
    run_blocking(store.apply([Delete(Entry, (org, "user:a", "message", "t", "m"))], now=NOW))
    assert set(words(store, org, "tea")) == {"f", "e"}


def test_counts_are_of_own_terms(store: PostgresStore, org: str) -> None:
    put(store, item(org, "1", "tea tea"), item(org, "2", "cup", "tea"))
    assert run_blocking(store.term_counts(org, "user:a", ["tea", "cup"])) == {"tea": 1, "cup": 1}


def vectors(count: int, width: int = 256) -> Any:
    random_rows = np.random.default_rng(7).standard_normal((count, width)).astype(np.float32)
    return random_rows / np.linalg.norm(random_rows, axis=1, keepdims=True)


@pytest.mark.parametrize("width", [256, 100])
def test_the_nearest_come_first_with_their_cosine(store: PostgresStore, org: str, width: int) -> None:
    rows = vectors(200, width)
    coded = encode_many(rows)
    put(store, *(item(org, str(n), "x", embedder="e", vector=coded[n]) for n in range(200)))
    put(store, item(org, "else", "x", embedder="f", vector=coded[3]))
    put(store, item(org + "x", "other", "x", embedder="e", vector=coded[3]))
    hits = run_blocking(store.search_vector(org, "user:a", "e", rows[3].tolist(), limit=10, now=NOW))
    cosines = rows @ rows[3]
    assert hits[0][0].id == "3"
    assert [entry.id for entry, _ in hits] == [str(n) for n in np.argsort(-cosines)[:10]]
    assert np.allclose([cosine for _, cosine in hits], np.sort(cosines)[::-1][:10], atol=0.01)


def test_the_index_finds_what_exact_search_finds(
    new_database: Callable[[], str], org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresStore(new_database(), runtime=BlockingRuntime())
    run_blocking(store.open())
    centres = vectors(40)
    rows = np.repeat(centres, 25, axis=0) + 0.4 * vectors(1000)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    coded = encode_many(rows)
    for start in range(0, 1000, 250):
        put(store, *(item(org, str(n), "x", embedder="e", vector=coded[n]) for n in range(start, start + 250)))
    monkeypatch.setattr(search_module, "MAX_EXACT_ENTRIES", 10)
    hits = 0
    for n in range(0, 1000, 50):
        hits_found = run_blocking(store.search_vector(org, "user:a", "e", rows[n].tolist(), limit=10, now=NOW))
        hits += len({entry.id for entry, _ in hits_found} & {str(i) for i in np.argsort(-(rows @ rows[n]))[:10]})
    run_blocking(store.close())
    with psycopg.connect(store.options.conninfo, autocommit=True) as connection:
        scans = 0
        for _ in range(100):  # the server writes its statistics down a little later
            connection.execute("SELECT pg_stat_clear_snapshot(), pg_sleep(0.05)")
            query = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'entries_near_256'"
            (scans,) = connection.execute(query).fetchone() or (0,)
            if scans:
                break
    assert hits >= 0.95 * 200
    assert scans > 0, "the index was never used"


def test_without_pgvector_the_client_searches(
    new_database: Callable[[], str], login: Callable[..., str], org: str
) -> None:
    url = new_database()
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.open())
    assert isinstance(store, SearchesText) and isinstance(store, SearchesVectors)
    run_blocking(store.close())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE memorist.entries DROP COLUMN embedding CASCADE")
        connection.execute("DROP FUNCTION memorist.halves; DROP EXTENSION vector")
    plain = PostgresStore(login(url, "memorist_app"), runtime=BlockingRuntime())
    run_blocking(plain.open())
    assert isinstance(plain, SearchesText) and not isinstance(plain, SearchesVectors)
    coded = encode_many(vectors(3))
    put(plain, *(item(org, str(n), "tea", embedder="e", vector=coded[n]) for n in range(3)))
    assert [entry.vector for entry in run_blocking(plain.scan(Scan(Entry, (org,)), now=NOW))] == coded
    assert "searched by the client" in run_blocking(plain.diagnose())["vectors"]
    run_blocking(plain.close())
    run_blocking(store.open())  # the owner finds pgvector again, and the copy is made for the rows there are
    hits = run_blocking(store.search_vector(org, "user:a", "e", vectors(3)[1].tolist(), limit=1, now=NOW))
    assert [entry.id for entry, _ in hits] == ["1"]
    run_blocking(store.close())
