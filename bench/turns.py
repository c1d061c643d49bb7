"""This version beside an earlier one, in turns: the commonest operations, as ratios.

    python -m bench.turns REVISION [--on /dev/shm] [--store sqlite|postgres|redis] [--rounds 100]

A machine that other work shares may be twice as slow from one minute to the next, so that two runs one after the other
say little. Here both versions run at once as two processes, and each does a short piece of work while the other waits.
Each version has a file or a server of its own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TEXT = "The budget for June is still open. " * 8
OPERATIONS_PER_TURN = {
    "append": 100,
    "last 20": 60,
    "set a new fact": 50,
    "set a fact again": 50,
    "get a fact": 300,
    "recall": 10,
}
"""How often each operation is done in one turn."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="the earlier version, as git names it")
    parser.add_argument("--on", help="a folder to measure on, such as a RAM disk; a temporary one otherwise")
    parser.add_argument("--store", choices=("sqlite", "postgres", "redis"), default="sqlite")
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.on) as folder:
        earlier = Path(folder) / "earlier"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "-q", "--detach", earlier, options.revision], check=True)
        try:
            compare(_urls(options.store, folder), [earlier / "src", ROOT / "src"], options.rounds)
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", earlier], check=True)
    return 0


def _urls(store: str, folder: str) -> list[str]:
    """Return the address of a store for each version."""
    if store == "postgres":
        from tests.servers.postgres import start_postgres

        return [start_postgres().url for _ in range(2)]
    if store == "redis":
        from tests.servers.redis import start_redis

        return [start_redis().url for _ in range(2)]
    return [os.path.join(folder, f"{n}.db") for n in range(2)]


def compare(urls: Sequence[str], sources: Sequence[Path], rounds: int) -> None:
    """Print the median of each operation before and now, and the median of the ratios of all turns."""
    command = [sys.executable, "-P", __file__, "--work"]  # without this folder, where redis.py would hide the driver
    versions = [
        subprocess.Popen(
            [*command, url], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(source)},
        )
        for url, source in zip(urls, sources, strict=True)
    ]  # fmt: skip
    print("| what | before, µs | now, µs | × |\n|---|---|---|---|")
    for name in OPERATIONS_PER_TURN:
        turns = [[_ask(version, name) for version in versions] for _ in range(rounds)]
        before, now = (statistics.median(turn[n] for turn in turns) for n in (0, 1))
        print(f"| {name} | {before:.1f} | {now:.1f} | {statistics.median(b / a for a, b in turns):.2f} |")
    for version in versions:
        version.communicate()


def _ask(version: subprocess.Popen[str], name: str) -> float:
    assert version.stdin is not None and version.stdout is not None
    version.stdin.write(f"{name}\n")
    version.stdin.flush()
    return float(version.stdout.readline())


def work(url: str) -> None:
    """One version: do the operations that are asked for on standard input, and answer with the median of each turn."""
    from memorist import Memory

    options: dict[str, Any] = {} if url.startswith("redis") else {"durability": "normal"}
    with Memory(url, worker=False, **options) as memory:
        memory.threads.create("global", id="talk")
        positions = dict.fromkeys(OPERATIONS_PER_TURN, 0)
        do: dict[str, Callable[[int], Any]] = {
            "append": lambda n: memory.threads.append("talk", {"role": "user", "content": f"{n} {TEXT}"}),
            "last 20": lambda n: memory.threads.recent("talk", 20),
            "set a new fact": lambda n: memory.facts.set("user:ada", f"key{n}", {"value": n, "text": "some value"}),
            "set a fact again": lambda n: memory.facts.set("user:ada", f"key{n % 50}", {"value": n, "text": "another"}),
            "get a fact": lambda n: memory.facts.get("user:ada", f"key{n % 50}"),
            "recall": lambda n: memory.recall(f"What about the budget for June {n}?", top_k=5),
        }
        for line in sys.stdin:
            name = line.strip()
            start, positions[name] = positions[name], positions[name] + OPERATIONS_PER_TURN[name]
            print(statistics.median(_took(do[name], n) for n in range(start, positions[name])), flush=True)


def _took(operation: Callable[[int], Any], n: int) -> float:
    begun = time.perf_counter()
    operation(n)
    return 1e6 * (time.perf_counter() - begun)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
    else:
        sys.exit(main())
