"""The tests of LangGraph's SQLite store: their class becomes ours, with the names that those tests call."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import langgraph.store.sqlite
import langgraph.store.sqlite.aio
import langgraph.store.sqlite.base
from counted import open_memory

from memorist.adapters.langgraph import MemoristStore

SCORE: Any = os.environ.get("MEMORIST_UPSTREAM_SCORE", "hybrid")


class Store(MemoristStore):
    """Ours, opened and swept in the way of theirs; expired items are gone without a sweeper."""

    MIGRATIONS = ("none",)

    def __init__(self, index: Any, ttl: Any) -> None:
        embed = index["embed"] if index else None
        by_memory = embed is not None and SCORE == "hybrid"
        memory = open_memory(embedder=embed.embed_documents if by_memory else None)
        index_options = {**index, "embed": None} if by_memory else index
        # SqliteStore lets a read lengthen a life only where that is asked for; ours does by default, as BaseStore says.
        ttl = {"refresh_on_read": False, **ttl} if ttl else None
        super().__init__(memory, index=index_options, ttl=ttl, score=SCORE if index else "hybrid")
        self.index_config = index
        self.embeddings = embed

    @classmethod
    @contextmanager
    def from_conn_string(cls, path: str, *, index: Any = None, ttl: Any = None) -> Iterator[Store]:
        yield cls(index, ttl)

    def setup(self) -> None:
        """Ours are ready when they are made."""

    def start_ttl_sweeper(self) -> None:
        """Nothing to start."""

    def stop_ttl_sweeper(self) -> None:
        """Nothing to stop."""


class AsyncStore(Store):
    """The same for their async class."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, path: str, *, index: Any = None, ttl: Any = None) -> AsyncIterator[AsyncStore]:  # type: ignore[override]
        yield cls(index, ttl)

    async def setup(self) -> None:  # type: ignore[override]
        """Ours are ready when they are made."""

    async def sweep_ttl(self) -> int:  # type: ignore[override]
        """Awaited, as theirs."""
        return await self._handles.awaited.facts.delete_expired()

    async def start_ttl_sweeper(self) -> None:  # type: ignore[override]
        """Nothing to start."""

    async def stop_ttl_sweeper(self) -> None:  # type: ignore[override]
        """Nothing to stop."""


langgraph.store.sqlite.SqliteStore = Store  # type: ignore[misc, assignment]
langgraph.store.sqlite.base.SqliteStore = Store  # type: ignore[misc, assignment]
langgraph.store.sqlite.aio.AsyncSqliteStore = AsyncStore  # type: ignore[misc, assignment]
