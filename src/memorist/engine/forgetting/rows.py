"""What deleting each kind of thing changes: its rows, its parts, its index entries and jobs, and its epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ...filters import same
from ...kinds import LINKED, owned_by
from ...messages.message import Message
from ...ports import to_datetime
from ...records import (
    AuditEvent,
    CachedEntity,
    CheckpointStep,
    Document,
    Entry,
    Fact,
    IndexProgress,
    Job,
    Key,
    Learning,
    RecordPiece,
    Ref,
    StateEntry,
    StoredRecord,
    Summary,
    Task,
    Thread,
    WorkingDocument,
)
from ...stores.base import Change, Delete, DeleteRange, Expect, Load, Put
from ..core import Core
from ..index_jobs import index_job
from ..threads.numbering import numbering_changes
from ..threads.parts import released_parts
from ..threads.threads import QUEUES
from .deletions import PAGE, Deletions
from .fingerprints import fingerprint, value_fingerprint
from .guard import epochs, owned, owners, raised
from .lineage import links_to
from .needles import AT_ONCE, Needles

SWEEPS = ("embed", "dedup", "tidy", "count")
"""Queues with one job per namespace."""
IN_NAMESPACE = {name: LINKED[name] for name in ("fact", "learning", "event", "candidate")}
"""Kinds whose rows have a namespace and an id, and nothing below them but their earlier versions."""
NEAR = 3
"""How many neighbours a message is indexed with."""


class Node(msgspec.Struct, frozen=True):
    """A thing that an erasure has reached."""

    ref: Ref
    named: bool = False
    """Whether the caller named it, or its user: then sources that stay must not bring it back."""
    instead: Message | None = None
    """A redacted message that takes the place of this one."""
    before: Any = None
    """Another thread has this id since that time: what came of the one before it goes, and the thread stays."""
    passive: bool = False
    """Whether only what came from it is deleted: it may be a source of other users too."""


class Rows(Deletions):
    """Makes the changes that delete things."""

    def __init__(self, core: Core, *, preview: bool = False) -> None:
        super().__init__(core, preview=preview)
        self.needles = Needles()
        self._aliases: dict[Ref, str] = {}
        """The names under which documents were added, which may be named as sources too."""

    async def _exists(self, node: Node) -> bool:
        """Whether there is something to delete."""
        if node.passive or node.before is not None:
            return False
        if node.ref.kind == "thread":
            return bool(await self._get(Thread, node.ref.key) or await self._scan(Message, node.ref.key, limit=1))
        kind = LINKED.get(node.ref.kind)
        key = kind.key(node.ref) if kind is not None and kind.key is not None else None
        row = await self._get(kind.record, *key) if kind is not None and key is not None else None
        return row is not None and row != node.instead

    async def _changes(self, node: Node) -> tuple[list[Change], list[Change]]:
        """The locks and the changes that delete a thing; its epoch is raised in the same transaction."""
        if node.passive or node.before is not None:
            return [], []
        ref, locks, changes = node.ref, list[Change](), list[Change]()
        if ref.kind == "thread":
            locks, changes = await self._thread(ref.key)
        elif ref.kind == "message":
            locks = await epochs(self._core, ref)
            changes = await self._message(ref, node.instead)
        elif ref.kind == "summary":
            locks = await epochs(self._core, ref)
            changes = await self._summary(ref)
        elif ref.kind == "document":
            changes = await self._document(ref)
        elif ref.kind == "namespace":
            changes = await self._namespace(ref.ns)
        elif ref.kind in IN_NAMESPACE:
            changes = await self._row(ref, named=node.named)
        spaces = [Ref("namespace", ref.ns)] if ref.ns else []
        return locks, [*raised(self._core, ref, *spaces), self._forget_source(ref), *changes]

    async def _row(self, ref: Ref, *, named: bool) -> list[Change]:
        """A fact, learning, event or candidate with its history, entry and job."""
        kind, key = IN_NAMESPACE[ref.kind], (self._org, ref.ns, ref.key)
        current = await self._get(kind.record, ref.ns, ref.key)
        past = owned_by(ref.kind)
        rows: list[Any] = [row for version in past for row in await self._scan(version, ref.ns, ref.key)]
        rows += [current] if current is not None else []
        self.needles.remember(rows)
        return [
            *(await self._tombstones(ref, rows) if named else ()),
            *(Delete(Entry, (self._org, ref.ns, ref.kind, "", id)) for id in (ref.id, ref.key)),
            Delete(Job, (self._org, "index", ref.ns, f"{ref.kind}:{ref.key}")),
            *(DeleteRange(version, key) for version in past),
            Delete(kind.record, key),
        ]

    async def _tombstones(self, ref: Ref, rows: Sequence[Any]) -> list[Change]:
        """Tombstones that keep a value from being derived again from the same sources."""
        links = await links_to(self._core, ref)
        sources = dict.fromkeys(
            [*(source for row in rows for source in row.sources), *(link.source.id for link in links)]
        )
        if ref.kind == "fact":
            marks = dict.fromkeys(value_fingerprint(row, source) for row in rows for source in sources)
        else:
            marks = dict.fromkeys(fingerprint(ref.ns, ref.key, source) for source in sources)
        return [Put(self._tombstone(ref.kind, mark)) for mark in marks]

    async def _thread(self, id: str) -> tuple[list[Change], list[Change]]:
        thread = await self._get(Thread, id)
        self.needles.remember([thread] if thread else [])
        self.needles.remember(await self._scan(Message, id, limit=PAGE))
        self.needles.remember(await self._scan(Summary, id, limit=PAGE))
        # Remember its last number, so that numbers are not reused; an append meanwhile makes this transaction retry.
        locks = [] if thread is None or self._preview else numbering_changes(self._core, thread)
        changes: list[Change] = [DeleteRange(part, (self._org, id)) for part in owned_by("thread")]
        if thread is not None:
            ns = thread.ns
            # If this run is interrupted, the next one finds what was derived from the thread by this link.
            changes += [owned(self._core, ns, "thread", id), *raised(self._core, Ref("namespace", ns))]
            changes += [DeleteRange(Entry, (self._org, ns, part, id)) for part in ("message", "summary")]
            keys: set[Key] = {
                (self._org, queue, ns, f"{what}:{id}") for queue in QUEUES for what in ("thread", "summary")
            }
            jobs = [
                job
                for what in ("thread", "summary")
                for job in await self._scan(Job, where=same("item", f"{what}:{id}"))
            ]
            changes += [
                Delete(Job, key) for key in sorted(keys | {job.row_key for job in jobs if job.ns == ns}, key=str)
            ]
        return locks, [*changes, Delete(Thread, (self._org, id))]

    async def _message(self, ref: Ref, instead: Message | None) -> list[Change]:
        """A message; its neighbours are indexed again, because their entries hold terms of it too."""
        thread, seq = ref.key, int(ref.part)
        row, message = await self._get(Thread, thread), await self._get(Message, thread, seq)
        self.needles.remember([message] if message else [])
        changes: list[Change] = []
        if row is not None:
            near = [f"{thread}#{number}" for number in range(max(1, seq - NEAR), seq + NEAR + 1)]
            changes += [*raised(self._core, Ref("namespace", row.ns)), *await self._rewound(row, seq)]
            changes += [Delete(Entry, (self._org, row.ns, "message", thread, id)) for id in near]
            changes.append(self._unfolded(row.ns, thread))
            changes += [] if message is None else await released_parts(self._core, row, [message])
        keep = instead is not None and message is not None
        return [*changes, Load(instead) if keep and instead else Delete(Message, (self._org, thread, seq))]

    async def _rewound(self, thread: Thread, seq: int) -> list[Change]:
        """Move the index watermark back before a message; writing the job fails an indexer that is at work."""
        job = Put(index_job(self._org, thread.ns, f"thread:{thread.id}", self._core.at()))
        progress = await self._get(IndexProgress, thread.id)
        if progress is None:
            return [job]
        back = min(progress.position, max(0, seq - NEAR - 1))
        return [Put(msgspec.structs.replace(progress, position=back, updated_at=self._core.at())), job]

    def _unfolded(self, ns: str, thread: str) -> Change:
        """An archive job for a thread that lost a summary; writing it also fails an archiver that is at work."""
        return Put(index_job(self._org, ns, f"thread:{thread}", to_datetime(0), "archive"))

    async def _summary(self, ref: Ref) -> list[Change]:
        row = await self._get(Summary, ref.key, int(ref.part.rpartition("-")[2]))
        if row is None or row.id != ref.id:
            return []
        self.needles.remember([row])
        thread = await self._get(Thread, ref.key)
        return [
            *raised(self._core, Ref("namespace", row.ns)),
            *([self._unfolded(row.ns, ref.key)] if thread is not None else []),
            Delete(Summary, row.row_key),
            Delete(Entry, (self._org, row.ns, "summary", row.thread, row.id)),
        ]

    async def _document(self, ref: Ref) -> list[Change]:
        row = await self._get(Document, ref.ns, ref.key)
        self.needles.remember([row] if row else [])
        if row is not None and row.source:
            self._aliases[ref] = row.source
        bare = Ref("document", key=ref.key)
        # Where another namespace has a document of this name, the bare name is a source of theirs, too.
        is_shared = await self._is_elsewhere(ref)
        return [
            *raised(self._core, bare),
            *([] if is_shared else [self._forget_source(bare)]),
            owned(self._core, ref.ns, "document", ref.key),
            *(DeleteRange(part, (self._org, ref.ns, ref.key)) for part in owned_by("document")),
            DeleteRange(Entry, (self._org, ref.ns, "document", ref.key)),
            Delete(Job, (self._org, "index", ref.ns, f"document:{ref.key}")),
            Delete(Document, (self._org, ref.ns, ref.key)),
        ]

    async def _is_elsewhere(self, ref: Ref) -> bool:
        """Whether another namespace has a document with this id or source."""
        spaces = {link.source_ns for link in await owners(self._core, "document", ref.key)} - {ref.ns}
        for ns in spaces:
            if await self._get(Document, ns, ref.key) is not None:
                return True
            if await self._scan(Document, ns, where=same("source", ref.key), limit=1):
                return True
        return False

    async def _namespace(self, ns: str) -> list[Change]:
        """All rows under a namespace, and those of its user: tasks, working memory, entities and jobs."""
        user = ns.removeprefix("user:")
        for kind in (StateEntry, StoredRecord, RecordPiece):
            self.needles.remember(await self._scan(kind, ns, limit=AT_ONCE))
        self.needles.remember(await self._scan(WorkingDocument, user, limit=PAGE))
        changes: list[Change] = []
        for task in await self._scan(Task, ns, index="by_ns"):
            self.needles.remember(await self._scan(CheckpointStep, task.task_id, limit=1))
            events = await self._scan(AuditEvent, task.task_id, index="by_subject")
            changes += [Delete(AuditEvent, event.row_key) for event in events]
            changes += [DeleteRange(CheckpointStep, (self._org, task.task_id)), Delete(Task, task.row_key)]
        entities = await self._scan(CachedEntity, where=same("id", user))
        self.needles.remember(entities)
        jobs = [job for job in await self._scan(Job, where=same("ns", ns)) if job.queue != "forget"]
        return [
            *changes,
            *(Delete(CachedEntity, entity.row_key) for entity in entities),
            *(DeleteRange(kind, (self._org, ns)) for kind in owned_by("ns")),
            *(DeleteRange(kind, (self._org, user)) for kind in owned_by("user")),
            *(DeleteRange(Job, (self._org, queue, ns)) for queue in (*QUEUES, *SWEEPS)),
            *(Delete(Job, job.row_key) for job in jobs),
        ]

    async def _absent(self, ref: Ref, sources: Sequence[str]) -> list[Change] | None:
        """Locks under which links from these sources to a fact or learning may be deleted; None if it names one.

        If there is no such row, it is put and deleted in the same transaction: on Postgres that takes the lock that a
        writer of it needs.
        """
        if self._preview or ref.kind not in ("fact", "learning") or not ref.key:
            return []
        record_type: type[Fact | Learning] = Fact if ref.kind == "fact" else Learning
        row = await self._core.get(record_type, ref.ns, ref.key)
        if row is not None:
            return None if {*sources} & {*row.sources} else [Expect(record_type, row.row_key, row.version)]
        at, key = self._core.at(), (self._org, ref.ns, ref.key)
        blank = (
            Fact(org=self._org, ns=ref.ns, key=ref.key, value=None, created_at=at, updated_at=at)
            if record_type is Fact
            else Learning(org=self._org, ns=ref.ns, id=ref.key, content="", created_at=at, updated_at=at)
        )
        return [Expect(record_type, key, 0), Put(blank), Delete(record_type, key)]
