"""Tests closing a memory that others still use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from memorist.errors import MemoristError
from memorist.runtime import Runtime, run_blocking

USERS, FACTS, ROUNDS = 4, 300, 5


class ClosingTests:
    """Tests that closing always succeeds, and that further use of the memory raises an error that says so."""

    async def test_closing_ends_the_calls_of_others_with_our_errors(
        self, memory: Any, open_memory: Callable[..., Any], runtime: Runtime
    ) -> None:
        await memory.facts.set_many("global", {f"fact-{number}": "x" * 500 for number in range(FACTS)})
        for _ in range(ROUNDS):
            shared = open_memory()
            ended: list[BaseException] = []
            if runtime.blocking:
                in_threads(shared, ended, runtime)
            else:
                await runtime.gather(
                    [close_soon(shared, runtime), *(use_until_closed(shared, ended, runtime) for _ in range(USERS))]
                )
            assert [type(error) for error in ended if not isinstance(error, MemoristError)] == []
            assert len(ended) == USERS
        assert len(await memory.facts.list("global")) == FACTS


async def use_until_closed(
    memory: Any, ended: list[BaseException], runtime: Runtime, begun: Callable[[], Any] = lambda: None
) -> None:
    """Read and write until the memory refuses."""
    try:
        await memory.facts.list("global")
        begun()
        while True:
            await memory.facts.set("global", "fact-0", 1)
            await memory.facts.list("global")
            await runtime.sleep(0)  # a store in RAM never gives way by itself
    except Exception as error:
        ended.append(error)


async def close_soon(memory: Any, runtime: Runtime) -> None:
    """Close the memory soon."""
    await runtime.sleep(0.05)
    await memory.close()


def in_threads(memory: Any, ended: list[BaseException], runtime: Runtime) -> None:
    """Use a blocking memory in several threads, and close it in this one."""
    busy = threading.Barrier(USERS + 1, timeout=60)
    users = [
        threading.Thread(target=lambda: run_blocking(use_until_closed(memory, ended, runtime, busy.wait)))
        for _ in range(USERS)
    ]
    for user in users:
        user.start()
    busy.wait()
    run_blocking(memory.close())
    for user in users:
        user.join(60)
