"""Writes that wait at the same time share one transaction, and each is still all or nothing with a fate of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from memorist import AsyncMemory, Memory
from memorist.errors import Conflict, NotFound, StoreTimeout, StoreUnavailable
from memorist.stores.sqlite.connection import Connections
from memorist.stores.sqlite.store import SqliteStore

OPTIONS: dict[str, Any] = {"embedder": None, "counter": "estimate", "worker": False, "extract": None}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "memory.db"
    with Memory(file, **OPTIONS) as memory:
        for thread in "abc":
            memory.threads.create("global", id=thread)
    return file


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The transactions that were committed."""
    committed: list[str] = []
    commit = Connections._commit

    def noted(self: Connections, cursor: apsw.Cursor) -> None:
        commit(self, cursor)
        committed.append("commit")

    monkeypatch.setattr(Connections, "_commit", noted)
    yield committed


async def _together(memory: AsyncMemory, *calls: Any) -> list[Any]:
    """The results of calls whose writes wait for a worker thread that is busy with something else."""
    go = threading.Event()
    busy = asyncio.create_task(_run(memory._core.runtime.call(go.wait, 30)))
    await asyncio.sleep(0)
    tasks = [asyncio.create_task(_run(call)) for call in calls]
    for _ in range(20):
        await asyncio.sleep(0)
    go.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    await busy
    return results


async def _run(work: Any) -> Any:
    return await work


def test_appends_of_many_tasks_share_a_commit_and_keep_their_order(path: Path, commits: list[str]) -> None:
    async def main() -> list[str]:
        async with AsyncMemory(path, **OPTIONS) as memory:
            await memory.threads.append("a", "first")
            commits.clear()
            await _together(memory, *(memory.threads.append("a", f"message {n}") for n in range(40)))
            return [message.text for message in await memory.threads.messages("a")]

    texts = asyncio.run(main())
    assert texts == ["first", *(f"message {n}" for n in range(40))]
    assert len(commits) <= 3


def test_one_that_is_refused_leaves_the_others(path: Path) -> None:
    async def main() -> None:
        async with AsyncMemory(path, **OPTIONS) as memory:
            await memory.facts.set("global", "home", "Rome")
            results = await _together(
                memory,
                memory.threads.append("a", "one"),
                memory.threads.append("nowhere", "two"),
                memory.facts.set("global", "home", "Oslo", expect=7),
                memory.facts.set("global", "home", "Porto", expect=1),
                memory.facts.set("global", "home", "Paris", expect=1),
                memory.threads.append("b", "three"),
            )
            assert [type(result) for result in results[1:3]] == [NotFound, Conflict]
            assert isinstance(results[4], Conflict)
            fact = await memory.facts.get("global", "home")
            assert fact is not None and fact.value == "Porto" and fact.version == 2
            assert [len(await memory.threads.messages(thread)) for thread in "ab"] == [1, 1]

    asyncio.run(main())


def test_where_the_driver_fails_each_is_done_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = [True]
    commit = Connections._commit

    def full_once(self: Connections, cursor: apsw.Cursor) -> None:
        if fails.pop() if fails else False:
            self._roll_back(cursor)
            raise StoreUnavailable("the disk is full")
        commit(self, cursor)

    async def main() -> list[int]:
        async with AsyncMemory(path, **OPTIONS) as memory:
            for thread in "abc":
                await memory.threads.append(thread, "first")
            monkeypatch.setattr(Connections, "_commit", full_once)
            fails[:] = [True, False]
            results = await _together(memory, *(memory.threads.append(thread, "again") for thread in "abc"))
            assert not [result for result in results if isinstance(result, BaseException)]
            return [len(await memory.threads.messages(thread)) for thread in "abc"]

    assert asyncio.run(main()) == [2, 2, 2]


def test_a_cancelled_write_that_waited_is_never_made(path: Path) -> None:
    async def main() -> list[str]:
        async with AsyncMemory(path, **OPTIONS) as memory:
            go = threading.Event()
            busy = asyncio.create_task(_run(memory._core.runtime.call(go.wait, 30)))
            await asyncio.sleep(0)
            tasks = [asyncio.create_task(_run(memory.threads.append("a", f"message {n}"))) for n in range(4)]
            for _ in range(20):
                await asyncio.sleep(0)
            tasks[2].cancel()
            await asyncio.sleep(0)
            go.set()
            await asyncio.gather(busy, *tasks, return_exceptions=True)
            return [message.text for message in await memory.threads.messages("a")]

    assert asyncio.run(main()) == ["message 0", "message 1", "message 3"]


def test_a_short_read_is_made_on_the_loop_and_elsewhere_where_the_file_is_locked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, threads = SqliteStore._get, list[bool]()

    def locked_here(self: SqliteStore, kind: Any, key: Any, now: int) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        if threads == [True]:
            raise StoreTimeout("the file stayed locked")
        return read(self, kind, key, now)

    async def main() -> None:
        async with AsyncMemory(path, **OPTIONS) as memory:
            await memory.facts.set("global", "home", "Rome")
            monkeypatch.setattr(SqliteStore, "_get", locked_here)
            for _ in range(2):
                fact = await memory.facts.get("global", "home")
                assert fact is not None and fact.value == "Rome"

    asyncio.run(main())
    assert threads == [True, False, True]


def test_a_thread_in_a_hurry_does_not_wait_for_a_lock(path: Path) -> None:
    connections = Connections(str(path), "full")
    connections.open()
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(StoreTimeout):
            connections.read_at_once(connections.write, lambda cursor: None)
    finally:
        other.execute("ROLLBACK")
        other.close()
        connections.close()
