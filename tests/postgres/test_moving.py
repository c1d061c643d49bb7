"""An org moves to another database while it is written to: nothing is lost, and the old place says where it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from uuid import uuid4

import pytest
from click.testing import CliRunner

from memorist import Memory
from memorist.cli.main import cli
from memorist.engine.moving import move_org
from memorist.errors import StoreUnavailable, Unsupported
from memorist.messages.message import Message
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Put, Scan
from memorist.stores.memory import MemoryStore
from memorist.stores.postgres import PostgresStore
from memorist_testing.samples import NOW, append, fact, job, thread
from tests.postgres.test_faults import Writer, one, wait_until


class Leaving(Writer):
    """Stops asking when it is told to: its org will not come back."""

    def _append(self, text: str) -> None:
        while not self._end.is_set():
            try:
                run_blocking(self._store.apply([one(self._org, text, f"key-{text}")], now=NOW))
            except StoreUnavailable:
                self.troubles["StoreUnavailable"] += 1
            else:
                self.acknowledged.append(text)
                return


def opened(url: str) -> PostgresStore:
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.open())
    return store


def texts(store: PostgresStore, org: str) -> list[str]:
    found = run_blocking(store.scan(Scan(Message, (org, "t")), now=NOW))
    assert [message.seq for message in found] == list(range(1, len(found) + 1))
    return [message.text for message in found]


def test_an_org_moves_under_writers_and_every_acknowledged_write_is_at_the_new_place(
    postgres_url: str, new_database: Callable[[], str]
) -> None:
    source, target, org = opened(postgres_url), opened(new_database()), f"m{uuid4().hex[:8]}"
    run_blocking(source.apply([Put(thread(org)), Put(job(org, queue="moving"))], now=NOW))
    stop = threading.Event()
    writers = [Leaving(source, org, f"w{n}", stop) for n in range(3)]
    for writer in writers:
        writer.start()
    wait_until(lambda: all(len(writer.acknowledged) > 20 for writer in writers))
    done = run_blocking(move_org(source, target, org, place="there", now=lambda: NOW))
    wait_until(lambda: all(writer.troubles["StoreUnavailable"] or writer.failure for writer in writers))
    stop.set()
    for writer in writers:
        writer.join()
    assert [writer.failure for writer in writers] == [None] * 3
    assert done.frozen <= done.copied and done.rows > 60
    moved = texts(target, org)
    assert len(set(moved)) == len(moved)
    assert {text for writer in writers for text in writer.acknowledged} <= set(moved)
    assert run_blocking(source.claim("moving", owner="w", now=NOW, lease=1, limit=5)) == [], "its jobs moved too"
    assert [one.org for one in run_blocking(target.claim("moving", owner="w", now=NOW, lease=1))] == [org]
    with pytest.raises(StoreUnavailable, match="has moved to there"):
        run_blocking(source.apply([Put(fact(org))], now=NOW))
    for store in (source, target):
        run_blocking(store.close())


def test_a_move_that_fails_takes_writes_at_the_old_place_again(postgres_url: str) -> None:
    source, org = opened(postgres_url), f"m{uuid4().hex[:8]}"
    run_blocking(source.apply([Put(thread(org)), append(org, "one")], now=NOW))

    class Full(MemoryStore):
        async def apply(self, changes: object, *, now: int) -> list[object]:
            raise StoreUnavailable("no room")

    with pytest.raises(StoreUnavailable, match="no room"):
        run_blocking(move_org(source, Full(), org, place="there", now=lambda: NOW))
    run_blocking(source.apply([append(org, "two")], now=NOW))
    with pytest.raises(Unsupported, match="export and import"):
        run_blocking(move_org(MemoryStore(), source, org, place="there", now=lambda: NOW))
    run_blocking(source.close())


def test_one_command_moves_an_org_and_its_programs_go_on_at_the_new_url(
    postgres_url: str, new_database: Callable[[], str]
) -> None:
    there, org = new_database(), f"m{uuid4().hex[:8]}"
    with Memory(postgres_url, org=org, worker=False, embedder=None) as memory:
        memory.facts.set("user:ada", "city", "Paris")
        memory.facts.set("user:ada", "city", "Rome")
        memory.documents.add("global", "The harbour opens at nine.", source="manual")
        assert memory.recall("harbour")
    arguments = ["--url", postgres_url, "--org", org, "--json", "move-org", "--to", there, "--delete", "--yes"]
    outcome = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    with Memory(there, org=org, worker=False, embedder=None) as memory:
        assert [one.value for one in memory.facts.history("user:ada", "city")] == ["Paris", "Rome"]
        assert memory.recall("When does the harbour open?")[0].text == "The harbour opens at nine."
        memory.facts.set("user:ada", "city", "Oslo")
    with Memory(postgres_url, org=org, worker=False, embedder=None) as memory:
        assert memory.facts.list("user:ada") == []
        with pytest.raises(
            StoreUnavailable, match=rf"has moved to postgresql://127\.0\.0\.1:\d+/{there.rpartition('/')[2]}"
        ):
            memory.facts.set("user:ada", "city", "Bonn")
