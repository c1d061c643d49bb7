"""Computes the changes that delete a thing: its rows, its parts, its index entries and jobs, and its epoch.

The registry of kinds declares which rows belong to a thing and how it is indexed. This module handles the cases that a
declaration cannot express: the neighbours of a message, the last number of a thread, and the names of a document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from ...filters import same
from ...kinds import FINDABLE, LINKED, kind_of, owned_by, row_of
from ...messages.message import Message
from ...ports import to_datetime
from ...records import (
    AuditEvent,
    CachedEntity,
    CheckpointStep,
    Document,
    Entry,
    IndexProgress,
    Job,
    Key,
    Ref,
    Summary,
    Task,
    Thread,
    Tombstone,
)
from ...stores.base import Change, Delete, DeleteRange, Load, Put, Scan
from ..core import Core, R
from ..index_jobs import NAMESPACE_QUEUES, THREAD_QUEUES, index_job
from ..statistics import deleted_rows
from ..threads.numbering import numbering_changes
from ..threads.parts import released_parts
from .fingerprints import fingerprint, ref_fingerprint, value_fingerprint
from .guard import epochs, owned, owners, raised
from .lineage import links_to
from .needles import SAMPLED_ROWS, Needles

WITH_SOURCES = {
    name for name, kind in LINKED.items() if kind.owner == "ns" and "sources" in kind.record.__struct_fields__
}
"""Kinds whose rows name their sources: facts, learnings, events and candidates."""
INDEXED_NEIGHBOURS = 3
"""How many messages before and after a message have its terms in their index entries."""


class Node(msgspec.Struct, frozen=True):
    """Represents a thing that an erasure has reached."""

    ref: Ref
    named: bool = False
    """This is True if the caller named the thing or its user. In that case, remaining sources must not bring it
    back."""
    instead: Message | None = None
    """This redacted message replaces the original."""
    before: Any = None
    """Since this time, the id has belonged to another thread. Data derived from the earlier thread is deleted, but the
    new thread stays."""
    passive: bool = False
    """This is True if only derived data is deleted, because the thing may also be a source for other users."""

    @property
    def is_spared(self) -> bool:
        """Return whether only derived data is deleted, not the thing itself."""
        return self.passive or self.before is not None


class Rows:
    """Deletes the rows of things and counts them by table. A preview only counts them."""

    def __init__(self, core: Core, *, preview: bool = False) -> None:
        self._core = core
        self._org = core.org
        self._preview = preview
        self.needles = Needles()
        self.counts: Counter[str] = Counter()
        self.tombstones = 0
        self._touched: set[str] = set()
        """Namespaces whose index entries were deleted."""
        self._counted: set[tuple[str, Key]] = set()
        self._forgotten: dict[str, Tombstone] = {}

    async def _row(self, ref: Ref) -> Any:
        """Return the row that a reference leads to, even if it has expired, or None if there is none."""
        target = row_of(ref)
        row = None if target is None else await self._get(target[0], *target[1])
        # Another summary may end at the same message, and so have the same key.
        return None if isinstance(row, Summary) and row.id != ref.id else row

    async def _exists(self, node: Node) -> bool:
        """Return whether there is something to delete."""
        if node.is_spared:
            return False
        row = await self._row(node.ref)
        if node.ref.kind == "thread" and row is None:  # an interrupted fork has messages and no thread yet
            return bool(await self._scan(Message, node.ref.key, limit=1))
        return row is not None and row != node.instead

    async def _changes(self, node: Node) -> tuple[list[Change], list[Change]]:
        """Return the locks and the changes that delete a thing. Its epoch is raised in the same transaction."""
        if node.is_spared:
            return [], []
        ref, row, locks = node.ref, await self._row(node.ref), list[Change]()
        thread = await self._get(Thread, ref.key) if ref.owner.kind == "thread" else None
        ns = thread.ns if thread is not None else getattr(row, "ns", ref.ns)
        rows = [*await self._parts(ref), *([row] if row is not None else [])]
        self.needles.remember(rows)
        spaces = [Ref("namespace", ns)] if ns else []
        changes = [*raised(self._core, ref, *spaces), self._forget_source(ref), *self._entries(ref, ns)]
        if ref.kind in ("message", "summary"):
            locks = await epochs(self._core, ref)
        if ref.kind == "thread" and thread is not None:
            # Remember its last number, so that numbers are not reused; an append meanwhile makes this retry.
            locks = [] if self._preview else numbering_changes(self._core, thread)
            # If this run is interrupted, the next one finds what was derived from the thread by this link.
            changes.append(owned(self._core, ns, "thread", ref.key))
        elif ref.kind == "message" and thread is not None:
            changes += await self._beside(thread, int(ref.part), row)
        elif ref.kind == "summary" and thread is not None:
            changes.append(self._unfolded(thread))
        elif ref.kind == "document":
            changes += await self._names(ref)
        elif ref.kind == "namespace":
            changes += await self._under_user(ns)
        elif node.named and ref.kind in WITH_SOURCES:
            changes += await self._tombstones(ref, rows)
        prefix = (self._org, *(name for name in (ref.ns, ref.key) if name))
        changes += [DeleteRange(part, prefix) for part in owned_by(ref.kind)]
        target = row_of(ref)
        if node.instead is not None and row is not None:
            changes.append(Load(node.instead))
        elif target is not None and (row is not None or ref.kind != "summary"):
            changes.append(Delete(target[0], (self._org, *target[1])))
        return locks, changes

    async def _parts(self, ref: Ref) -> list[Any]:
        """Return a thing's rows that have content: all versions of a fact, or samples of other things."""
        prefix = [name for name in (ref.ns, ref.key) if name]
        kinds = owned_by(ref.kind)
        limit = None if ref.kind in WITH_SOURCES else SAMPLED_ROWS
        scans = [await self._scan(kind, *prefix, limit=limit) for kind in kinds if kind_of(kind).says is not None]
        return [row for rows in scans for row in rows]

    def _entries(self, ref: Ref, ns: str) -> list[Change]:
        """Return deletions of the index entries and jobs of a thing and its parts."""
        if not ns or not ref.key:
            return []
        org, kind = self._org, LINKED.get(ref.kind)
        queues = THREAD_QUEUES if ref.kind == "thread" else ("index",)
        parts = [part for part in FINDABLE.values() if part.owner == ref.kind]
        changes: list[Change] = [
            DeleteRange(Entry, (org, ns, part.findable.entry, ref.key)) for part in parts if part.findable is not None
        ]
        if ref.kind == "summary":
            return [Delete(Entry, (org, ns, "summary", ref.key, ref.id))]
        if kind is not None and kind.findable is not None and kind.findable.make_entry is not None:
            changes += [Delete(Entry, (org, ns, kind.findable.entry, "", id)) for id in (ref.id, ref.key)]
        names = (ref.kind, "summary") if ref.kind == "thread" else (ref.kind,)
        items = [] if ref.part else [f"{name}:{ref.key}" for name in names]
        return [*changes, *(Delete(Job, (org, queue, ns, item)) for queue in queues for item in items)]

    async def _tombstones(self, ref: Ref, rows: Sequence[Any]) -> list[Change]:
        """Return tombstones that prevent a value from being derived again from the same sources."""
        links = await links_to(self._core, ref)
        named = [source for row in rows for source in row.sources]
        sources = dict.fromkeys([*named, *(link.source.id for link in links)])
        if ref.kind == "fact":
            marks = dict.fromkeys(value_fingerprint(row, source) for row in rows for source in sources)
        else:
            marks = dict.fromkeys(fingerprint(ref.ns, ref.key, source) for source in sources)
        return [Put(self._tombstone(ref.kind, mark)) for mark in marks]

    async def _beside(self, thread: Thread, seq: int, message: Message | None) -> list[Change]:
        """Return the data to delete along with a message: its binary parts, and the entries of its neighbours, which
        also contain its terms.

        The neighbours are indexed again, so the index watermark moves back before them. Writing the job makes a running
        indexer fail.
        """
        first = max(1, seq - INDEXED_NEIGHBOURS)
        ids = [f"{thread.id}#{number}" for number in range(first, seq + INDEXED_NEIGHBOURS + 1)]
        changes: list[Change] = [Delete(Entry, (self._org, thread.ns, "message", thread.id, id)) for id in ids]
        progress = await self._get(IndexProgress, thread.id)
        if progress is not None:
            back = min(progress.position, first - 1)
            changes.append(Put(msgspec.structs.replace(progress, position=back, updated_at=self._core.at())))
        changes.append(Put(index_job(self._org, thread.ns, f"thread:{thread.id}", self._core.at())))
        changes.append(self._unfolded(thread))
        return changes if message is None else [*changes, *await released_parts(self._core, thread, [message])]

    def _unfolded(self, thread: Thread) -> Change:
        """Return an archive job for a thread that lost a summary. Writing it also makes a running archiver fail."""
        return Put(index_job(self._org, thread.ns, f"thread:{thread.id}", to_datetime(0), "archive"))

    async def _names(self, ref: Ref) -> list[Change]:
        """Return the data to delete along with a document: its bare name as a source, unless a document in another
        namespace has the same name.
        """
        bare = Ref("document", key=ref.key)
        changes: list[Change] = [*raised(self._core, bare), owned(self._core, ref.ns, "document", ref.key)]
        for ns in {link.source_ns for link in await owners(self._core, "document", ref.key)} - {ref.ns}:
            is_there = await self._get(Document, ns, ref.key) is not None
            if is_there or await self._scan(Document, ns, where=same("source", ref.key), limit=1):
                return changes
        return [*changes, self._forget_source(bare)]

    async def _under_user(self, ns: str) -> list[Change]:
        """Return a user's data that is stored outside the namespace's rows: tasks, working memory, entities and
        jobs.
        """
        org, user = self._org, ns.removeprefix("user:")
        changes: list[Change] = []
        for task in await self._scan(Task, ns, index="by_ns"):
            self.needles.remember(await self._scan(CheckpointStep, task.task_id, limit=1))
            events = await self._scan(AuditEvent, task.task_id, index="by_subject")
            changes += [Delete(AuditEvent, event.row_key) for event in events]
            changes += [DeleteRange(CheckpointStep, (org, task.task_id)), Delete(Task, task.row_key)]
        entities = await self._scan(CachedEntity, where=same("id", user))
        self.needles.remember(entities)
        changes += [Delete(CachedEntity, entity.row_key) for entity in entities]
        for kind in owned_by("user"):
            self.needles.remember(await self._scan(kind, user, limit=SAMPLED_ROWS))
            changes.append(DeleteRange(kind, (org, user)))
        return [*changes, *(DeleteRange(Job, (org, queue, ns)) for queue in NAMESPACE_QUEUES)]

    # -- reading and writing

    def _forget_source(self, ref: Ref) -> Load:
        """Return the change that marks a source as forgotten now. A `Put` would keep the time when it was first
        forgotten, and a writer that has since started to derive from it would not notice. The time is the same
        throughout one erasure.
        """
        mark = ref_fingerprint(ref)
        if mark not in self._forgotten:
            self._forgotten[mark] = self._tombstone("source", mark)
        return Load(self._forgotten[mark])

    def _tombstone(self, kind: str, mark: str) -> Tombstone:
        self.tombstones += 1
        core = self._core
        return Tombstone(org=self._org, kind=kind, fingerprint=mark, actor=core.scope.actor, created_at=core.at())

    async def _scan(self, record_type: type[R], *prefix: str | int, **bounds: Any) -> list[R]:
        """Return rows of this org, including expired ones that no collector has removed yet."""
        return await self._core.store.scan(Scan(record_type, (self._org, *prefix), **bounds), now=0)

    async def _get(self, record_type: type[R], *key: str | int) -> R | None:
        return await self._core.store.get(record_type, (self._org, *key), now=0)

    async def _apply(self, changes: Sequence[Change], locks: Sequence[Change] = ()) -> None:
        """Commit changes and count the rows they deleted. Deletions among the locks are not counted."""
        changes = _once(changes)
        deletions = [change for change in changes if isinstance(change, Delete | DeleteRange)]
        if self._preview:
            for change in deletions:
                rows = await deleted_rows(self._core, change, change.kind)
                keys = {(change.kind.table.name, row.row_key) for row in rows} - self._counted
                self._counted |= keys
                self.counts.update(name for name, _ in keys)
        elif changes:
            results = await self._core.apply(*locks, *changes)
            for change in deletions:
                self.counts += Counter({change.kind.table.name: results.total(change)})
                if change.kind is Entry:
                    self._touched.add(str((change.key if isinstance(change, Delete) else change.prefix)[1]))


def _once(changes: Sequence[Change]) -> list[Change]:
    """Return the changes without repetitions, because things deleted together name the same jobs, epochs and entries.

    If two changes write the same row, the first is kept, because it moves the index of a thread back the furthest.
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
