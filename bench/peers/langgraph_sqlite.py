"""LangGraph: SqliteSaver for the messages of a thread, SqliteStore for facts."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore
from measure import main


class Saver:
    """A thread whose state holds its messages, saved after each as a graph does."""

    def __init__(self, folder: str) -> None:
        self.connection = sqlite3.connect(f"{folder}/saver.db", check_same_thread=False)
        self.saver = SqliteSaver(self.connection)
        self.saver.setup()
        self.config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}

    def _messages(self) -> list[Any]:
        saved = self.saver.get_tuple(self.config)
        return [] if saved is None else saved.checkpoint["channel_values"]["messages"]

    def _save(self, messages: list[Any]) -> None:
        checkpoint = empty_checkpoint()
        version = str(len(messages))
        checkpoint["channel_values"] = {"messages": messages}
        checkpoint["channel_versions"] = {"messages": version}
        self.saver.put(self.config, checkpoint, {"source": "loop", "step": len(messages)}, {"messages": version})

    async def append(self, text: str) -> None:
        self._save([*self._messages(), HumanMessage(text)])

    async def fill(self, texts: Sequence[str]) -> None:
        self._save([HumanMessage(text) for text in texts])

    async def last(self, count: int) -> int:
        return len(self._messages()[-count:])

    async def close(self) -> None:
        self.connection.close()


class Store:
    """Values under a namespace and a key."""

    def __init__(self, folder: str) -> None:
        self.connection = sqlite3.connect(f"{folder}/store.db", check_same_thread=False, isolation_level=None)
        self.store = SqliteStore(self.connection)
        self.store.setup()

    async def put(self, space: str, key: str, value: Any) -> None:
        self.store.put((space,), key, value)

    async def get(self, space: str, key: str) -> Any:
        return self.store.get((space,), key)

    async def list(self, space: str) -> int:
        return len(self.store.search((space,), limit=1000))

    async def close(self) -> None:
        self.connection.close()


if __name__ == "__main__":
    main(Saver, Store)
