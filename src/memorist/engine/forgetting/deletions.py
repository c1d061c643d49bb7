"""The store as an erasure sees it: reads that include expired rows, and deletions that are counted.

A preview counts what its deletions would remove, and removes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...records import Entry, Key, Ref, Tombstone
from ...stores.base import Change, Delete, DeleteRange, Load, Put, Scan
from ..core import Core, R
from .fingerprints import ref_fingerprint


class Deletions:
    """Reads and deletes rows of one org, and counts the deleted ones by table."""

    def __init__(self, core: Core, *, preview: bool = False) -> None:
        self._core = core
        self._org = core.org
        self._preview = preview
        self.counts: Counter[str] = Counter()
        self.tombstones = 0
        self._touched: set[str] = set()
        """Namespaces whose index entries were deleted."""
        self._counted: set[tuple[str, Key]] = set()
        self._forgotten: dict[str, Tombstone] = {}

    def _forget_source(self, ref: Ref) -> Load:
        """Return the change that marks a source as forgotten now: a `Put` would keep the time it was first forgotten
        at, and one who began to derive from it since would not notice. Within one forgetting it has one time.
        """
        mark = ref_fingerprint(ref)
        if mark not in self._forgotten:
            self._forgotten[mark] = self._tombstone("source", mark)
        return Load(self._forgotten[mark])

    def _tombstone(self, kind: str, mark: str) -> Tombstone:
        self.tombstones += 1
        core = self._core
        return Tombstone(org=self._org, kind=kind, fingerprint=mark, actor=core.scope.actor, created_at=core.at())

    async def _scan(self, kind: type[R], *prefix: str | int, **bounds: Any) -> list[R]:
        """Return rows of this org, including expired ones that no collector has removed yet."""
        return await self._core.store.scan(Scan(kind, (self._org, *prefix), **bounds), now=0)

    async def _get(self, kind: type[R], *key: str | int) -> R | None:
        return await self._core.store.get(kind, (self._org, *key), now=0)

    async def _apply(self, changes: Sequence[Change], locks: Sequence[Change] = ()) -> None:
        """Commit changes, and count the rows they deleted; the deletions among the locks are not counted."""
        if self._preview:
            for change in changes:
                await self._count(change)
            return
        changes = _once(changes)
        if not changes:
            return
        results = await self._core.apply(*locks, *changes)
        for change in changes:
            if isinstance(change, Delete | DeleteRange) and change.kind is Entry:
                self._touched.add(str((change.key if isinstance(change, Delete) else change.prefix)[1]))
            if isinstance(change, Delete | DeleteRange) and (rows := results.total(change)):
                self.counts[change.kind.table.name] += rows

    async def _count(self, change: Change) -> None:
        """Count the rows that a change would delete, each row once."""
        rows: list[Any] = []
        if isinstance(change, Delete):
            rows = [await self._core.store.get(change.kind, change.key, now=0)]
        elif isinstance(change, DeleteRange):
            rows = [*await self._core.store.scan(Scan(change.kind, change.prefix), now=0)]
        keys = {(row.table.name, row.row_key) for row in rows if row is not None} - self._counted
        self._counted |= keys
        self.counts.update(name for name, _ in keys)


def _once(changes: Sequence[Change]) -> list[Change]:
    """Return the changes without repetitions: things that are deleted together name the same jobs, epochs and entries.

    Of two writes of one row the first stays: it moves the index of a thread back furthest.
    """
    unique: dict[Any, Change] = {}
    for change in changes:
        identity: Any = id(change)
        if isinstance(change, Put | Load):
            is_absent = isinstance(change, Put) and change.absent
            identity = (type(change), is_absent, change.record.table.name, change.record.row_key)
        elif isinstance(change, Delete):
            identity = (Delete, change.kind, change.key)
        unique.setdefault(identity, change)
    return list(unique.values())
