"""Append, the last 20 and recall in one org on Postgres, with few rows and with very many in a hundred partitions.

    python -m bench.partitions [--rows 10000000] [--parts 100] [--calls 400]

The first database has 10,000 messages and is not split; the second has as many as asked for, in partitions by org.
Both are asked alternately, a call here and a call there, so that a busy machine slows both alike. Figures are medians
by the clock, and the CPU that the server's processes spent on a call, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.postgres import PostgresStore

SMALL_ROWS = 10_000
ORGS = 1000


def fill(url: str, rows: int, orgs: int) -> None:
    """Messages of other orgs; nobody reads them, so their checksum is any number."""
    with psycopg.connect(url, autocommit=True) as connection:
        names = connection.execute(
            "SELECT column_name, is_nullable, data_type FROM information_schema.columns "
            "WHERE table_schema = 'memorist' AND table_name = 'messages'"
        ).fetchall()
        value = {
            "org": "'filler-' || n / {each}", "thread": "'t'", "seq": "n % {each} + 1", "role": "'user'",
            "content": "'\"' || repeat('what the user said, in a sentence or two ', 4) || n || '\"'",
        }  # fmt: skip
        columns, values = [], []
        for name, nullable, kind in names:
            if name in value:
                columns.append(name)
                values.append(value[name].format(each=max(1, rows // orgs)))
            elif nullable == "NO":
                columns.append(name)
                values.append("'x'" if kind == "text" else "false" if kind == "boolean" else "0")
        step = 500_000
        for start in range(0, rows, step):
            last = min(start + step, rows) - 1
            connection.execute(
                f"INSERT INTO memorist.messages ({', '.join(chr(34) + column + chr(34) for column in columns)}) "  # type: ignore[arg-type]  # pyright: ignore
                f"SELECT {', '.join(values)} FROM generate_series({start}, {last}) AS n"
            )
            print(f"  {last + 1} rows", flush=True)
        connection.execute("VACUUM ANALYZE memorist.messages")


def prepare(url: str, rows: int, parts: int | None, orgs: int) -> Any:
    """A memory over a database with so many messages."""
    from memorist import Memory

    if parts:
        store = PostgresStore(url, runtime=BlockingRuntime())
        run_blocking(store.create_partitioned(parts))
        run_blocking(store.close())
    Memory(url, worker=False, embedder=None).state.set("ready", 1)
    fill(url, rows, orgs)
    memory = Memory(url, org="asked", worker=False, embedder=None)
    memory.threads.create("global", id="t")
    for number in range(200):
        memory.threads.append("t", {"role": "user", "content": f"Note {number}: the harbour of Utrecht opens at nine."})
    memory.recall("harbour")
    return memory


def calls(memory: Any) -> dict[str, Callable[[], Any]]:
    return {
        "append": lambda: memory.threads.append("t", {"role": "user", "content": "One more note about the harbour."}),
        "last 20": lambda: memory.threads.recent("t", 20),
        "recall": lambda: memory.recall("When does the harbour open?", top_k=5),
    }


class Backends:
    """The server processes that serve one database."""

    def __init__(self, url: str, database: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()", [database]
            ).fetchall()
        self._processes = [pid for (pid,) in rows]

    def cpu(self) -> float:
        """CPU seconds they have spent so far; a process that has ended counts no more."""
        total = 0
        for pid in self._processes:
            with contextlib.suppress(FileNotFoundError):
                total += int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        return total / 1e9


def compare(name: str, count: int, memories: dict[str, Any], spent: dict[str, Backends]) -> None:
    """Do the same on both, turn by turn, and print how they differ."""
    took: dict[str, list[float]] = {which: [] for which in memories}
    before = {which: backends.cpu() for which, backends in spent.items()}
    for _ in range(count):
        for which, memory in memories.items():
            began = time.perf_counter()
            calls(memory)[name]()
            took[which].append(time.perf_counter() - began)
    few, many = (statistics.median(took[which]) * 1e3 for which in ("few", "many"))
    cpu_few, cpu_many = ((spent[which].cpu() - before[which]) / count * 1e3 for which in ("few", "many"))
    print(
        f"  {name}: {few:.2f} ms -> {many:.2f} ms, {many / few:.2f} x; "
        f"CPU of the server {cpu_few:.2f} ms -> {cpu_many:.2f} ms, {cpu_many / cpu_few:.2f} x",
        flush=True,
    )


def main() -> None:
    """Fill two databases, then ask both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--parts", type=int, default=100)
    parser.add_argument("--calls", type=int, default=400)
    options = parser.parse_args()
    from tests.servers.postgres import start_postgres

    server = start_postgres(fsync=False)
    with psycopg.connect(server.url, autocommit=True) as connection:
        for name in ("few", "many"):
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]  # pyright: ignore
    try:
        few = prepare(server.url_for(database="few"), SMALL_ROWS, None, ORGS // 100)
        many = prepare(server.url_for(database="many"), options.rows, options.parts, ORGS)
        with psycopg.connect(server.url_for(database="many"), autocommit=True) as connection:
            row = connection.execute("SELECT pg_size_pretty(pg_database_size(current_database()))").fetchone()
        size = row[0] if row else "?"
        print(f"{options.rows} messages in {options.parts} partitions ({size}) against {SMALL_ROWS} in one table")
        spent = {which: Backends(server.url, which) for which in ("few", "many")}
        for name in calls(few):
            count = options.calls if name != "recall" else options.calls // 8
            for memory in (few, many):  # prepared statements and caches
                for _ in range(20):
                    calls(memory)[name]()
            compare(name, count, {"few": few, "many": many}, spent)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
