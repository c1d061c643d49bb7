"""Cancelled at any await: what was begun is whole or absent, and nothing is left locked or leased."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memorist import AsyncMemory, LeaseLost, Working
from memorist.records import CachedEntity, Task
from tests.faults.clients import SOAK

PLACES = 400 if SOAK else 40
Work = Callable[[AsyncMemory, int], Coroutine[Any, Any, Any]]


class Counted(Working):
    a: int = 0
    b: int = 0


async def _cancelled(work: Coroutine[Any, Any, Any], ticks: int) -> bool:
    """Run some work and cancel it so many turns of the loop later; whether it was still at work."""
    task = asyncio.ensure_future(work)
    for _ in range(ticks):
        await asyncio.sleep(0)
    task.cancel()
    [outcome] = await asyncio.gather(task, return_exceptions=True)
    if isinstance(outcome, Exception):
        raise outcome
    return isinstance(outcome, asyncio.CancelledError)


def _at_every_place(
    path: Path, work: Work, check: Callable[[AsyncMemory, int], Awaitable[None]], user: str | None = None
) -> None:
    async def main() -> int:
        cancelled = 0
        async with AsyncMemory(path, embedder=None, counter="estimate", user=user, durability="normal") as memory:
            for steps in range(PLACES):
                cancelled += await _cancelled(work(memory, steps), steps % 20)
                # Twice the longest wait of a busy machine, and far below any lease.
                await asyncio.wait_for(check(memory, steps), 20)
        return cancelled

    assert asyncio.run(main()) > 3


def test_working_memory_stays_writable(tmp_path: Path) -> None:
    async def work(memory: AsyncMemory, steps: int) -> Any:
        return await memory.working.template(Counted).update(a=steps)

    async def check(memory: AsyncMemory, steps: int) -> None:
        doc = await memory.working.template(Counted).update(b=steps)
        assert doc.a <= steps and doc.b == steps

    _at_every_place(tmp_path / "memory.db", work, check, user="ada")


@pytest.mark.parametrize("loader", ["sync", "async"])
def test_an_entity_is_loaded_by_the_next_who_asks(tmp_path: Path, loader: str) -> None:
    async def slowly(id: str) -> str:
        for _ in range(5):
            await asyncio.sleep(0)
        return id

    def quickly(id: str) -> str:
        return id

    load: Any = slowly if loader == "async" else quickly

    async def work(memory: AsyncMemory, steps: int) -> Any:
        return await memory.entities.get("customer", str(steps), load)

    async def check(memory: AsyncMemory, steps: int) -> None:
        assert await memory.entities.get("customer", str(steps), load) == str(steps)
        row = await memory._core.get(CachedEntity, "customer", str(steps))
        assert row is not None and (row.status, row.owner) == ("found", None)

    _at_every_place(tmp_path / "memory.db", work, check)


def test_a_task_whose_start_was_cancelled_can_be_run(tmp_path: Path) -> None:
    begun: set[int] = set()

    async def work(memory: AsyncMemory, steps: int) -> Any:
        await memory.tasks.run(f"t{steps}").__aenter__()
        begun.add(steps)

    async def check(memory: AsyncMemory, steps: int) -> None:
        if steps in begun:
            return
        task = await memory._core.get(Task, f"t{steps}")
        assert task is None or task.owner is None
        async with memory.tasks.run(f"t{steps}") as run:
            await run.complete("a")

    _at_every_place(tmp_path / "memory.db", work, check)


def test_a_cancelled_step_is_whole_or_absent(tmp_path: Path) -> None:
    async def work(memory: AsyncMemory, steps: int) -> Any:
        with suppress(LeaseLost):  # the machine was too busy for so short a lease: a step not taken is fine as well
            async with memory.tasks.run(f"t{steps}", lease=0.05) as task:
                for item in ("a", "b", "c"):
                    await task.batch().facts.set("global", f"{steps}.{item}", 1)
                    await task.complete(item)

    async def check(memory: AsyncMemory, steps: int) -> None:
        checkpoint = await memory.tasks.resume(f"t{steps}")
        completed = set(checkpoint.completed_subtasks) if checkpoint else set()
        facts = {fact.key for fact in await memory.facts.list("global", prefix=f"{steps}.")}
        assert facts == {f"{steps}.{item}" for item in completed}
        async with memory.tasks.run(f"t{steps}", wait=10) as task:
            for item in task.remaining(("a", "b", "c")):
                await task.complete(item)

    _at_every_place(tmp_path / "memory.db", work, check)
