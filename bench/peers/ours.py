"""Memorist, doing what the peers do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from measure import main

from memorist import Memory


class Ours:
    """A thread in a file, with full durability."""

    def __init__(self, folder: str) -> None:
        self.memory = Memory(f"{folder}/ours.db", worker=False)
        self.memory.threads.create("global", id="t")

    async def append(self, text: str) -> None:
        self.memory.threads.append("t", {"role": "user", "content": text})

    async def fill(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), 1000):
            self.memory.threads.append("t", *({"role": "user", "content": t} for t in texts[start : start + 1000]))

    async def last(self, count: int) -> int:
        return len(self.memory.threads.recent("t", count))

    async def put(self, space: str, key: str, value: Any) -> None:
        self.memory.facts.set(f"workflow:{space}", key, value)

    async def get(self, space: str, key: str) -> Any:
        return self.memory.facts.get(f"workflow:{space}", key)

    async def list(self, space: str) -> int:
        return len(self.memory.facts.list(f"workflow:{space}"))

    async def close(self) -> None:
        self.memory.close()


if __name__ == "__main__":
    main(Ours)
