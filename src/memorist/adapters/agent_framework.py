"""Provides Microsoft Agent Framework with history, recall, checkpoints and compaction. It needs the `agent-framework`
extra."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent_framework import ContextProvider, FileCheckpointStorage, HistoryProvider, WorkflowCheckpoint
from agent_framework import Message as FrameworkMessage
from agent_framework.exceptions import WorkflowCheckpointException

from ..engine.recalling import Spaces
from ..engine.records import OpaqueRecord
from ..errors import NotFound
from ..memory import AsyncMemory
from ..messages.message import Message
from ..ordered_keys import RecordKey
from ..ports import CounterSpec
from ..values import JsonObject
from .fitting import Budget, fitting, recalled
from .handles import Handles, Source

ROOT = "agent-framework"
NO_SESSION = "default"
EXCLUDED = "_excluded"
FILE_ID = "checkpoint"


class MemoristHistoryProvider(HistoryProvider):
    """Stores the history of a session as a thread. A message's id is its idempotency key.

    `memory` is a `Memory`, an `AsyncMemory` or a URL. With `limit`, only the newest messages are loaded, without
    separating a tool call from its result.
    """

    def __init__(
        self,
        memory: Source,
        *,
        source_id: str = "memorist",
        namespace: str | None = None,
        limit: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(source_id, **options)
        self._handles = Handles(memory)
        self._space = namespace or self._handles.space(ROOT)
        self._limit = limit

    def thread_of(self, session_id: str | None) -> str:
        """Return the id of the thread that contains a session."""
        return f"{self._space}/{session_id or NO_SESSION}"

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, object] | None = None, **kwargs: object
    ) -> list[FrameworkMessage]:
        """Return a session's messages, exactly as they were saved."""
        try:
            rows = await self._handles.awaited.threads.messages(self.thread_of(session_id))
        except NotFound:
            return []
        messages = [FrameworkMessage.from_dict(message.raw) for message in rows]
        return messages if self._limit is None else _newest(messages, self._limit)

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[FrameworkMessage],
        *,
        state: dict[str, object] | None = None,
        **kwargs: object,
    ) -> None:
        """Append messages in one transaction."""
        if messages:
            await self._handles.awaited.threads.append(
                self.thread_of(session_id), *map(message_of, messages), create=self._space,
                key=[message.message_id or None for message in messages],
            )  # fmt: skip

    async def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        await self._handles.aclose()


class MemoristContextProvider(ContextProvider):
    """Adds memories recalled for the input to an agent's instructions, fenced as data."""

    def __init__(
        self, memory: Source, *, source_id: str = "memorist_memory", namespaces: Spaces = None, top_k: int = 5
    ) -> None:
        super().__init__(source_id)
        self._handles = Handles(memory)
        self._namespaces = namespaces
        self._top_k = top_k

    async def before_run(self, *, agent: object, session: object, context: Any, state: dict[str, object]) -> None:
        """Recall memories for the user's messages, and add them to the instructions."""
        question = " ".join(message.text for message in context.input_messages if message.role == "user")
        memories = await recalled(self._handles.awaited, question, namespaces=self._namespaces, top_k=self._top_k)
        if memories:
            context.extend_instructions(self.source_id, memories)


class MemoristCheckpointStorage:
    """Stores the checkpoints of workflows as records.

    The framework encodes values as JSON where possible, and pickles the others. On reading, only the framework's safe
    types and those in `allowed` are unpickled. `save` refuses a checkpoint that could not be read back.
    """

    def __init__(self, memory: Source, *, namespace: str | None = None, allowed: Sequence[str] = ()) -> None:
        self._handles = Handles(memory)
        self._space = namespace or self._handles.space(ROOT)
        self._allowed = list(allowed)

    @property
    def _memory(self) -> AsyncMemory:
        return self._handles.awaited

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Store a checkpoint and return its id."""
        data = await self._encode(checkpoint)
        meta = {"workflow": checkpoint.workflow_name, "time": checkpoint.timestamp}
        await self._memory.records.put(self._space, _key(checkpoint.checkpoint_id), data, meta=meta)
        return str(checkpoint.checkpoint_id)

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        """Return one checkpoint."""
        record = await self._memory.records.get(self._space, _key(checkpoint_id))
        if record is None:
            raise WorkflowCheckpointException(f"No checkpoint found with ID {checkpoint_id}")
        return await self._decode(checkpoint_id, record.data)

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        """Return the checkpoints of a workflow, oldest first."""
        return [await self._decode_row(record) for record in await self._rows(workflow_name)]

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        """Return the ids of a workflow's checkpoints, oldest first."""
        return [str(record.key[-1]) for record in await self._rows(workflow_name, keys_only=True)]

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        """Return the checkpoint with the latest timestamp."""
        rows = await self._rows(workflow_name)
        newest = max(rows, key=lambda record: datetime.fromisoformat(record.meta["time"]), default=None)
        return None if newest is None else await self._decode_row(newest)

    async def delete(self, checkpoint_id: str) -> bool:
        """Delete one checkpoint, and return False if it did not exist."""
        return await self._memory.records.delete(self._space, _key(checkpoint_id))

    async def _rows(self, workflow: str, *, keys_only: bool = False) -> list[OpaqueRecord]:
        records = await self._memory.records.scan(
            self._space, (ROOT, "checkpoint"), where={"workflow": workflow}, keys_only=keys_only
        )
        return sorted(records, key=lambda record: record.created_at)

    # The framework's encoding with its list of safe types is public only as its storage of files, so that one encodes
    # and decodes, in a folder of its own. Ids may hold what a file name cannot, so the file has a fixed one.

    async def _encode(self, checkpoint: WorkflowCheckpoint) -> bytes:
        with TemporaryDirectory() as folder:
            await self._files(folder).save(replace(checkpoint, checkpoint_id=FILE_ID))
            return (Path(folder) / f"{FILE_ID}.json").read_bytes()

    async def _decode(self, checkpoint_id: str, data: Any) -> WorkflowCheckpoint:
        with TemporaryDirectory() as folder:
            (Path(folder) / f"{FILE_ID}.json").write_bytes(data)
            return replace(await self._files(folder).load(FILE_ID), checkpoint_id=checkpoint_id)

    async def _decode_row(self, record: OpaqueRecord) -> WorkflowCheckpoint:
        return await self._decode(str(record.key[-1]), record.data)

    def _files(self, folder: str) -> FileCheckpointStorage:
        return FileCheckpointStorage(folder, allowed_checkpoint_types=self._allowed)


class BudgetCompaction:
    """Implements a compaction strategy that excludes the oldest messages until the rest fits, without splitting tool
    exchanges."""

    def __init__(self, budget: Budget, *, counter: CounterSpec = None) -> None:
        self._budget = budget
        self._counter = counter

    async def __call__(self, messages: list[FrameworkMessage]) -> bool:
        """Mark the messages that do not fit as excluded, and return whether there were any."""
        visible = [message for message in messages if not message.additional_properties.get(EXCLUDED, False)]
        retained = set(fitting([message_of(message) for message in visible], self._budget, counter=self._counter))
        left_out = [message for index, message in enumerate(visible) if index not in retained]
        for message in left_out:
            message.additional_properties[EXCLUDED] = True
        return bool(left_out)


def message_of(message: FrameworkMessage) -> Message:
    """Convert a framework message to ours, keeping the original in `raw`."""
    blocks: list[JsonObject] = []
    for content in message.contents:
        kind = content.type
        if kind == "function_call":
            call = {"type": "tool_use", "id": content.call_id or "", "name": content.name or ""}
            blocks.append({**call, "input": content.parse_arguments() or {}})
        elif kind == "function_result":
            blocks.append({"type": "tool_result", "tool_use_id": content.call_id or "", "content": str(content.result)})
        elif getattr(content, "text", None):
            blocks.append({"type": "text", "text": content.text})
    raw = json.loads(json.dumps(message.to_dict()))
    role = str(message.role)
    if all(block["type"] == "text" for block in blocks):
        known_role = role if role in ("user", "assistant", "system") else "user"
        return Message(role=known_role, content="\n".join(block["text"] for block in blocks), raw=raw)
    spoken = "assistant" if role == "assistant" else "user"
    return Message(role=spoken, content=blocks, shape="anthropic", raw=raw)


def _newest(messages: list[FrameworkMessage], limit: int) -> list[FrameworkMessage]:
    """Return the newest messages, starting at a point where no tool result is separated from its call."""
    for start in range(max(0, len(messages) - limit), len(messages)):
        rest = messages[start:]
        called = {c.call_id for m in rest for c in m.contents if c.type == "function_call"}
        if all(c.call_id in called for m in rest for c in m.contents if c.type == "function_result"):
            return rest
    return []


def _key(id: str) -> RecordKey:
    return (ROOT, "checkpoint", id)
