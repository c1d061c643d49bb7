"""Prevents derived data from being written after its source has been forgotten.

Each source (a thread, a document, a fact or a namespace) has an epoch: a versioned row under its fingerprint. A deriver
reads the epochs of its sources *before* it reads the sources, and expects them to be unchanged in the transaction that
writes the result. Forgetting deletes a thing and raises its epoch in one transaction, and looks for derivations only
after that. A derived write has therefore either been committed earlier, in which case its link is found, or it fails.

The first derived write creates the epoch row, because Postgres cannot lock a row that does not exist. A version above 1
means that part of that source was forgotten or deleted. `docs/decisions/0010-forgetting.md` explains the reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ...errors import Conflict
from ...ids import digest, fingerprint
from ...kinds import LINKED, parse_refs, reference, thread_ref
from ...records import Document, Epoch, Fact, FactVersion, Link, Record, Ref, Thread, Tombstone
from ...stores.base import Change, Expect, Put, refused_row
from ...values import fingerprint_json
from ..core import Core


class Guard(msgspec.Struct, frozen=True):
    """Holds the changes that must be committed together with a derived write, and the references to its sources. If
    `forgotten` is set, nothing may be written at all."""

    changes: tuple[Change, ...] = ()
    forgotten: bool = False
    sources: tuple[Ref, ...] = ()

    def caused(self, conflict: Conflict) -> bool:
        """Return whether a conflict was caused by an epoch, which means that a source was forgotten in the meantime."""
        rows = {(change.kind.table.name, change.key) for change in self.changes if isinstance(change, Expect)}
        return refused_row(conflict) in rows


async def epochs(core: Core, *refs: Ref) -> list[Change]:
    """Return guards that fail if one of these things is forgotten. Call this before you read them."""
    return (await _expect_epochs(core, refs))[0]


async def guard(core: Core, sources: Sequence[str], *, since: datetime | None = None) -> Guard:
    """Return the guard for data derived from these sources: their epochs, and whether one of them has already been
    forgotten. One that was forgotten after `since` and then created again counts as forgotten."""
    if not sources:
        return Guard()
    refs = await resolve(core, sources)
    # A namespace is forgotten with all that is in it, whether or not the eraser saw each row.
    spaces = [Ref("namespace", ref.ns) for ref in refs if ref.ns]
    changes, raised_epochs = await _expect_epochs(core, [*refs, *spaces])
    # Forgetting raises the epoch, so a source whose epoch never moved needs no search for tombstones.
    suspects = [ref for ref in refs if ref.owner.fingerprint in raised_epochs]
    return Guard(tuple(changes), bool(suspects) and await forgotten(core, suspects, since=since), tuple(refs))


async def resolve(core: Core, sources: Sequence[str]) -> list[Ref]:
    """Return the things to which ids refer. A thread's id may look like that of another thread's message."""
    refs = [ref for source in sources for ref in parse_refs(source)]
    odd = [source for source in sources if "#" in source]
    threads = await core.get_many(Thread, [(source,) for source in odd]) if odd else []
    return list(dict.fromkeys([*refs, *(thread_ref(thread.id) for thread in threads if thread is not None)]))


async def _expect_epochs(core: Core, refs: Iterable[Ref]) -> tuple[list[Change], set[str]]:
    """Return guards on the epochs of these things, and the epochs that have ever been raised."""
    items = list(dict.fromkeys(ref.owner.fingerprint for ref in refs))
    rows = await core.get_many(Epoch, [(item,) for item in items])
    changes: list[Change] = []
    for item, row in zip(items, rows, strict=True):
        epoch = _epoch(core, item)
        changes += [Put(epoch, absent=True), Expect(Epoch, epoch.row_key, row.version if row else 1)]
    return changes, {row.fingerprint for row in rows if row is not None and row.version > 1}


def raised(core: Core, *refs: Ref) -> list[Change]:
    """Return changes that raise the epochs of these things, so that every derivation that has started to read them
    fails when it writes."""
    items = dict.fromkeys(ref.owner.fingerprint for ref in refs)
    # The first Put creates a missing row at version 1, so that the second raises the version above 1.
    return [Put(_epoch(core, item), absent) for item in items for absent in (True, False)]


async def forgotten(core: Core, refs: Sequence[Ref], *, since: datetime | None = None) -> bool:
    """Return whether one of these things was forgotten and has not been created again."""
    for ref in dict.fromkeys(refs):
        marks = dict.fromkeys((ref.fingerprint, ref.owner.fingerprint))
        tombstones = await core.get_many(Tombstone, [("source", mark) for mark in marks])
        times = [tombstone.created_at for tombstone in tombstones if tombstone is not None]
        if times and ((since is not None and max(times) >= since) or not await is_present(core, ref)):
            return True
    return False


def owned(core: Core, ns: str, kind: str, id: str) -> Put:
    """Return the link from a namespace to one of its threads or documents. It outlives them, so that forgetting the
    namespace also reaches data derived from a deleted or expired thread."""
    return Put(Link.of(core.org, Ref("namespace", ns), Ref(kind, key=id), core.at(), "owns"))


async def owners(core: Core, kind: str, id: str) -> list[Link]:
    """Return the links created by `owned` that lead to a thing."""
    return await core.scan(Link, "", id, kind, "", "owns", index="by_target")


async def links_to(core: Core, ref: Ref) -> list[Link]:
    """Return the links to a thing and its parts from their sources."""
    return await core.scan(Link, ref.ns, ref.key, ref.kind, *([ref.part] if ref.part else []), index="by_target")


async def sources_of(core: Core, record: Record) -> list[str]:
    """Return the ids from which a record was derived, according to its own `sources` and to lineage links."""
    links = await links_to(core, reference(record))
    return list(dict.fromkeys([*getattr(record, "sources", ()), *(link.source.id for link in links)]))


def value_fingerprint(memory: Any, source: str | None) -> str:
    """Return the fingerprint of a memory from one source, or from none. Only facts may change their value."""
    if isinstance(memory, Fact | FactVersion):
        return digest(fingerprint_json([memory.ns, memory.key, memory.value, source]))
    return fingerprint(memory.ns, memory.id, source or "")


async def is_present(core: Core, ref: Ref) -> bool:
    """Return whether a reference leads to a row, in any of its interpretations."""
    for kind in LINKED.values():
        assert kind.key is not None
        key = kind.key(ref)
        if key is not None and await core.get(kind.record, *key) is not None:
            return True
    links = [] if ref.ns else await owners(core, "document", ref.key)
    return any(await core.get_many(Document, [(link.source_ns, ref.key) for link in links]))


def _epoch(core: Core, fingerprint: str) -> Epoch:
    return Epoch(org=core.org, fingerprint=fingerprint, updated_at=core.at())
