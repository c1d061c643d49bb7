"""A slow synchronous model function does not hold up the store of an AsyncMemory."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from memorist import AsyncMemory


async def test_writes_go_on_while_a_synchronous_model_answers(tmp_path: Path) -> None:
    is_asked, written = threading.Event(), threading.Event()
    in_time: list[bool] = []

    def model(prompt: str) -> str:
        is_asked.set()
        in_time.append(written.wait(5))
        return "[]"

    async with AsyncMemory(tmp_path / "memory.db", model=model, embedder=None, worker=False) as memory:
        await memory.threads.append("talk", "I live in Lisbon.", create="user:ada")
        draining = asyncio.create_task(memory.jobs.drain())
        assert await asyncio.to_thread(is_asked.wait, 20)
        await memory.facts.set("user:ada", "city", "Porto")
        written.set()
        await draining
    assert in_time and all(in_time)
