"""`read_url=`: a hot standby serves recall and listings, and a handle finds what it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from memorist import Memory
from memorist.errors import Unsupported, UsageError
from memorist.stores.postgres import PostgresStore
from memorist.stores.postgres.replica import ReplicatedSession
from tests.servers.postgres import Postgres, start_postgres
from tests.servers.redis import wait_for

PAIR = tuple[Postgres, Postgres]


@pytest.fixture(scope="module")
def pair() -> Iterator[PAIR]:
    """A primary and a standby that follows it."""
    primary = start_postgres()
    with Memory(primary.url, worker=False, embedder=None) as memory:
        memory.state.set("first", 1)
    standby = primary.standby()
    yield primary, standby
    standby.stop()
    primary.stop()


def opened(pair: PAIR, **options: Any) -> Memory:
    return Memory(pair[0].url, read_url=pair[1].url, worker=False, embedder=None, **options)


def counts(memory: Memory) -> dict[str, int]:
    """How many reads the standby answered, was too far behind for, and failed to answer."""
    store = memory._core.store
    assert isinstance(store, PostgresStore) and isinstance(store._session, ReplicatedSession)
    return store._session.counts


def command(server: Postgres, text: str) -> Any:
    with psycopg.connect(server.url, autocommit=True) as connection:
        return connection.execute(text).fetchone()[0]  # type: ignore[index, arg-type]  # pyright: ignore


def caught_up(pair: PAIR) -> None:
    position = command(pair[0], "SELECT pg_current_wal_insert_lsn()::text")
    command(pair[0], "SELECT pg_logical_emit_message(true, 'test', 'x')::text")  # something to replay after it
    wait_for(
        lambda: command(pair[1], f"SELECT pg_last_wal_replay_lsn() >= '{position}'::pg_lsn"), lambda: "no replay", 60
    )


def test_listing_and_recall_come_from_the_standby(pair: PAIR) -> None:
    with opened(pair, org="a") as memory:
        memory.facts.set("user:ada", "city", "Rome")
        memory.threads.create("user:ada", id="t")
        memory.threads.append("t", {"role": "user", "content": "The harbour opens at nine."})
        memory.recall("harbour")  # indexes
        caught_up(pair)
        assert [fact.value for fact in memory.facts.list("user:ada")] == ["Rome"]  # from the primary: it just wrote
        served = counts(memory)["served"]
        caught_up(pair)
        assert [fact.value for fact in memory.facts.list("user:ada")] == ["Rome"]
        assert counts(memory)["served"] > served
        served = counts(memory)["served"]
        assert memory.recall("When does the harbour open?", namespaces="user:ada")[0].text.startswith("The harbour")
        assert counts(memory)["served"] > served


def test_what_was_written_is_found_at_once_however_far_the_standby_is_behind(pair: PAIR) -> None:
    with opened(pair, org="b") as memory:
        memory.state.set("k", 0)
        command(pair[1], "SELECT pg_wal_replay_pause()::text")
        try:
            for number in range(5):
                memory.state.set("k", number)
                memory.facts.set("global", f"f{number}", number)
                for _ in range(2):  # the first read after a write asks the primary, the second brings its position
                    assert [entry.value for entry in memory.state.list()] == [number]
                    assert len(memory.facts.list("global")) == number + 1
            assert counts(memory)["behind"] >= 5
            with Memory(pair[1].url, org="b", worker=False, embedder=None) as stale:
                assert len(stale.facts.list("global")) == 0, "the standby itself is behind"
        finally:
            command(pair[1], "SELECT pg_wal_replay_resume()::text")


def test_what_was_read_is_not_unread(pair: PAIR) -> None:
    with opened(pair, org="c") as memory, Memory(pair[0].url, org="c", worker=False, embedder=None) as other:
        memory.state.set("k", 0)
        caught_up(pair)
        command(pair[1], "SELECT pg_wal_replay_pause()::text")
        try:
            other.facts.set("global", "city", "Rome")
            assert memory.facts.get("global", "city") is not None
            assert [fact.value for fact in memory.facts.list("global")] == ["Rome"]
        finally:
            command(pair[1], "SELECT pg_wal_replay_resume()::text")


def test_a_standby_that_is_away_costs_nothing_but_its_help(pair: PAIR) -> None:
    dead_url = pair[1].url.replace(f":{pair[1].port}/", ":1/")
    with Memory(pair[0].url, read_url=dead_url, org="d", worker=False, embedder=None) as memory:
        memory.facts.set("global", "city", "Rome")
        for _ in range(3):
            assert [fact.value for fact in memory.facts.list("global")] == ["Rome"]
        assert counts(memory)["failed"] == 1, "it is left alone for a while"
        assert any("does not answer" in problem for problem in memory.doctor().problems)


def test_another_database_is_refused_and_so_are_stores_without_replicas(pair: PAIR, tmp_path: Any) -> None:
    with Memory(pair[0].url, read_url=pair[0].url_for(database="postgres"), worker=False, embedder=None) as memory:
        memory.facts.list("global")
        with pytest.raises(UsageError, match="not a replica"):
            memory.facts.list("global")
    with pytest.raises(Unsupported, match="Postgres"):
        Memory(tmp_path / "memory.db", read_url=pair[1].url)
