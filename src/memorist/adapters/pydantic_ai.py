"""Provides Pydantic AI with a conversation store over records and with history processors. It needs the `pydantic-ai`
extra."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from ..engine.recalling import Spaces
from ..engine.records import OpaqueRecord, RecordPut
from ..errors import Conflict
from ..memory import AsyncMemory
from ..messages.message import Message
from ..ordered_keys import RecordKey
from ..ports import CounterSpec
from ..values import JsonObject
from .fitting import Budget, fitting, recalled
from .handles import Handles, Source
from .stashing import DEFINITIONS, READ_TOOLS, Stashing

ROOT = "pydantic-ai"
STORED_ANCESTORS = 32
"""The number of ancestors to store with an entry, so that a history can be read in a few round trips."""
MAX_ATTEMPTS = 40
_records: TypeAdapter[ConversationRecord] = TypeAdapter(ConversationRecord)
_entries: TypeAdapter[ConversationEntry] = TypeAdapter(ConversationEntry)


class MemoristConversationStore(ConversationStore):
    """Stores conversations as records, with each message stored once, and copies their text into a thread for recall.

    `memory` is a `Memory`, an `AsyncMemory` or a URL. Deleting a conversation also deletes its thread and the entries
    that no other conversation uses. With `mirror=False`, there is no thread.
    """

    def __init__(self, memory: Source, *, namespace: str | None = None, mirror: bool = True) -> None:
        self._handles = Handles(memory)
        self._space = namespace or self._handles.space(ROOT)
        self._mirror = mirror

    @property
    def _memory(self) -> AsyncMemory:
        return self._handles.awaited

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation."""
        record = await self._memory.records.get(self._space, _record_key(conversation_id))
        return None if record is None else _records.validate_json(_bytes(record))

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Return all records, or those of a scope, newest first."""
        where = None if scope is None else {"scope": scope}
        rows = await self._memory.records.scan(self._space, (ROOT, "record"), where=where)
        records = [_records.validate_json(_bytes(row)) for row in rows]
        return sorted(records, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record and its new entries in one transaction, by compare-and-set on its revision.

        If the revision is different, it raises `ConversationConflict` and stores nothing.
        """
        memory, space = self._memory, self._space
        key = _record_key(record.conversation_id)
        stored = await memory.records.get(space, key)
        if (None if stored is None else _revision(stored)) != expected_revision:
            raise ConversationConflict(record.conversation_id)
        puts = [
            RecordPut(key=_head_key(), data=b""),
            RecordPut(
                key=key, data=_records.dump_json(record), expect=0 if stored is None else stored.version,
                meta={"revision": record.revision, "scope": record.scope},
            ),
            *await self._entry_puts(new_entries),
        ]  # fmt: skip
        expected = await self._expected_head(record, new_entries)
        try:
            await memory.records.put_many(space, puts, expect=expected)
        except Conflict as conflict:
            raise ConversationConflict(record.conversation_id) from conflict
        if self._mirror and new_entries:
            await self._mirrored(record.conversation_id, new_entries)

    async def _expected_head(
        self, record: ConversationRecord, new: Sequence[ConversationEntry]
    ) -> list[tuple[RecordKey, int]]:
        """Return the entry that a record points to, with its version, as it must still exist when the record is
        written."""
        if record.head_id is None or record.head_id in {entry.id for entry in new}:
            return []
        row = await self._memory.records.get(self._space, _entry_key(record.head_id))
        if row is None:
            raise ConversationConflict(record.conversation_id)
        return [(row.key, row.version)]

    async def _entry_puts(self, entries: Sequence[ConversationEntry]) -> list[RecordPut]:
        above: dict[str, list[str]] = {}
        puts = []
        for entry in entries:
            parent = entry.parent_id
            if parent is not None and parent not in above:
                record = await self._memory.records.get(self._space, _entry_key(parent))
                above[parent] = [] if record is None else list(record.meta.get("above", ()))
            ancestors = [] if parent is None else [parent, *above[parent]][:STORED_ANCESTORS]
            above[entry.id] = ancestors
            puts.append(RecordPut(key=_entry_key(entry.id), data=_entries.dump_json(entry), meta={"above": ancestors}))
        return puts

    async def _mirrored(self, conversation_id: str, entries: Sequence[ConversationEntry]) -> None:
        converted = [(entry.id, message_of(entry.message)) for entry in entries]
        spoken = [(key, message) for key, message in converted if message.text.strip()]
        if spoken:
            await self._memory.threads.append(
                self.thread_of(conversation_id), *(message for _, message in spoken), create=self._space,
                key=[key for key, _ in spoken],
            )  # fmt: skip

    def thread_of(self, conversation_id: str) -> str:
        """Return the id of the thread that mirrors a conversation."""
        return f"{self._space}/{conversation_id}"

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete a conversation, the entries that no other one reaches (mark and sweep), and its thread."""
        for left in range(MAX_ATTEMPTS - 1, -1, -1):
            head = await self._memory.records.get(self._space, _head_key())
            stored = await self._memory.records.get(self._space, _record_key(conversation_id))
            if stored is None or _revision(stored) != expected_revision:
                raise ConversationConflict(conversation_id)
            try:
                # Every write changes the head record: after one, compute again which entries are unused.
                await self._delete(stored, 0 if head is None else head.version)
                break
            except Conflict:
                if not left:
                    raise
        if self._mirror:
            await self._memory.threads.delete(self.thread_of(conversation_id))

    async def _delete(self, stored: OpaqueRecord, head: int) -> None:
        records = await self._memory.records.scan(self._space, (ROOT, "record"))
        entries = await self._memory.records.scan(self._space, (ROOT, "entry"))
        parents = {str(entry.key[-1]): (entry.meta.get("above") or [None])[0] for entry in entries}
        reached: set[str] = set()
        for row in records:
            if row.key == stored.key:
                continue
            record = _records.validate_json(_bytes(row))
            for tip in (record.head_id, *record.branches):
                while tip is not None and tip not in reached:
                    reached.add(tip)
                    tip = parents.get(tip)
        async with self._memory.batch() as batch:
            await batch.records.put(self._space, _head_key(), b"", expect=head)
            await batch.records.delete(self._space, stored.key, expect=stored.version)
            for id in parents.keys() - reached:
                await batch.records.delete(self._space, _entry_key(id))

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return one entry, or raise `KeyError` if it does not exist."""
        record = await self._memory.records.get(self._space, _entry_key(entry_id))
        if record is None:
            raise KeyError(entry_id)
        return _entries.validate_json(_bytes(record))

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entries up to and including the given one, oldest first, reading `ABOVE` of them at a time."""
        history: list[ConversationEntry] = []
        ids = [] if head_id is None else [head_id]
        while ids and (limit is None or len(history) < limit):
            records = await self._memory.records.get_many(self._space, [_entry_key(id) for id in ids])
            if records[0] is None:
                raise KeyError(ids[0])
            rows = [record for record in records if record is not None]
            history += [_entries.validate_json(_bytes(row)) for row in rows]
            above = list(rows[-1].meta.get("above", ()))
            ids = above if len(rows) == len(ids) else above[:1]
        return history[:limit][::-1]

    async def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        await self._handles.aclose()


def budgeted(budget: Budget, *, counter: CounterSpec = None) -> Callable[[list[ModelMessage]], list[ModelMessage]]:
    """Return a history processor that keeps as many of the newest messages as fit.

    A tool call is always kept with its results.
    """

    def process(messages: list[ModelMessage]) -> list[ModelMessage]:
        retained = fitting([message_of(message) for message in messages], budget, counter=counter)
        return [messages[index] for index in retained]

    return process


def recalling(
    memory: Source, *, namespaces: Spaces = None, top_k: int = 5
) -> Callable[[list[ModelMessage]], Coroutine[object, None, list[ModelMessage]]]:
    """Return a history processor that puts fenced memories before the last question."""
    handles = Handles(memory)

    async def process(messages: list[ModelMessage]) -> list[ModelMessage]:
        last = messages[-1] if messages else None
        if not isinstance(last, ModelRequest):
            return messages
        question = " ".join(_content_text(part.content) for part in last.parts if isinstance(part, UserPromptPart))
        memories = await recalled(handles.awaited, question, namespaces=namespaces, top_k=top_k)
        if not memories:
            return messages
        return [*messages[:-1], dataclasses.replace(last, parts=[SystemPromptPart(content=memories), *last.parts])]

    return process


@dataclasses.dataclass
class MemoristStash(AbstractCapability[Any]):
    """Stores long tool results when they arrive. The model sees previews, and two tools read the rest.

    Results over `over_tokens` are stored next to the run's conversation.
    """

    memory: Source
    over_tokens: int = 2000
    namespace: str | None = None

    def __post_init__(self) -> None:
        self._handles = Handles(self.memory)
        self._stashing = Stashing(self.namespace or self._handles.space(ROOT), self.over_tokens)

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, result: Any
    ) -> Any:
        """Shorten a long text."""
        if not isinstance(result, str) or call.tool_name in READ_TOOLS:
            return result
        memory = self._handles.awaited
        return await self._stashing.shorten(memory, _conversation(ctx), result, key=call.tool_call_id)

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return the two tools that read results back."""
        return FunctionToolset([self._tool(name) for name in READ_TOOLS])

    def _tool(self, name: str) -> PydanticTool[Any]:
        async def run(ctx: RunContext[Any], **arguments: Any) -> str:
            return await self._stashing.answer(self._handles.awaited, _conversation(ctx), name, arguments)

        definition = DEFINITIONS[name]
        schema, description = definition["parameters"], definition["description"]
        return PydanticTool.from_schema(run, name, description, schema, takes_ctx=True)


def _conversation(ctx: RunContext[Any]) -> str:
    return str(ctx.conversation_id or ctx.run_id or "default")


def message_of(message: ModelMessage) -> Message:
    """Convert a Pydantic AI message to ours, with its text, tool calls and results."""
    blocks: list[JsonObject] = []
    for part in message.parts:
        if isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_call_id and part.tool_name:
            blocks.append({"type": "tool_result", "tool_use_id": part.tool_call_id, "content": _result(part)})
        elif isinstance(part, ToolCallPart):
            arguments = part.args_as_dict() if part.args else {}
            blocks.append({"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name, "input": arguments})
        elif isinstance(part, TextPart | UserPromptPart | RetryPromptPart):
            blocks.append({"type": "text", "text": _content_text(part.content)})
    role = "assistant" if isinstance(message, ModelResponse) else "user"
    if all(isinstance(part, SystemPromptPart) for part in message.parts) and message.parts:
        prompts = [part for part in message.parts if isinstance(part, SystemPromptPart)]
        return Message(role="system", content="\n".join(_content_text(part.content) for part in prompts))
    if all(block["type"] == "text" for block in blocks):
        return Message(role=role, content="\n".join(block["text"] for block in blocks))
    return Message(role=role, content=blocks, shape="anthropic")


def _content_text(content: str | Iterable[object] | None) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part for part in content or () if isinstance(part, str))


def _result(part: ToolReturnPart | RetryPromptPart) -> str:
    return part.model_response_str() if isinstance(part, ToolReturnPart) else str(part.model_response())


def _bytes(record: OpaqueRecord) -> bytes:
    assert isinstance(record.data, bytes)
    return record.data


def _revision(record: OpaqueRecord) -> str:
    return str(record.meta["revision"])


def _head_key() -> RecordKey:
    return (ROOT, "head")


def _record_key(id: str) -> RecordKey:
    return (ROOT, "record", id)


def _entry_key(id: str) -> RecordKey:
    return (ROOT, "entry", id)
