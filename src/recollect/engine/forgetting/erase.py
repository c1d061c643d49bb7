"""What goes when something is forgotten: the rows of each kind of thing, and of everything derived from it.

What points to a thing goes before the thing, and derived rows before their source, so that an erasure broken off
anywhere still finds the rest when it is run again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from ...filters import same
from ...kinds import namespaced, owned_by
from ...messages import Message, message_id
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
    Learning,
    Link,
    Mark,
    Receipt,
    RecordPiece,
    StateEntry,
    StoredRecord,
    Summary,
    Task,
    Thread,
    Tombstone,
    WorkingDocument,
)
from ...stores.base import Change, Delete, DeleteRange, Expect, Load, Put
from ..core import Core, R
from ..documents import removal
from ..facts import Facts, index_job
from ..recall.indexing import statistics
from .needles import Needles

ATTACHED = "recollect.context"
"""Where a message carries what was recalled for it; see `recollect.context.Context.attach`."""
PAGE = 200
FEW = 16
"""Rows that may be large, read only to know what must be gone."""


def fingerprint(*parts: str) -> str:
    """What is kept of a forgotten id: enough to know it again, nothing to read."""
    return hashlib.blake2b("\x00".join(parts).encode(), digest_size=16).hexdigest()


class Eraser:
    """Removes things from one org's rows, and counts what went."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._org = core.org
        self.counts: Counter[str] = Counter()
        self.tombstones = 0
        self.needles = Needles()
        self._touched: set[str] = set()

    # -- the things one can name

    async def user(self, user: str) -> None:
        """Everything under a user's namespace, and all that was derived from it elsewhere."""
        ns = f"user:{user}"
        for thread in await self._scan(Thread, ns, index="by_ns"):
            await self.thread(thread)
        for fact in await self._scan(Fact, ns):
            await self.fact(fact.ns, fact.key)
        for learning in await self._scan(Learning, ns):
            await self.learning(learning)
        for document in await self._scan(Document, ns):
            await self.document(document)
        for task in await self._scan(Task, ns, index="by_ns"):
            self.needles.remember(await self._scan(CheckpointStep, task.task_id, limit=1))
            await self._trail(task.task_id, None)
            await self._apply(*self._task(task))
        for entity in await self._scan(CachedEntity, where=same("id", user)):
            self.needles.remember([entity])
            await self._apply(Delete(CachedEntity, entity.row_key))
        await self._namespace(ns, user)

    async def thread(self, thread: Thread) -> None:
        """A thread, its messages and all that was derived from them."""
        id, ns = thread.id, thread.ns
        self.needles.remember(await self._scan(Message, id, limit=PAGE))
        self.needles.remember(await self._scan(Summary, id, limit=PAGE))
        await self._derived(_of(id, await self._scan(Link, starts=f"{id}#")))
        await self._trail(id, f"{id}#")
        self._core.shared.threads.pop((self._org, id), None)
        await self._apply(
            Put(self._tombstone("source", id)),
            DeleteRange(Summary, (self._org, id)),
            DeleteRange(Receipt, (self._org, id)),
            DeleteRange(Entry, (self._org, ns, "message", id)),
            DeleteRange(Entry, (self._org, ns, "summary", id)),
            *(Delete(Mark, mark.row_key) for mark in await self._marks(id, f"thread:{id}")),
            *(Delete(Job, job.row_key) for job in await self._jobs(ns, f"thread:{id}", f"summary:{id}")),
            DeleteRange(Message, (self._org, id)),
            Delete(Thread, (self._org, id)),
        )

    async def message(self, thread: Thread, seq: int) -> None:
        """One message, what was derived from it, and the summaries that cover it; its neighbours are indexed again."""
        id = f"{thread.id}#{seq}"
        found = await self._get(Message, thread.id, seq)
        self.needles.remember([found] if found else [])
        await self._derived(await self._scan(Link, id))
        covering = [row for row in await self._scan(Summary, thread.id) if row.first <= seq <= row.last]
        await self._derived([link for row in covering for link in await self._scan(Link, row.id)])
        self.needles.remember(covering)
        changes: list[Change] = [Put(self._tombstone("source", id))]
        for row in covering:
            changes += [
                Delete(Summary, row.row_key),
                Delete(Entry, (self._org, thread.ns, "summary", thread.id, row.id)),
                *(Delete(Link, link.row_key) for link in await self._scan(Link, row.id, index="by_target")),
            ]
        # A message is indexed together with its neighbours: their entries hold words of it too.
        near = [f"{thread.id}#{place}" for place in range(max(1, seq - 3), seq + 4)]
        changes += [Delete(Entry, (self._org, thread.ns, "message", thread.id, place)) for place in near]
        changes += [*await self._rewound(thread, seq), self._unfolded(thread.ns, thread.id)]
        await self._trail(id, None)
        await self._apply(*changes, Delete(Message, (self._org, thread.id, seq)))

    async def fact(self, ns: str, key: str) -> None:
        """A fact, every version it had, and what was derived from it."""
        id = f"{ns}/{key}"
        rows: list[Fact] = [*await self._scan(FactVersion, ns, key)]
        current = await self._get(Fact, ns, key)
        rows += [current] if current is not None else []
        self.needles.remember(rows)
        await self._derived(await self._scan(Link, id))
        await self._trail(id, None)
        await self._apply(
            *(Put(self._value_tombstone(row)) for row in rows),
            *(Delete(Link, link.row_key) for link in await self._scan(Link, id, index="by_target")),
            Delete(Entry, (self._org, ns, "fact", "", id)),
            *(Delete(Job, job.row_key) for job in await self._jobs(ns, f"fact:{key}")),
            DeleteRange(FactVersion, (self._org, ns, key)),
            Delete(Fact, (self._org, ns, key)),
        )

    async def learning(self, learning: Learning) -> None:
        """A learning and what was derived from it."""
        id = f"{learning.ns}/{learning.id}"
        self.needles.remember([learning])
        await self._derived(await self._scan(Link, id))
        await self._trail(id, None)
        await self._apply(
            Put(self._tombstone("learning", learning.ns, learning.id)),
            *(Delete(Link, link.row_key) for link in await self._scan(Link, id, index="by_target")),
            Delete(Entry, (self._org, learning.ns, "learning", "", learning.id)),
            *(Delete(Job, job.row_key) for job in await self._jobs(learning.ns, f"learning:{learning.id}")),
            Delete(Learning, learning.row_key),
        )

    async def document(self, document: Document) -> None:
        """A document, its chunks and what was derived from them."""
        self.needles.remember([document])
        await self._derived(_of(document.id, await self._scan(Link, starts=f"{document.id}#")))
        await self._derived(await self._scan(Link, f"{document.ns}/{document.id}"))
        await self._trail(f"{document.ns}/{document.id}", None)
        await self._apply(
            Put(self._tombstone("source", document.source or document.id)),
            *removal(self._org, document.ns, document.id),
            Delete(Document, document.row_key),
        )

    async def source(self, source: str) -> None:
        """All that came from one source: what was derived from it, and documents and messages that name it."""
        may_touch = self._core.scope.may_touch
        await self._derived(await self._scan(Link, source))
        for document in await self._scan(Document, where=same("source", source)):
            if may_touch(document.ns):
                await self.document(document)
        for thread in await self._scan(Thread):
            if may_touch(thread.ns):
                for message in await self._scan(Message, thread.id, where=same("source", source)):
                    await self.message(thread, message.seq)
        await self._apply(Put(self._tombstone("source", source)))

    async def settle(self, *, everywhere: bool = False) -> None:
        """Make the statistics of the namespaces touched anew: they name speakers and standing items."""
        spaces = {str(mark.item) for mark in await self._scan(Mark, "scope")}
        for ns in sorted(spaces if everywhere else spaces & self._touched):
            await self._core.retry(partial(self._settled, ns))

    async def _settled(self, ns: str) -> None:
        scope = await self._get(Mark, "scope", ns)
        detail, after = None, None
        while page := await self._scan(Entry, ns, after=after, limit=PAGE):
            detail, after = statistics(detail, page), page[-1].row_key[2:]
        if scope is None:
            return
        if detail is None:
            marks = [mark for mark in await self._marks(ns) if mark.name in ("scope", "embedded", "dedup")]
            await self._core.apply(*(Delete(Mark, mark.row_key) for mark in marks))
            return
        fresh = msgspec.structs.replace(scope, position=scope.position + 1, detail=detail, updated_at=self._core.at())
        # Deleting what cannot be there marks this as part of a deletion, for which a store keeps room on a full disk.
        nothing = Delete(Mark, (self._org, "scope", ""))
        await self._core.apply(Expect(Mark, scope.row_key, scope.version), nothing, Put(fresh))

    # -- parts

    async def _derived(self, links: Sequence[Link]) -> None:
        """Remove what links lead to, then the links themselves."""
        for link in links:
            if link.kind == "fact":
                for ns, key in await self._linked_facts(link):
                    await self.fact(ns, key)
            elif link.kind == "learning":
                ns, _, id = link.target.rpartition("/")
                found = await self._get(Learning, ns, id) if self._core.scope.may_touch(ns) else None
                if found is not None:
                    await self.learning(found)
            elif link.kind == "summary":
                await self._summary(link.target)
            elif link.kind == "context":
                await self._unattached(link.target, link.source)
            await self._apply(Delete(Link, link.row_key))

    async def _linked_facts(self, link: Link) -> list[tuple[str, str]]:
        """The fact a link leads to; where slashes leave several readings, those that name the link's source."""
        readings = [(ns, key) for ns, key in namespaced(link.target) if key and self._core.scope.may_touch(ns)]
        if len(readings) < 2:
            return readings
        return [(ns, key) for ns, key in readings if await self._came_from(ns, key, link.source)]

    async def _came_from(self, ns: str, key: str, source: str) -> bool:
        current = await self._get(Fact, ns, key)
        rows = [*await self._scan(FactVersion, ns, key), *([current] if current else [])]
        return any(source in row.sources for row in rows)

    async def _under(self, id: str, thing: str) -> bool:
        """Whether an id that begins like a thing's is really of that thing: names may hold `/` and `#` themselves."""
        if id.rpartition("#")[0] == thing:
            return True
        for ns, key in namespaced(id):
            other = ns != thing and key
            if other and (await self._get(Fact, ns, key) or await self._get(Learning, ns, key)):
                return False
        return id.startswith(f"{thing}/")

    async def _summary(self, id: str) -> None:
        thread, _, span = id.rpartition("#")
        last = span.rpartition("-")[2]
        found = await self._get(Summary, thread, int(last)) if last.isdecimal() else None
        if found is not None:
            await self._derived(await self._scan(Link, id))
            entry = (self._org, found.ns, "summary", thread, id)
            await self._apply(Delete(Entry, entry), Delete(Summary, found.row_key), self._unfolded(found.ns, thread))

    def _unfolded(self, ns: str, thread: str) -> Change:
        """What a summary stood for is raw again: an archiver looks at the thread next, and one at work gives way."""
        return Put(index_job(self._org, ns, f"thread:{thread}", to_datetime(0), "archive"))

    async def _unattached(self, thread: str, source: str) -> None:
        """Take the copy that was recalled out of messages it rode with; the messages themselves stay."""
        for message in await self._scan(Message, thread):
            carried = message.metadata.get(ATTACHED)
            if isinstance(carried, dict) and source in carried.get("sources", ()):
                left = {name: value for name, value in message.metadata.items() if name != ATTACHED}
                await self._core.apply(Load(msgspec.structs.replace(message, metadata=left)))

    async def _rewound(self, thread: Thread, seq: int) -> list[Change]:
        mark = await self._get(Mark, "index", f"thread:{thread.id}")
        if mark is None:
            return []
        back = min(mark.position, max(0, seq - 4))
        changed = Mark(
            org=self._org,
            name=mark.name,
            item=mark.item,
            position=back,
            detail=mark.detail,
            updated_at=self._core.at(),
        )
        return [Put(changed), Put(index_job(self._org, thread.ns, mark.item, self._core.at()))]

    def _task(self, task: Task) -> list[Change]:
        return [DeleteRange(CheckpointStep, (self._org, task.task_id)), Delete(Task, task.row_key)]

    async def _namespace(self, ns: str, user: str) -> None:
        """What is left under the namespace itself, of kinds that nothing points to."""
        jobs = [job for job in await self._scan(Job, where=same("ns", ns)) if job.queue != "forget"]
        self.needles.remember(await self._scan(StateEntry, ns, limit=PAGE))
        self.needles.remember(await self._scan(StoredRecord, ns, limit=FEW))
        self.needles.remember(await self._scan(RecordPiece, ns, limit=FEW))
        self.needles.remember(await self._scan(WorkingDocument, user, limit=PAGE))
        await self._apply(
            *(DeleteRange(kind, (self._org, ns)) for kind in owned_by("ns")),
            DeleteRange(WorkingDocument, (self._org, user)),
            *(Delete(Job, job.row_key) for job in jobs),
        )
        for link in await self._scan(Link, index="by_target", starts=f"{ns}/"):
            if await self._under(link.target, ns):
                await self._apply(Delete(Link, link.row_key))
        for link in await self._scan(Link, starts=f"{ns}/"):
            if await self._under(link.source, ns):
                await self._apply(Delete(Link, link.row_key))
        await self._trail(ns, f"{ns}/")
        for event in await self._scan(AuditEvent, where=same("user", user)):
            await self._apply(Delete(AuditEvent, event.row_key))

    async def _trail(self, subject: str, starts: str | None) -> None:
        """Audit events name what they are about: those of a forgotten thing go with it."""
        events = await self._scan(AuditEvent, subject, index="by_subject")
        if starts is not None:
            under = await self._scan(AuditEvent, index="by_subject", starts=starts)
            # A thread may be named like another one's message.
            named = [event for event in under if event.kind != "thread"]
            events += [event for event in named if await self._under(event.subject, subject)]
        for start in range(0, len(events), PAGE):
            await self._apply(*(Delete(AuditEvent, event.row_key) for event in events[start : start + PAGE]))

    async def _jobs(self, ns: str, *items: str) -> list[Job]:
        found = [job for item in items for job in await self._scan(Job, where=same("item", item))]
        return [job for job in found if job.ns == ns]

    async def _marks(self, *items: str) -> list[Mark]:
        return [mark for item in items for mark in await self._scan(Mark, where=same("item", item))]

    def _tombstone(self, kind: str, *parts: str) -> Tombstone:
        self.tombstones += 1
        return Tombstone(
            org=self._org,
            kind=kind,
            fingerprint=fingerprint(*parts),
            actor=self._core.scope.actor,
            created_at=self._core.at(),
        )

    def _value_tombstone(self, fact: Fact) -> Tombstone:
        """The mark that `facts` looks for before a derived value is written."""
        self.tombstones += 1
        return Tombstone(
            org=self._org,
            kind="fact",
            fingerprint=Facts._fingerprint(fact, None),
            actor=self._core.scope.actor,
            created_at=self._core.at(),
        )

    async def _scan(self, kind: type[R], *prefix: str | int, **bounds: Any) -> list[R]:
        """Rows of this org, those too that have expired and that no collector has removed yet."""
        return await self._core.store.scan(kind, (self._org, *prefix), now=0, **bounds)

    async def _get(self, kind: type[R], *key: str | int) -> R | None:
        return await self._core.store.get(kind, (self._org, *key), now=0)

    async def _apply(self, *changes: Change) -> None:
        results = await self._core.apply(*changes)
        for change, result in zip(changes, results, strict=True):
            if isinstance(change, Delete | DeleteRange) and change.kind is Entry:
                self._touched.add(str((change.key if isinstance(change, Delete) else change.prefix)[1]))
            if isinstance(change, Delete | DeleteRange) and result:
                self.counts[change.kind.table.name] += int(result)


def _of(thing: str, links: Sequence[Link]) -> list[Link]:
    """Links from parts of a thing (`thing#part`), not from parts of one whose name only begins so."""
    return [link for link in links if link.source.rpartition("#")[0] == thing]


async def thread_of(core: Core, id: str) -> tuple[Thread | None, int]:
    """The thread a message id is of, where this scope may touch it."""
    thread, seq = message_id(id)
    found = await thread_row(core, thread)
    return found, seq


async def thread_row(core: Core, id: str) -> Thread | None:
    """A thread that this scope may touch, even one that has expired."""
    found = await core.store.get(Thread, (core.org, id), now=0)
    return found if found is not None and core.scope.may_touch(found.ns) else None
