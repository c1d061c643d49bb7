"""Locks by key: one lock for all threads that use a key at the same time, and none afterwards."""

from __future__ import annotations

import threading
import time
from typing import Any

from memorist.engine.locks import KeyedLocks
from memorist.runtime import BlockingRuntime, run_blocking


class SlowRuntime(BlockingRuntime):
    """Takes so long to make a lock that other threads ask for one meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.made = 0

    def lock(self) -> Any:
        self.made += 1
        time.sleep(0.02)
        return super().lock()


def test_threads_that_come_at_once_share_one_lock() -> None:
    runtime = SlowRuntime()
    locks, start, inside, most = KeyedLocks(runtime), threading.Barrier(8), 0, 0
    everyone = threading.Event()

    def wait_for_all() -> None:
        """The first keeps the lock until all others wait for it."""
        for _ in range(5000):
            if everyone.is_set() or locks._held["key"][1] == 8:
                break
            time.sleep(0.001)
        everyone.set()

    async def hold() -> None:
        nonlocal inside, most
        async with locks.hold("key"):
            inside += 1
            most = max(most, inside)
            wait_for_all()
            inside -= 1

    def work() -> None:
        start.wait()
        run_blocking(hold())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (runtime.made, most) == (1, 1)
    assert locks._held == {}
