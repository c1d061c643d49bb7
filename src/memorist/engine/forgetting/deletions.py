"""The store as an erasure sees it: reads that include expired rows, counted deletions, and traces that name things.

A preview counts what its deletions would remove, and removes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...filters import same
from ...kinds import namespaced
from ...records import AuditEvent, Entry, Fact, Job, Key, Learning, Mark, Tombstone
from ...stores.base import Change, Delete, DeleteRange, Load, Scan
from ..core import Core, R
from .fingerprints import fingerprint

PAGE = 200
"""Rows read or deleted at once."""


class Deletions:
    """Reads and deletes rows of one org, and counts the deleted ones by table."""

    def __init__(self, core: Core, *, preview: bool = False) -> None:
        self._core = core
        self._org = core.org
        self._preview = preview
        self.counts: Counter[str] = Counter()
        self.tombstones = 0
        self._touched: set[str] = set()
        self._counted: set[tuple[str, Key]] = set()
        self._sources: dict[str, Tombstone] = {}

    # -- traces

    async def _trail(self, subject: str, starts: str | None) -> None:
        """Delete the audit events of a forgotten thing, because they name it."""
        events = await self._scan(AuditEvent, subject, index="by_subject")
        if starts is not None:
            under = await self._scan(AuditEvent, index="by_subject", starts=starts)
            # A thread's id may look like the id of another thread's message.
            named = [event for event in under if event.kind != "thread"]
            events += [event for event in named if await self._under(event.subject, subject)]
        for start in range(0, len(events), PAGE):
            await self._apply(*(Delete(AuditEvent, event.row_key) for event in events[start : start + PAGE]))

    async def _under(self, id: str, thing: str) -> bool:
        """Whether an id that starts with a thing's id belongs to it: names may contain `/` and `#` themselves."""
        if id.rpartition("#")[0] == thing:
            return True
        for ns, key in namespaced(id):
            other = ns != thing and key
            if other and (await self._get(Fact, ns, key) or await self._get(Learning, ns, key)):
                return False
        return id.startswith(f"{thing}/")

    async def _jobs(self, ns: str, *items: str) -> list[Job]:
        found = [job for item in items for job in await self._scan(Job, where=same("item", item))]
        return [job for job in found if job.ns == ns]

    async def _marks(self, *items: str) -> list[Mark]:
        return [mark for item in items for mark in await self._scan(Mark, where=same("item", item))]

    def _tombstone(self, kind: str, *parts: str) -> Tombstone:
        return self._made_tombstone(kind, fingerprint(*parts))

    def _forgotten(self, source: str) -> Load:
        """The change that marks a source as forgotten now: a `Put` would keep the time it was first forgotten at, and
        one who began to derive from it since would not notice. Within one forgetting it has one time, before that of
        what followed from it."""
        mark = self._tombstone("source", source)
        return Load(self._sources.setdefault(mark.fingerprint, mark))

    def _made_tombstone(self, kind: str, mark: str) -> Tombstone:
        self.tombstones += 1
        core = self._core
        return Tombstone(org=self._org, kind=kind, fingerprint=mark, actor=core.scope.actor, created_at=core.at())

    # -- rows

    async def _scan(self, kind: type[R], *prefix: str | int, **bounds: Any) -> list[R]:
        """Rows of this org, including expired ones that no collector has removed yet."""
        return await self._core.store.scan(Scan(kind, (self._org, *prefix), **bounds), now=0)

    async def _get(self, kind: type[R], *key: str | int) -> R | None:
        return await self._core.store.get(kind, (self._org, *key), now=0)

    async def _apply(self, *changes: Change, locks: Sequence[Change] = ()) -> None:
        """Commit changes, and count the rows they deleted."""
        if self._preview:
            for change in changes:
                await self._count(change)
            return
        results = await self._core.apply(*locks, *changes) if changes else []
        for change, result in zip(changes, results[len(locks) :], strict=not locks):
            if isinstance(change, Delete | DeleteRange) and change.kind is Entry:
                self._touched.add(str((change.key if isinstance(change, Delete) else change.prefix)[1]))
            if isinstance(change, Delete | DeleteRange) and result:
                self.counts[change.kind.table.name] += int(result)

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
