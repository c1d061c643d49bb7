"""Finding the orgs that have work costs what they have to do, not how many orgs there are."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.ports import to_datetime
from memorist.records import Fact, Job
from memorist.runtime import Runtime
from memorist.stores.base import Delete, Put
from memorist.stores.redis import RedisStore, registers
from memorist.stores.redis.keys import ENDING_KEY, ORGS_KEY, WORK_KEY, base_of
from memorist_testing.plugin import Run
from memorist_testing.samples import NOW, entry, fact
from tests.servers.redis import start_redis

IDLE = 2000


def job(org: str) -> Job:
    at = to_datetime(NOW - 1)
    return Job(org=org, queue="q", ns="global", item="i", run_at=at, created_at=at, updated_at=at)


@pytest.fixture(params=["server", "cluster"])
def server(request: pytest.FixtureRequest) -> Any:
    if request.param == "cluster":
        running = request.getfixturevalue("redis_cluster")
        running.flush()
        yield running
        return
    running = start_redis(aof="no")
    yield running
    running.stop()


def opened(server: Any, runtime: Runtime, run: Run) -> RedisStore:
    store = RedisStore(server.url, runtime=runtime, on_risk="ignore")
    run(store.open())
    return store


def test_a_worker_finds_ten_orgs_among_thousands_without_asking_about_the_others(
    server: Any, runtime: Runtime, run: Run
) -> None:
    store = opened(server, runtime, run)
    assert run(store.claim("q", owner="w", now=NOW, lease=1, limit=20)) == []
    for number in range(10):
        run(store.apply([Put(job(f"busy{number}"))], now=NOW))
    run(store._client.command(ORGS_KEY, "SADD", ORGS_KEY, *[f"idle{number}" for number in range(IDLE)]))
    key_counts: list[int] = []
    many = store._client.ask_many

    async def counted(calls: Any) -> Any:
        key_counts.append(len(calls))
        return await many(calls)

    store._client.ask_many = counted  # type: ignore[method-assign]
    jobs = run(store.claim("q", owner="w", now=NOW, lease=1, limit=20))
    assert sorted(claimed.org for claimed in jobs) == sorted(f"busy{number}" for number in range(10))
    assert sum(key_counts) <= 20, "only orgs in the register are asked about"
    run(store.close())


def test_the_register_shrinks_when_the_work_is_done_and_never_under_a_writer(
    server: Any, runtime: Runtime, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registers, "LEAVE_INTERVAL_SECONDS", -1.0)
    store = opened(server, runtime, run)
    for org in ("a", "b"):
        run(store.apply([Put(job(org)), Put(fact(org))], now=NOW))
        run(store.apply([Delete(Job, job(org).row_key)], now=NOW))
    run(store.claim("q", owner="w", now=NOW, lease=1))
    assert run(store._work.orgs()) == ["a", "b"], "entered just now: a job may be on its way"
    monkeypatch.setattr(registers, "MIN_ENTRY_SECONDS", -1.0)
    run(store.claim("q", owner="w", now=NOW, lease=1))
    assert run(store._work.orgs()) == []
    run(store.close())
    monkeypatch.setattr(registers, "MIN_ENTRY_SECONDS", 300.0)
    other = opened(server, runtime, run)
    run(other.apply([Put(job("b"))], now=NOW))
    assert [claimed.org for claimed in run(other.claim("q", owner="w", now=NOW, lease=1, limit=5))] == ["b"]
    run(other.close())


def test_jobs_that_an_older_version_wrote_are_found(server: Any, runtime: Runtime, run: Run) -> None:
    store = opened(server, runtime, run)
    run(store.apply([Put(job("a"))], now=NOW))
    run(store._client.command(WORK_KEY, "DEL", WORK_KEY))
    assert run(store._client.command(base_of("a"), "EXISTS", base_of("a") + b"@jobs")) == 1
    assert [claimed.org for claimed in run(store.claim("q", owner="w", now=NOW, lease=1))] == ["a"]
    run(store.close())


def test_a_sweep_over_very_many_orgs_is_done_in_parts(
    server: Any, runtime: Runtime, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registers, "ORGS_PER_LOOK", 100)
    monkeypatch.setattr(registers, "SWEEP_PART_SECONDS", -1.0)
    store = opened(server, runtime, run)
    run(store.apply([Put(job("a")), Put(entry("a", value=1, expires_at=to_datetime(NOW + 10)))], now=NOW))
    run(store._client.command(WORK_KEY, "DEL", WORK_KEY))
    run(store._client.command(ENDING_KEY, "DEL", ENDING_KEY, b"mm:{" + ENDING_KEY + b"}:seen"))
    run(store._client.command(ORGS_KEY, "SADD", ORGS_KEY, *[f"idle{number}" for number in range(IDLE)]))
    key_counts, claimed, looks = counting(store), [], 0
    while not claimed:
        claimed, looks = run(store.claim("q", owner="w", now=NOW, lease=10**12)), looks + 1
    while store._work._cursor:
        run(store.claim("q", owner="w", now=NOW, lease=10**12))
        looks += 1
    assert max(key_counts) < 300 and len(key_counts) >= IDLE // 300, "a page at each look"
    before, purged = len(key_counts), {}
    while not purged:
        purged = run(store.purge(now=NOW + 11))
    while store._expiries._cursor:
        run(store.purge(now=NOW + 11))
    assert purged == {"state": 1} and max(key_counts[before:]) < 300
    looks = len(key_counts)
    run(store.claim("q", owner="w", now=NOW, lease=10**12))
    run(store.purge(now=NOW + 11))
    assert sum(key_counts[looks:]) <= 2, "swept for today"
    run(store.close())


def counting(store: RedisStore) -> list[int]:
    """How many keys each bulk request of the store asks about from now on."""
    key_counts: list[int] = []
    many = store._client.ask_many

    async def counted(calls: Any) -> Any:
        key_counts.append(len(calls))
        return await many(calls)

    store._client.ask_many = counted  # type: ignore[method-assign]
    return key_counts


def test_a_purge_looks_at_the_orgs_whose_rows_end_and_at_no_other(server: Any, runtime: Runtime, run: Run) -> None:
    store = opened(server, runtime, run)
    run(store.purge(now=NOW))
    for number in range(10):
        run(store.apply([Put(entry(f"o{number}", value=1, expires_at=to_datetime(NOW + 10)))], now=NOW))
    run(store._client.command(ORGS_KEY, "SADD", ORGS_KEY, *[f"idle{number}" for number in range(IDLE)]))
    key_counts, before = counting(store), store.round_trips
    assert run(store.purge(now=NOW)) == {} and store.round_trips - before <= 3, "nothing is due"
    assert run(store.purge(now=NOW + 11)) == {"state": 10}
    assert sum(key_counts) == 0 and store.round_trips - before < 30
    run(store.close())


def test_an_org_is_purged_again_when_its_next_row_ends_whoever_wrote_it(
    server: Any, runtime: Runtime, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = opened(server, runtime, run), opened(server, runtime, run)
    for key, ends in (("a", 10), ("b", 10**9)):
        run(other.apply([Put(entry("o", key, value=1, expires_at=to_datetime(NOW + ends)))], now=NOW))
    assert run(store.purge(now=NOW + 11)) == {"state": 1}
    # The other process believes its org entered: the row is found all the same, five minutes later at the latest.
    run(other.apply([Put(entry("o", "c", value=1, expires_at=to_datetime(NOW + 20)))], now=NOW))
    assert run(store.purge(now=NOW + 301_000_000)) == {"state": 1}
    monkeypatch.setattr(registers, "MIN_ENTRY_SECONDS", -1.0)
    assert run(store.purge(now=NOW + 2 * 10**9)) == {"state": 1}
    assert run(store._client.command(ENDING_KEY, "ZCARD", ENDING_KEY)) == 0, "nothing ends: the org is out"
    run(store.close())
    run(other.close())


def test_rows_that_an_older_version_wrote_are_purged(server: Any, runtime: Runtime, run: Run) -> None:
    store = opened(server, runtime, run)
    run(store.apply([Put(entry("o", value=1, expires_at=to_datetime(NOW + 10)))], now=NOW))
    run(store._client.command(ENDING_KEY, "DEL", ENDING_KEY, b"mm:{" + ENDING_KEY + b"}:seen"))
    assert run(store.purge(now=NOW + 11)) == {"state": 1}
    run(store.close())


def test_orgs_without_rows_leave_the_register_of_orgs_and_never_under_a_writer(
    server: Any, runtime: Runtime, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(server, runtime, run)
    for org in ("a", "b"):
        run(store.apply([Put(fact(org))], now=NOW))
    run(store.apply([Delete(Fact, fact("a").row_key)], now=NOW))
    assert run(store.orgs()) == run(store.orgs()) == ["b"]
    assert run(store._client.command(ORGS_KEY, "SCARD", ORGS_KEY)) == 2, "a row of it may be on its way"
    monkeypatch.setattr(registers, "MIN_ENTRY_SECONDS", -1.0)
    run(store.close())
    other = opened(server, runtime, run)
    run(other._orgs.enter("a", [Put(fact("a"))]))
    run(other.orgs())
    assert run(other._client.command(ORGS_KEY, "SCARD", ORGS_KEY)) == 2, "registered since it was found empty"
    assert run(other.orgs()) == ["b"]
    assert run(other._client.command(ORGS_KEY, "SMEMBERS", ORGS_KEY)) == {b"b"}
    run(other.close())
