"""Cancelled at every await, on a new loop, after a fork: what was begun is whole or absent, and the memory goes on."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from memorist import AsyncMemory, Memory
from memorist.stores.base import Change
from memorist.stores.memory import MemoryStore
from tests.faults.clients import SOAK, client, heard

CANCELS = int(os.environ.get("MEMORIST_CANCELS", "0")) or (5000 if SOAK else 0)
TIMES = {"sqlite": 200, "postgres": 80, "redis": 80, "redis-cluster": 50, "redis-before-sqlite": 80}
"""How many writes are cancelled on each store, where nothing else is asked for."""


async def _write(memory: AsyncMemory, n: int) -> None:
    async with memory.batch() as batch:
        await batch.threads.append("t", f"m{n}", key=f"k{n}")
        await batch.facts.set("global", f"f{n}", n)
        await batch.state.increment("count")


class Seen(msgspec.Struct):
    """What became of writes that were cancelled under way."""

    cancelled: int = 0
    acknowledged: list[int] = msgspec.field(default_factory=list)
    swallowed: int = 0
    """Caller to stop while at work, and ended as if nobody had."""
    stuck: int = 0
    torn: list[str] = msgspec.field(default_factory=list)
    lost: list[int] = msgspec.field(default_factory=list)

    def wrong(self) -> dict[str, Any]:
        """What must not be."""
        counts = {"swallowed": self.swallowed, "stuck": self.stuck, "torn": self.torn, "lost": self.lost}
        return {name: value for name, value in counts.items() if value}


async def _cancelled(memory: AsyncMemory, n: int, turns: int, counts: Seen) -> None:
    """Start a write and cancel it after so many turns of the loop."""
    task = asyncio.ensure_future(_write(memory, n))
    for _ in range(turns):
        await asyncio.sleep(0)
    is_requested = task.cancel()
    await asyncio.wait([task], timeout=60)
    if not task.done():
        counts.stuck += 1
    elif task.cancelled():
        counts.cancelled += 1
    elif is_requested:
        counts.swallowed += 1
    else:
        task.result()
        counts.acknowledged.append(n)


async def _turns_of_a_write(memory: AsyncMemory, n: int) -> int:
    """Turns of the loop that one takes to its end."""
    task, turns = asyncio.ensure_future(_write(memory, n)), 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    task.result()
    return turns


async def _look(memory: AsyncMemory, writes: int, counts: Seen) -> None:
    """Writes of which only a part is there, and acknowledged ones that are not."""
    texts = {message.text for message in await memory.threads.messages("t")}
    facts = {fact.key for fact in await memory.facts.list("global", limit=None)}
    counts.torn = [f"{n}" for n in range(writes) if (f"m{n}" in texts) != (f"f{n}" in facts)]
    if await memory.state.get("count", 0) != len(texts):
        counts.torn.append("count")
    counts.lost = [n for n in counts.acknowledged if f"m{n}" not in texts]
    seqs = [message.seq for message in await memory.threads.messages("t")]
    assert seqs == list(range(1, len(seqs) + 1))


async def _cancel_many(memory: AsyncMemory, times: int) -> Seen:
    """Cancel writes at every turn of the loop that one takes; afterwards the memory goes on."""
    await memory.threads.create("global", id="t")
    counts, dice = Seen(), Random(times)
    turns = max([await _turns_of_a_write(memory, n) for n in range(3)])
    counts.acknowledged += [0, 1, 2]
    for n in range(3, times + 3):
        await _cancelled(memory, n, dice.randrange(turns + 2), counts)
    await _write(memory, times + 3)
    counts.acknowledged.append(times + 3)
    await _look(memory, times + 4, counts)
    await memory.close()
    return counts


def _open(url: Any, **options: Any) -> AsyncMemory:
    return AsyncMemory(url, embedder=None, counter="estimate", durability="normal", **options)


@pytest.mark.parametrize("store_name", TIMES)
def test_a_cancelled_write_is_whole_or_absent(
    store_name: str, tmp_path: Path, org: str, request: pytest.FixtureRequest
) -> None:
    servers = {"postgres": "postgres_server", "redis": "redis_server", "redis-cluster": "redis_cluster"}
    durable = store_name.rpartition("redis-before-")[2]
    url = tmp_path / "memory.db" if durable == "sqlite" else request.getfixturevalue(servers[durable]).url
    hot = request.getfixturevalue("redis_server").url if durable != store_name else None
    counts = asyncio.run(_cancel_many(_open(url, hot=hot, org=org), CANCELS or TIMES[store_name]))
    assert counts.wrong() == {}
    assert counts.cancelled > 0
    sys.stderr.write(
        f"{store_name}: {counts.cancelled} cancelled, {len(counts.acknowledged)} acknowledged, none wrong\n"
    )


class Interleaved(MemoryStore):
    """The planted bug: one unit of work spread over several turns of the loop."""

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[Any]:
        results = []
        for change in changes:
            results += await super().apply([change], now=now)
            await asyncio.sleep(0)
        return results


def test_the_harness_sees_a_unit_of_work_spread_over_the_loop() -> None:
    assert asyncio.run(_cancel_many(_open(Interleaved()), 200)).torn != []


class Swallowing(MemoryStore):
    """The planted bug: a driver that takes a cancellation for the end of its wait."""

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[Any]:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return await super().apply(changes, now=now)


def test_the_harness_sees_a_cancellation_that_is_swallowed() -> None:
    assert asyncio.run(_cancel_many(_open(Swallowing()), 200)).swallowed > 0


def test_cancelling_the_first_use_leaves_a_memory_that_opens(tmp_path: Path) -> None:
    async def main(number: int) -> None:
        memory = _open(tmp_path / f"{number}.db")
        await _cancelled(memory, 0, number, Seen())
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
