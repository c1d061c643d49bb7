"""One hot thread and eight processes: a dense order with no gap, nothing lost, nothing twice."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from memorist import Memory
from tests.stores.clients import Share, processes, write, write_naively
from tests.stores.conftest import Place

CLIENTS = 8
EACH = 2_000 if os.environ.get("MEMORIST_SOAK") else 60
SERVERS = ("postgres", "redis", "redis-cluster", "redis-before-sqlite", "redis-before-postgres")


def at_once(target: Callable[..., None], options: dict[str, Any], each: int) -> Share:
    """What eight clients together were told."""
    start, pipes, started = processes.Barrier(CLIENTS), [], []
    for me in range(CLIENTS):
        hear, speak = processes.Pipe(duplex=False)
        started.append(processes.Process(target=target, args=(options, me, each, start, speak), daemon=True))
        started[-1].start()
        speak.close()
        pipes.append(hear)
    acknowledged = [item for hear in pipes for item in hear.recv()]
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [0] * CLIENTS
    return sorted(acknowledged)


def check(options: dict[str, Any], acknowledged: Share) -> None:
    """The thread holds what was acknowledged, each once, numbered without a gap."""
    with Memory(**options) as memory:
        stored = [(message.seq, message.text) for message in memory.threads.messages("hot")]
        thread = memory.threads.get("hot")
    assert stored == acknowledged, "lost or twice"
    assert [seq for seq, _ in stored] == list(range(1, len(stored) + 1)), "not dense"
    assert thread is not None and thread.length == len(stored)


@pytest.fixture
def options(store_options: Place, org: str) -> Callable[[str], dict[str, Any]]:
    """A thread on a store, and what to open that store with."""

    def make(name: str) -> dict[str, Any]:
        options_of_memory = {
            **store_options(name),
            "org": org,
            "embedder": None,
            "counter": "estimate",
            "worker": False,
        }
        with Memory(**options_of_memory) as memory:
            memory.threads.create("global", id="hot")
        return options_of_memory

    return make


@pytest.mark.parametrize("name", SERVERS)
def test_eight_processes_on_one_thread_leave_a_dense_order(name: str, options: Callable[[str], Any]) -> None:
    memory_options = options(name)
    check(memory_options, at_once(write, memory_options, EACH))


@pytest.mark.parametrize("name", ["postgres", "redis"])
def test_the_harness_sees_a_read_then_write(name: str, options: Callable[[str], Any]) -> None:
    memory_options = options(name)
    acknowledged = at_once(write_naively, memory_options, 40)
    with pytest.raises(AssertionError, match="lost or twice"):
        check(memory_options, acknowledged)
