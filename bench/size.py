"""What a stored message takes: its row, then what recall needs to find it by its words, then by its meaning.

    python -m bench.size --store postgres [--messages 10000] [--orgs 10]

Messages of 170 characters from talks in tests/data, in threads of 100. Bytes are those of the store's files (Postgres:
of its database, after VACUUM) or of its memory (Redis), less what it had when it was new, for each message. Of Postgres
it also says how many of them are indexes.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.scale import STORES, Target

TALKS = Path(__file__).parents[1] / "tests" / "data" / "fillers.jsonl"
TEXT_CHARACTERS, MESSAGES_PER_THREAD = 170, 100


def texts() -> Iterator[str]:
    """Numbered pieces of talks, without end; no two are the same."""
    talk = " ".join(text for line in TALKS.read_text().splitlines() for text in json.loads(line).values())
    for number in itertools.count():
        start = number * TEXT_CHARACTERS % (len(talk) - TEXT_CHARACTERS)
        yield f"{number} {talk[start:]}"[:TEXT_CHARACTERS]


def append(memory: Any, options: argparse.Namespace) -> None:
    """Write every message."""
    contents = texts()
    for org in range(options.orgs):
        handle = memory.scope(org=f"o{org}")
        for thread in range(options.messages // options.orgs // MESSAGES_PER_THREAD):
            handle.threads.append(
                f"t{thread}",
                *({"role": "user", "content": next(contents)} for _ in range(MESSAGES_PER_THREAD)),
                create="user:u",
            )


def indexes(url: str | None) -> int:
    """Bytes of all indexes of a Postgres, which is first made tidy."""
    if url is None or not url.startswith("postgresql"):
        return 0
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        row = connection.execute(
            "SELECT sum(pg_indexes_size(oid)) FROM pg_class "
            "WHERE relkind IN ('r', 'm') AND relnamespace = 'memorist'::regnamespace"
        ).fetchone()
    return int(row[0]) if row else 0


def measure(target: Target, options: argparse.Namespace, **settings: Any) -> Iterator[tuple[int, int]]:
    """All bytes and those of indexes: of a new store, with every message as a row, and once all is indexed."""
    from memorist import Memory

    steps: list[Callable[[Any], Any]] = [
        lambda memory: memory.scope(org="o0").state.set("ready", 1),
        lambda memory: append(memory, options),
        lambda memory: memory.jobs.drain(),
    ]
    for step in steps:
        with Memory(target.url, worker=False, all_orgs=True, **settings) as memory:
            step(memory)
        inside = indexes(target.url)
        yield target.size(), inside


def main() -> None:
    """Once without an embedder, once with the default one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=[name for name in STORES if name != "ram"], default="postgres")
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--orgs", type=int, default=10)
    options = parser.parse_args()
    settings: dict[str, dict[str, Any]] = {"words": {"embedder": None}, "words and vectors": {}}
    for name, parts in settings.items():
        target = STORES[options.store]()
        try:
            new, rows, indexed = measure(target, options, **parts)
        finally:
            target.stop()
        sizes = [f"{(size - new[0]) / options.messages:.0f}" for size, _ in (rows, indexed)]
        print(f"{options.store}, {name}: {sizes[0]} bytes a message, {sizes[1]} once indexed", end="")
        print(f", {(indexed[1] - new[1]) / options.messages:.0f} of them in indexes" if new[1] else "", flush=True)


if __name__ == "__main__":
    main()
