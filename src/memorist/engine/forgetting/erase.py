"""Deletes the rows of a forgotten thing, and of everything derived from it.

The thing is deleted first, in one transaction that also raises its epoch (see `guard`), so that nothing more can be
derived from it; then what was derived from it, found by lineage links; then those links. A link to something that this
handle may not write stays, with the path to it, for a handle with more rights. An interrupted erasure can be repeated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from ...filters import same
from ...kinds import KINDS, Kind, namespaced, owned_by
from ...messages.message import ATTACHED, Message
from ...ports import to_datetime
from ...records import (
    AuditEvent,
    CachedEntity,
    CheckpointStep,
    Document,
    Entry,
    Fact,
    FactVersion,
    Job,
    Key,
    Learning,
    Link,
    Mark,
    Record,
    RecordPiece,
    StateEntry,
    StoredRecord,
    Summary,
    Task,
    Thread,
    WorkingDocument,
)
from ...stores.base import Change, Delete, DeleteRange, Expect, Load, Put
from ..core import Core
from ..derive.carried import DERIVED
from ..documents.documents import removal
from ..facts.facts import index_job
from ..statistics import recount
from ..threads.numbering import kept
from ..threads.threads import QUEUES
from .deletions import PAGE, Deletions
from .fingerprints import value_fingerprint
from .guard import FORK, IMPORT, OWNED, epochs, imported_marks, owned, owners, raised
from .needles import AT_ONCE, Needles
from .reach import in_reach

SWEEPS = ("embed", "dedup", "count")
"""Queues with one job per namespace."""
LOCKED: dict[str, type[Record]] = {"fact": Fact, "learning": Learning}
"""Kinds of links whose target may be written again while the link is being deleted."""
MARKS = ("index", "derive")
"""Names of the watermarks that workers keep of a thread."""


class Eraser(Deletions):
    """Deletes things of one org and counts the deleted rows; a preview counts and deletes nothing."""

    def __init__(self, core: Core, *, preview: bool = False) -> None:
        super().__init__(core.uncounted(), preview=preview)  # `settle` counts
        self.needles = Needles()
        self._visited: dict[tuple[str, str], bool] = {}

    # -- the things one can name; each method returns whether nothing derived from the thing is left

    async def user(self, user: str) -> bool:
        """Delete everything under a user's namespace, and what was derived from it elsewhere, even if it is gone."""
        ns = f"user:{user}"
        complete = True
        for fact in await self._scan(Fact, ns):
            complete &= await self.fact(fact.ns, fact.key)
        for learning in await self._scan(Learning, ns):
            complete &= await self._row(_kind("learning"), learning.ns, learning.id, named=True)
        for thread in await self._scan(Thread, ns, index="by_ns"):
            complete &= await self.thread(thread.id, thread)
        for document in await self._scan(Document, ns):
            complete &= await self.document(ns, document.id, document)
        for task in await self._scan(Task, ns, index="by_ns"):
            self.needles.remember(await self._scan(CheckpointStep, task.task_id, limit=1))
            await self._trail(task.task_id, None)
            await self._apply(*self._task(task))
        for entity in await self._scan(CachedEntity, where=same("id", user)):
            self.needles.remember([entity])
            await self._apply(Delete(CachedEntity, entity.row_key))
        await self._namespace(ns, user)
        # Rows deleted earlier left links: from the namespace to its threads and documents, and from its facts to
        # others.
        complete &= await self._follow(await self._held_by(ns))
        begin = [link for link in await self._scan(Link, starts=f"{ns}/") if link.kind not in OWNED]
        under = [link for link in begin if await self._under(link.source, ns)]
        complete &= await self._follow(under)
        await self._unlinked(ns)
        return complete

    async def thread(self, id: str, thread: Thread | None, ns: str | None = None) -> bool:
        """Delete a thread, its messages and all that was derived from them; works by id for a deleted thread too."""
        seen = await self._once("thread", id)
        if seen is not None:
            return seen
        complete: bool = await self._core.retry(partial(self._thread, id, thread, ns))
        return self._done("thread", id, complete)

    async def _thread(self, id: str, thread: Thread | None, ns: str | None) -> bool:
        before = None
        if thread is not None and ns not in (None, thread.ns):
            before = thread.created_at  # another thread has that id now: what was derived from that one stays
        else:
            ns = thread.ns if thread is not None else ns
            await self._core.retry(partial(self._thread_rows, id, ns))
        guards = await epochs(self._core, id)
        links = [*await self._derived(id), *_of(id, await self._scan(Link, starts=f"{id}#"))]
        complete = await self._follow([link for link in links if before is None or link.created_at < before])
        if before is None:
            await self._trail(id, f"{id}#")
        if complete:
            held = [link for link in await owners(self._core, "thread", id) if ns in (None, link.source)]
            if held and (before is not None or await self._get(Thread, id) is None):
                absent = [] if before is not None else [Expect(Thread, (self._org, id), 0)]
                await self._disown(held, [*guards, *absent])
        return complete

    async def message(self, thread: str, seq: int, *, instead: Message | None = None) -> bool:
        """Delete a message, what was derived from it and the summaries that cover it; its neighbours are reindexed."""
        id = f"{thread}#{seq}"
        seen = await self._once("message", id)
        if seen is not None:
            return seen
        covering: list[Summary] = await self._core.retry(partial(self._message_rows, thread, seq, instead))
        complete = await self._follow(await self._derived(id)) and await self._copies(thread, seq, instead)
        for row in covering:
            complete &= await self._follow(await self._derived(row.id))
            if complete:
                await self._unlink(row.id)
        await self._trail(id, None)
        return self._done("message", id, complete)

    async def _copies(self, thread: str, seq: int, instead: Message | None) -> bool:
        """Delete the copies of a message in forks of its thread (or put `instead` there)."""
        complete = True
        for link in await self._derived(thread):
            fork, _, last = link.target.rpartition("#")
            if link.kind == FORK and seq <= int(last):
                copy = None if instead is None else msgspec.structs.replace(instead, thread=fork)
                row = await self._get(Thread, fork)
                may_write = row is None or self._core.scope.may_write(row.ns)
                complete &= may_write and await self.message(fork, seq, instead=copy)
        return complete

    async def _message_rows(self, thread: str, seq: int, instead: Message | None) -> list[Summary]:
        """Delete a message and the summaries that cover it, which are returned; guarded by the thread's epoch."""
        id, guards = f"{thread}#{seq}", await epochs(self._core, thread)
        held, found = await self._get(Thread, thread), await self._get(Message, thread, seq)
        self.needles.remember([found] if found else [])
        covering = [row for row in await self._scan(Summary, thread) if row.first <= seq <= row.last]
        self.needles.remember(covering)
        changes = [*guards, *raised(self._core, id, thread), self._forgotten(id)]
        if held is not None:
            # A message is indexed together with its neighbours, so their entries hold terms of it too.
            near = [f"{thread}#{place}" for place in range(max(1, seq - 3), seq + 4)]
            changes += [*raised(self._core, held.ns), *await self._rewound(held, seq), self._unfolded(held.ns, thread)]
            changes += [Delete(Entry, (self._org, held.ns, "message", thread, place)) for place in near]
        changes += [change for row in covering for change in self._summary_rows(row)]
        gone = Delete(Message, (self._org, thread, seq)) if instead is None or found is None else Load(instead)
        await self._apply(*changes, gone)
        return covering

    async def fact(self, ns: str, key: str) -> bool:
        """Delete a fact, its history, and what was derived from it."""
        return await self._row(_kind("fact"), ns, key, named=True)

    async def document(self, ns: str, id: str, document: Document | None) -> bool:
        """Delete a document, its chunks and what was derived from them; works for a deleted document too."""
        seen = await self._once("document", f"{ns}/{id}")
        if seen is not None:
            return seen
        complete: bool = await self._core.retry(partial(self._document, ns, id, document))
        return self._done("document", f"{ns}/{id}", complete)

    async def _document(self, ns: str, id: str, document: Document | None) -> bool:
        self.needles.remember([document] if document else [])
        known = [document.source] if document is not None and document.source else []
        await self._apply(
            *raised(self._core, id, f"{ns}/{id}", ns),
            *(self._forgotten(name) for name in (id, f"{ns}/{id}")),
            owned(self._core, ns, "document", id),
            *removal(self._org, ns, id),
            Delete(Document, (self._org, ns, id)),
        )
        guards = await epochs(self._core, id, f"{ns}/{id}")
        others = [link for link in await owners(self._core, "document", id) if link.source != ns]
        names = [f"{ns}/{id}", *([] if others else [id])]
        links = [link for name in names for link in await self._derived(name)]
        links += [] if others else _of(id, await self._scan(Link, starts=f"{id}#"))
        complete = await self._follow(links)
        for source in known:
            complete &= await self.document(ns, source, None)
        await self._trail(f"{ns}/{id}", None)
        if complete:
            link = Link(org=self._org, source=ns, kind="document", target=id, created_at=self._core.at())
            await self._disown([link], [*guards, Expect(Document, (self._org, ns, id), 0)])
        return complete

    async def source(self, source: str) -> bool:
        """Delete all that came from a source: what was derived from it, and documents and messages that name it."""
        may_write = self._core.scope.may_write
        mine = self._core.scope.user is None or await in_reach(self._core, source, known=True)
        if mine:  # otherwise it may be a source of other users too, who keep deriving from it
            await self._apply(*raised(self._core, source), self._forgotten(source))
        complete = await self._follow(await self._derived(source))
        for document in await self._scan(Document, where=same("source", source)):
            if may_write(document.ns):
                complete &= await self.document(document.ns, document.id, document)
        for thread in await self._scan(Thread):
            if may_write(thread.ns):
                for message in await self._scan(Message, thread.id, where=same("source", source)):
                    complete &= await self.message(thread.id, message.seq)
        return complete

    async def settle(self, *, everywhere: bool = False) -> None:
        """Recompute the recall statistics of the namespaces touched, which name speakers and standing items."""
        spaces = {str(mark.item) for mark in await self._scan(Mark, "scope")}
        for ns in sorted(spaces if everywhere else spaces & self._touched):
            await self._core.retry(partial(recount, self._core, ns))

    # -- targets of links

    async def _derived(self, source: str) -> list[Link]:
        # `user:a/a` may be a document of user `a` or the namespace of user `a/a`, whose OWNED links are not
        # derivations.
        return [link for link in await self._scan(Link, source) if link.kind not in OWNED]

    async def _held_by(self, ns: str) -> list[Link]:
        return [link for link in await self._scan(Link, ns) if link.kind in OWNED or "/" not in ns]

    async def _follow(self, links: Sequence[Link]) -> bool:
        """Delete the targets of links, and each link after its target; whether all could be deleted."""
        complete = True
        for link in links:
            gone = await self._target(link)
            complete &= gone
            if gone:
                await self._core.retry(partial(self._drop, link))
        return complete

    async def _drop(self, link: Link) -> None:
        """Delete a link whose target is gone; not if the target was written again meanwhile, which made it valid."""
        locks: list[Change] = []
        for ns, key in namespaced(link.target) if link.kind in LOCKED else ():
            lock = await self._absent(LOCKED[link.kind], ns, key)
            if lock is None:
                return
            locks += lock
        await self._apply(Delete(Link, link.row_key), locks=locks)

    async def _absent(self, kind: type[Record], ns: str, key: str) -> list[Change] | None:
        """Changes that succeed only while a row does not exist; None if it exists.

        The row is put and deleted in the same transaction: on Postgres that takes the lock that a writer of it needs.
        """
        if self._preview:
            return []
        if not key or await self._get(kind, ns, key) is not None:
            return None if key else []
        at, row = self._core.at(), (self._org, ns, key)
        blank: Record = (
            Fact(org=self._org, ns=ns, key=key, value=None, created_at=at, updated_at=at)
            if kind is Fact
            else Learning(org=self._org, ns=ns, id=key, content="", created_at=at, updated_at=at)
        )
        return [Expect(kind, row, 0), Put(blank), Delete(kind, row)]

    async def _target(self, link: Link) -> bool:
        """Delete the target of a link; False if this handle may not write it or something derived from it."""
        ways: dict[str, Callable[[Link], Awaitable[bool]]] = {
            "fact": self._linked_facts, "summary": self._linked_summary, "context": self._linked_context,
            "message": self._linked_messages, "thread": self._linked_thread, "document": self._linked_document,
            IMPORT: self._linked_import, FORK: self._linked_fork,
        }  # fmt: skip
        return await ways.get(link.kind, self._linked_row)(link)

    async def _linked_row(self, link: Link) -> bool:
        """Delete a row of any kind that lies under a namespace."""
        kind = _kind(link.kind)
        ns, _, id = link.target.rpartition("/")
        if not self._core.scope.may_write(ns):
            return False
        return await self._row(kind, ns, id)

    async def _linked_facts(self, link: Link) -> bool:
        """Delete the fact that a link leads to; if slashes make its id ambiguous, those with the link's source."""
        readings = [(ns, key) for ns, key in namespaced(link.target) if key]
        if len(readings) > 1:
            readings = [(ns, key) for ns, key in readings if await self._came_from(ns, key, link.source)]
        complete = True
        for ns, key in readings:
            complete &= self._core.scope.may_write(ns) and await self._row(_kind("fact"), ns, key)
        return complete

    async def _came_from(self, ns: str, key: str, source: str) -> bool:
        current = await self._get(Fact, ns, key)
        rows = [*await self._scan(FactVersion, ns, key), *([current] if current else [])]
        return any(source in row.sources for row in rows)

    async def _linked_summary(self, link: Link) -> bool:
        removed: bool = await self._core.retry(partial(self._summary, link.target))
        return removed and await self._follow(await self._derived(link.target))

    async def _summary(self, id: str) -> bool:
        """Delete a summary if it exists; False if this handle may not write it."""
        thread, _, span = id.rpartition("#")
        guards, last = await epochs(self._core, thread), span.rpartition("-")[2]
        found = await self._get(Summary, thread, int(last)) if last.isdecimal() else None
        if found is None or found.id != id:
            return True
        if not self._core.scope.may_write(found.ns):
            return False
        changes = [*guards, *raised(self._core, id, thread, found.ns), *self._summary_rows(found)]
        if await self._get(Thread, thread) is not None:
            changes.append(self._unfolded(found.ns, thread))
        await self._apply(*changes)
        return True

    async def _linked_thread(self, link: Link) -> bool:
        if not self._core.scope.may_write(link.source):
            return False
        return await self.thread(link.target, await self._get(Thread, link.target), link.source)

    async def _linked_fork(self, link: Link) -> bool:
        """Delete a fork of a forgotten thread, or the copies of a fork that was never finished."""
        id = link.target.rpartition("#")[0]
        thread = await self._get(Thread, id)
        if thread is not None and not self._core.scope.may_write(thread.ns):
            return False
        return await self.thread(id, thread)

    async def _linked_import(self, link: Link) -> bool:
        """Delete an imported thread; if it was continued here, only its imported messages are deleted."""
        thread = await self._get(Thread, link.target)
        if thread is None:
            return True
        if not self._core.scope.may_write(thread.ns):
            return False
        after: Key | None = None
        while page := await self._scan(Message, thread.id, after=after, limit=PAGE):
            if any(message.metadata.get("source") != link.source for message in page):
                return True  # `source` deletes its imported messages one by one
            after = (page[-1].seq,)
        return await self.thread(thread.id, thread)

    async def _linked_document(self, link: Link) -> bool:
        if not self._core.scope.may_write(link.source):
            return False
        return await self.document(link.source, link.target, await self._get(Document, link.source, link.target))

    async def _linked_messages(self, link: Link) -> bool:
        """Delete the messages of a thread that a task wrote from a source."""
        thread = await self._get(Thread, link.target)
        if thread is None:
            return True
        if not self._core.scope.may_write(thread.ns):
            return False
        complete = True
        for message in await self._scan(Message, thread.id):
            if link.source in message.metadata.get(DERIVED, ()):
                complete &= await self.message(thread.id, message.seq)
        return complete

    async def _linked_context(self, link: Link) -> bool:
        """Remove recalled text from the messages that carry it; the messages themselves stay."""
        thread = await self._get(Thread, link.target)
        if thread is not None and not self._core.scope.may_write(thread.ns):
            return False
        if not self._preview:
            await self._core.retry(partial(self._unattached, link.target, link.source))
        return True

    async def _unattached(self, thread: str, source: str) -> None:
        held = await epochs(self._core, thread)
        changes: list[Change] = []
        for message in await self._scan(Message, thread):
            carried = message.metadata.get(ATTACHED)
            if isinstance(carried, dict) and source in carried.get("sources", ()):
                left = {name: value for name, value in message.metadata.items() if name != ATTACHED}
                changes.append(Load(msgspec.structs.replace(message, metadata=left)))
        if changes:
            await self._core.apply(*held, *changes)

    # -- rows

    async def _row(self, kind: Kind, ns: str, key: str, *, named: bool = False) -> bool:
        """Delete a row under a namespace with its history, entry and job; then what was derived from it.

        One that was `named` leaves tombstones, so that sources that stay do not bring it back.
        """
        id = f"{ns}/{key}"
        seen = await self._once(kind.name, id)
        if seen is not None:
            return seen
        table = kind.record.table
        current = await self._get(kind.record, ns, key)
        past = next((one.record for one in KINDS if one.record.table.name == table.history), None)
        rows: list[Any] = [*(await self._scan(past, ns, key) if past else ()), *([current] if current else ())]
        self.needles.remember(rows)
        entry = kind.found.entry if kind.found is not None else kind.name
        await self._apply(
            *raised(self._core, id, ns),
            self._forgotten(id),
            *(await self._tombstones(kind, ns, key, rows) if named else ()),
            *(Delete(Entry, (self._org, ns, entry, "", name)) for name in dict.fromkeys((id, key))),
            Delete(Job, (self._org, "index", ns, f"{kind.name}:{key}")),
            *([DeleteRange(past, (self._org, ns, key))] if past else []),
            Delete(kind.record, (self._org, ns, key)),
        )
        complete = await self._follow(await self._derived(id))
        await self._trail(id, None)
        if complete:
            await self._core.retry(partial(self._unlink_row, kind, ns, key))
        return self._done(kind.name, id, complete)

    async def _tombstones(self, kind: Kind, ns: str, key: str, rows: Sequence[Any]) -> list[Put]:
        """Tombstones that keep the same thing from being derived again from the same sources."""
        links = await self._scan(Link, f"{ns}/{key}", index="by_target")
        sources = dict.fromkeys(source for row in rows for source in row.sources)
        sources |= dict.fromkeys(link.source for link in links if link.kind not in OWNED)
        if kind.record is Fact:
            marks = {value_fingerprint(row, source): None for row in rows for source in sources}
            return [Put(self._made_tombstone("fact", mark)) for mark in marks]
        return [Put(self._tombstone("learning", ns, key, source)) for source in sources]

    async def _thread_rows(self, id: str, ns: str | None) -> None:
        thread = await self._get(Thread, id)
        self.needles.remember([thread] if thread else [])
        self.needles.remember(await self._scan(Message, id, limit=PAGE))
        self.needles.remember(await self._scan(Summary, id, limit=PAGE))
        self._core.shared.threads.pop((self._org, id), None)
        # Remember its last number, so that numbers are not reused; an append meanwhile makes this transaction retry.
        locks = [] if thread is None or self._preview else kept(self._core, thread)
        changes = [*raised(self._core, id, *([ns] if ns else [])), self._forgotten(id)]
        changes += [DeleteRange(kind, (self._org, id)) for kind in owned_by("thread")]
        # Delete the usual marks by name too: a worker may write one between our scan and our commit.
        marks: set[Key] = {
            (self._org, name, item) for name, item in (("pinned", id), *((n, f"thread:{id}") for n in MARKS))
        }
        marks |= {mark.row_key for mark in await self._marks(id, f"thread:{id}")}
        changes += [*(Delete(Mark, key) for key in sorted(marks)), DeleteRange(Mark, (self._org, imported_marks(id)))]
        if ns is not None:
            # If this run is interrupted, the next one finds what was derived from the thread by this link.
            changes += [owned(self._core, ns, "thread", id)]
            changes += [DeleteRange(Entry, (self._org, ns, kind, id)) for kind in ("message", "summary")]
            jobs: set[Key] = {
                (self._org, queue, ns, f"{kind}:{id}") for queue in QUEUES for kind in ("thread", "summary")
            }
            jobs |= {job.row_key for job in await self._jobs(ns, f"thread:{id}", f"summary:{id}")}
            changes += [Delete(Job, key) for key in sorted(jobs)]
        await self._apply(*changes, Delete(Thread, (self._org, id)), locks=locks)

    def _summary_rows(self, row: Summary) -> list[Change]:
        return [Delete(Summary, row.row_key), Delete(Entry, (self._org, row.ns, "summary", row.thread, row.id))]

    def _unfolded(self, ns: str, thread: str) -> Change:
        """An archive job for a thread that lost a summary; writing it also fails an archiver that is at work."""
        return Put(index_job(self._org, ns, f"thread:{thread}", to_datetime(0), "archive"))

    async def _rewound(self, thread: Thread, seq: int) -> list[Change]:
        """Move the index watermark back before a message; writing the job fails an indexer that is at work."""
        job = Put(index_job(self._org, thread.ns, f"thread:{thread.id}", self._core.at()))
        mark = await self._get(Mark, "index", f"thread:{thread.id}")
        if mark is None:
            return [job]
        back = min(mark.position, max(0, seq - 4))
        return [Put(msgspec.structs.replace(mark, position=back, updated_at=self._core.at())), job]

    def _task(self, task: Task) -> list[Change]:
        return [DeleteRange(CheckpointStep, (self._org, task.task_id)), Delete(Task, task.row_key)]

    async def _namespace(self, ns: str, user: str) -> None:
        """Delete what is left under a namespace: state, records, working memory, jobs and audit events."""
        jobs = [job for job in await self._scan(Job, where=same("ns", ns)) if job.queue != "forget"]
        self.needles.remember(await self._scan(StateEntry, ns, limit=PAGE))
        for kind in (StoredRecord, RecordPiece):
            self.needles.remember(await self._scan(kind, ns, limit=AT_ONCE))
        self.needles.remember(await self._scan(WorkingDocument, user, limit=PAGE))
        await self._apply(
            *raised(self._core, ns),
            *(DeleteRange(kind, (self._org, ns)) for kind in owned_by("ns")),
            *(DeleteRange(kind, (self._org, user)) for kind in owned_by("user")),
            *(DeleteRange(Job, (self._org, queue, ns)) for queue in (*QUEUES, *SWEEPS)),
            *(Delete(Job, job.row_key) for job in jobs),
        )
        await self._trail(ns, f"{ns}/")
        for event in await self._scan(AuditEvent, where=same("user", user)):
            await self._apply(Delete(AuditEvent, event.row_key))

    # -- links and traces

    async def _disown(self, links: Sequence[Link], guards: Sequence[Change]) -> None:
        """Delete the links from a namespace to a thing, unless the thing was made again since the guards were read.

        The guards were read before its derivations were looked for: what was made, derived from and deleted again after
        that look can only be found by these links.
        """
        await self._apply(*(Delete(Link, link.row_key) for link in links), locks=guards)

    async def _unlink(self, id: str) -> None:
        """Delete the links that lead to a thing that is gone."""
        held = [link for link in await self._scan(Link, id, index="by_target") if link.kind not in OWNED]
        await self._apply(*(Delete(Link, link.row_key) for link in held))

    async def _unlink_row(self, kind: Kind, ns: str, key: str) -> None:
        """Delete links from other sources to a deleted row; not if the row was written again, with new links."""
        held = [link for link in await self._scan(Link, f"{ns}/{key}", index="by_target") if link.kind not in OWNED]
        lock = await self._absent(kind.record, ns, key) if held and kind.name in LOCKED else None
        if lock is not None:
            await self._apply(*(Delete(Link, link.row_key) for link in held), locks=lock)

    async def _unlinked(self, ns: str) -> None:
        """Delete the links to all that was in a namespace, except to things that have derivations left."""
        for link in await self._scan(Link, index="by_target", starts=f"{ns}/"):
            if await self._under(link.target, ns) and not await self._scan(Link, link.target, limit=1):
                await self._apply(Delete(Link, link.row_key))

    # -- what was visited

    async def _once(self, kind: str, id: str) -> bool | None:
        """The outcome for a thing already visited, or None. While in progress it counts as complete, for cyclic
        links."""
        seen = self._visited.get((kind, id))
        if seen is None:
            self._visited[kind, id] = True
        return seen

    def _done(self, kind: str, id: str, complete: bool) -> bool:
        self._visited[kind, id] = complete
        if complete and not self._preview:
            # It may be derived again from a source that is not deleted yet, so a later visit must look again.
            del self._visited[kind, id]
        return complete


def _kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


def _of(thing: str, links: Sequence[Link]) -> list[Link]:
    """Links from parts of a thing (`thing#part`), not from parts of another whose id only starts the same."""
    return [link for link in links if link.source.rpartition("#")[0] == thing]
