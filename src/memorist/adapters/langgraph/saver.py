"""Implements `MemoristSaver`, which stores LangGraph checkpoints in a memory, for blocking and async graphs."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ...errors import UsageError
from ...memory import AsyncMemory
from ...runtime import run_blocking
from ..handles import Handles, Source
from .checkpoints import Checkpoints, KnownLists
from .pruning import Pruning

STRATEGIES = ("keep_latest", "delete")


class MemoristSaver(BaseCheckpointSaver[str]):
    """Stores the checkpoints of graphs as records of a memory.

    `memory` is a `Memory`, an `AsyncMemory` or a URL. The rows are in `namespace`, by default `workflow:langgraph`, or
    the user's own if the memory is a user's handle. Values are deserialised only to types that LangGraph considers
    safe, to those in `allow`, and, if LANGGRAPH_STRICT_MSGPACK is set, to those that the graph's state names; values of
    other types come back as plain data, with a warning. `serde` replaces the serializer.
    """

    def __init__(
        self,
        memory: Source,
        *,
        namespace: str | None = None,
        allow: Iterable[type | tuple[str, ...]] = (),
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde or JsonPlusSerializer(allowed_msgpack_modules=tuple(allow) or None))
        self._handles = Handles(memory)
        self._space = namespace or self._handles.space("langgraph")
        self._known = KnownLists()

    def _on(self, memory: AsyncMemory) -> Checkpoints:
        return Checkpoints(memory, self._space, self.serde, self._known)

    # -- reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return one checkpoint, by default the newest of the thread."""
        return run_blocking(self._on(self._handles.stepped).get_tuple(config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return one checkpoint, by default the newest of the thread."""
        return await self._on(self._handles.awaited).get_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints of a thread, or of all threads, newest first. `filter` matches metadata."""
        async for checkpoint in self._on(self._handles.awaited).list(config, filter, before, limit):
            yield checkpoint

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes of each channel along the ancestors, back to the nearest value."""
        return run_blocking(self._on(self._handles.stepped).history(config, channels))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes of each channel along the ancestors, back to the nearest value."""
        return await self._on(self._handles.awaited).history(config, channels)

    # -- writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint. It is on disk when this method returns."""
        work = self._on(self._handles.stepped).put(config, checkpoint, metadata, new_versions)
        return run_blocking(work)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint. It is on disk when this method returns."""
        return await self._on(self._handles.awaited).put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, object]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the values that a task wrote before its step is done."""
        run_blocking(self._on(self._handles.stepped).put_writes(config, writes, task_id, task_path))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, object]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the values that a task wrote before its step is done."""
        await self._on(self._handles.awaited).put_writes(config, writes, task_id, task_path)

    # -- deleting and copying

    def delete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints and writes of a thread."""
        run_blocking(Pruning(self._on(self._handles.stepped)).delete_thread(str(thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints and writes of a thread."""
        await Pruning(self._on(self._handles.awaited)).delete_thread(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete everything that the runs wrote. Rows from which later checkpoints are rebuilt stay, but are hidden."""
        run_blocking(Pruning(self._on(self._handles.stepped)).delete_for_runs(run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete everything that the runs wrote. Rows from which later checkpoints are rebuilt stay, but are hidden."""
        await Pruning(self._on(self._handles.awaited)).delete_for_runs(run_ids)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another."""
        run_blocking(Pruning(self._on(self._handles.stepped)).copy(str(source_thread_id), str(target_thread_id)))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another."""
        await Pruning(self._on(self._handles.awaited)).copy(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the newest checkpoint of each namespace, or delete all of them with the `delete` strategy."""
        run_blocking(_prune(Pruning(self._on(self._handles.stepped)), thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the newest checkpoint of each namespace, or delete all of them with the `delete` strategy."""
        await _prune(Pruning(self._on(self._handles.awaited)), thread_ids, strategy)

    # -- versions, and letting go

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return a version above the current one that differs from any version another branch creates."""
        number = current if isinstance(current, int) else int((current or "0").split(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        self._handles.close()

    async def aclose(self) -> None:
        """Close the memory if it was opened from a URL."""
        await self._handles.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # Last: the name hides the builtin for annotations below it.
    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints of a thread, or of all threads, newest first. `filter` matches metadata."""
        checkpoints = self._on(self._handles.stepped).list(config, filter, before, limit)
        while True:
            try:
                checkpoint_tuple: CheckpointTuple = run_blocking(checkpoints.__anext__())  # type: ignore[arg-type]  # it never suspends
            except StopAsyncIteration:
                return
            yield checkpoint_tuple


async def _prune(pruning: Pruning, threads: Sequence[str], strategy: str) -> None:
    if strategy not in STRATEGIES:
        raise UsageError(f"a pruning strategy is one of {', '.join(STRATEGIES)}")
    remove = pruning.keep_latest if strategy == "keep_latest" else pruning.delete_thread
    for thread in list(threads):
        await remove(str(thread))
