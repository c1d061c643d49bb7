"""Recall beside a writer: p95 of one client's recall while another appends as fast as it can, over its quiet p95.

    python -m bench.busy [sqlite] [postgres] [redis] [http] [--calls 200] [--messages 2000]

The writer is a process of its own. `apart` is a recall in the namespace of another user, `same` one in the namespace
that is being written to, which must index what was appended since the recall before it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memorist import Memory

from .server import serving

WRITE_CODE = """
import sys, warnings
from memorist import Memory
warnings.simplefilter("ignore")
url, key = sys.argv[1], sys.argv[2] or None
options = {"api_key": key} if key else {"worker": False}
with Memory(url, **options) as memory:
    number = 0
    while True:
        memory.threads.append("log", {"role": "user", "content": f"Entry {number} of the log: pump {number % 97} ran."})
        number += 1
"""
STORES = ("sqlite", "postgres", "redis", "http")
WARM_UP_MESSAGES = 200


@contextmanager
def store_url(name: str) -> Iterator[tuple[str, str | None]]:
    """The URL of a store that exists while the benchmark runs, and the key it needs."""
    with tempfile.TemporaryDirectory() as folder:
        if name == "sqlite":
            yield str(Path(folder) / "memory.db"), None
        elif name == "http":
            with serving(folder) as (_, port, key):
                yield f"http://127.0.0.1:{port}", key
        elif name == "postgres":
            from tests.servers.postgres import start_postgres

            server = start_postgres()
            try:
                yield server.url, None
            finally:
                server.stop()
        else:
            from tests.servers.redis import start_redis

            redis = start_redis()
            try:
                yield redis.url, None
            finally:
                redis.stop()


def fill(memory: Memory, messages: int) -> None:
    """Write and index the messages of the reader and of the writer."""
    for namespace, thread in (("user:ada", "talk"), ("user:bob", "log")):
        memory.threads.create(namespace, id=thread)
        for start in range(0, messages, 500):
            batch = [{"role": "user", "content": f"Row {n}: the pear tree bore {n % 31} pears."} for n in range(500)]
            memory.threads.append(thread, *batch[: messages - start])
        memory.recall("pears", namespaces=namespace, top_k=1)


def percentile95(memory: Memory, namespace: str, calls: int) -> tuple[float, float]:
    """The time that 95 % of the recalls do not exceed, in milliseconds: by the clock, and of this process's processor.

    The second says what a recall does, however many others share the machine.
    """
    waits, works = [], []
    for number in range(calls):
        start, used = time.perf_counter(), time.process_time()
        memory.recall(f"how many pears on row {number}?", namespaces=namespace)
        waits.append(time.perf_counter() - start)
        works.append(time.process_time() - used)
    return sorted(waits)[int(0.95 * calls)] * 1e3, sorted(works)[int(0.95 * calls)] * 1e3


def compare(busy: tuple[float, float], quiet: tuple[float, float]) -> str:
    """Both times of a busy recall, with how many times the quiet ones they are."""
    (wait, work), (quiet_wait, quiet_work) = busy, quiet
    return f"{wait:.1f} ({wait / quiet_wait:.1f}×), CPU {work:.1f} ({work / quiet_work:.1f}×)"


def measure(name: str, calls: int, messages: int) -> str:
    """The figures of a store, as a row of a table."""
    with store_url(name) as (url, key):
        memory = Memory(url, api_key=key) if key else Memory(url, worker=False)
        with memory:
            fill(memory, messages)
            percentile95(memory, "user:ada", 20)
            quiet = percentile95(memory, "user:ada", calls)
            before = memory.threads.get("log").length
            writer = subprocess.Popen([sys.executable, "-c", WRITE_CODE, url, key or ""])
            try:
                while memory.threads.get("log").length < before + WARM_UP_MESSAGES:
                    time.sleep(0.1)
                start, first = time.perf_counter(), memory.threads.get("log").length
                apart = percentile95(memory, "user:ada", calls)
                rate = (memory.threads.get("log").length - first) / (time.perf_counter() - start)
                percentile95(memory, "user:bob", 5)
                same = percentile95(memory, "user:bob", calls)
                written = memory.threads.get("log").length - before
            finally:
                writer.kill()
                writer.wait()
    return (
        f"| {name} | {quiet[0]:.1f}, CPU {quiet[1]:.1f} | {compare(apart, quiet)} | {compare(same, quiet)} "
        f"| {rate:,.0f}/s, {written:,} in all |"
    )


def main() -> None:
    """Print a table of the chosen stores."""
    parser = argparse.ArgumentParser(prog="python -m bench.busy", description=__doc__)
    parser.add_argument("stores", nargs="*", default=list(STORES))
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--messages", type=int, default=2_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| store | quiet p95 ms | another user's namespace | the writer's own namespace | appended |")
    print("|---|---|---|---|---|")
    for name in options.stores or STORES:
        print(measure(name, options.calls, options.messages), flush=True)


if __name__ == "__main__":
    main()
