"""LlamaIndex: its SQL chat store, which stands under its Memory."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from measure import main


class Chat:
    """One chat in a file."""

    def __init__(self, folder: str) -> None:
        uri = f"sqlite+aiosqlite:///{folder}/llama.db"
        self.store = SQLAlchemyChatStore(table_name="chat", async_database_uri=uri)

    async def append(self, text: str) -> None:
        await self.store.add_message("t", ChatMessage(role="user", content=text))

    async def fill(self, texts: Sequence[str]) -> None:
        await self.store.add_messages("t", [ChatMessage(role="user", content=text) for text in texts])

    async def last(self, count: int) -> int:
        # A limit alone counts from the oldest: the newest are read by reading all.
        return len((await self.store.get_messages("t"))[-count:])

    async def close(self) -> None:
        engine = getattr(self.store, "_async_engine", None)
        if engine is not None:
            await engine.dispose()


if __name__ == "__main__":
    main(Chat)
