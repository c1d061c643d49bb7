"""Defines the records of the saver and their keys.

    (langgraph, head, thread)                                      rewritten with every checkpoint
    (langgraph, checkpoint, thread, ns, checkpoint id)             a checkpoint without values, metadata, parent
    (langgraph, value, thread, ns, channel, version)               one version of a channel
    (langgraph, write, thread, ns, checkpoint id, task, index)     a pending write
    (langgraph, run, run id, thread)                               an index of the threads a run wrote to

In keys, long names are replaced by a digest; the rows contain them in full.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec
from langgraph.checkpoint.base import CheckpointMetadata, PendingWrite, writes_sort_key
from langgraph.checkpoint.serde.base import SerializerProtocol

from ...engine.records import OpaqueRecord
from ...ordered_keys import RecordKey
from .values import Version

ROOT = "langgraph"
MAX_NAME_BYTES = 300
"""The maximum size of one name in a key, in bytes. A whole key can be up to 1,536 bytes long."""
Typed = tuple[str, bytes]


class CheckpointRow(msgspec.Struct, array_like=True, frozen=True):
    """Represents a checkpoint without the values of its channels."""

    thread: str
    ns: str
    id: str
    parent: str | None
    checkpoint: Typed
    metadata: Typed
    versions: dict[str, Version]
    """This is the version of each channel that it contains."""
    run: str | None = None
    deltas: tuple[str, ...] = ()
    """These are delta channels whose value must be rebuilt from the writes of ancestors."""
    hidden: bool = False
    """This is True if the checkpoint was deleted but is kept for descendants that need its writes. It is no longer
    listed or found."""


class WriteRow(msgspec.Struct, array_like=True, frozen=True):
    """Represents one pending write."""

    task: str
    index: int
    channel: str
    path: str
    value: Typed

    @property
    def order(self) -> tuple[str, str, int]:
        """This is the sort key of the write among the writes of its checkpoint."""
        key: tuple[str, str, int] = writes_sort_key(self.path, self.task, self.index)
        return key


encode = msgspec.msgpack.Encoder().encode
_checkpoint = msgspec.msgpack.Decoder(CheckpointRow).decode
_write = msgspec.msgpack.Decoder(WriteRow).decode


def checkpoint_row(record: OpaqueRecord) -> CheckpointRow:
    """Decode a checkpoint."""
    return _checkpoint(record.data)  # type: ignore[arg-type]  # it was put as bytes


def pending(records: Sequence[OpaqueRecord], serde: SerializerProtocol) -> list[PendingWrite]:
    """Decode writes in the order in which a step applies them."""
    written = (_write(record.data) for record in records)  # type: ignore[arg-type]  # it was put as bytes
    rows = sorted(written, key=lambda row: row.order)
    return [(row.task, row.channel, serde.loads_typed(row.value)) for row in rows]


def waiting_deltas(metadata: CheckpointMetadata, values: Mapping[str, object]) -> tuple[str, ...]:
    """Return the delta channels written since their last snapshot that have no snapshot in this checkpoint."""
    counters = metadata.get("counters_since_delta_snapshot") or {}
    return tuple(name for name, (updates, _) in counters.items() if updates and name not in values)


def short(name: str) -> str:
    """Return a name for use in a key: the name itself, or its start and a digest if it is long."""
    raw = name.encode("utf-8", "surrogatepass")
    if len(raw) <= MAX_NAME_BYTES:
        return name
    digest = hashlib.blake2b(raw, digest_size=16).hexdigest()
    return f"{raw[:60].decode('utf-8', 'ignore')}…{digest}"


def head_key(thread: str) -> RecordKey:
    """Return the record that every checkpoint of a thread rewrites, so that its version detects concurrent
    checkpoints.
    """
    return (ROOT, "head", short(thread))


def checkpoints_prefix(thread: str | None = None, ns: str | None = None) -> RecordKey:
    """Return the key prefix of all checkpoints, of those in a thread, or of those in one of its namespaces."""
    if thread is None:
        return (ROOT, "checkpoint")
    return (ROOT, "checkpoint", short(thread)) if ns is None else (ROOT, "checkpoint", short(thread), short(ns))


def checkpoint_key(thread: str, ns: str, id: str) -> RecordKey:
    """Return the key of one checkpoint."""
    return (*checkpoints_prefix(thread, ns), id)


def value_key(thread: str, ns: str, channel: str, version: Version) -> RecordKey:
    """Return the key of one version of a channel."""
    return (ROOT, "value", short(thread), short(ns), short(channel), version)


def writes_prefix(thread: str, ns: str, id: str) -> RecordKey:
    """Return the key prefix of the pending writes of a checkpoint."""
    return (ROOT, "write", short(thread), short(ns), id)


def run_key(run: str, thread: str) -> RecordKey:
    """Return the key of the index entry that records that a run wrote to a thread."""
    return (ROOT, "run", short(run), short(thread))
