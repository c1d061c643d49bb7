"""The worker beside the caller: started by the first append, alive after forks and new loops, drained on close."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from memorist import AsyncMemory, Conflict, Memory, StoreUnavailable
from memorist.engine.derive import outbox
from memorist.engine.derive.outbox import Outbox
from memorist.records import IndexProgress
from memorist.runtime import Runtime, run_blocking
from memorist_testing.plugin import Run

from .conftest import OpenMemory, do
from .models import Scripted, down, item, items

LISBON = items(item("location", "Lisbon", "I live in Lisbon"))


def until(holds: Any, seconds: float = 180.0) -> None:
    """Wait for the worker."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "the worker did not get there"
        time.sleep(0.02)


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "memorist-worker"]


def append_text(memory: Memory, text: str = "I live in Lisbon.") -> str:
    thread = memory.threads.create("user:ada")
    memory.threads.append(thread.id, text)
    return thread.id


def test_the_first_append_starts_it_and_close_ends_it(tmp_path: Path) -> None:
    before = len(workers())
    memory = Memory(tmp_path / "m.db", embedder=None)
    memory.facts.set("user:ada", "x", 1)
    assert len(workers()) == before
    append_text(memory)
    assert len(workers()) == before + 1
    until(lambda: memory.facts.get("user:ada", "location") is not None)
    memory.close()
    assert len(workers()) == before


def test_close_drains_what_is_left(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=None) as memory:
        append_text(memory)
    with Memory(tmp_path / "m.db", embedder=None, worker=False) as memory:
        assert memory.facts.get("user:ada", "location").value == "Lisbon"  # type: ignore[union-attr]
        assert [queue.waiting for queue in memory.jobs.backlog()] == [0, 0]


async def test_an_awaited_memory_has_a_task(open_memory: OpenMemory, runtime: Runtime, run: Run) -> None:
    memory = open_memory(worker=True)
    thread = await do(memory.threads.create("user:ada"))
    await do(memory.threads.append(thread.id, "I live in Lisbon."))
    end = time.monotonic() + 30
    while await do(memory.facts.get("user:ada", "location")) is None:
        assert time.monotonic() < end
        await runtime.sleep(0.05)
    await do(memory.close())


def test_a_job_that_failed_is_tried_again_without_another_append(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(outbox, "FIRST_DELAY_MICROSECONDS", 1000)
    with Memory(tmp_path / "m.db", embedder=None, model=Scripted(True, down(1), down(2), LISBON)) as memory:
        append_text(memory)
        until(lambda: memory.facts.get("user:ada", "location") is not None)


def test_a_failing_store_is_noted_and_the_worker_goes_on(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(outbox, "AGAIN_SECONDS", 0.05)
    failures: list[Exception] = [StoreUnavailable("gone for a moment"), RuntimeError("a bug with content")]
    step = Outbox.step

    async def failing(self: Outbox, *arguments: Any, **options: Any) -> int:
        if failures:
            raise failures.pop(0)
        return await step(self, *arguments, **options)

    monkeypatch.setattr(Outbox, "step", failing)
    with Memory(tmp_path / "m.db", embedder=None) as memory:
        append_text(memory)
        until(lambda: len(failures) < 2)
        until(lambda: memory.facts.get("user:ada", "location") is not None)
        until(lambda: "worker" not in memory._core.shared.problems)


def test_what_went_wrong_with_the_worker_is_in_doctor(tmp_path: Path, monkeypatch: Any) -> None:
    async def broken(self: Outbox, *arguments: Any, **options: Any) -> int:
        raise RuntimeError("content of a message")

    with Memory(tmp_path / "m.db", embedder=None) as memory:
        monkeypatch.setattr(Outbox, "step", broken)
        append_text(memory)
        until(lambda: "worker" in memory._core.shared.problems)
        assert "worker: RuntimeError" in memory.doctor().problems
        monkeypatch.undo()


def _child(memory: Memory, thread: str) -> None:
    memory.threads.append(thread, "I work as a nurse.")
    memory.close()
    os._exit(0)


def test_a_forked_child_has_a_worker_of_its_own(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db", embedder=None)
    thread = append_text(memory)
    child = multiprocessing.get_context("fork").Process(target=_child, args=(memory, thread))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert memory.facts.get("user:ada", "role").value == "nurse"  # type: ignore[union-attr]
    memory.close()


def test_a_memory_moves_to_a_new_loop_and_closes_there(tmp_path: Path) -> None:
    memory = AsyncMemory(tmp_path / "m.db", embedder=None)

    async def first() -> str:
        thread = await memory.threads.create("user:ada")
        await memory.threads.append(thread.id, "I live in Lisbon.")
        return thread.id

    async def second(thread: str) -> None:
        await memory.threads.append(thread, "I work as a nurse.")
        while await memory.facts.get("user:ada", "role") is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await memory.close()

    asyncio.run(asyncio.wait_for(second(asyncio.run(first())), 180))


def test_closing_from_a_new_loop_does_not_hang(tmp_path: Path) -> None:
    memory = AsyncMemory(tmp_path / "m.db", embedder=None)
    loop = asyncio.new_event_loop()

    async def first() -> None:
        thread = await memory.threads.create("user:ada")
        await memory.threads.append(thread.id, "I live in Lisbon.")

    loop.run_until_complete(first())
    # The old loop is left as it is, its worker half-way.
    asyncio.run(asyncio.wait_for(memory.close(), 180))
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    with Memory(tmp_path / "m.db", embedder=None, worker=False) as again:
        assert again.facts.get("user:ada", "location") is not None


def test_closing_with_a_model_that_is_down_ends(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db", embedder=None, model=Scripted(True, down(1)))
    append_text(memory)
    memory.close()
    with Memory(tmp_path / "m.db", embedder=None, worker=False) as again:
        assert [queue.failing for queue in again.jobs.backlog()] == [0, 1]
        assert any("will be tried again" in problem for problem in again.doctor().problems)


def test_closing_leaves_a_long_backlog_to_the_next_worker(tmp_path: Path) -> None:
    path = tmp_path / "backlog.db"
    memory = Memory(path, embedder=None, durability="normal")
    memory.threads.create("user:ada", id="long")
    for _ in range(6):
        memory.threads.append("long", *(f"message {n} about nothing at all" for n in range(1000)))
    memory.close()
    with Memory(path, embedder=None, worker=False) as after:
        assert _indexed(after) < 6000
        # A job that was given back is due again in a moment.
        until(lambda: (after.jobs.drain(), _indexed(after))[1] == 6000)


def _indexed(memory: Memory) -> int:
    mark = run_blocking(memory._core.get(IndexProgress, "long"))
    return mark.position if mark is not None else 0


def test_drain_waits_for_the_job_that_the_worker_of_this_process_holds(tmp_path: Path) -> None:
    is_asked, release = threading.Event(), threading.Event()

    def model(prompt: str) -> str:
        is_asked.set()
        assert release.wait(60)
        return LISBON

    with Memory(tmp_path / "memory.db", model=model, embedder=None) as memory:
        append_text(memory)
        assert is_asked.wait(60)
        draining = threading.Thread(target=memory.jobs.drain)
        draining.start()
        draining.join(0.3)
        assert draining.is_alive()
        release.set()
        draining.join(60)
        assert [fact.value for fact in memory.facts.list("user:ada")] == ["Lisbon"]


async def test_an_awaited_drain_waits_for_the_job_that_the_worker_holds(tmp_path: Path) -> None:
    is_asked, release = threading.Event(), threading.Event()

    def model(prompt: str) -> str:
        is_asked.set()
        assert release.wait(60)
        return LISBON

    async with AsyncMemory(tmp_path / "memory.db", model=model, embedder=None) as memory:
        await memory.threads.append("talk", "I live in Lisbon.", create="user:ada")
        assert await asyncio.to_thread(is_asked.wait, 60)
        draining = asyncio.create_task(memory.jobs.drain())
        finished, _ = await asyncio.wait([draining], timeout=0.3)
        assert not finished
        release.set()
        await draining
        assert [fact.value for fact in await memory.facts.list("user:ada")] == ["Lisbon"]


def test_drain_finishes_a_job_that_lost_against_a_concurrent_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, losses = Outbox._work, iter([True])

    async def lose_once(self: Outbox, core: Any, job: Any) -> None:
        if job.queue == "derive" and next(losses, False):
            raise Conflict("another worker interfered")
        await work(self, core, job)

    monkeypatch.setattr(Outbox, "_work", lose_once)
    monkeypatch.setattr(outbox, "spread", lambda longest: longest)
    with Memory(tmp_path / "memory.db", embedder=None, worker=False) as memory:
        memory.threads.append("talk", "I live in Lisbon.", create="user:ada")
        memory.jobs.drain()
        assert [fact.value for fact in memory.facts.list("user:ada")] == ["Lisbon"]
