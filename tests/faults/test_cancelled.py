"""Cancelled at every await, on a new loop, after a fork: what was begun is whole or absent, and the memory goes on."""

import asyncio
import os
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from recollect import AsyncMemory, Memory
from recollect.stores.base import Change
from recollect.stores.memory import MemoryStore
from tests.faults.clients import SOAK, client, heard

TIMES = 10_000 if SOAK else 200


async def _write(memory: AsyncMemory, n: int) -> None:
    async with memory.batch() as batch:
        await batch.threads.append("t", f"m{n}", key=f"k{n}")
        await batch.facts.set("global", f"f{n}", n)
        await batch.state.increment("count")


async def _cancelled(memory: AsyncMemory, n: int, steps: int) -> None:
    """Start a write and cancel it after so many turns of the loop."""
    task = asyncio.ensure_future(_write(memory, n))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _torn(memory: AsyncMemory, writes: int) -> list[str]:
    """Writes of which only a part is there."""
    kept = {message.text for message in await memory.threads.messages("t")}
    facts = {fact.key for fact in await memory.facts.list("global")}
    wrong = [f"{n}" for n in range(writes) if (f"m{n}" in kept) != (f"f{n}" in facts)]
    return wrong if await memory.state.get("count", 0) == len(kept) else [*wrong, "count"]


async def _cancel_many(memory: AsyncMemory) -> list[str]:
    await memory.threads.create("global", id="t")
    for n in range(TIMES):
        await _cancelled(memory, n, n % 9)
    await _write(memory, TIMES)
    torn = await _torn(memory, TIMES + 1)
    seqs = [message.seq for message in await memory.threads.messages("t")]
    assert seqs == list(range(1, len(seqs) + 1))
    assert 1 <= len(seqs) <= TIMES + 1
    await memory.close()
    return torn


def _open(url: Any) -> AsyncMemory:
    return AsyncMemory(url, embedder=None, counter="estimate", durability="normal")


def test_a_cancelled_write_is_whole_or_absent(tmp_path: Path) -> None:
    assert asyncio.run(_cancel_many(_open(tmp_path / "memory.db"))) == []


class Interleaved(MemoryStore):
    """The planted bug: one unit of work spread over several turns of the loop."""

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[Any]:
        done = []
        for change in changes:
            done += await super().apply([change], now=now)
            await asyncio.sleep(0)
        return done


def test_the_harness_sees_a_unit_of_work_spread_over_the_loop() -> None:
    assert asyncio.run(_cancel_many(_open(Interleaved()))) != []


def test_cancelling_the_first_use_leaves_a_memory_that_opens(tmp_path: Path) -> None:
    async def main(number: int) -> None:
        memory = _open(tmp_path / f"{number}.db")
        await _cancelled(memory, 0, number)
        await memory.threads.create("global", id="t")
        await _write(memory, 1)
        assert await memory.state.get("count") == 1
        await memory.close()

    for number in range(12):
        asyncio.run(main(number))


def test_one_memory_serves_one_event_loop_after_another(tmp_path: Path) -> None:
    memory = _open(tmp_path / "memory.db")

    async def main(turn: int) -> None:
        # Together, so that whatever waits for a lock waits on this loop.
        await asyncio.gather(*(memory.state.increment("count") for _ in range(20)))
        assert await memory.state.get("count") == 20 * turn

    for turn in (1, 2, 3):
        asyncio.run(main(turn))
    asyncio.run(memory.close())


def test_a_blocking_memory_works_inside_a_running_loop(tmp_path: Path) -> None:
    async def main() -> int:
        with Memory(tmp_path / "memory.db", embedder=None) as memory:
            return memory.state.increment("count")

    assert asyncio.run(main()) == 1


def _forked(url: str, speak: Connection) -> None:
    memory = Memory(url, embedder=None, counter="estimate")
    memory.threads.create("global", id="t")
    memory.threads.append("t", "before")
    children = []
    for n in range(3):
        pid = os.fork()
        if pid == 0:
            for i in range(20):
                memory.threads.append("t", f"child {n} {i}")
            os._exit(0)
        children.append(pid)
    for i in range(20):
        memory.threads.append("t", f"parent {i}")
    codes = [os.waitpid(pid, 0)[1] for pid in children]
    memory.close()
    speak.send(codes)


def test_a_memory_is_used_on_both_sides_of_a_fork(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with client(_forked, path) as (_, hear):
        assert list(heard(hear)) == [[0, 0, 0]]
    with Memory(path, embedder=None) as memory:
        messages = memory.threads.messages("t")
    assert [message.seq for message in messages] == list(range(1, 82))
    assert len({message.text for message in messages}) == 81


def _forked_async(url: str, speak: Connection) -> None:
    memory = AsyncMemory(url, embedder=None, counter="estimate")

    async def count(times: int) -> None:
        for _ in range(times):
            await memory.state.increment("count")

    asyncio.run(count(5))
    pid = os.fork()
    asyncio.run(count(20))
    if pid == 0:
        os._exit(0)
    speak.send(os.waitpid(pid, 0)[1])


def test_an_async_memory_is_used_on_both_sides_of_a_fork(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with client(_forked_async, path) as (_, hear):
        assert list(heard(hear)) == [0]
    with Memory(path, embedder=None) as memory:
        assert memory.state.get("count") == 45


@pytest.mark.parametrize("way", ["blocking", "async"])
def test_closing_twice_is_fine(tmp_path: Path, way: str) -> None:
    if way == "blocking":
        memory = Memory(tmp_path / "memory.db", embedder=None)
        memory.close()
        memory.close()
        return

    async def main() -> None:
        opened = _open(tmp_path / "memory.db")
        await opened.state.set("k", 1)
        await opened.close()
        await opened.close()

    asyncio.run(main())
