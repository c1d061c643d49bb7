"""The context of a session beside many users of the org, against the same session alone.

    python -m bench.users [--users 50000] [--calls 400]

Both memories are SQLite files, and the calls alternate in blocks, so that a busy minute slows both alike.
`test_a_context_costs_the_same_however_many_users_there_are` of the conformance suite compares rows and reads.
"""

from __future__ import annotations

import argparse
import os
import tempfile

from memorist import Memory

from .figures import Figure, against, report

USERS_PER_BATCH = 1000


def open_with(path: str, users: int) -> Memory:
    """A memory in which each of these users has a fact, indexed."""
    memory = Memory(path, durability="normal", worker=False, embedder=None)
    for start in range(0, users, USERS_PER_BATCH):
        with memory.batch() as batch:
            for number in range(start, min(start + USERS_PER_BATCH, users)):
                batch.facts.set(f"user:u{number}", "city", "Lisbon")
    memory.jobs.drain()
    return memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=50_000)
    parser.add_argument("--calls", type=int, default=400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        many = open_with(os.path.join(folder, "many.db"), options.users)
        alone = open_with(os.path.join(folder, "alone.db"), 1)
        sessions = [memory.session("talk", user="u0") for memory in (many, alone)]
        for session in sessions:
            session.add("I live in Lisbon.", "Noted.")
        many.jobs.drain()
        alone.jobs.drain()
        ours, floor = against(
            lambda _: sessions[0].context("Where do I live?").messages(),
            lambda _: sessions[1].context("Where do I live?").messages(),
            options.calls,
            10,
        )
        name = f"session.context with {options.users:,} users in the org"
        print(report("Many users", [Figure(name, f"{ours:.0f} µs", f"{floor:.0f} µs", ours / floor, 1.2)], "one user"))
        many.close()
        alone.close()


if __name__ == "__main__":
    main()
