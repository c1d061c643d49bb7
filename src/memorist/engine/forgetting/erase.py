"""Erases things and everything derived from them by following the lineage graph.

A walk follows the links to everything derived from a thing. It deletes everything it reaches and raises the epochs of
the deleted things (see `guard`), so that nothing more can be derived from them. The next walk finds data that others
derived in the meantime, and so on until a walk finds nothing. A thing is deleted again only if a link to it has been
written again, which its version shows. Then the links are deleted. A link to something that this handle may not write
is kept, together with the path to it, for a handle with more rights. An interrupted erasure can be repeated. The
registry of kinds declares which rows belong to a thing and how it is indexed (see `removal`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from ...errors import Conflict
from ...filters import Test, same
from ...kinds import LINKED, message_ref, namespaced, owned_by, parse_refs, row_of, summary_ref
from ...messages.compactions import COMPACTED_BY, PROVIDERS
from ...messages.message import ATTACHED, Message
from ...ports import to_datetime
from ...records import (
    AuditEvent,
    CachedEntity,
    Document,
    IndexProgress,
    Key,
    Link,
    NamespaceStats,
    Ref,
    Summary,
    Task,
    Thread,
    Tombstone,
)
from ...stores.base import Change, Delete, DeleteRange, Expect, Load, Put, Scan
from ..core import Core, R
from ..derive.carried import carried
from ..index_jobs import index_job, reindex_changes
from ..removal import part_deletions
from ..statistics import recount_changes
from ..threads.numbering import numbering_changes
from ..threads.parts import released_parts
from ..versions import tombstone
from .guard import epochs, is_present, links_to, owned, owners, raised, value_fingerprint
from .needles import Needles

WITH_SOURCES = {
    name for name, kind in LINKED.items() if kind.owner == "ns" and "sources" in kind.record.__struct_fields__
}
"""Kinds whose rows name their sources: facts, learnings, events and candidates."""
THINGS_PER_COMMIT = 100
DELETIONS_PER_COMMIT = 2000
"""This is an even number, so that a link's Expect and Delete are always in the same commit."""
MAX_WALKS = 50
"""How many times to walk the graph while others keep deriving."""
NAME = "name"
"""The kind of a document's name without its namespace, by which a caller may have named it as a source."""
IMPLIED = "implied"
"""The relation of a link that no row stores, but that follows from other rows."""
FOREVER = datetime.max.replace(tzinfo=UTC)

End = Callable[[dict[str, int]], Awaitable[Sequence[Change]]]


class Eraser:
    """Deletes a thing and everything derived from it, even if the thing itself is already gone.

    `instead` replaces a message and its copies.
    """

    def __init__(self, core: Core, root: Ref, instead: Message | None = None) -> None:
        self._core = core.uncounted()  # `_finish` counts the entries that are left
        self._org = core.org
        self._root = root
        self._instead = {} if instead is None else {root: instead}
        """The redacted messages that replace a message and its copies."""
        self.needles = Needles()
        self.tombstones: dict[Key, Tombstone] = {}
        self._counts: Counter[str] = Counter()
        # Every walk starts from everything seen so far, because the rows that connected these things are gone by then.
        self._seen: dict[Ref, None] = {root: None}
        self._erased: set[Ref] = set()
        self._kept: dict[Ref, datetime] = {}
        """Things that stay, because they belong to others. Only data derived before these times is deleted."""
        self._links: dict[Key, int] = {}
        """The links of these things, each with the version that it had before its target was deleted."""
        self._edges: set[tuple[Ref | Key, Ref | Key]] = set()
        """The graph that was walked. Its nodes are things and the keys of links."""
        self._held: set[Ref | Key] = set()
        """Things and links with a path to something that this handle may not write."""
        self._compactions: dict[str, list[Message]] = {}
        """The compaction items of each thread with a reached message, as the last walk found them."""
        self._touched: set[str] = set()
        """Namespaces of deleted things."""
        # The handle commits its companions with its next write, but here they belong to the last of several commits, so
        # that an interrupted erasure is repeated.
        self._companions = core.companions

    @property
    def counts(self) -> dict[str, int]:
        """This is the number of deleted rows by table."""
        return dict(sorted((+self._counts).items()))

    async def erase(self, end: End | None = None, *, everywhere: bool = False) -> bool:
        """Delete the thing and everything derived from it.

        `end` returns the changes of the last commit from the number of deleted rows by table. `everywhere` recomputes
        the statistics of all namespaces, which is needed after an interrupted erasure. The result is False if this
        handle may not delete everything that was derived.
        """
        if self._root.kind == "source":
            self._seen = dict.fromkeys(await self._meanings(self._root.key))
        for _ in range(MAX_WALKS):
            await self._walk()
            if await self._delete_reached():
                continue  # others may have derived more before this deletion raised the epochs
            try:
                await self._finish(end, everywhere)
            except Conflict:
                continue  # something was derived again since the walk
            # Other users may keep their derivations from a shared source, and the caller must not learn of them.
            return self._held.isdisjoint(self._seen.keys() - self._kept.keys())
        raise Conflict("new data kept being derived from what is being forgotten; call forget again")

    async def _meanings(self, source: str) -> list[Ref]:
        """Return every interpretation of a source's name."""
        meanings = dict.fromkeys([*parse_refs(source), Ref("source", key=source)])
        refs = [Ref("source", ref.ns, ref.key, ref.part) for ref in meanings]
        if self._core.scope.user is not None and not await self._is_own(meanings):
            # The name of an import, say, may be a source of other users too, who keep deriving from it.
            self._kept = dict.fromkeys(refs, FOREVER)
        return refs

    async def _is_own(self, refs: Iterable[Ref]) -> bool:
        """Return whether a source belongs to namespaces, all of which this handle may write."""
        spaces = {ref.ns for ref in refs if ref.ns}
        for name in dict.fromkeys(ref.key for ref in refs if not ref.ns):
            thread = await self._get(Thread, name)
            spaces |= {thread.ns} if thread is not None else set()
            for kind in ("thread", "document"):
                spaces |= {link.source_ns for link in await owners(self._core, kind, name)}
        return bool(spaces) and all(map(self._core.scope.may_write, spaces))

    # -- the walk

    async def _walk(self) -> None:
        """Reach everything derived from the things seen so far, and record the links between them."""
        self._held, self._compactions, level = set(), {}, list(self._seen)
        while level:
            reached = dict.fromkeys([after for ref in level for after in await self._reached(ref)])
            level = [ref for ref in reached if ref not in self._seen]
            self._seen |= dict.fromkeys(level)
        self._hold_paths()

    def _hold_paths(self) -> None:
        """Keep everything that has a path to something else that is kept."""
        while more := {before for before, after in self._edges if after in self._held} - self._held:
            self._held |= more

    async def _reached(self, ref: Ref) -> list[Ref]:
        """Return the things derived from a thing."""
        reached: list[Ref] = []
        implied = [Link.of(self._org, ref, target, self._core.at(), IMPLIED) for target in await self._implied(ref)]
        for link in [*await self._links_from(ref), *implied]:
            key, targets = link.row_key, await self._targets(link)
            if targets is None:
                self._held.add(key)
            elif link.relation != IMPLIED and self._links.get(key) != link.version:
                # Whoever derives the target again writes the link again. If this version was not known when the target
                # was deleted, something else may have been derived from the target since.
                self._erased.difference_update(targets)
                self._links[key] = link.version
            self._edges |= {(ref, key), (link.source, key), *((key, target) for target in targets or [])}
            reached += targets or []
        return reached

    async def _implied(self, ref: Ref) -> list[Ref]:
        """Return what comes from a thing according to the rows themselves, without a stored link."""
        refs: list[Ref] = []
        if ref.kind == "message":
            refs = await self._copies(ref)
        elif ref.kind == "document":
            row = await self._row(ref)
            if row is not None and row.source:
                refs.append(Ref("document", ref.ns, row.source))
            if all(link.source_ns == ref.ns for link in await owners(self._core, "document", ref.key)):
                refs.append(Ref(NAME, key=ref.key))
        elif self._erased:
            pass  # what is written in a namespace after its first walk is new
        elif ref.kind == "namespace":
            for kind in LINKED.values():
                if kind.owner == "ns" and kind.derives and kind.ref is not None:
                    refs += map(kind.ref, await self._scan(kind.record, ref.ns, index=kind.ns_index))
        elif ref == Ref("source", key=ref.key):
            may_write, is_named = self._core.scope.may_write, same("source", ref.key)
            documents = await self._scan(Document, where=is_named)
            refs = [Ref("document", row.ns, row.id) for row in documents if may_write(row.ns)]
            for thread in await self._scan(Thread):
                if may_write(thread.ns):
                    refs += map(message_ref, await self._scan(Message, thread.id, where=is_named))
        return refs

    def _is_in_root(self, ref: Ref) -> bool:
        """Return whether a thing is in the forgotten namespace, whose links and rows are read and deleted at once."""
        return ref.kind in WITH_SOURCES and self._root == Ref("namespace", ref.ns)

    async def _links_to(self, ref: Ref) -> list[Link]:
        """Return the links to a thing, or to everything in a namespace."""
        if ref.kind == "document":
            return [link for link in await owners(self._core, "document", ref.key) if link.source_ns == ref.ns]
        if ref.kind == "namespace":
            return await self._scan(Link, ref.ns, index="by_target")
        return await links_to(self._core, ref)

    async def _links_from(self, ref: Ref) -> list[Link]:
        """Return the links that begin at a thing or at its parts."""
        if self._is_in_root(ref):
            return []
        if ref.part and ref.kind != "source":  # a message or a summary
            return await self._scan(Link, "", ref.key, ref.kind, ref.part)
        links = await self._scan(Link, *((ref.ns,) if ref.kind == "namespace" else (ref.ns, ref.key)))
        if ref.kind == "source":
            links = [link for link in links if link.source_part == ref.part and link.relation != "owns"]
        elif ref.key and ref.ns:
            # A source that a caller named has no kind.
            kinds = {ref.kind, "source", *(part.name for part in LINKED.values() if part.owner == ref.kind)}
            links = [link for link in links if link.source_kind in kinds]
        before = self._kept.get(ref, FOREVER)
        return [link for link in links if link.created_at < before]

    async def _targets(self, link: Link) -> list[Ref] | None:
        """Return the things to which a link leads, or None if this handle may not write them. A link to a thread leads
        to the thread, to some of its messages, or to text that they contain."""
        target, relation, source = link.target, link.relation, link.source.id
        thread = await self._get(Thread, target.key) if target.owner.kind == "thread" else None
        ns = link.source_ns if relation == "owns" else target.ns if thread is None else thread.ns
        if ns and not self._core.scope.may_write(ns):
            return None
        if target.kind != "thread":
            return [Ref("document", ns, target.key) if target.kind == "document" else target]
        target = target.owner
        if relation in ("owns", "copied", "child", IMPLIED):
            if thread is not None and thread.ns != ns and target not in self._seen:
                self._kept[target] = thread.created_at  # this id, which a namespace owned, belongs to others by now
            return [target]
        if relation == "carried":
            await self._core.retry(partial(self._detach, target, source))
            return []
        messages = await self._scan(Message, target.key)
        if relation == "imported":
            chosen = [message for message in messages if message.metadata.get("source") == source]
            if thread is not None and len(chosen) == len(messages):  # it was not continued here
                return [target]
        else:
            chosen = [message for message in messages if source in carried(message).get("written", ())]
        return [*map(message_ref, chosen)]

    async def _detach(self, thread: Ref, source: str) -> None:
        """Remove recalled text from the messages that contain it. The messages themselves stay."""
        locks, changes = await epochs(self._core, thread), list[Change]()
        for message in await self._scan(Message, thread.key):
            if source in carried(message).get("carried", ()):
                metadata = {name: value for name, value in message.metadata.items() if name != ATTACHED}
                changes.append(Load(msgspec.structs.replace(message, metadata=metadata)))
        if changes:
            await self._core.apply(*locks, *changes)

    async def _copies(self, ref: Ref) -> list[Ref]:
        """Return the copies of a message in forks of its thread, and the summaries and compaction items that cover
        it."""
        seq = int(ref.part)
        forks = await self._scan(Link, "", ref.key, "thread", "", "copied")
        copies = [Ref("message", key=link.target_key, part=ref.part) for link in forks if seq <= int(link.target_part)]
        if ref in self._instead:
            self._instead |= {copy: msgspec.structs.replace(self._instead[ref], thread=copy.key) for copy in copies}
        summaries = [row for row in await self._scan(Summary, ref.key) if row.first <= seq <= row.last]
        # A provider's compaction item stands for everything before it, in a form that nobody can edit.
        is_compacted = Test(("metadata", COMPACTED_BY), "$in", [*PROVIDERS])
        if ref.key not in self._compactions:
            self._compactions[ref.key] = await self._scan(Message, ref.key, where=is_compacted)
        items = [message for message in self._compactions[ref.key] if message.seq > seq]
        return [*copies, *map(summary_ref, summaries), *map(message_ref, items)]

    # -- deleting rows

    async def _delete_reached(self) -> bool:
        """Delete everything that the walk reached, and return whether there was anything."""
        doomed = [ref for ref in self._seen if ref not in self._kept and ref not in self._erased]
        # Derived things are deleted before their sources, so that a repeated erasure still reaches the rest. The first
        # message of a thread comes last, because it decides from where the thread is indexed again.
        doomed.reverse()
        doomed.sort(key=lambda ref: -int(ref.part) if ref.kind == "message" else 0)
        for start in range(0, len(doomed), THINGS_PER_COMMIT):
            await self._core.retry(partial(self._delete, doomed[start : start + THINGS_PER_COMMIT]))
        self._erased.update(doomed)
        return bool(doomed)

    async def _delete(self, refs: Sequence[Ref]) -> None:
        locks, changes = list[Change](), list[Change]()
        for ref in refs:
            changes += await self._changes(ref, locks)
        await self.needles.remember(self._core, changes)
        await self._apply(changes, locks)

    async def _changes(self, ref: Ref, locks: list[Change]) -> list[Change]:
        """Return the changes that delete a thing and raise its epoch, and add the locks that they need to `locks`."""
        if ref.kind in ("message", "summary"):
            locks += await epochs(self._core, ref)
        row, links = await self._row(ref), await self._links_to(ref)
        thread = await self._get(Thread, ref.key) if ref.owner.kind == "thread" else None
        ns = thread.ns if thread is not None else getattr(row, "ns", ref.ns)
        spaces = [Ref("namespace", ns)] if ns else []
        self._links |= {link.row_key: link.version for link in links}
        self._touched.add(ns)
        changes = [*raised(self._core, ref, *spaces), self._tombstone("source", ref.fingerprint)]
        if not self._is_in_root(ref) or self._root in self._erased:
            changes += part_deletions(self._org, ns, ref)  # otherwise they are deleted with the namespace
        if ref.kind == "thread" and thread is not None:
            # Remember its last number, so that numbers are not reused; an append meanwhile makes this retry.
            locks += numbering_changes(self._core, thread)
            # If this run is interrupted, the next one finds what was derived from the thread by this link.
            link = owned(self._core, ns, "thread", ref.key).record
            self._links.setdefault(link.row_key, 1)
            changes.append(Put(link, absent=True))
        elif thread is not None:
            # The archiver folds the thread again, and one that is running fails.
            changes.append(Put(index_job(self._org, ns, f"thread:{ref.key}", to_datetime(0), "archive")))
            if ref.kind == "message":
                progress = await self._get(IndexProgress, ref.key)
                changes += reindex_changes(thread, int(ref.part), progress, self._core.at())
                changes += await released_parts(self._core, thread, [row] if row is not None else [])
        elif ref.kind == "namespace":
            changes += await self._under_user(ns)
        elif ref.kind in WITH_SOURCES and self._root in (ref, *spaces):
            # The caller named it or its user, so the sources that are left must not bring it back.
            changes += await self._value_tombstones(ref, row, links)
        if row is not None:
            instead = self._instead.get(ref)
            changes.append(Delete(type(row), row.row_key) if instead is None else Load(instead))
        return changes

    async def _under_user(self, ns: str) -> list[Change]:
        """Return deletions of a user's data outside the namespace's rows: tasks, working memory and entities."""
        org, user = self._org, ns.removeprefix("user:")
        changes = part_deletions(org, "", Ref("user", user))
        for task in await self._scan(Task, ns, index="by_ns"):
            events = await self._scan(AuditEvent, task.task_id, index="by_subject")
            changes += [Delete(Task, task.row_key), *part_deletions(org, "", Ref("task", key=task.task_id))]
            changes += [Delete(AuditEvent, event.row_key) for event in events]
        entities = await self._scan(CachedEntity, where=same("id", user))
        return [*changes, *(Delete(CachedEntity, entity.row_key) for entity in entities)]

    async def _value_tombstones(self, ref: Ref, row: Any, links: Sequence[Link]) -> list[Change]:
        """Return tombstones that prevent a value from being derived again from the same sources."""
        rows: list[Any] = [] if row is None else [row]
        for table in owned_by(ref.kind):
            rows += await self._scan(table, ref.ns, ref.key)
        sources = {*(source for row in rows for source in row.sources), *(link.source.id for link in links)}
        marks = {value_fingerprint(row, source) for row in rows for source in sources}
        return [self._tombstone(ref.kind, mark) for mark in sorted(marks)]

    def _tombstone(self, kind: str, mark: str) -> Change:
        """Return the change that marks a value or a source as forgotten. The time is the same throughout an erasure."""
        stone = tombstone(self._core, kind, mark)
        # A `Put` would keep the time when it was first forgotten, and who derives from it since then would not notice.
        return Load(self.tombstones.setdefault(stone.row_key, stone))

    # -- the end

    async def _finish(self, end: End | None, everywhere: bool) -> None:
        """Delete links and traces, and recompute statistics, in the commit that ends the erasure."""
        links = await self._core.get_many(Link, [key[1:] for key in self._links if key not in self._held])
        deletions: list[Change] = []
        for link in links:
            # One that was written again since belongs to newer data. If it is written from now on, the commit fails.
            if link is not None and link.version == self._links[link.row_key]:
                deletions += [Expect(Link, link.row_key, link.version), Delete(Link, link.row_key)]
        deletions += await self._traces()
        # Recall statistics name speakers and standing items.
        spaces = {stats.ns for stats in await self._scan(NamespaceStats)} if everywhere else self._touched
        sums = [change for ns in sorted(spaces) for change in await recount_changes(self._core, ns)]
        while len(deletions) > DELETIONS_PER_COMMIT:
            await self._apply(deletions[:DELETIONS_PER_COMMIT], [])
            deletions = deletions[DELETIONS_PER_COMMIT:]
        deleted_counts = Counter(change.kind.table.name for change in deletions if isinstance(change, Delete))
        endings = await end(dict(sorted((self._counts + deleted_counts).items()))) if end is not None else ()
        await self._apply([*deletions, *sums], [*endings, *self._companions])
        self._companions.clear()

    async def _traces(self) -> list[Delete]:
        """Return deletions of the audit events about deleted things, because these events contain the things' names."""
        events: list[AuditEvent] = []
        for ref in [ref for ref in self._seen if ref not in self._kept and ref not in self._instead]:
            if ref.kind != NAME:  # a thread may have the same name
                events += await self._scan(AuditEvent, ref.id, index="by_subject")
            if ref.kind in ("namespace", "thread"):
                inner = await self._scan(AuditEvent, index="by_subject", starts=ref.id + ("/" if ref.ns else "#"))
                events += [event for event in inner if await self._is_within(event, ref)]
        if self._root.kind == "namespace":
            events += await self._scan(AuditEvent, where=same("user", self._root.ns.removeprefix("user:")))
        return [Delete(AuditEvent, key) for key in dict.fromkeys(event.row_key for event in events)]

    async def _is_within(self, event: AuditEvent, ref: Ref) -> bool:
        """Return whether the subject of an event is part of a thread or in a namespace. Names may contain `#` and `/`,
        so those of another thread or namespace may begin with the same text."""
        if event.kind == "thread":
            return False
        if ref.kind == "thread":
            return event.subject.rpartition("#")[0] == ref.key
        others = [Ref("source", space, key) for space, key in namespaced(event.subject) if space != ref.ns]
        return not any([await is_present(self._core, other) for other in others])

    # -- reading and writing

    async def _row(self, ref: Ref) -> Any:
        """Return the row that a reference leads to, even if it has expired, or None if there is none."""
        target = row_of(ref)
        row = None if target is None else await self._get(target[0], *target[1])
        # Another summary may end at the same message, and so have the same key.
        return None if isinstance(row, Summary) and row.id != ref.id else row

    async def _scan(self, record_type: type[R], *prefix: str | int, **bounds: Any) -> list[R]:
        """Return rows of this org, including expired ones that no collector has removed yet."""
        return await self._core.store.scan(Scan(record_type, (self._org, *prefix), **bounds), now=0)

    async def _get(self, record_type: type[R], *key: str | int) -> R | None:
        return await self._core.store.get(record_type, (self._org, *key), now=0)

    async def _apply(self, changes: Sequence[Change], others: Sequence[Change]) -> None:
        """Commit changes and count the rows they deleted. Deletions among the others are not counted, such as that of
        the job of this erasure, which nobody asked to forget."""
        results = await self._core.apply(*others, *changes)
        for change in changes:
            if isinstance(change, Delete | DeleteRange):
                self._counts[change.kind.table.name] += results.total(change)
