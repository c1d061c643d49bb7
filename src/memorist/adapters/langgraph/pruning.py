"""Deletes and copies checkpoints without breaking the remaining ones (a mark-and-sweep garbage collection).

A remaining checkpoint may need rows of a deleted one, such as base versions of its lists and, for delta channels, the
writes of its ancestors back to the last snapshot. Only rows that no remaining checkpoint needs are deleted. A deleted
ancestor that is still needed is hidden. It is no longer listed or found, but the history of a delta channel can still
read it.

Each commit is a compare-and-set on the thread's head record, which every new checkpoint rewrites. After a conflict,
everything is computed again, so that rows that a new checkpoint needs are not deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from ...engine.records import OpaqueRecord, RecordPut
from ...errors import Conflict
from ...ordered_keys import RecordKey
from . import rows, values
from .checkpoints import Checkpoints
from .rows import CheckpointRow, checkpoint_row

ROWS_PER_COMMIT = 400
"""The number of records to delete or copy in one transaction."""
MAX_ATTEMPTS = 20
Going = Callable[[Sequence[CheckpointRow]], set[tuple[str, str]]]
"""Selects which of a thread's checkpoints to delete, as (namespace, id)."""


class Pruning:
    """Deletes and copies checkpoints for a saver."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._space = checkpoints.space
        self._memory = checkpoints.memory
        self._records = checkpoints.memory.records

    async def delete_thread(self, thread: str) -> None:
        """Delete all rows of a thread in one transaction."""
        runs = {row.run for row in await self._rows(thread) if row.run is not None}
        async with self._memory.batch() as batch:
            for prefix in (rows.checkpoints_prefix(thread), *_parts(thread)):
                await batch.records.delete_range(self._space, prefix)
            await batch.records.delete(self._space, rows.head_key(thread))
            for run in runs:
                await batch.records.delete(self._space, rows.run_key(run, thread))

    async def delete_for_runs(self, runs: Sequence[str]) -> None:
        """Delete the checkpoints that these runs created, in all threads."""
        for run in map(str, runs):
            marks = await self._records.scan(self._space, rows.run_key(run, "")[:-1])
            for mark in marks:
                await self._remove(str(mark.data), partial(_of_run, run))
                await self._records.delete(self._space, mark.key)

    async def keep_latest(self, thread: str) -> None:
        """Delete all but the newest checkpoint of each namespace."""

        def older(all: Sequence[CheckpointRow]) -> set[tuple[str, str]]:
            newest: dict[str, str] = {}
            for row in all:
                newest[row.ns] = max(newest.get(row.ns, ""), row.id)
            return {(row.ns, row.id) for row in all if newest[row.ns] != row.id}

        await self._remove(thread, older)

    async def copy(self, source: str, target: str) -> None:
        """Copy all rows of a thread. Checkpoints come last, so that no reader sees one without its values."""
        for prefix in _parts(source):
            await self._copy(prefix, lambda record: RecordPut(key=_moved(record.key, target), data=record.data))
        await self._copy(rows.checkpoints_prefix(source), lambda record: _renamed(record, target))
        runs = {row.run for row in await self._rows(target) if row.run is not None}
        marks = [RecordPut(key=rows.run_key(run, target), data=target, absent=True) for run in runs]
        await self._records.put_many(self._space, [*marks, RecordPut(key=rows.head_key(target), data=b"")])

    async def _copy(self, prefix: RecordKey, copied: Callable[[OpaqueRecord], RecordPut]) -> None:
        last: RecordKey | None = None
        while page := await self._records.scan(self._space, prefix, after=last, limit=ROWS_PER_COMMIT):
            await self._records.put_many(self._space, [copied(record) for record in page])
            last = page[-1].key

    # -- mark and sweep

    async def _remove(self, thread: str, going: Going) -> None:
        for left in range(MAX_ATTEMPTS - 1, -1, -1):
            try:
                await self._remove_once(thread, going)
                return
            except Conflict:
                if not left:
                    raise

    async def _remove_once(self, thread: str, going: Going) -> None:
        head = await self._records.get(self._space, rows.head_key(thread))
        version = 0 if head is None else head.version
        all = await self._rows(thread)
        if not all:
            return
        removed = going(all) | {(row.ns, row.id) for row in all if row.hidden}
        needed = _needed(all, removed)
        hidden = [row for row in all if (row.ns, row.id) in removed & needed and not row.hidden]
        dead = [rows.checkpoint_key(thread, row.ns, row.id) for row in all if (row.ns, row.id) in removed - needed]
        await self._replace(version, thread, [msgspec.structs.replace(row, hidden=True) for row in hidden], dead)
        remaining = [row for row in all if (row.ns, row.id) not in removed - needed]
        version += 1
        for keys in _pages(
            [*await self._unused_values(thread, remaining), *await self._unused_writes(thread, remaining)]
        ):
            await self._replace(version, thread, [], keys)
            version += 1

    async def _replace(
        self, version: int, thread: str, hidden: Sequence[CheckpointRow], dead: Iterable[RecordKey]
    ) -> None:
        """Apply the changes in one transaction, by compare-and-set on the head's version."""
        async with self._memory.batch() as batch:
            await batch.records.put(self._space, rows.head_key(thread), b"", expect=version)
            for row in hidden:
                await batch.records.put(self._space, rows.checkpoint_key(thread, row.ns, row.id), rows.encode(row))
            for key in dead:
                await batch.records.delete(self._space, key)

    async def _unused_values(self, thread: str, remaining: Sequence[CheckpointRow]) -> list[RecordKey]:
        """Return channel versions that no kept checkpoint refers to, directly or as a base."""
        records = {record.key: record for record in await self._records.scan(self._space, _parts(thread)[0])}
        needed = [
            rows.value_key(thread, row.ns, name, version) for row in remaining for name, version in row.versions.items()
        ]
        used: set[RecordKey] = set()
        while needed:
            key = needed.pop()
            if key in used or key not in records:
                continue
            used.add(key)
            stored = values.decode(records[key].data)  # type: ignore[arg-type]  # it was put as bytes
            # The whole version at the start of a chain of deltas is read too: see Checkpoints._below.
            needed += [(*key[:-1], version) for version in (stored.base, stored.whole) if version is not None]
        return [key for key in records if key not in used]

    async def _unused_writes(self, thread: str, remaining: Sequence[CheckpointRow]) -> list[RecordKey]:
        records = await self._records.scan(self._space, _parts(thread)[1], keys_only=True)
        prefixes = {rows.writes_prefix(thread, row.ns, row.id) for row in remaining}
        return [record.key for record in records if record.key[:5] not in prefixes]

    async def _rows(self, thread: str) -> list[CheckpointRow]:
        return [
            checkpoint_row(record) for record in await self._records.scan(self._space, rows.checkpoints_prefix(thread))
        ]


def _needed(all: Sequence[CheckpointRow], removed: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the ancestors from which delta channels of the kept checkpoints are rebuilt."""
    by_id = {(row.ns, row.id): row for row in all}
    needed: set[tuple[str, str]] = set()
    for row in all:
        if (row.ns, row.id) in removed:
            continue
        waiting, parent = set(row.deltas), row.parent
        while waiting and parent is not None and (row.ns, parent) in by_id:
            needed.add((row.ns, parent))
            above = by_id[row.ns, parent]
            # Stop for a channel at an ancestor that has its value, or that is older than its first write.
            waiting &= set(above.deltas)
            parent = above.parent
    return needed


def _of_run(run: str, all: Sequence[CheckpointRow]) -> set[tuple[str, str]]:
    """Return the checkpoints that a run created."""
    return {(row.ns, row.id) for row in all if row.run == run}


def _parts(thread: str) -> tuple[RecordKey, RecordKey]:
    """Return the key prefixes of a thread's values and writes."""
    name = rows.short(thread)
    return (rows.ROOT, "value", name), (rows.ROOT, "write", name)


def _moved(key: RecordKey, thread: str) -> RecordKey:
    return (*key[:2], rows.short(thread), *key[3:])


def _renamed(record: OpaqueRecord, thread: str) -> RecordPut:
    row = msgspec.structs.replace(checkpoint_row(record), thread=thread)
    return RecordPut(key=_moved(record.key, thread), data=rows.encode(row))


def _pages(keys: list[RecordKey]) -> Iterable[list[RecordKey]]:
    return (keys[start : start + ROWS_PER_COMMIT] for start in range(0, len(keys), ROWS_PER_COMMIT))
