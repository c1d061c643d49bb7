"""How long a worker takes to find ten orgs with jobs among many without, what an idle worker costs, and what it costs
to open a handle, list, count, purge and look after one org beside so many others.

    python -m bench.orgs [--orgs 1000000] [--store redis|cluster|postgres]

The idle orgs have one row each. Redis: they are in the register of orgs; Postgres: a fact of each is in the table.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from typing import Any

from memorist.ports import to_datetime
from memorist.records import Job
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Put

BUSY_ORGS = 10
POLLS = 50


def job(org: str) -> Job:
    at = to_datetime(int(time.time() * 1e6) - 1)
    return Job(org=org, queue="index", ns="global", item="i", run_at=at, created_at=at, updated_at=at)


def redis_with(orgs: int) -> tuple[Any, Any]:
    from tests.servers.redis import start_redis

    from memorist.stores.redis import RedisStore
    from memorist.stores.redis.keys import ORGS_KEY

    return _registered(start_redis(aof="no"), orgs, ORGS_KEY, RedisStore)


def cluster_with(orgs: int) -> tuple[Any, Any]:
    from tests.servers.redis import start_redis_cluster

    from memorist.stores.redis import RedisStore
    from memorist.stores.redis.keys import ORGS_KEY

    return _registered(start_redis_cluster(aof="no"), orgs, ORGS_KEY, RedisStore)


def _registered(server: Any, orgs: int, key: bytes, kind: Any) -> tuple[Any, Any]:
    store = kind(server.url, runtime=BlockingRuntime(), on_risk="ignore")
    for start in range(0, orgs, 50_000):
        names = [f"idle{n}" for n in range(start, min(start + 50_000, orgs))]
        run_blocking(store._client.command(key, b"SADD", key, *names))
    return store, server


def postgres_with(orgs: int) -> tuple[Any, Any]:
    import psycopg
    from tests.servers.postgres import start_postgres

    from memorist.stores.postgres import PostgresStore

    server = start_postgres()
    store = PostgresStore(server.url, runtime=BlockingRuntime())
    run_blocking(store.open())
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO memorist.state (org, ns, key, value, created_at, updated_at, version) "
            "SELECT 'idle' || n, 'global', 'k', '1', 0, 0, 1 FROM generate_series(1, %s) AS n",
            [orgs],
        )
        connection.execute("ANALYZE")
    return store, server


def main() -> None:
    """Fill, find, then poll."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orgs", type=int, default=1_000_000)
    parser.add_argument("--store", choices=["redis", "cluster", "postgres"], default="redis")
    options = parser.parse_args()
    openers = {"redis": redis_with, "cluster": cluster_with, "postgres": postgres_with}
    store, server = openers[options.store](options.orgs)
    try:
        run_blocking(store.open())
        now = int(time.time() * 1e6)
        began = time.perf_counter()
        run_blocking(store.claim("index", owner="w", now=now, lease=60_000_000, limit=20))
        first = time.perf_counter() - began
        looks, longest, sweep_seconds = sweep(store, now)
        for number in range(BUSY_ORGS):
            run_blocking(store.apply([Put(job(f"busy{number}"))], now=now))
        now = int(time.time() * 1e6)
        began = time.perf_counter()
        jobs = run_blocking(store.claim("index", owner="w", now=now, lease=60_000_000, limit=20))
        took = time.perf_counter() - began
        assert len({job.org for job in jobs}) == BUSY_ORGS
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        for _ in range(POLLS):
            run_blocking(store.claim("index", owner="w", now=now, lease=60_000_000, limit=20))
        after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - began
        cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / POLLS
        print(f"{options.store}: {options.orgs} orgs, {BUSY_ORGS} with jobs")
        print(f"  first look of a new server {first:.3f} s, ten orgs found in {took * 1e3:.1f} ms")
        if looks:
            print(f"  once a day, over all orgs: {sweep_seconds:.1f} s in {looks} looks, the longest {longest:.3f} s")
        share = cpu / 0.2 * 100
        print(
            f"  an idle poll {wall / POLLS * 1e3:.2f} ms, {cpu * 1e3:.2f} ms of CPU: {share:.2f} % at 5 polls a second"
        )
        around(store, server.url, now)
    finally:
        run_blocking(store.close())
        server.stop()


def sweep(store: Any, now: int) -> tuple[int, float, float]:
    """How many looks the daily sweep takes, the longest of them, and all of it; none where there is no such sweep."""
    register, looks, longest, began = getattr(store, "_work", None), 0, 0.0, time.perf_counter()
    while register is not None and register._cursor:
        at = time.perf_counter()
        run_blocking(store.claim("index", owner="w", now=now, lease=60_000_000, limit=20))
        looks, longest = looks + 1, max(longest, time.perf_counter() - at)
    return looks, longest, time.perf_counter() - began


def around(store: Any, url: str, now: int) -> None:
    """What is done beside the worker's search, in and for one org."""
    from memorist import Memory

    measure_seconds("purge, the first since a day (its part of the sweep)", lambda: run_blocking(store.purge(now=now)))
    measure_seconds("purge, the next one", lambda: run_blocking(store.purge(now=now)))
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory = Memory(url, org="busy0", worker=False, embedder=None)
        memory.facts.set("user:ada", "city", "Rome")
    print(f"  opening a handle and a first write {(time.perf_counter() - began) * 1e3:.1f} ms")
    measure_seconds("facts.list", lambda: memory.facts.list("user:ada"))
    measure_seconds("namespaces", lambda: memory.namespaces())
    measure_seconds("stats", lambda: memory.stats())
    measure_seconds("doctor", lambda: memory.doctor())
    measure_seconds("process gc", lambda: memory.process("gc"))
    memory.close()


def measure_seconds(name: str, call: Any) -> None:
    began = time.perf_counter()
    call()
    print(f"  {name} {(time.perf_counter() - began) * 1e3:.1f} ms", flush=True)


if __name__ == "__main__":
    main()
