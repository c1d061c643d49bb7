"""One memory for callers that block and callers that await: `memory.aio`, `.blocking`, several loops and threads."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memorist import AsyncMemory, Memory, UsageError
from memorist.stores.memory import MemoryStore

QUIET: dict[str, Any] = {"embedder": None, "counter": "estimate", "worker": False, "extract": None}


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return MemoryStore() if request.param == "memory" else tmp_path / "memory.db"


def test_what_one_side_writes_the_other_reads(url: Any) -> None:
    with Memory(url, **QUIET) as memory:
        memory.facts.set("global", "k", 1)

        async def awaited() -> Any:
            fact = await memory.aio.facts.get("global", "k")
            await memory.aio.facts.set("global", "k", 2)
            return fact

        assert asyncio.run(awaited()).value == 1
        fact = memory.facts.get("global", "k")
        assert fact is not None and fact.value == 2
        assert memory.aio.blocking.facts.get("global", "k") == fact


def test_an_async_memory_has_a_blocking_side(url: Any) -> None:
    async def awaited() -> Any:
        async with AsyncMemory(url, **QUIET) as memory:
            await memory.facts.set("user:ada", "k", 1)
            ada = memory.scope(user="ada").blocking
            return await asyncio.to_thread(ada.facts.get, "user:ada", "k"), ada.user

    fact, user = asyncio.run(awaited())
    assert fact.value == 1 and user == "ada"


def test_several_loops_and_threads_use_one_memory_at_once(url: Any) -> None:
    with Memory(url, **QUIET) as memory:
        memory.threads.create("global", id="t")

        async def say(number: int) -> None:
            for turn in range(10):
                await memory.aio.threads.append("t", f"{number}-{turn} awaited")

        def work(number: int) -> None:
            if number % 2:
                asyncio.run(say(number))
            else:
                for turn in range(10):
                    memory.threads.append("t", f"{number}-{turn} blocking")

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6)))
        messages = memory.threads.messages("t")
        assert [message.seq for message in messages] == list(range(1, 61))
        assert len({message.text for message in messages}) == 60


@pytest.mark.parametrize("blocking", [True, False])
def test_what_one_side_forgets_the_other_has_no_longer_in_ram(url: Any, blocking: bool) -> None:
    with Memory(url, **QUIET) as memory:
        memory.facts.set("user:ada", "boat", "zqxkayak")
        memory.threads.append("talk", "The zqxkayak is under the pier.", create="user:ada")

        async def recalled() -> Any:
            return await memory.aio.recall("zqxkayak", namespaces="user:ada")

        async def forget() -> Any:
            return await memory.aio.forget(user="ada")

        assert memory.recall("zqxkayak", namespaces="user:ada") and asyncio.run(recalled())
        report = memory.forget(user="ada") if blocking else asyncio.run(forget())
        assert report.complete
        for handle in (memory._engine, memory.aio):
            assert "zqxkayak" not in repr([handle._core.shared.threads, handle._core.shared.jobs])
            assert not handle._core.shared.indexes.keys("default")


def test_closing_one_side_closes_both(url: Any) -> None:
    memory = Memory(url, **QUIET)
    twin = memory.aio
    asyncio.run(_read(twin))
    memory.close()
    with pytest.raises(UsageError, match="closed"):
        memory.facts.get("global", "k")
    with pytest.raises(UsageError, match="closed"):
        asyncio.run(_read(twin))
    memory.close()


async def _read(memory: AsyncMemory) -> Any:
    return await memory.facts.get("global", "k")


def test_a_batch_is_for_one_kind_of_caller(url: Any) -> None:
    with Memory(url, **QUIET) as memory, memory.batch() as batch, pytest.raises(UsageError):
        _ = batch.aio


def test_a_wrong_part_is_refused_at_opening_with_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for model in ("nobody:x", "openai", "anthropic:claude-haiku-4-5", "openai:gpt-5"):
        with pytest.raises(UsageError, match="anthropic"):
            Memory(MemoryStore(), model=model)
    for embedder in ("nothing", "openai:", "voyage:voyage-3"):
        with pytest.raises(UsageError, match="minilm"):
            Memory(MemoryStore(), embedder=embedder)
