"""Reads and writes checkpoints as records, for the saver's blocking and async methods."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from threading import Lock

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ...engine.records import OpaqueRecord, RecordPut
from ...errors import Conflict
from ...memory import AsyncMemory
from ...ordered_keys import RecordKey
from . import rows, values
from .rows import CheckpointRow, WriteRow, checkpoint_row
from .values import Known, Stored, Version

PAGE_ROWS = 50
"""The number of checkpoints per page of a scan."""
MAX_CACHED_LISTS = 256
MAX_CACHED_BYTES = 32 * 1024 * 1024
Channel = tuple[str, str, str]
"""(thread, namespace, channel)."""


class KnownLists:
    """Caches the list values that this process wrote last (LRU). New versions are compared with the cached ones."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Channel, Known] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, channel: Channel) -> Known | None:
        """Return the cached version of a channel, or None."""
        with self._lock:
            entry = self._kept.get(channel)
            if entry is not None:
                self._kept.move_to_end(channel)
            return entry

    def put(self, channel: Channel, entry: Known) -> None:
        """Cache a version."""
        with self._lock:
            self._drop(channel)
            self._kept[channel] = entry
            self._bytes += values.weight(entry.items)
            while len(self._kept) > MAX_CACHED_LISTS or (self._bytes > MAX_CACHED_BYTES and len(self._kept) > 1):
                self._drop(next(iter(self._kept)))

    def drop(self, channel: Channel) -> None:
        """Remove a channel from the cache, because another process changed it."""
        with self._lock:
            self._drop(channel)

    def _drop(self, channel: Channel) -> None:
        entry = self._kept.pop(channel, None)
        if entry is not None:
            self._bytes -= values.weight(entry.items)


class Checkpoints:
    """Reads and writes the checkpoints in one namespace of a memory."""

    def __init__(self, memory: AsyncMemory, space: str, serde: SerializerProtocol, lists: KnownLists) -> None:
        self.memory = memory
        self.space = space
        self.serde = serde
        self._known = lists

    # -- writing

    async def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and the new values of its channels in one transaction."""
        thread, ns, parent = place_of(config)
        bare = checkpoint.copy()
        channel_values: dict[str, object] = bare.pop("channel_values")  # type: ignore[misc]  # it is stored by itself
        about = get_checkpoint_metadata(config, metadata)
        run = about.get("run_id")
        row = CheckpointRow(
            thread=thread, ns=ns, id=checkpoint["id"], parent=parent, checkpoint=self.serde.dumps_typed(bare),
            metadata=self.serde.dumps_typed(about), versions=dict(checkpoint["channel_versions"]),
            run=None if run is None else str(run), deltas=rows.waiting_deltas(about, channel_values),
        )  # fmt: skip
        whole = {
            name: values.serialised(channel_values[name], self.serde) for name in new_versions if name in channel_values
        }
        await self._commit(row, new_versions, whole)
        return config_of(row)

    async def _commit(
        self,
        row: CheckpointRow,
        versions: ChannelVersions,
        whole: Mapping[str, tuple[Stored, tuple[values.Item, ...] | None]],
    ) -> None:
        """Write a checkpoint with lists as deltas, or with whole lists if a base version was deleted in the
        meantime.
        """
        puts = [
            RecordPut(key=rows.head_key(row.thread), data=b""),
            RecordPut(key=rows.checkpoint_key(row.thread, row.ns, row.id), data=rows.encode(row)),
        ]
        if row.run is not None:
            puts.append(RecordPut(key=rows.run_key(row.run, row.thread), data=row.thread, absent=True))
        stored, bases = await self._compared(row, versions, whole)
        try:
            results = await self._put_all(row, versions, puts, stored, bases)
        except Conflict:
            if not bases:
                raise
            stored = {name: full for name, (full, _) in whole.items()}
            results = await self._put_all(row, versions, puts, stored, [])
        for (name, (_, items)), record in zip(whole.items(), results[len(puts) :], strict=True):
            if items is not None:
                entry = Known(versions[name], record.version, items, stored[name])
                self._known.put((row.thread, row.ns, name), entry)

    async def _put_all(
        self,
        row: CheckpointRow,
        versions: ChannelVersions,
        puts: Sequence[RecordPut],
        stored: Mapping[str, Stored],
        bases: Sequence[tuple[RecordKey, int]],
    ) -> list[OpaqueRecord]:
        channels = [
            RecordPut(key=rows.value_key(row.thread, row.ns, name, versions[name]), data=values.encode(value))
            for name, value in stored.items()
        ]
        return await self.memory.records.put_many(self.space, [*puts, *channels], expect=bases)

    async def _compared(
        self,
        row: CheckpointRow,
        versions: ChannelVersions,
        whole: Mapping[str, tuple[Stored, tuple[values.Item, ...] | None]],
    ) -> tuple[dict[str, Stored], list[tuple[RecordKey, int]]]:
        """Return how each value is stored (whole or as a delta), and the base versions that must still exist at commit
        time.
        """
        stored: dict[str, Stored] = {}
        bases: list[tuple[RecordKey, int]] = []
        for name, (full, items) in whole.items():
            stored[name] = full
            if items is None:
                continue
            last = await self._last(row, name)
            stored[name] = value = values.spliced(versions[name], full, items, last)
            if last is not None and value.base is not None:
                bases.append((rows.value_key(row.thread, row.ns, name, last.version), last.row))
        return stored, bases

    async def _last(self, row: CheckpointRow, channel: str) -> Known | None:
        """Return the base version for a list's delta, which is either the cached one or the newest one in the store."""
        key = (row.thread, row.ns, channel)
        entry = self._known.get(key)
        if entry is not None or row.parent is None:
            return entry
        prefix = rows.value_key(row.thread, row.ns, channel, 0)[:-1]
        newest = await self.memory.records.scan(self.space, prefix, reverse=True, limit=1)
        if not newest:
            return None
        stored = values.decode(newest[0].data)  # type: ignore[arg-type]  # it was put as bytes
        if stored.type != values.LIST:
            return None
        items = (await self._lists(row.thread, row.ns, {channel: stored}))[channel]
        return Known(newest[0].key[-1], newest[0].version, items, stored)

    async def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, object]], task_id: str, task_path: str
    ) -> None:
        """Store the writes of a task. Existing writes are kept, except for special ones such as errors and
        interrupts."""
        thread, ns, id = place_of(config)
        if id is None:
            raise KeyError("checkpoint_id")
        prefix = rows.writes_prefix(thread, ns, id)
        puts = []
        for number, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, number)
            row = WriteRow(task_id, index, channel, task_path, self.serde.dumps_typed(value))
            key = (*prefix, rows.short(task_id), index)
            puts.append(RecordPut(key=key, data=rows.encode(row), absent=index >= 0))
        if puts:
            await self.memory.records.put_many(self.space, puts)

    # -- reading

    async def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the newest one."""
        row = await self._row(config)
        return None if row is None else await self.opened(row)

    async def _row(self, config: RunnableConfig) -> CheckpointRow | None:
        thread, ns, _ = place_of(config)
        id = get_checkpoint_id(config)
        if id:
            record = await self.memory.records.get(self.space, rows.checkpoint_key(thread, ns, id))
            records = [] if record is None else [record]
        else:
            # A hidden checkpoint always has a newer descendant, so the newest one is visible.
            prefix = rows.checkpoints_prefix(thread, ns)
            records = await self.memory.records.scan(self.space, prefix, reverse=True, limit=1)
        row = checkpoint_row(records[0]) if records else None
        return None if row is None or row.hidden else row

    async def opened(self, row: CheckpointRow) -> CheckpointTuple:
        """Return a checkpoint with its values and its pending writes."""
        channel_values = await self._values(row, row.versions)
        prefix = rows.writes_prefix(row.thread, row.ns, row.id)
        writes = await self.memory.records.scan(self.space, prefix)
        return self._tuple(row, channel_values, rows.pending(writes, self.serde))

    def _tuple(
        self, row: CheckpointRow, channel_values: dict[str, object], writes: list[PendingWrite]
    ) -> CheckpointTuple:
        checkpoint = {**self.serde.loads_typed(row.checkpoint), "channel_values": channel_values}
        return CheckpointTuple(
            config=config_of(row),
            checkpoint=checkpoint,  # type: ignore[arg-type]  # the serializer gives back what it was given
            metadata=self.serde.loads_typed(row.metadata),
            parent_config=None if row.parent is None else config_of(row, row.parent),
            pending_writes=writes,
        )

    async def _values(self, row: CheckpointRow, versions: Mapping[str, Version]) -> dict[str, object]:
        names = list(versions)
        keys = [rows.value_key(row.thread, row.ns, name, versions[name]) for name in names]
        records = await self.memory.records.get_many(self.space, keys)
        stored: dict[str, Stored] = {
            name: values.decode(record.data)  # type: ignore[arg-type]  # it was put as bytes
            for name, record in zip(names, records, strict=True)
            if record is not None
        }
        lists = await self._lists(row.thread, row.ns, stored)
        return {name: values.opened(value, lists.get(name, ()), self.serde) for name, value in stored.items()}

    async def _lists(self, thread: str, ns: str, stored: Mapping[str, Stored]) -> dict[str, tuple[values.Item, ...]]:
        """Return the items of each list among the values, rebuilt from their base versions."""
        lists: dict[str, tuple[values.Item, ...]] = {}
        for name, value in stored.items():
            if value.type == values.LIST:
                below = {} if value.base is None else await self._below(thread, ns, name, value)
                lists[name] = values.joined(value, below)
        return lists

    async def _below(self, thread: str, ns: str, channel: str, stored: Stored) -> dict[Version, Stored]:
        """Return the chain of base versions of a delta, from the whole version to its base. Their keys are adjacent."""
        assert stored.whole is not None and stored.base is not None
        prefix = rows.value_key(thread, ns, channel, 0)[:-1]
        ends = [(*prefix, stored.whole), (*prefix, stored.base)]
        between = await self.memory.records.scan(self.space, prefix, after=ends[0], before=ends[1])
        outer = await self.memory.records.get_many(self.space, ends)
        records = [record for record in [*outer, *between] if record is not None]
        return {record.key[-1]: values.decode(record.data) for record in records}  # type: ignore[arg-type]  # bytes

    async def rows_of(
        self, thread: str | None, ns: str | None, *, before: str | None = None
    ) -> AsyncIterator[CheckpointRow]:
        """Yield the checkpoints of one thread and namespace, or of all of them, newest first within each."""
        prefix = rows.checkpoints_prefix(thread, ns)
        last = None if before is None or ns is None else (*prefix, before)
        while True:
            page = await self.memory.records.scan(self.space, prefix, before=last, reverse=True, limit=PAGE_ROWS)
            for record in page:
                row = checkpoint_row(record)
                if before is None or row.id < before:
                    yield row
            if len(page) < PAGE_ROWS:
                return
            last = page[-1].key

    def _passes(self, row: CheckpointRow, filter: dict[str, object] | None) -> bool:
        if not filter:
            return True
        metadata = self.serde.loads_typed(row.metadata)
        return all(metadata.get(name) == expected for name, expected in filter.items())

    async def history(self, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """Return, for each delta channel, the value of the nearest ancestor that has one, and the writes since then, in
        order.
        """
        histories: dict[str, DeltaChannelHistory] = {name: {"writes": []} for name in channels}
        remaining = set(channels)
        target = await self._row(config) if channels else None
        parent = None if target is None else target.parent
        if target is None or parent is None:
            return histories
        # Hidden ancestors are included: they are kept for this.
        async for row in self._ancestors(target.thread, target.ns, parent):
            versions = {name: row.versions[name] for name in remaining if name in row.versions}
            channel_values = await self._values(row, versions)
            writes = await self.memory.records.scan(self.space, rows.writes_prefix(row.thread, row.ns, row.id))
            for write in reversed(rows.pending(writes, self.serde)):
                if write[1] in remaining:
                    histories[write[1]]["writes"].append(write)
            for name, value in channel_values.items():
                histories[name]["seed"] = value
            remaining -= channel_values.keys()
            if not remaining:
                break
        for history in histories.values():
            history["writes"].reverse()
        return histories

    async def _ancestors(self, thread: str, ns: str, id: str) -> AsyncIterator[CheckpointRow]:
        """Yield a checkpoint and its ancestors.

        A whole page of older neighbours is read at once, since most ancestors are among them.
        """
        near: dict[str, CheckpointRow] = {}
        wanted: str | None = id
        while wanted is not None:
            row = near.get(wanted)
            if row is None:
                key = rows.checkpoint_key(thread, ns, wanted)
                record = await self.memory.records.get(self.space, key)
                if record is None:
                    return
                row = checkpoint_row(record)
                prefix = rows.checkpoints_prefix(thread, ns)
                page = await self.memory.records.scan(self.space, prefix, before=key, reverse=True, limit=PAGE_ROWS)
                near = {row.id: row for row in map(checkpoint_row, page)}
            yield row
            wanted = row.parent

    # Last: the name hides the builtin for annotations below it.
    async def list(
        self,
        config: RunnableConfig | None,
        filter: dict[str, object] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield matching checkpoints, newest first."""
        named = {} if config is None else config["configurable"]
        thread, ns, id = named.get("thread_id"), named.get("checkpoint_ns"), named.get("checkpoint_id")
        end = None if before is None else get_checkpoint_id(before)
        async for row in self.rows_of(None if thread is None else str(thread), ns, before=end):
            if limit is not None and limit <= 0:
                return
            if row.hidden or (id and row.id != id) or not self._passes(row, filter):
                continue
            limit = None if limit is None else limit - 1
            yield await self.opened(row)


def place_of(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Return a config's (thread, namespace, checkpoint id or None)."""
    named = config["configurable"]
    return str(named["thread_id"]), named.get("checkpoint_ns") or "", named.get("checkpoint_id")


def config_of(row: CheckpointRow, id: str | None = None) -> RunnableConfig:
    """Return the config of this checkpoint, or of another one in the same thread and namespace."""
    return {
        "configurable": {"thread_id": row.thread, "checkpoint_ns": row.ns, "checkpoint_id": id or row.id},
    }
