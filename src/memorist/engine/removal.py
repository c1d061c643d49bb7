"""Deletes what belongs to a thing: the registry of kinds declares its parts and how they are indexed."""

from __future__ import annotations

from ..kinds import FINDABLE, LINKED, owned_by
from ..records import Entry, Job, Ref
from ..stores.base import Change, Delete, DeleteRange
from .index_jobs import NAMESPACE_QUEUES, THREAD_QUEUES


def part_deletions(org: str, ns: str, ref: Ref) -> list[Change]:
    """Return deletions of everything that belongs to a thing: its parts, index entries and jobs, but not its own row.

    `ns` is the thing's namespace, which the references to threads, messages and summaries lack.
    """
    names = [name for name in (ref.ns, ref.key) if name]
    changes: list[Change] = [DeleteRange(table, (org, *names)) for table in owned_by(ref.kind)]
    if ref.kind == "namespace":
        return [*changes, *(DeleteRange(Job, (org, queue, ns)) for queue in NAMESPACE_QUEUES)]
    if not ns or not ref.key:
        return changes
    kind = LINKED.get(ref.kind)
    if ref.part:
        # Entries of messages and summaries are under their thread; their jobs are those of the thread.
        return [*changes, Delete(Entry, (org, ns, ref.kind, ref.key, ref.id))]
    entries = [name for name, part in FINDABLE.items() if part.owner == ref.kind]
    changes += [DeleteRange(Entry, (org, ns, name, ref.key)) for name in entries]
    if kind is not None and kind.findable is not None:
        id = ref.id if ref.kind == "fact" else ref.key
        changes.append(Delete(Entry, (org, ns, kind.findable.entry, "", id)))
    queues, kinds = (THREAD_QUEUES, ("thread", "summary")) if ref.kind == "thread" else (("index",), (ref.kind,))
    return [*changes, *(Delete(Job, (org, queue, ns, f"{name}:{ref.key}")) for queue in queues for name in kinds)]
