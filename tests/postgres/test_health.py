"""What `doctor` learns, and that scrubbed text is in no file of the server."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from recollect.errors import Unsupported
from recollect.messages import Message
from recollect.ports import to_datetime
from recollect.records import CheckpointStep, Fact, Thread
from recollect.runtime import BlockingRuntime, run_blocking
from recollect.stores.base import Delete, DeleteRange, Put
from recollect.stores.postgres import PostgresStore
from recollect.testing.samples import NOW, append, fact, thread
from tests.servers.postgres import Postgres, start_postgres


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
    found = diagnosis(store)
    assert found["schema"] == found["latest_schema"]
    assert found["bytes"]["facts"] > 0
    assert found["role"] == "recollect_app" and found["vectors"] == "pgvector" and found["text_search"] == "index"
    # The server of this session runs without fsync, and that is told.
    assert [text.split()[0] for text in found["problems"]] == ["fsync"]


def test_an_open_table_is_a_problem(database: str, store: PostgresStore) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER TABLE recollect.facts NO FORCE ROW LEVEL SECURITY")
    assert any("facts" in text for text in diagnosis(store)["problems"])


def test_damage_is_counted(database: str, store: PostgresStore) -> None:
    run_blocking(store.apply([Put(thread("o")), append("o", "one", "two", "three"), Put(fact("o"))], now=NOW))
    assert diagnosis(store, deep=True)["damaged"] == {}
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE recollect.messages SET content = '\"x\"' WHERE seq > 1")
    assert diagnosis(store, deep=True)["damaged"] == {"messages": 2}


def test_damage_is_counted_in_every_table_of_evidence(database: str, store: PostgresStore) -> None:
    step = CheckpointStep(org="o", task_id="t", number=1, snapshot=True, body="{}", created_at=to_datetime(NOW))
    run_blocking(store.apply([Put(step)], now=NOW))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE recollect.checkpoint_steps SET body = '[]'")
    assert diagnosis(store, deep=True)["damaged"] == {"checkpoint_steps": 1}


def test_a_long_table_is_looked_through_to_its_end(
    database: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.stores.postgres import health

    monkeypatch.setattr(health, "_PAGE", 2)
    facts = [Put(fact("o", f"k{n}", value)) for n in range(5) for value in (1, 2)]
    run_blocking(store.apply([Put(thread("o")), append("o", *map(str, range(7))), *facts], now=NOW))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE recollect.messages SET content = '\"x\"' WHERE seq IN (1, 4, 7)")
        connection.execute("UPDATE recollect.fact_versions SET reason = 'x' WHERE key = 'k4'")
    assert diagnosis(store, deep=True)["damaged"] == {"messages": 3, "fact_versions": 1}


def test_the_planner_keeps_no_content(database: str, store: PostgresStore) -> None:
    run_blocking(store.apply([Put(fact("o", f"k{n}", "SECRETWORD")) for n in range(50)], now=NOW))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ANALYZE recollect.facts")
        query = "SELECT most_common_vals::text FROM pg_stats WHERE schemaname = 'recollect'"
        found = connection.execute(query).fetchall()
    assert found and not any("SECRETWORD" in (text or "") for (text,) in found)


def test_an_application_user_cannot_scrub(database: str, login: Callable[..., str]) -> None:
    from recollect.errors import StoreError

    store = PostgresStore(login(database, "recollect_app"), runtime=BlockingRuntime())
    run_blocking(store.open())
    with pytest.raises((StoreError, Unsupported)):
        run_blocking(store.scrub())
    looked = run_blocking(store.verify_absent([b"a needle that is long"], org="o"))
    assert looked.verified is None and "superuser" in looked.unchecked[0]
    run_blocking(store.close())


def test_rows_that_are_compressed_in_the_files_are_seen_as_rows(store: PostgresStore) -> None:
    long = "a long and very regular text " * 400
    run_blocking(store.apply([Put(fact("o", value=long))], now=NOW))
    looked = run_blocking(store.verify_absent([long[-200:].encode()], org="o"))
    assert looked.found[0] == "rows of facts"


def holding(server: Postgres, needle: bytes) -> list[str]:
    assert server.folder is not None
    files = (path for path in Path(server.folder / "data").rglob("*") if path.is_file())
    return [str(path) for path in files if needle in path.read_bytes()]


def inside(server: Postgres, needle: bytes) -> list[str]:
    assert server.folder is not None
    return sorted(str(Path(path).relative_to(server.folder / "data")) for path in holding(server, needle))


def test_scrubbed_text_is_in_no_file() -> None:
    server = start_postgres()
    try:
        store = PostgresStore(server.url, runtime=BlockingRuntime())
        run_blocking(store.open())
        canary = "CANARY-7f3a91"
        changes = [Put(thread("o")), append("o", *(f"{canary} {n}" for n in range(200))), Put(fact("o", value=canary))]
        run_blocking(store.apply(changes, now=NOW))
        run_blocking(store.apply([Put(fact("o", value="other"))], now=NOW))
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
        assert holding(server, canary.encode())
        gone = [DeleteRange(Message, ("o", "t")), Delete(Thread, ("o", "t")), Delete(Fact, ("o", "global", "k"))]
        from recollect.records import FactVersion

        run_blocking(store.apply([*gone, DeleteRange(FactVersion, ("o",))], now=NOW))
        assert holding(server, canary.encode()), "the planted bug: without a scrub deleted text is still there"
        looked = run_blocking(store.verify_absent([b"nowhere", canary.encode()], org="o"))
        assert looked.found == inside(server, canary.encode()) and looked.verified is False
        run_blocking(store.scrub())
        assert holding(server, canary.encode()) == []
        assert run_blocking(store.verify_absent([canary.encode()], org="o")).verified is True
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SHOW wal_recycle").fetchone() == ("on",)
        run_blocking(store.close())
    finally:
        server.stop()
