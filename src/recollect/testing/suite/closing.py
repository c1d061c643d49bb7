"""Closing a memory that others still use."""

from __future__ import annotations

import threading
from typing import Any

from ...blocking.memory import Memory
from ...errors import RecollectError

THREADS, FACTS, ROUNDS = 4, 300, 5


class ClosingTests:
    """Whoever closes is never refused; whoever still uses it gets an error that says so."""

    async def test_closing_ends_the_calls_of_other_threads_with_our_errors(self, url: Any, hot: Any, org: str) -> None:
        def opened() -> Memory:
            return Memory(url, org=org, hot=hot, embedder=None, counter="estimate", worker=False, extract=None)

        with opened() as memory:
            memory.facts.set_many("global", {f"fact-{number}": "x" * 500 for number in range(FACTS)})
        for _ in range(ROUNDS):
            memory = opened()
            ended: list[BaseException] = []
            busy = threading.Barrier(THREADS + 1, timeout=60)
            users = [threading.Thread(target=use, args=(memory, busy, ended)) for _ in range(THREADS)]
            for user in users:
                user.start()
            busy.wait()
            memory.close()
            for user in users:
                user.join(60)
            assert [type(error) for error in ended if not isinstance(error, RecollectError)] == []
            assert len(ended) == THREADS
        with opened() as memory:
            assert len(memory.facts.list("global")) == FACTS


def use(memory: Memory, busy: threading.Barrier, ended: list[BaseException]) -> None:
    """Read and write until that is refused."""
    try:
        memory.facts.list("global")
        busy.wait()
        while True:
            memory.facts.set("global", "fact-0", 1)
            memory.facts.list("global")
    except BaseException as error:
        ended.append(error)
