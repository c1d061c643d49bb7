"""Records: 3 KB put one by one beside the bare driver, the newest of many, and what many records cost other calls.

    python bench/records.py [--count N] [--postgres URL] [--redis URL] [FOLDER]

The bare driver writes the same columns into a table with the same key, one transaction per record. On a RAM disk only
the CPU counts; on a disk the sync does.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.figures import Figure, against, report
from bench.floor import PRAGMAS
from memorist import Memory

PUT_LIMIT, SCAN_LIMIT, BESIDE_LIMIT = 1.5, 1.5, 1.05
NS = "workflow:graph"
DATA = b"\x93" + bytes(range(256)) * 12
"""Three kilobytes, as a packed checkpoint would be."""
PUTS = 2000


def open_memory(url: Any) -> Memory:
    """A memory that does nothing in the background."""
    return Memory(url, embedder=None, counter="estimate", extract=None, worker=False)


def bare_sqlite(path: Path) -> Callable[[int], object]:
    """One INSERT per record with the same pragmas."""
    connection = apsw.Connection(str(path))
    list(connection.execute(PRAGMAS.format(sync="FULL")))
    connection.execute(
        "CREATE TABLE kept (org TEXT, ns TEXT, key TEXT, data BLOB, metadata TEXT, created_at INTEGER, "
        "updated_at INTEGER, expires_at INTEGER, version INTEGER, PRIMARY KEY (org, ns, key))"
    )
    run = connection.cursor().execute
    sql = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

    def insert(i: int) -> None:
        now = time.time_ns() // 1000
        run(sql, ("default", NS, f"checkpoint/{i:08d}", DATA, '{"step":1}', now, now, None, 1))

    return insert


def bare_postgres(url: str) -> Callable[[int], object]:
    """One INSERT per record, autocommitted, prepared."""
    import psycopg

    connection = psycopg.connect(url, autocommit=True, prepare_threshold=0)
    connection.execute("DROP TABLE IF EXISTS bare_kept")
    connection.execute(
        'CREATE TABLE bare_kept (org text, ns text, key text COLLATE "C", data bytea, metadata text, '
        "created_at bigint, updated_at bigint, expires_at bigint, version bigint, PRIMARY KEY (org, ns, key))"
    )
    sql = (
        "INSERT INTO bare_kept VALUES (%s, %s, %s, %b, %s, %s, %s, %s, %s) "
        "ON CONFLICT (org, ns, key) DO UPDATE SET data = excluded.data, version = bare_kept.version + 1"
    )

    def insert(i: int) -> None:
        now = time.time_ns() // 1000
        connection.execute(sql, ("default", NS, f"checkpoint/{i:08d}", DATA, '{"step":1}', now, now, None, 1))

    return insert


def bare_redis(url: str) -> Callable[[int], object]:
    """A SET and a ZADD in one MULTI: a value under a key, and the key in an order."""
    import redis

    client = redis.Redis.from_url(url)

    def insert(i: int) -> None:
        with client.pipeline(transaction=True) as pipe:
            pipe.set(f"bare:{i:08d}", DATA).zadd("bare", {f"{i:08d}": 0}).execute()

    return insert


def puts(memory: Memory, bare: Callable[[int], object], name: str) -> Figure:
    """A put of ours against one of the bare driver."""
    ours, floor = against(lambda i: memory.records.put(NS, ("put", i), DATA, meta={"step": 1}), bare, PUTS)
    return Figure(f"put of 3 KB, {name}", f"{ours:.0f} µs", f"{floor:.0f} µs", ours / floor, PUT_LIMIT)


def fill(memory: Memory, ns: str, count: int) -> None:
    """So many records, 500 at a time."""
    for start in range(0, count, 500):
        memory.records.put_many(ns, [(("step", i), DATA) for i in range(start, min(start + 500, count))])


def newest(memory: Memory, count: int, name: str) -> Figure:
    """The newest of many against the newest of ten."""
    fill(memory, "workflow:ten", 10)
    many, few = against(
        lambda i: memory.records.scan(NS, ("step",), reverse=True, limit=1),
        lambda i: memory.records.scan("workflow:ten", ("step",), reverse=True, limit=1),
        1000,
    )
    return Figure(f"newest of {count:,}, {name}", f"{many:.0f} µs", f"{few:.0f} µs of ten", many / few, SCAN_LIMIT)


def beside(full: Memory, empty: Memory, count: int, name: str) -> list[Figure]:
    """Recall, append and context in a namespace with many records against one without."""
    for memory in (full, empty):
        memory.threads.create(NS, id="talk")
        for n in range(60):
            memory.threads.append("talk", f"message {n} about the harvest of apples and pears in year {1900 + n}")
        memory.recall("apples", namespaces=[NS])
    calls: dict[str, Callable[[Memory, int], object]] = {
        "recall": lambda memory, i: memory.recall(f"apples of {1900 + i % 60}", namespaces=[NS]),
        "context": lambda memory, i: memory.context(f"what of {1900 + i % 60}?", thread="talk", recall=False),
        "append": lambda memory, i: memory.threads.append("talk", f"and now {i}"),
    }
    figures = []
    for call, function in calls.items():
        ratios, ours, floor = [], 0.0, 0.0
        for _ in range(5):
            ours, floor = against(lambda i, f=function: f(full, i), lambda i, f=function: f(empty, i), 600, 20)  # type: ignore[misc]
            ratios.append(ours / floor)
        ratio = statistics.median(ratios)
        title = f"{call} beside {count:,} records, {name}"
        figures.append(Figure(title, f"{ours:.0f} µs", f"{floor:.0f} µs with none", ratio, BESIDE_LIMIT))
    return figures


def large(memory: Memory, name: str) -> Figure:
    """64 MB in and out."""
    data = bytes(64 * 1024 * 1024)
    start = time.perf_counter()
    memory.records.put(NS, ("large",), data)
    wrote = time.perf_counter() - start
    start = time.perf_counter()
    record = memory.records.get(NS, ("large",))
    assert record is not None and record.data == data
    return Figure(f"a record of 64 MB, {name}", f"put {wrote:.2f} s, get {time.perf_counter() - start:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--postgres")
    parser.add_argument("--redis")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(temporary)
        full, empty = open_memory(folder / "full.db"), open_memory(folder / "empty.db")
        figures = [puts(full, bare_sqlite(folder / "bare.db"), "SQLite")]
        for url, bare, name in ((options.postgres, bare_postgres, "Postgres"), (options.redis, bare_redis, "Redis")):
            if url:
                with open_memory(url) as served:
                    figures.append(puts(served, bare(url), name))
        fill(full, NS, options.count)
        figures += [newest(full, options.count, "SQLite"), *beside(full, empty, options.count, "SQLite")]
        figures.append(large(full, "SQLite"))
        full.close()
        empty.close()
    print(report("Records", figures, "bare driver"))


if __name__ == "__main__":
    main()
