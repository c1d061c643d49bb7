"""The Postgres store beside bare psycopg doing the same work, in one run: `python -m bench.postgres`.

Rounds alternate, so that a busy machine slows all alike. The floor is psycopg with prepared
statements, with our columns and conditions, and with the org set in the transaction, as row-level security needs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from tests.servers.postgres import start_postgres  # noqa: E402

from memorist.loop_runtime import AsyncRuntime  # noqa: E402
from memorist.messages.message import Message  # noqa: E402
from memorist.ports import to_datetime  # noqa: E402
from memorist.records import Fact, Thread  # noqa: E402
from memorist.runtime import BlockingRuntime, run_blocking  # noqa: E402
from memorist.stores.base import Append, Put, Scan  # noqa: E402
from memorist.stores.codec import codec  # noqa: E402
from memorist.stores.postgres import PostgresStore  # noqa: E402
from memorist.stores.postgres import statements as sql  # noqa: E402

ORG = "bench"
TEXT = "A message of three hundred characters, as people write them. " * 5
NOW = time.time_ns() // 1000
AT = to_datetime(NOW)
LIMITS = {"append": 1.5, "append with a key": 1.5, "last 20": 2.0, "get a fact": 2.0}
COLUMNS = (
    "org, thread, seq, role, content, name, extra, shape, metadata, importance, pinned, trust, tokens, counter, "
    "created_at, expires_at, checksum"
)

Work = Callable[[], Any]


def message(thread: str) -> Message:
    return Message(org=ORG, thread=thread, role="user", content=TEXT[:300], tokens=60, created_at=AT)


def ours(store: PostgresStore, thread: str) -> dict[str, Work]:
    numbers = iter(range(10**9))

    def apply(*changes: Any) -> Any:
        return run_blocking(store.apply(changes, now=NOW))

    return {
        "append": lambda: apply(Append(ORG, thread, (message(thread),), AT)),
        "append with a key": lambda: apply(Append(ORG, thread, (message(thread),), AT, f"k{next(numbers)}")),
        "last 20": lambda: run_blocking(store.scan(Scan(Message, (ORG, thread), reverse=True, limit=20), now=NOW)),
        "get a fact": lambda: run_blocking(store.get(Fact, (ORG, "global", "k"), now=NOW)),
    }


def bare(connection: psycopg.Connection[Any], thread: str) -> dict[str, Work]:
    numbers = iter(range(10**9))
    run = connection.execute

    def enter() -> None:
        run("SELECT set_config('memorist.org', %s, true)", (ORG,))

    def append(key: str | None = None) -> None:
        with connection.transaction():
            enter()
            row = run(
                "UPDATE memorist.threads SET length = length + 1, tokens = tokens + %s, updated_at = %s, "
                "version = version + 1 WHERE org = %s AND id = %s AND (expires_at IS NULL OR expires_at > %s) "
                "RETURNING length, expires_at",
                (60, NOW, ORG, thread, NOW),
            ).fetchone()
            assert row is not None
            if key is not None:
                run(
                    "INSERT INTO memorist.receipts (org, thread, key, first, count, created_at) "
                    "VALUES (%s, %s, %s, %s, 1, %s) ON CONFLICT DO NOTHING",
                    (ORG, thread, key, row[0], NOW),
                )
            run(
                f"INSERT INTO memorist.messages ({COLUMNS}) VALUES "
                "(%s, %s, %s, 'user', %s, NULL, NULL, NULL, NULL, NULL, false, NULL, 60, NULL, %s, %s, 0)",
                (ORG, thread, row[0], TEXT[:300], NOW, row[1]),
            )

    def last() -> Any:
        with connection.transaction():
            enter()
            return run(
                f"SELECT {COLUMNS} FROM memorist.messages WHERE org = %s AND thread = %s "
                "AND (expires_at IS NULL OR expires_at > %s) ORDER BY seq DESC LIMIT 20",
                (ORG, thread, NOW),
            ).fetchall()

    def get() -> Any:
        with connection.transaction():
            enter()
            return run(
                "SELECT * FROM memorist.facts WHERE org = %s AND ns = 'global' AND key = 'k' "
                "AND (expires_at IS NULL OR expires_at > %s)",
                (ORG, NOW),
            ).fetchone()

    return {
        "append": append,
        "append with a key": lambda: append(f"k{next(numbers)}"),
        "last 20": last,
        "get a fact": get,
    }


def bare_at_once(connection: psycopg.Connection[Any], thread: str) -> dict[str, Work]:
    """The hardest floor, one round trip too: reads of one statement with no org set, appends in psycopg's pipeline."""
    run = connection.execute
    raw = psycopg.RawCursor(connection)
    numbers = iter(range(10**9))
    text = sql.append_first_sql()
    cells = codec(Message).encode(message("bare"))
    kinds = [column.kind for column in codec(Message).columns]
    row = [bool(cells[i]) if kinds[i] == "bool" else cells[i] for i in sql.APPEND_CELLS] + [0]

    def append(key: str | None = None) -> None:
        with connection.pipeline():
            raw.execute("SELECT set_config('memorist.org', $1, true)", [ORG])
            raw.execute(text, [*row, key, None, 1, 60, NOW, NOW])

    return {
        "append": append,
        "append with a key": lambda: append(f"p{next(numbers)}"),
        "last 20": lambda: run(
            f"SELECT {COLUMNS} FROM memorist.messages WHERE org = %s AND thread = %s "
            "AND (expires_at IS NULL OR expires_at > %s) ORDER BY seq DESC LIMIT 20",
            (ORG, thread, NOW),
        ).fetchall(),
        "get a fact": lambda: run(
            "SELECT * FROM memorist.facts WHERE org = %s AND ns = 'global' AND key = 'k' "
            "AND (expires_at IS NULL OR expires_at > %s)",
            (ORG, NOW),
        ).fetchone(),
    }


def measure(works: list[Work], rounds: int) -> list[float]:
    """Microseconds of each, in alternating rounds: the lower quartile, because other work on the machine only adds."""
    times: list[list[float]] = [[] for _ in works]
    for work in works:
        for _ in range(20):
            work()
    for _ in range(rounds):
        for work, into in zip(works, times, strict=True):
            for _ in range(50):
                start = time.perf_counter()
                work()
                into.append(time.perf_counter() - start)
    return [quartile(each) for each in times]


def quartile(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=4)[0] * 1e6


def measure_awaited(url: str, rounds: int) -> dict[str, float]:
    """The same through the async client, one after the other."""

    async def run() -> dict[str, float]:
        store = PostgresStore(url, runtime=AsyncRuntime())
        await store.open()
        await store.apply([Put(Thread(org=ORG, id="async", ns="global", created_at=AT, updated_at=AT))], now=NOW)
        append, read = [], []
        for _ in range(rounds * 50):
            start = time.perf_counter()
            await store.apply([Append(ORG, "async", (message("async"),), AT)], now=NOW)
            append.append(time.perf_counter() - start)
            start = time.perf_counter()
            await store.scan(Scan(Message, (ORG, "async"), reverse=True, limit=20), now=NOW)
            read.append(time.perf_counter() - start)
        await store.close()
        return {"append": quartile(append), "last 20": quartile(read)}

    return asyncio.run(run())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a server that is there; otherwise one is started")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--fsync", action="store_true", help="flush each commit to disk (for a server started here)")
    parser.add_argument("--write", type=Path, help="write the figures to this file")
    args = parser.parse_args()
    server = None if args.url else start_postgres(fsync=args.fsync)
    url: str = args.url or (server.url if server else "")
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.open())
    for name in ("ours", "bare"):
        thread = Thread(org=ORG, id=name, ns="global", created_at=AT, updated_at=AT)
        run_blocking(store.apply([Put(thread)], now=NOW))
        for _ in range(40):
            run_blocking(store.apply([Append(ORG, name, (message(name),) * 500, AT)], now=NOW))
    run_blocking(
        store.apply([Put(Fact(org=ORG, ns="global", key="k", value="v", created_at=AT, updated_at=AT))], now=NOW)
    )
    connection = psycopg.connect(url, autocommit=True, prepare_threshold=0)
    connection.execute("ANALYZE", prepare=False)

    # Reads first: both sides then read threads of the same 20,000.
    operations, floor, single = ours(store, "ours"), bare(connection, "bare"), bare_at_once(connection, "ours")
    lines = [
        "| | ours µs | bare, in a transaction µs | × | bare, one round trip µs | × | limit |",
        "|---|---|---|---|---|---|---|",
    ]
    short = []
    for name in ("last 20", "get a fact", "append", "append with a key"):
        took = measure([operations[name], floor[name], single[name]], args.rounds)
        alone = f"{took[2]:.0f} | {took[0] / took[2]:.2f}"
        worst = took[0] / min(took[1:])
        if worst > LIMITS[name]:
            short.append(f"{name}: {worst:.2f} × the floor, limit {LIMITS[name]}")
        lines.append(f"| {name} | {took[0]:.0f} | {took[1]:.0f} | {took[0] / took[1]:.2f} | {alone} | {LIMITS[name]} |")
    for name, micros in measure_awaited(url, max(2, args.rounds // 4)).items():
        lines.append(f"| {name}, awaited | {micros:.0f} | | | | | |")
    before = store.round_trips
    operations["append with a key"]()
    operations["last 20"]()
    lines += ["", f"Round trips of one keyed append and one read: {store.round_trips - before}."]
    run_blocking(store.close())
    version = connection.execute("SHOW server_version", prepare=False).fetchone()
    connection.close()
    if server is not None:
        server.stop()
    report = "\n".join(
        [*heading(args, str(version[0]) if version else "?"), *lines, "", *(short or ["Nothing falls short."])]
    )
    print(report)
    if args.write:
        args.write.write_text(report + "\n", encoding="utf-8")
    return 1 if short else 0


def heading(args: argparse.Namespace, version: str) -> list[str]:
    command = "python -m bench.postgres" + (" --fsync" if args.fsync else "") + f" --rounds {args.rounds}"
    load = os.getloadavg()[0]
    return [
        "# Postgres: the store beside bare psycopg",
        "",
        f"`{command}`, {datetime.now(UTC):%d %B %Y}; Postgres {version}, psycopg {psycopg.__version__}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores, load {load:.1f}, commits "
        f"{'flushed' if args.fsync else 'not flushed, so that only work counts'}. Lower quartiles.",
        "",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
