"""Recall with filters that few memories pass, on Postgres.

    python -m bench.filtered [--messages 20000] [--calls 30]

One namespace in which one message in 10, in 100 and in 1,000 is tagged. For each tag: how many hits of the 10 asked for
come back, the median time of a recall, and how many entries the client read from the server for it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

from tests.recall.conftest import WordHashes

from memorist import Memory
from memorist.stores.postgres import search

SHARES = (1, 10, 100, 1000)
BATCH_MESSAGES = 500


def fruit(number: int) -> str:
    """One of forty words."""
    return "apple pear plum quince fig".split()[number % 5] + "abcdefgh"[number // 5 % 8]


def fill(memory: Memory, messages: int) -> None:
    """Write and index messages, tagged by their number."""
    for start in range(0, messages, BATCH_MESSAGES):
        thread = memory.threads.create("user:ada").id
        batch = [
            {
                "role": "user", "content": f"The {fruit(n)} of row r{n % 97} filled b{n % 31} baskets.",
                "metadata": {f"in{share}": n % share == 0 for share in SHARES},
            }
            for n in range(start, min(start + BATCH_MESSAGES, messages))
        ]  # fmt: skip
        memory.threads.append(thread, *batch)
        memory.recall("nothing", namespaces="user:ada", top_k=1)  # which indexes them


def count_entries() -> list[int]:
    """From now on, how many entries each search reads."""
    counts: list[int] = []
    records_of = search.records_of

    def counting(kind: Any, rows: Any) -> Any:
        counts.append(len(rows))
        return records_of(kind, rows)

    search.records_of = counting
    return counts


def main() -> None:
    """Fill, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--calls", type=int, default=30)
    options = parser.parse_args()
    from tests.servers.postgres import start_postgres

    server = start_postgres(fsync=False)
    try:
        with Memory(server.url, worker=False, extract=None, embedder=WordHashes(dimensions=256)) as memory:
            fill(memory, options.messages)
            read = count_entries()
            took: dict[int, list[float]] = {share: [] for share in SHARES}
            hits: dict[int, int] = {}
            rows: dict[int, int] = {}
            for number in range(options.calls):
                for share in SHARES:
                    read.clear()
                    began = time.perf_counter()
                    where = {f"in{share}": True}
                    hits_found = memory.recall(f"{fruit(number)} r{number}", namespaces="user:ada", where=where)
                    took[share].append(time.perf_counter() - began)
                    hits[share], rows[share] = len(hits_found), sum(read)
            for share in SHARES:
                middle = statistics.median(took[share]) * 1e3
                print(
                    f"one in {share} of {options.messages}: {hits[share]} hits, {middle:.1f} ms, "
                    f"{rows[share]} entries read",
                    flush=True,
                )
    finally:
        server.stop()


if __name__ == "__main__":
    main()
