"""Provides LlamaIndex with a chat store and a memory block over threads. It needs the `llama-index` extra."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from pydantic import PrivateAttr

from ..engine.recalling import Spaces
from ..errors import Conflict, NotFound
from ..memory import AsyncMemory
from ..messages.message import Message
from ..ordered_keys import RecordKey
from .fitting import recalled
from .handles import Handles, Source

ROOT = "llama-index"
MAX_ATTEMPTS = 40


class MemoristChatStore(AsyncDBChatStore):
    """Stores the messages of each key as a thread. Archived messages are only marked, so recall still finds them.

    `memory` is a `Memory`, an `AsyncMemory` or a URL.
    """

    _handles: Handles = PrivateAttr()
    _space: str = PrivateAttr()

    def __init__(self, memory: Source, *, namespace: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._handles = Handles(memory)
        self._space = namespace or self._handles.space(ROOT)

    @property
    def _memory(self) -> AsyncMemory:
        return self._handles.awaited

    def thread_of(self, key: str) -> str:
        """Return the id of the thread that contains a key's messages."""
        return f"{self._space}/{key}"

    async def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        await self._handles.aclose()

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """Return the messages of a key in order, whatever their status if `status=None`."""
        rows = (await self._rows(key, status))[offset or 0 :]
        return [_chat(message) for message in (rows if limit is None else rows[:limit])]

    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        """Return the number of messages of a key."""
        return len(await self._rows(key, status))

    async def add_message(self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE) -> None:
        """Append one message."""
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Append messages in one transaction."""
        if messages:
            converted = [message_of(message, status) for message in messages]
            await self._memory.threads.append(self.thread_of(key), *converted, create=self._space)

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Replace all messages in one transaction."""
        await self._memory.threads.create(self._space, id=self.thread_of(key))
        await self._memory.threads.replace(self.thread_of(key), [message_of(message, status) for message in messages])

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at an index and return it."""
        rows = await self._rows(key, None)
        if not 0 <= idx < len(rows):
            return None
        await self._memory.threads.delete_messages(self.thread_of(key), ids=[rows[idx].id])
        return _chat(rows[idx])

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Delete the messages of a key, or only those with a given status."""
        rows = await self._rows(key, status)
        if rows:
            await self._memory.threads.delete_messages(self.thread_of(key), ids=[row.id for row in rows])

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Delete the oldest active messages and return them."""
        oldest = (await self._rows(key, MessageStatus.ACTIVE))[:n]
        if oldest:
            await self._memory.threads.delete_messages(self.thread_of(key), ids=[row.id for row in oldest])
        return [_chat(row) for row in oldest]

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Mark the oldest active messages as archived and return them. Concurrent callers get different ones."""
        for left in range(MAX_ATTEMPTS - 1, -1, -1):
            record = await self._memory.records.get(self._space, _archive_key(key))
            oldest = (await self._rows(key, MessageStatus.ACTIVE))[:n]
            marked: Any = [*(record.data if record is not None else []), *(row.seq for row in oldest)]  # type: ignore[misc]  # put as a list
            if not oldest:
                return []
            try:
                version = 0 if record is None else record.version
                await self._memory.records.put(self._space, _archive_key(key), marked, expect=version)
                return [_chat(row) for row in oldest]
            except Conflict:
                if not left:
                    raise
        raise AssertionError("unreachable")

    async def get_keys(self) -> list[str]:
        """Return the keys that have messages."""
        threads = await self._memory.threads.list(self._space)
        start = self.thread_of("")
        names = [thread.id[len(start) :] for thread in threads if thread.id.startswith(start)]
        return [name for name in names if await self._rows(name, None)]

    async def _rows(self, key: str, status: MessageStatus | None) -> list[Message]:
        try:
            messages = await self._memory.threads.messages(self.thread_of(key))
        except NotFound:
            return []
        if status is None:
            return messages
        record = await self._memory.records.get(self._space, _archive_key(key))
        archived: Any = set() if record is None else set(record.data)  # type: ignore[arg-type]  # put as a list
        return [
            row for row in messages if (_archived(row) or row.seq in archived) == (status == MessageStatus.ARCHIVED)
        ]

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises the store."""
        return "MemoristChatStore"


class MemoristMemoryBlock(BaseMemoryBlock[str]):
    """Adds memories recalled for the last question, fenced, and stores messages flushed from short-term memory in a
    thread.
    """

    name: str = "memorist"
    _handles: Handles = PrivateAttr()
    _options: dict[str, Any] = PrivateAttr()
    _thread: str = PrivateAttr()
    _space: str = PrivateAttr()

    def __init__(
        self,
        memory: Source,
        *,
        thread: str = "memory-block",
        namespaces: Spaces = None,
        top_k: int = 5,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._handles = Handles(memory)
        self._options = {"namespaces": namespaces, "top_k": top_k}
        self._space = self._handles.space(ROOT)
        self._thread = f"{self._space}/{thread}"

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: object) -> str:
        question = next((message.content or "" for message in reversed(messages or []) if message.role == "user"), "")
        return await recalled(self._handles.awaited, question, **self._options)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if messages:
            converted = [message_of(message, MessageStatus.ARCHIVED) for message in messages]
            await self._handles.awaited.threads.append(self._thread, *converted, create=self._space)


def message_of(message: ChatMessage, status: MessageStatus) -> Message:
    """Convert a LlamaIndex message to ours, keeping the original in `raw`."""
    role = str(message.role.value)
    known_role = {"chatbot": "assistant", "model": "assistant", "function": "tool"}.get(role, role)
    known_role = known_role if known_role in ("user", "assistant", "system", "developer", "tool") else "user"
    extra = {"tool_call_id": str(message.additional_kwargs.get("tool_call_id", ""))} if known_role == "tool" else {}
    return Message(
        role=known_role, content=message.content or "", extra=extra, raw=message.model_dump(mode="json"),
        metadata={"status": status.value},
    )  # fmt: skip


def _archived(message: Message) -> bool:
    return message.metadata.get("status") == MessageStatus.ARCHIVED.value


def _chat(message: Message) -> ChatMessage:
    return ChatMessage.model_validate(message.raw)


def _archive_key(key: str) -> RecordKey:
    return (ROOT, "archived", key)
