"""OpenAI Agents SDK: SQLiteSession."""

from __future__ import annotations

from collections.abc import Sequence

from agents import SQLiteSession
from measure import main


class Session:
    """One session in a file."""

    def __init__(self, folder: str) -> None:
        self.session = SQLiteSession("t", f"{folder}/openai.db")

    async def append(self, text: str) -> None:
        await self.session.add_items([{"role": "user", "content": text}])

    async def fill(self, texts: Sequence[str]) -> None:
        await self.session.add_items([{"role": "user", "content": text} for text in texts])

    async def last(self, count: int) -> int:
        return len(await self.session.get_items(limit=count))

    async def close(self) -> None:
        self.session.close()


if __name__ == "__main__":
    main(Session)
