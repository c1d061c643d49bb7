"""How long anyone waits while a large table of Postgres is split by org.

    python -m bench.split [--rows 1000000] [--parts 100] [--writers 2]

Fills the messages of one database, splits the table with `memorist partition`'s own code, and meanwhile appends and
reads from threads that note how long each call takes. Prints the longest lock (from asking for it to the commit), and
the calls before and during the split.
"""

from __future__ import annotations

import argparse
import threading
import time
from typing import Any

from memorist.messages.message import Message
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Put, Scan
from memorist.stores.postgres import PostgresStore
from memorist_testing.samples import NOW, append, thread

from .partitions import ORGS, fill


class User(threading.Thread):
    """Appends to a thread of its own org and reads its end, and notes how long each call took."""

    def __init__(self, url: str, number: int) -> None:
        super().__init__(daemon=True)
        self._store = PostgresStore(url, runtime=BlockingRuntime())
        self._org = f"user-{number}"
        self._ended = threading.Event()
        self.took: list[tuple[float, float]] = []
        """When each call ended, and the seconds that it took."""
        self.said = 0

    def run(self) -> None:
        run_blocking(self._store.open())
        run_blocking(self._store.apply([Put(thread(self._org))], now=NOW))
        while not self._ended.is_set():
            self._timed(self._store.apply([append(self._org, f"number {self.said}")], now=NOW))
            self.said += 1
            found = self._timed(self._store.scan(Scan(Message, (self._org, "t"), reverse=True, limit=20), now=NOW))
            assert found[0].seq == self.said
            time.sleep(0.005)

    def _timed(self, call: Any) -> Any:
        began = time.perf_counter()
        result = run_blocking(call)
        self.took.append((time.perf_counter(), time.perf_counter() - began))
        return result

    def end(self) -> int:
        """Stop; how many of the messages are there."""
        self._ended.set()
        self.join()
        found = run_blocking(self._store.scan(Scan(Message, (self._org, "t")), now=NOW))
        run_blocking(self._store.close())
        return len(found)


def told(name: str, took: list[float]) -> None:
    ordered = sorted(took)
    middle, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    print(
        f"  calls {name}: {len(took)}, p50 {middle * 1e3:.1f} ms, p99 {late * 1e3:.1f} ms, longest {ordered[-1]:.3f} s",
        flush=True,
    )


def main() -> None:
    """Fill, split, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--parts", type=int, default=100)
    parser.add_argument("--writers", type=int, default=2)
    options = parser.parse_args()
    from tests.servers.postgres import start_postgres

    server = start_postgres(fsync=True)
    try:
        measured(server.url, options.rows, options.parts, options.writers)
    finally:
        server.stop()


def measured(url: str, rows: int, parts: int, writers: int) -> None:
    """Split the messages under load, and print what it cost the others."""
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.open())
    fill(url, rows, ORGS)
    users = [User(url, number) for number in range(writers)]
    for user in users:
        user.start()
    time.sleep(20)
    began = time.perf_counter()
    [done] = run_blocking(store.partition(parts, table="messages"))
    ended = time.perf_counter()
    there = [user.end() for user in users]
    assert there == [user.said for user in users], "an acknowledged message is missing, or is there twice"
    print(
        f"{done.rows} rows into {parts} partitions in {ended - began:.0f} s; "
        f"longest lock {done.locked_seconds:.3f} s; {sum(there)} messages written meanwhile, all there"
    )
    took = [one for user in users for one in user.took]
    told("before", [seconds for at, seconds in took if at < began])
    told("during", [seconds for at, seconds in took if began <= at <= ended])
    run_blocking(store.close())


if __name__ == "__main__":
    main()
