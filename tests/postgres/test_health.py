"""What `doctor` learns of the server."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from memorist.ports import to_datetime
from memorist.records import CheckpointStep
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Put
from memorist.stores.postgres import PostgresStore
from memorist_testing.samples import NOW, append, fact, thread
from tests.servers.redis import wait_for


@pytest.fixture
def database(new_database: Callable[[], str]) -> str:
    url = new_database()
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.open())
    run_blocking(store.close())
    return url


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    store = PostgresStore(database, runtime=BlockingRuntime())
    run_blocking(store.open())
    yield store
    run_blocking(store.close())


def diagnosis(store: PostgresStore, *, deep: bool = False) -> dict[str, Any]:
    return run_blocking(store.diagnose(deep=deep))


def test_doctor_learns_what_stands_under_it(store: PostgresStore) -> None:
    report = diagnosis(store)
    assert report["schema"] == report["latest_schema"]
    assert report["bytes"]["facts"] > 0
    assert report["role"] == "memorist_app" and report["vectors"] == "pgvector" and report["text_search"] == "index"
    # The server of this session runs without fsync, and that is told.
    assert [text.split()[0] for text in report["problems"]] == ["fsync"]


def test_rows_are_counted_before_the_server_has_statistics(
    store: PostgresStore, database: str, login: Callable[..., str]
) -> None:
    for org in ("a", "b"):
        run_blocking(store.apply([Put(fact(org, str(n))) for n in range(3)], now=NOW))
    rows = diagnosis(store)["rows"]
    assert rows["facts"] == 6 and rows["messages"] == 0
    plain = PostgresStore(login(database, "memorist_app"), runtime=BlockingRuntime())
    run_blocking(plain.open())
    # One who sees a single org at a time is told the server's estimate, which follows within seconds.
    wait_for(lambda: run_blocking(plain.diagnose())["rows"]["facts"] == 6, lambda: "no estimate", 60)
    run_blocking(plain.close())


def test_an_open_table_is_a_problem(database: str, store: PostgresStore) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER TABLE memorist.facts NO FORCE ROW LEVEL SECURITY")
    assert any("facts" in text for text in diagnosis(store)["problems"])


def test_damage_is_counted(database: str, store: PostgresStore) -> None:
    run_blocking(store.apply([Put(thread("o")), append("o", "one", "two", "three"), Put(fact("o"))], now=NOW))
    assert diagnosis(store, deep=True)["damaged"] == {}
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE memorist.messages SET content = '\"x\"' WHERE seq > 1")
    assert diagnosis(store, deep=True)["damaged"] == {"messages": 2}


def test_damage_is_counted_in_every_table_of_evidence(database: str, store: PostgresStore) -> None:
    step = CheckpointStep(org="o", task_id="t", number=1, snapshot=True, body="{}", created_at=to_datetime(NOW))
    run_blocking(store.apply([Put(step)], now=NOW))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE memorist.checkpoint_steps SET body = '[]'")
    assert diagnosis(store, deep=True)["damaged"] == {"checkpoint_steps": 1}


def test_a_long_table_is_looked_through_to_its_end(
    database: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memorist.stores.postgres import health

    monkeypatch.setattr(health, "_PAGE_ROWS", 2)
    facts = [Put(fact("o", f"k{n}", value)) for n in range(5) for value in (1, 2)]
    run_blocking(store.apply([Put(thread("o")), append("o", *map(str, range(7))), *facts], now=NOW))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE memorist.messages SET content = '\"x\"' WHERE seq IN (1, 4, 7)")
        connection.execute("UPDATE memorist.fact_versions SET reason = 'x' WHERE key = 'k4'")
    assert diagnosis(store, deep=True)["damaged"] == {"messages": 3, "fact_versions": 1}


def test_the_planner_keeps_no_content(database: str, store: PostgresStore) -> None:
    run_blocking(store.apply([Put(fact("o", f"k{n}", "SECRETWORD")) for n in range(50)], now=NOW))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ANALYZE memorist.facts")
        query = "SELECT most_common_vals::text FROM pg_stats WHERE schemaname = 'memorist'"
        values = connection.execute(query).fetchall()
    assert values and not any("SECRETWORD" in (text or "") for (text,) in values)
