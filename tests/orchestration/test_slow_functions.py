"""While a plain function of the user runs, the event loop goes on, and the memory still writes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memorist import AsyncMemory, Extraction

SAID = "My name is Grace and I live in Lisbon."
HELD_SECONDS = 5.0


class Held:
    """A function that returns once it is released; if the loop waits for it, nobody ever does."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self._answer = answer
        self.called, self.released = threading.Event(), threading.Event()
        self.was_released = True

    def __call__(self, *args: Any) -> Any:
        if not self.called.is_set():
            self.called.set()
            self.was_released = self.released.wait(HELD_SECONDS)
        return self._answer(*args)


async def derive(memory: AsyncMemory, held: Held) -> None:
    await memory.threads.append("talk", SAID, create="user:ada")
    await memory.jobs.drain()


async def recall(memory: AsyncMemory, held: Held) -> None:
    for city in ("Lisbon", "Porto"):
        await memory.facts.set("user:ada", city, f"Ada lived in {city}.")
    await memory.recall("Where did Ada live?", namespaces="user:ada", min_score=0)


async def load(memory: AsyncMemory, held: Held) -> None:
    await memory.entities.get("customer", "7", held)


async def persist(memory: AsyncMemory, held: Held) -> None:
    await memory.session(user="ada", should_persist=held).add(SAID, "Noted.")


async def run_task(memory: AsyncMemory, held: Held) -> None:
    await memory.task()(held.__call__)("x")


CASES: dict[str, tuple[Callable[..., Any], Callable[[Held], dict[str, Any]], Callable[..., Awaitable[None]]]] = {
    "model": (lambda prompt: '{"operations": []}', lambda held: {"model": held}, derive),
    "embedder": (lambda texts: np.ones((len(texts), 2)), lambda held: {"embedder": held}, recall),
    "reranker": (lambda query, texts: [1.0] * len(texts), lambda held: {"reranker": held}, recall),
    "loader": (lambda id: {"id": id}, lambda held: {}, load),
    "admit": (lambda proposal: "active", lambda held: {"extract": Extraction(admit=held)}, derive),
    "should_persist": (lambda turn: True, lambda held: {}, persist),
    "task": (lambda text: text, lambda held: {}, run_task),
}


@pytest.mark.parametrize("name", CASES)
def test_a_plain_function_lets_the_loop_and_the_store_go_on(tmp_path: Path, name: str) -> None:
    answer, options, work = CASES[name]
    held = Held(answer)

    async def main() -> None:
        settings: dict[str, Any] = {"embedder": None, "worker": False, **options(held)}
        async with AsyncMemory(tmp_path / "memory.db", **settings) as memory:
            working = asyncio.ensure_future(work(memory, held))
            assert await asyncio.to_thread(held.called.wait, HELD_SECONDS)
            await memory.state.set("written", 1)
            held.released.set()
            await working

    asyncio.run(main())
    assert held.was_released, "the loop waited for the function"


def test_should_persist_may_be_awaited(tmp_path: Path) -> None:
    async def never(turn: object) -> bool:
        return False

    async def main() -> None:
        async with AsyncMemory(tmp_path / "memory.db", embedder=None, worker=False) as memory:
            talk = memory.session(user="ada", should_persist=never)  # type: ignore[arg-type]  # as some will
            await talk.add(SAID, "Noted.")
            assert (await talk.state()).passing == 1

    asyncio.run(main())
