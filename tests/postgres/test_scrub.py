"""Physical removal on Postgres: after a scrub, deleted text is in no file of the server."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from memorist.errors import Unsupported
from memorist.messages.message import Message
from memorist.records import Fact, FactVersion, Thread
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Delete, DeleteRange, Put
from memorist.stores.postgres import PostgresStore
from memorist_testing.samples import NOW, append, fact, thread
from tests.servers.postgres import Postgres, start_postgres

CANARY = "CANARY-7f3a91"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server of its own: a scrub is felt by the whole server."""
    started = start_postgres()
    yield started
    started.stop()


def holding(server: Postgres) -> list[str]:
    """The files of a server that hold the canary."""
    assert server.folder is not None
    files = (path for path in (server.folder / "data").rglob("*") if path.is_file())
    return [path.name for path in files if CANARY.encode() in path.read_bytes()]


def _with_deleted_rows(server: Postgres) -> PostgresStore:
    store = PostgresStore(server.url, runtime=BlockingRuntime())
    run_blocking(store.open())
    changes = [Put(thread("o")), append("o", *(f"{CANARY} {n}" for n in range(200))), Put(fact("o", value=CANARY))]
    run_blocking(store.apply(changes, now=NOW))
    run_blocking(store.apply([Put(fact("o", value="other"))], now=NOW))
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    assert holding(server)
    deletions = [DeleteRange(Message, ("o", "t")), Delete(Thread, ("o", "t")), Delete(Fact, ("o", "global", "k"))]
    run_blocking(store.apply([*deletions, DeleteRange(FactVersion, ("o",))], now=NOW))
    assert holding(server), "without a scrub deleted text is still there"
    return store


def test_scrubbed_text_is_in_no_file(server: Postgres) -> None:
    store = _with_deleted_rows(server)
    report = run_blocking(store.scrub())
    assert holding(server) == []
    assert report.left == [] and {"table messages", "table facts", "write-ahead log"} <= set(report.done)
    with psycopg.connect(server.url) as connection:
        assert connection.execute("SHOW wal_recycle").fetchone() == ("on",)
    run_blocking(store.close())


def test_log_that_a_slot_keeps_is_told(server: Postgres) -> None:
    store = _with_deleted_rows(server)
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("SELECT pg_create_physical_replication_slot('slow', true)")
        report = run_blocking(store.scrub())
        connection.execute("SELECT pg_drop_replication_slot('slow')")
    [remainder] = report.left
    assert remainder.startswith("write-ahead log (") and "slot" in remainder
    assert run_blocking(store.scrub()).left == [] and holding(server) == []
    run_blocking(store.close())


def test_the_owner_of_the_tables_rewrites_them_and_is_told_of_the_log(server: Postgres) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE keeper LOGIN CREATEROLE")
        connection.execute("CREATE DATABASE kept OWNER keeper")
    store = PostgresStore(server.url_for("keeper", "kept"), runtime=BlockingRuntime())
    run_blocking(store.open())
    report = run_blocking(store.scrub())
    assert "table messages" in report.done and "superuser" in report.left[0]
    run_blocking(store.close())


def test_an_application_user_cannot_scrub(server: Postgres) -> None:
    run_blocking(_with_deleted_rows(server).close())
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE web LOGIN IN ROLE memorist_app")
    store = PostgresStore(server.url_for("web"), runtime=BlockingRuntime())
    run_blocking(store.open())
    with pytest.raises(Unsupported, match="owner"):
        run_blocking(store.scrub())
    run_blocking(store.close())
