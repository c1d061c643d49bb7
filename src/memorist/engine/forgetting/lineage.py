"""Finds the links that lead to and from a thing, and the sources that a record names."""

from __future__ import annotations

from ...errors import UsageError
from ...kinds import kind_of
from ...records import Link, Record, Ref, Thread
from ..core import Core


def reference(record: Record) -> Ref:
    """Return the reference to a record."""
    kind = kind_of(record)
    if kind.ref is None or kind.record is Thread:
        raise UsageError(f"a {type(record).__name__} has no lineage")
    return kind.ref(record)


async def links_from(core: Core, ref: Ref) -> list[Link]:
    """Return the links from a thing to everything derived from it."""
    return await core.scan(Link, ref.ns, ref.key, ref.kind, ref.part)


async def links_to(core: Core, ref: Ref) -> list[Link]:
    """Return the links to a thing from its sources."""
    return await core.scan(Link, ref.ns, ref.key, ref.kind, ref.part, index="by_target")


async def sources_of(core: Core, record: Record) -> list[str]:
    """Return the ids from which a record was derived, according to its own `sources` and to lineage links."""
    links = await links_to(core, reference(record))
    return list(dict.fromkeys([*getattr(record, "sources", ()), *(link.source.id for link in links)]))
