"""Forked at the worst moment, dropped without closing, deleted under way: nothing hangs, leaks or is lost unseen."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memorist import AsyncMemory, Memory, StoreUnavailable
from memorist.engine import audit
from memorist.runtime import run_blocking
from memorist.stores.sqlite import SqliteStore
from memorist.stores.sqlite.connection import Connections

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
OPTIONS: dict[str, Any] = {"embedder": None, "counter": "estimate"}
CHILDREN = int(os.environ.get("MEMORIST_FORKS", "6"))
SERVERS = ("sqlite", "postgres", "redis", "redis-cluster")


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    name = request.param
    if name == "sqlite":
        yield str(tmp_path / "memory.db")
        return
    fixture = {"postgres": "postgres_server", "redis": "redis_server", "redis-cluster": "redis_cluster"}[name]
    yield request.getfixturevalue(fixture).url


def _in_child(work: Callable[[], None]) -> int:
    """Run something in a forked child; the id of the child, which ends with 0 where it went well."""
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.alarm(60)
        work()
        os._exit(0)
    except BaseException as problem:
        sys.stderr.write(f"child: {type(problem).__name__}: {problem}\n")
        os._exit(1)


@pytest.mark.parametrize("url", SERVERS, indirect=True)
def test_a_child_forked_while_the_parent_writes_can_write(url: str, org: str) -> None:
    with Memory(url, org=org, **OPTIONS) as memory:
        memory.threads.create("global", id="talk")
        stop = threading.Event()

        def write(number: int) -> None:
            count = 0
            while not stop.is_set():
                count += 1
                memory.facts.set("global", f"k{number}", count)
                memory.facts.get("global", f"k{number}")

        threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        codes = []
        for number in range(CHILDREN):
            child = _in_child(lambda number=number: memory.threads.append("talk", f"from child {number}"))  # type: ignore[misc]
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        stop.set()
        for thread in threads:
            thread.join()
        assert codes == [0] * CHILDREN
        texts = {message.text for message in memory.threads.messages("talk")}
        assert texts == {f"from child {number}" for number in range(CHILDREN)}


@pytest.mark.parametrize("url", SERVERS, indirect=True)
def test_a_child_forked_while_the_parent_awaits_writes_can_write(url: str, org: str) -> None:
    """The awaited twin: each child has a loop of its own, and the parent's loop was at work when it was forked."""

    def write_in_child(memory: AsyncMemory, number: int) -> None:
        # The loop of the parent is running in this thread of the copy, so the child's own runs in another one.
        work = threading.Thread(target=lambda: asyncio.run(_append_from_child(memory, number)))
        work.start()
        work.join()

    async def main() -> list[int]:
        async with AsyncMemory(url, org=org, **OPTIONS) as memory:
            await memory.threads.create("global", id="talk")
            stop = asyncio.Event()

            async def write(number: int) -> None:
                count = 0
                while not stop.is_set():
                    count += 1
                    await memory.facts.set("global", f"k{number}", count)
                    await memory.facts.get("global", f"k{number}")

            writers = [asyncio.ensure_future(write(number)) for number in range(2)]
            codes = []
            for number in range(CHILDREN):
                child = _in_child(lambda number=number: write_in_child(memory, number))  # type: ignore[misc]
                _, status = await asyncio.to_thread(os.waitpid, child, 0)
                codes.append(os.waitstatus_to_exitcode(status))
            stop.set()
            await asyncio.gather(*writers)
            return codes

    assert asyncio.run(main()) == [0] * CHILDREN
    with Memory(url, org=org, worker=False, **OPTIONS) as memory:
        texts = {message.text for message in memory.threads.messages("talk")}
    assert texts == {f"from child {number}" for number in range(CHILDREN)}


async def _append_from_child(memory: AsyncMemory, number: int) -> None:
    await memory.threads.append("talk", f"from child {number}")


def test_what_a_child_wrote_is_there_after_its_parent_closed(tmp_path: Path) -> None:
    path, ready, go = (tmp_path / name for name in ("memory.db", "ready", "go"))
    memory = Memory(path, worker=False, **OPTIONS)
    memory.facts.set("global", "a", 1)

    def write() -> None:
        ready.touch()
        while not go.exists():
            time.sleep(0.01)
        memory.facts.set("global", "b", 2)

    child = _in_child(write)
    while not ready.exists():
        time.sleep(0.01)
    memory.close()
    go.touch()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with Memory(path, worker=False, **OPTIONS) as again:
        fact = again.facts.get("global", "b")
        assert fact is not None and fact.value == 2


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the awaited Redis driver says so where it was not closed
@pytest.mark.parametrize("awaited", [False, True], ids=["blocking", "awaited"])
@pytest.mark.parametrize("url", SERVERS, indirect=True)
def test_memories_dropped_without_closing_leak_no_thread_and_no_descriptor(url: str, awaited: bool, org: str) -> None:
    def use(number: int) -> None:
        memory = Memory(url, org=org, **OPTIONS)
        memory.threads.create("global", id=f"{awaited}{number}")
        memory.threads.append(f"{awaited}{number}", "hello there")

    async def use_awaited(number: int) -> None:
        memory = AsyncMemory(url, org=org, **OPTIONS)
        await memory.threads.create("global", id=f"{awaited}{number}")
        await memory.threads.append(f"{awaited}{number}", "hello there")

    def dropped(number: int) -> None:
        asyncio.run(use_awaited(number)) if awaited else use(number)

    dropped(0)
    before = _settled()
    for number in range(1, 9):
        dropped(number)
    after = _settled(before)
    assert after[0] <= before[0] and after[1] <= before[1]


def _settled(least: tuple[int, int] | None = None) -> tuple[int, int]:
    """How many threads and descriptors there are, once those of dropped memories had time to go."""
    until = time.monotonic() + 20
    while True:
        gc.collect()
        counts = threading.active_count(), len(os.listdir("/proc/self/fd"))
        if (least is None and time.monotonic() > until - 18) or time.monotonic() > until:
            return counts
        if least is not None and counts[0] <= least[0] and counts[1] <= least[1]:
            return counts
        time.sleep(0.05)


@pytest.mark.parametrize("how", ["deleted", "replaced"])
@pytest.mark.parametrize("what", ["append", "fact"])
def test_a_file_that_is_gone_is_noticed_before_a_write_is_acknowledged(tmp_path: Path, how: str, what: str) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, worker=False, **OPTIONS) as memory:
        memory.threads.create("global", id="talk")
        memory.threads.append("talk", "before")
        if how == "replaced":
            shutil.copy(path, tmp_path / "other.db")
            os.replace(tmp_path / "other.db", path)
        else:
            path.unlink()
        with pytest.raises(StoreUnavailable, match="deleted or replaced"):
            if what == "append":
                memory.threads.append("talk", "after")
            else:
                memory.facts.set("global", "k", 1)


def test_audit_events_of_a_forked_process_have_ids_of_their_own() -> None:
    own_process = audit._process

    def look() -> None:
        assert audit._process != own_process

    assert os.waitstatus_to_exitcode(os.waitpid(_in_child(look), 0)[1]) == 0


def test_a_connection_to_another_file_under_the_same_path_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connections = Connections(str(path), "full")
    connections.open()
    shutil.copy(path, tmp_path / "other.db")
    os.replace(tmp_path / "other.db", path)
    with pytest.raises(StoreUnavailable, match="deleted or replaced"):
        connections.read_rows("SELECT 1", ())
    connections.close()


def test_a_forked_reader_is_not_stopped_by_readers_of_its_parent(tmp_path: Path) -> None:
    from memorist.runtime import BlockingRuntime

    store = SqliteStore(str(tmp_path / "memory.db"), runtime=BlockingRuntime())
    run_blocking(store.open())
    child = _in_child(lambda: run_blocking(store.scrub()) and None)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    run_blocking(store.close())
