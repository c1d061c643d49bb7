"""What starting costs: CPU time of importing and of commands, over and beside a bare Python started at the same moment.

    python -m bench.start [--runs 15]

CPU time of a process grows with what else the machine does, so each figure is the smallest of many runs, taken in turns
with a bare `python -c pass`; the ratio to that is the figure to compare between machines. Bytecode is compiled first,
as an installation does.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import memorist

MESSAGE = "We launch on 3 March, and Antonella prefers short answers."
COMMANDS = {
    "from memorist import Memory": ("-c", "from memorist import Memory"),
    "memorist --help": ("-m", "memorist", "--help"),
    "memorist facts get": ("-m", "memorist", "--url", "facts.db", "facts", "get", "user:ada", "city"),
    "memorist threads append": ("-m", "memorist", "--url", "start.db", "threads", "append", "talk", MESSAGE),
}
LIMITS = {"from memorist import Memory": 0.1, "memorist --help": 0.15, "memorist threads append": 0.4}
"""Seconds that were set as the aim: the first over a bare Python, the others of the whole process."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    compileall.compile_dir(str(Path(memorist.__file__).parent), quiet=2)
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        best = measure(folder, runs)
    bare = best.pop("bare")
    print(f"python -c pass: {bare * 1000:.0f} ms of CPU; the smallest of {runs} runs each")
    for name, seconds in best.items():
        limit = LIMITS.get(name)
        over = seconds - bare if name.startswith("from") else seconds
        aim = "" if limit is None else f"  aim {limit * 1000:.0f}: {'met' if over <= limit else 'missed'}"
        print(f"{name:<30} {seconds * 1000:5.0f} ms, {(seconds - bare) * 1000:5.0f} over bare, "
              f"{seconds / bare:5.1f} × bare{aim}")  # fmt: skip


def prepare(folder: str) -> None:
    """A memory with a fact and one with a thread: reading where messages wait would measure deriving from them."""
    cpu(folder, ("-m", "memorist", "--url", "facts.db", "facts", "set", "user:ada", "city", "Lisbon"))
    cpu(folder, ("-m", "memorist", "--url", "start.db", "threads", "create", "user:ada", "--id", "talk"))


def measure(folder: str, runs: int) -> dict[str, float]:
    """The smallest CPU time of each, all taken in turns so that they see the same machine."""
    best: dict[str, float] = {}
    for _ in range(runs):
        for name, command in {"bare": ("-c", "pass"), **COMMANDS}.items():
            best[name] = min(best.get(name, 1e9), cpu(folder, command))
    return best


def cpu(folder: str, command: tuple[str, ...]) -> float:
    """User and system seconds of a child."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMORIST_")}
    subprocess.run([sys.executable, *command], cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
