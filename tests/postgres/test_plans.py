"""A hundred partitions: every statement of ordinary use reads one of them, as the plans of the server show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from memorist.filters import parse_filter
from memorist.messages.message import Message
from memorist.records import Entry, Fact, FactVersion, StateEntry, Thread
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Delete, DeleteRange, EntryFilter, Expect, Increment, Put, Scan
from memorist.stores.postgres import PostgresStore, search
from memorist.stores.postgres.pools import Client
from memorist_testing.samples import NOW, append, entry, fact, full, job, thread

PARTS = 100
_EXPLAIN = """
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_nested_statements = on;
SET auto_explain.log_level = 'notice';
SET client_min_messages = 'notice';
"""
ONLY = EntryFilter(("message",), NOW, NOW + 9, parse_filter({"tag": "rare", "role": {"$ne": "tool"}}))
_TABLES = ("messages", "threads", "facts", "entries")


@pytest.fixture(scope="module")
def split(postgres_server: Any) -> Iterator[str]:
    """A database whose tables have a hundred partitions each."""
    with psycopg.connect(postgres_server.url_for(database="postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE plans")
    url = postgres_server.url_for(database="plans")
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.create_partitioned(PARTS))
    run_blocking(store.close())
    yield url
    with psycopg.connect(postgres_server.url_for(database="postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE plans WITH (FORCE)")


@pytest.fixture
def explained(split: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[PostgresStore, list[str]]]:
    """A store on it, and the plans of all that its connections run, nested statements included."""
    plans: list[str] = []
    configure = Client._configure

    async def explaining(self: Client, connection: psycopg.Connection[Any]) -> None:
        connection.execute(_EXPLAIN)
        connection.add_notice_handler(lambda notice: plans.append(notice.message_primary or ""))
        await configure(self, connection)

    monkeypatch.setattr(Client, "_configure", explaining)
    store = PostgresStore(split, runtime=BlockingRuntime())
    run_blocking(store.open())
    plans.clear()
    yield store, plans
    run_blocking(store.close())


def everyday(store: PostgresStore, org: str) -> None:
    """What a conversation does to a store."""

    def apply(*changes: Any) -> Any:
        return run_blocking(store.apply(changes, now=NOW))

    def scan(*args: Any, **more: Any) -> Any:
        return run_blocking(store.scan(Scan(*args, **more), now=NOW))

    apply(Put(thread(org)), append(org, "one", "two", "three", key="k"))
    apply(append(org, "four"))
    scan(Message, (org, "t"), reverse=True, limit=20)
    scan(Thread, (org, "global"), index="by_ns", limit=10)
    for value in (1, 2):
        apply(Put(fact(org, value=value)))
    run_blocking(store.get(Fact, (org, "global", "k"), now=NOW))
    run_blocking(store.get_many(Fact, [(org, "global", "k"), (org, "global", "no")], now=NOW))
    scan(FactVersion, (org, "global", "k"))
    scan(Fact, (org, "global"), starts="k")
    scan(Fact, (org, "global"), where=parse_filter({"a.b": {"$gt": 1}, "status": "active"}), limit=5)
    apply(Put(entry(org, "n", 1)), Increment(entry(org, "n", 1)))
    apply(Expect(StateEntry, (org, "global", "n"), 2), Put(entry(org, "n", 3)))
    apply(Put(full(Entry, org)), Put(job(org, queue="index")))
    run_blocking(store.search_text(org, "global", ["word", "other"], limit=5, now=NOW))
    run_blocking(store.term_counts(org, "global", ["word"]))
    run_blocking(store.search_text(org, "global", ["word", "other"], limit=5, now=NOW, only=ONLY))
    for width in (256, 3):
        run_blocking(store.search_vector(org, "global", "e", [0.1] * width, limit=5, now=NOW))
        run_blocking(store.search_vector(org, "global", "e", [0.1] * width, limit=5, now=NOW, only=ONLY))
    run_blocking(store.claim("index", owner="w", now=NOW, lease=1, org=org))
    apply(Delete(StateEntry, (org, "global", "n")), DeleteRange(Entry, (org, "global")))


def parts_of(plan: str) -> set[str]:
    """The partitions that a plan reads or writes, by table."""
    partitions = set()
    for line in plan.splitlines():
        if "never executed" in line:
            continue
        for name in re.findall(r"(?:Scan using \S+ on|Scan on|Insert on|Update on|Delete on) ([a-z_]+_\d+)\b", line):
            partitions.add(name)
    return partitions


def test_every_statement_of_ordinary_use_reads_one_partition_of_a_table(
    explained: tuple[PostgresStore, list[str]],
) -> None:
    store, plans = explained
    for org in ("acme", "beta"):
        everyday(store, org)
    touched = {plan: parts_of(plan) for plan in plans}
    assert sum(bool(parts) for parts in touched.values()) > 20, "the plans are there"
    for plan, parts in touched.items():
        tables = [part.rpartition("_")[0] for part in parts]
        assert len(tables) == len(set(tables)), f"more than one partition of a table:\n{plan[:2000]}"


@pytest.mark.parametrize("way", ["text", "exact", "index"])
def test_the_filter_of_a_search_is_in_the_plan_of_the_server(
    explained: tuple[PostgresStore, list[str]], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    store, plans = explained
    if way == "index":
        # As if the namespace were large. The index is asked first, so the first plan is the one to look at.
        monkeypatch.setattr(search, "MAX_EXACT_ENTRIES", 1)
        sample = full(Entry, "acme")
        run_blocking(store.apply([Put(replace(sample, ns="global", id=f"t#{n}")) for n in range(3)], now=NOW))
    if way == "text":
        run_blocking(store.search_text("acme", "global", ["word"], limit=5, now=NOW, only=ONLY))
    else:
        run_blocking(store.search_vector("acme", "global", "e", [0.1] * 256, limit=5, now=NOW, only=ONLY))
    [plan, *_] = [plan for plan in plans if "::jsonb" in plan]
    assert len(parts_of(plan)) <= 1
    conditions = "\n".join(line for line in plan.splitlines() if "Filter:" in line)
    assert "created_at >" in conditions and "created_at <" in conditions and "jsonb" in conditions
    if way == "index":
        assert "Order By: ((embedding)::halfvec(256) <=>" in plan and "Sort  (cost" not in plan
    if way == "text":
        assert "Function Scan on search_terms" in plan and "Sort  (cost" not in plan, (
            "rows are looked up until enough pass"
        )


def test_doctor_says_when_many_writers_would_run_out_of_locks(split: str) -> None:
    store = PostgresStore(split, runtime=BlockingRuntime())
    run_blocking(store.open())
    notes = run_blocking(store.diagnose())["notes"]
    run_blocking(store.close())
    assert any("max_locks_per_transaction" in note and str(4 * PARTS) in note for note in notes)


def test_each_partition_has_its_own_vector_index(split: str) -> None:
    with psycopg.connect(split) as connection:
        index_counts = connection.execute(
            "SELECT count(*), count(DISTINCT x.indrelid) FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid "
            "JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'hnsw' AND c.relkind = 'i' AND x.indisvalid"
        ).fetchone()
    assert index_counts == (6 * PARTS, PARTS)
