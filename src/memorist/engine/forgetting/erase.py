"""Erases things and everything derived from them by following the lineage graph.

A walk follows the links to everything derived from a thing. It deletes everything it reaches and raises the epochs of
the deleted things (see `guard`), so that nothing more can be derived from them. The next walk finds data that others
derived in the meantime, and so on until a walk finds nothing. Then the links are deleted. A link to something that this
handle may not write is kept, together with the path to it, for a handle with more rights. An interrupted erasure can be
repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from ...errors import Conflict
from ...filters import Test, same
from ...kinds import LINKED, message_ref, namespaced, parse_refs, summary_ref, thread_ref
from ...messages.compactions import COMPACTED_BY, PROVIDERS
from ...messages.message import ATTACHED, Message
from ...records import AuditEvent, Document, Key, Link, NamespaceStats, Ref, Summary, Thread
from ...stores.base import Change, Delete, Expect, Load
from ..core import Core
from ..derive.carried import DERIVED
from ..statistics import recount_changes
from .fingerprints import ref_fingerprint
from .guard import epochs, is_present, owners
from .rows import WITH_SOURCES, Node, Rows

THINGS_PER_COMMIT = 100
DELETIONS_PER_COMMIT = 2000
"""This is an even number, so that a link's Expect and Delete are always in the same commit."""
MAX_WALKS = 50
"""How many times to walk the graph while others keep deriving. Each walk after the first deletes the data they have
derived."""
MESSAGE_RELATIONS = ("carried", "written", "imported")
"""Relations to messages in a thread. The thread itself stays."""

End = Callable[[dict[str, int]], Sequence[Change]]


class Eraser(Rows):
    """Deletes things in one org and counts the deleted rows. A preview only counts them."""

    def __init__(self, core: Core, *, preview: bool = False) -> None:
        super().__init__(core.uncounted(), preview=preview)  # `finish` counts the entries that are left
        self._seen: dict[Ref, Node] = {}
        """Everything reached so far. Every walk starts from all of these things, because the rows that connected them
        are gone by then."""
        self._erased: set[Ref] = set()
        self._edges: set[tuple[Ref, Ref]] = set()
        self._links: dict[Key, tuple[Link, list[Ref]]] = {}
        """The links that the last walk followed, including those to erased things, each with its target."""
        self._held: set[Ref] = set()
        """Sources of things that this handle may not write."""
        self._epochs: dict[Key, Change] = {}
        """The epochs of these things before the last walk."""
        self._companions = core.companions
        """The changes that the handle commits with its next write. An erasure takes several commits, and these changes
        belong to the last one, so that an interrupted erasure is repeated."""

    async def erase(self, root: Ref, end: End, *, instead: Message | None = None, everywhere: bool = False) -> bool:
        """Delete a thing and everything derived from it, even if the thing itself is already gone.

        Args:
            root: The thing: a namespace, thread, message, fact or source.
            end: A function that returns the changes of the last commit from the number of deleted rows by table.
            instead: A redacted message that replaces a message and its copies.
            everywhere: Recompute the statistics of all namespaces, which is needed after an interrupted erasure.

        Returns:
            Whether everything derived from it has been deleted.

        Raises:
            Conflict: Others kept deriving from it.
        """
        roots = await self._start(root, instead)
        self._seen = {node.ref: node for node in roots}
        for _ in range(MAX_WALKS):
            await self._walk()
            if await self._delete_reached() and not self._preview:
                continue  # others may have derived more before this deletion raised the epochs
            try:
                await self._finish(end, everywhere)
            except Conflict:
                continue  # something was created again since the walk
            # Other users may keep their derivations from a shared source, and the caller must not learn of them.
            return not any(node.ref in self._held for node in roots if not node.passive)
        raise Conflict("what is being forgotten is written again and again; forget it once more")

    async def _start(self, root: Ref, instead: Message | None) -> list[Node]:
        """Return the things that a caller named: the root, the contents of a namespace, and everything that names a
        source."""
        nodes = [Node(root, named=True, instead=instead)]
        if root.kind == "namespace":
            for kind in LINKED.values():
                if kind.owner == "ns" and kind.ref is not None and kind.derives:
                    index = "by_ns" if kind.record is Thread else None
                    rows = await self._scan(kind.record, root.ns, index=index)
                    nodes += [Node(kind.ref(row), named=True) for row in rows]
        if root.kind == "source":
            nodes = await self._naming(root.key)
        return nodes

    async def _naming(self, source: str) -> list[Node]:
        """Return every interpretation of a source's name, and the documents and messages that name it."""
        may_write = self._core.scope.may_write
        # The name of an import, say, may be a source of other users too, who keep deriving from it.
        refs = dict.fromkeys([*parse_refs(source), Ref("source", key=source)])
        mine = self._core.scope.user is None or await self._is_own(refs)
        nodes = [Node(Ref("source", ref.ns, ref.key, ref.part), passive=not mine) for ref in refs]
        documents = await self._scan(Document, where=same("source", source))
        nodes += [Node(Ref("document", row.ns, row.id)) for row in documents if may_write(row.ns)]
        for thread in await self._scan(Thread):
            if may_write(thread.ns):
                messages = await self._scan(Message, thread.id, where=same("source", source))
                nodes += [Node(message_ref(message)) for message in messages]
        return nodes

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

    async def _delete_reached(self) -> bool:
        """Delete everything that the walk reached, and return whether there was anything."""
        doomed = [node for node in self._seen.values() if node.ref not in self._erased or await self._exists(node)]
        # Derived things are deleted before their sources, so that a repeated erasure still reaches the rest. The first
        # message of a thread decides from where the thread is indexed again.
        doomed.reverse()
        doomed.sort(key=lambda node: int(node.ref.part) if node.ref.kind == "message" else 0)
        for start in range(0, len(doomed), THINGS_PER_COMMIT):
            await self._core.retry(partial(self._delete, doomed[start : start + THINGS_PER_COMMIT]))
        self._erased |= {node.ref for node in doomed}
        return bool(doomed)

    async def _walk(self) -> None:
        """Reach everything derived from the things seen so far, and record the links between them."""
        self._links, self._held, level = {}, set(), list(self._seen.values())
        if not self._preview:
            # Before any link is read: whoever deletes a thing and derives it again meanwhile raises its epoch or writes
            # its link again, and `_link_deletions` notices either.
            expected = await epochs(self._core, *(node.ref for node in level if not node.is_spared))
            self._epochs = {change.key: change for change in expected if isinstance(change, Expect)}
        while level:
            reached = {after.ref: after for node in level for after in await self._reached(node)}
            level = [node for ref, node in reached.items() if ref not in self._seen]
            self._seen |= {node.ref: node for node in level}
        self._hold_paths()

    def _hold_paths(self) -> None:
        """Keep everything that has a path to something else that is kept."""
        held = -1
        while held != len(self._held):
            held = len(self._held)
            self._held |= {ref for ref, after in self._edges if after in self._held}

    async def _delete(self, nodes: Sequence[Node]) -> None:
        plans = [await self._changes(node) for node in nodes]
        changes = [change for _, part in plans for change in part]
        await self._apply(changes, [lock for part, _ in plans for lock in part])

    async def _reached(self, node: Node) -> list[Node]:
        """Return the things derived from a thing."""
        ref, reached = node.ref, list[Node]()
        # The links to a thing are read before those that begin at it, and their versions of that time win:
        # `_link_deletions` notices by them that the thing was derived again after its own links were read.
        for link in [] if node.is_spared else await self._links_to(ref):
            self._links[link.row_key] = (link, [link.target if ref.kind == "namespace" else ref])
        for link in await self._links_from(node):
            targets = await self._targets(link)
            if targets is None:
                self._held |= {ref, link.source}
                continue
            self._links.setdefault(link.row_key, (link, [target.ref for target in targets]))
            reached += targets
            self._edges |= {(link.source, target.ref) for target in targets}
        if ref.kind == "message":
            reached += [*await self._copies(node), *await self._covering(ref)]
        elif ref.kind == "document" and (row := await self._row(ref)) is not None and row.source:
            reached.append(Node(Ref("document", ref.ns, row.source)))  # it may be named as a source by that name too
        self._edges |= {(ref, after.ref) for after in reached}
        return reached

    async def _links_from(self, node: Node) -> list[Link]:
        ref = node.ref
        if ref.part and ref.kind != "source":  # a message or a summary
            return await self._scan(Link, "", ref.key, ref.kind, ref.part)
        if ref.kind in WITH_SOURCES and Ref("namespace", ref.ns) in self._seen:
            return []  # they are among the links of the namespace
        links = await self._scan(Link, *((ref.ns,) if ref.kind == "namespace" else (ref.ns, ref.key)))
        if ref.kind == "document":
            others = [link for link in await owners(self._core, "document", ref.key) if link.source_ns != ref.ns]
            links += [] if others else await self._scan(Link, "", ref.key)
        if ref.kind == "source":
            links = [link for link in links if link.source_part == ref.part and link.relation != "owns"]
        elif ref.key and ref.ns:
            # A source that a caller named has no kind.
            kinds = {ref.kind, "source", *(part.name for part in LINKED.values() if part.owner == ref.kind)}
            links = [link for link in links if link.source_kind in kinds]
        return links if node.before is None else [link for link in links if link.created_at < node.before]

    async def _targets(self, link: Link) -> list[Node] | None:
        """Return the things that a link leads to, or None if this handle may not write them."""
        target, may_write = link.target, self._core.scope.may_write
        if target.kind == "thread":
            return await self._in_thread(link)
        if target.kind == "summary":
            row = await self._row(target)
            return None if row is not None and not may_write(row.ns) else [Node(target)]
        ns = link.source_ns if link.relation == "owns" else target.ns
        return [Node(Ref(target.kind, ns, target.key))] if may_write(ns) else None

    async def _in_thread(self, link: Link) -> list[Node] | None:
        """Return the target of a link to a thread: the thread, some of its messages, or text that they contain."""
        thread = await self._get(Thread, link.target_key)
        whole = Node(thread_ref(link.target_key))
        if link.relation == "owns":
            if thread is not None and thread.ns != link.source_ns:
                whole = Node(whole.ref, before=thread.created_at)
            return [whole] if self._core.scope.may_write(link.source_ns) else None
        if thread is not None and not self._core.scope.may_write(thread.ns):
            return None
        if link.relation in ("copied", "child"):
            return [whole]
        if thread is None:
            return []
        source = link.source.id
        if link.relation == "carried":
            if not self._preview:
                await self._core.retry(partial(self._detach, thread.id, source))
            return []
        messages = await self._scan(Message, thread.id)
        if link.relation == "imported":
            chosen = [message for message in messages if message.metadata.get("source") == source]
            if len(chosen) == len(messages):  # it was not continued here
                return [whole]
        else:
            chosen = [message for message in messages if source in message.metadata.get(DERIVED, ())]
        return [Node(message_ref(message)) for message in chosen]

    async def _detach(self, thread: str, source: str) -> None:
        """Remove recalled text from the messages that contain it. The messages themselves stay."""
        locks, changes = await epochs(self._core, thread_ref(thread)), list[Change]()
        for message in await self._scan(Message, thread):
            attached = message.metadata.get(ATTACHED)
            if isinstance(attached, dict) and source in attached.get("sources", ()):
                left = {name: value for name, value in message.metadata.items() if name != ATTACHED}
                changes.append(Load(msgspec.structs.replace(message, metadata=left)))
        if changes:
            await self._core.apply(*locks, *changes)

    async def _copies(self, node: Node) -> list[Node]:
        """Return the copies of a message in forks of its thread."""
        ref, copies = node.ref, []
        for link in await self._scan(Link, "", ref.key, "thread", "", "copied"):
            if int(ref.part) <= int(link.target_part):
                thread = await self._get(Thread, link.target_key)
                if thread is not None and not self._core.scope.may_write(thread.ns):
                    self._held.add(ref)
                    continue
                instead = node.instead and msgspec.structs.replace(node.instead, thread=link.target_key)
                copies.append(Node(Ref("message", key=link.target_key, part=ref.part), instead=instead))
        return copies

    async def _covering(self, ref: Ref) -> list[Node]:
        """Return the summaries and compaction items that cover a message."""
        summaries = await self._scan(Summary, ref.key)
        # A provider's compaction item stands for everything before it, in a form that nobody can edit.
        is_compacted = Test(("metadata", COMPACTED_BY), "$in", [*PROVIDERS])
        items = await self._scan(Message, ref.key, after=(int(ref.part),), where=is_compacted)
        covering = [summary_ref(row) for row in summaries if row.first <= int(ref.part) <= row.last]
        return [*map(Node, covering), *(Node(message_ref(item)) for item in items)]

    # -- the end

    async def _finish(self, end: End, everywhere: bool) -> None:
        """Delete links and traces, and recompute statistics, in the same transaction as the changes that end the
        erasure."""
        locks, deletions = await self._link_deletions()
        deletions += await self._traces()
        sums = [] if self._preview else await self._statistics(everywhere)
        # Each part has the locks, because others may derive something between two commits.
        while len(deletions) > DELETIONS_PER_COMMIT:
            await self._apply(deletions[:DELETIONS_PER_COMMIT], locks)
            deletions = deletions[DELETIONS_PER_COMMIT:]
        gone = Counter(change.kind.table.name for change in deletions if isinstance(change, Delete))
        endings = end(dict(sorted((self.counts + gone).items())))
        await self._apply([*deletions, *sums, *endings, *self._companions], locks)
        self._companions.clear()

    async def _link_deletions(self) -> tuple[list[Change], list[Change]]:
        """Return deletions of the links whose targets are gone, and the locks that the deletions need.

        Each deletion expects the version of the link from before the links from its target were read. If someone
        derives that target again, they write the link again. If someone deletes it again, they raise its epoch. In both
        cases, the commit fails, and the graph is walked once more.
        """
        locks: dict[Key, Change] = {}
        changes: list[Change] = []
        for key, (link, targets) in self._links.items():
            is_document = link.target_kind == "document"
            target = Ref("document", link.source_ns, link.target_key) if is_document else link.target
            if self._held.isdisjoint(targets) and (self._preview or not await self._leads_on(link, target)):
                changes += [Expect(Link, key, link.version), Delete(Link, key)]
                epoch = (self._org, ref_fingerprint(target.owner))
                locks |= {epoch: self._epochs[epoch]} if epoch in self._epochs else {}
        return list(locks.values()), changes

    async def _leads_on(self, link: Link, target: Ref) -> bool:
        """Return whether a link leads to a thing that names its source and was created after the walk began."""
        node = self._seen.get(target.owner)
        if link.relation in MESSAGE_RELATIONS or (node is not None and node.before is not None):
            return False
        row = await self._row(target)
        return row is not None and link.source.id in getattr(row, "sources", (link.source.id,))

    async def _links_to(self, ref: Ref) -> list[Link]:
        """Return the links to a thing, and to everything in a namespace."""
        if ref.kind in WITH_SOURCES and Ref("namespace", ref.ns) in self._seen:
            return []  # they are among the links to the namespace
        if ref.kind == "document":
            return [link for link in await owners(self._core, "document", ref.key) if link.source_ns == ref.ns]
        if ref.kind == "namespace":
            return await self._scan(Link, ref.ns, index="by_target")
        return await self._scan(Link, ref.ns, ref.key, ref.kind, *([ref.part] if ref.part else []), index="by_target")

    async def _traces(self) -> list[Delete]:
        """Return deletions of the audit events about deleted things, because these events contain the things' names."""
        events: list[AuditEvent] = []
        for node in self._seen.values():
            ref = node.ref
            if node.is_spared or node.instead is not None:
                continue
            events += await self._scan(AuditEvent, ref.id, index="by_subject")
            if ref.kind == "namespace":
                under = await self._scan(AuditEvent, index="by_subject", starts=f"{ref.ns}/")
                events += [event for event in under if await self._under(event, ref.ns)]
                events += await self._scan(AuditEvent, where=same("user", ref.ns.removeprefix("user:")))
            elif ref.kind == "thread":
                under = await self._scan(AuditEvent, index="by_subject", starts=f"{ref.key}#")
                parts = [event for event in under if event.kind != "thread"]
                events += [event for event in parts if event.subject.rpartition("#")[0] == ref.key]
        return [Delete(AuditEvent, key) for key in dict.fromkeys(event.row_key for event in events)]

    async def _under(self, event: AuditEvent, ns: str) -> bool:
        """Return whether the subject of an event is in a namespace. Names may contain `/`, so another namespace may
        begin with the same text."""
        if event.kind == "thread":  # its id may look like that of something in the namespace
            return False
        others = [Ref("source", space, key) for space, key in namespaced(event.subject) if key and space != ns]
        return not any([await is_present(self._core, ref) for ref in others])

    async def _statistics(self, everywhere: bool) -> list[Change]:
        """Recompute the affected namespaces' recall statistics, which name speakers and standing items."""
        spaces = {stats.ns for stats in await self._scan(NamespaceStats)} if everywhere else self._touched
        return [change for ns in sorted(spaces) for change in await recount_changes(self._core, ns)]
