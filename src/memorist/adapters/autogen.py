"""Provides AutoGen with a memory that it can search with recall. It needs the `autogen` extra."""

from __future__ import annotations

import msgspec
from autogen_core import CancellationToken, Component
from autogen_core.memory import Memory as AutoGenMemory
from autogen_core.memory import MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import SystemMessage
from pydantic import BaseModel

from ..engine.recalling import Spaces
from ..errors import UsageError
from ..ids import new_id
from ..scope import Namespace
from .fitting import recalled
from .handles import Handles, Source

ROOT = "autogen"


class MemoristMemoryConfig(BaseModel):
    """Holds the serialisable configuration of a `MemoristMemory`."""

    url: str
    namespace: str | None = None
    namespaces: list[str] | None = None
    top_k: int = 5


class MemoristMemory(AutoGenMemory, Component[MemoristMemoryConfig]):
    """Stores content as facts, and adds memories recalled for the last message to the model context."""

    component_config_schema = MemoristMemoryConfig
    component_provider_override = "memorist.adapters.autogen.MemoristMemory"

    def __init__(
        self, memory: Source, *, namespace: str | None = None, namespaces: Spaces = None, top_k: int = 5
    ) -> None:
        self._handles = Handles(memory)
        self._space = namespace or self._handles.space(ROOT)
        self._namespaces = namespaces
        self._top_k = top_k
        self._url = memory if isinstance(memory, str) else None

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add memories recalled for the last message to a model context, fenced as data."""
        messages = await model_context.get_messages()
        question = next((str(message.content) for message in reversed(messages) if message.type == "UserMessage"), "")
        memories = await recalled(self._handles.awaited, question, namespaces=self._namespaces, top_k=self._top_k)
        if not memories:
            return UpdateContextResult(memories=MemoryQueryResult(results=[]))
        await model_context.add_message(SystemMessage(content=memories))
        return UpdateContextResult(memories=await self.query(question))

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **kwargs: object
    ) -> MemoryQueryResult:
        """Return memories relevant to a query, best first, with recall's score."""
        text = query if isinstance(query, str) else _text(query)
        hits = await self._handles.awaited.recall(text, namespaces=self._namespaces, top_k=self._top_k)
        results = [
            MemoryContent(
                content=hit.text, mime_type=MemoryMimeType.TEXT,
                metadata={"id": hit.id, "score": hit.score, "created_at": hit.created_at.isoformat()},
            )
            for hit in hits
        ]  # fmt: skip
        return MemoryQueryResult(results=results)

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Store a piece of content as a fact."""
        await self._handles.awaited.facts.set(self._space, f"{ROOT}/{new_id()}", _text(content))

    async def clear(self) -> None:
        """Delete everything that was added."""
        await self._handles.awaited.facts.delete_range(self._space, f"{ROOT}/", history=False)

    async def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        await self._handles.aclose()

    def _to_config(self) -> MemoristMemoryConfig:
        if self._url is None:
            raise UsageError(
                "only a MemoristMemory created from a URL can be serialised, not one created from a Memory"
            )
        namespaces = self._namespaces
        spaces = (
            None
            if namespaces is None
            else [str(ns) for ns in ([namespaces] if isinstance(namespaces, str | Namespace) else namespaces)]
        )
        return MemoristMemoryConfig(url=self._url, namespace=self._space, namespaces=spaces, top_k=self._top_k)

    @classmethod
    def _from_config(cls, config: MemoristMemoryConfig) -> MemoristMemory:
        return cls(config.url, namespace=config.namespace, namespaces=config.namespaces, top_k=config.top_k)


def _text(content: MemoryContent) -> str:
    value = content.content
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return msgspec.json.encode(value).decode()
    raise UsageError("only text and JSON can be stored; describe an image or a file in words")
