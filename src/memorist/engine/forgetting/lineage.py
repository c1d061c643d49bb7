"""Lineage: finds the record that an id, a hit or a record stands for, and the sources it names."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import UsageError
from ...kinds import FINDABLE, LINKED, Kind, kind_of, parse_refs
from ...messages.message import Message
from ...records import FactVersion, Link, Record, Ref, Thread
from ...values import check_name
from ..core import Core


async def find(core: Core, item: object) -> Record | None:
    """Return the record that an item, a hit or an id stands for; None if there is none in this scope."""
    record = await _find(core, item)
    return record if record is not None and await _visible(core, record) else None


async def _visible(core: Core, record: Record) -> bool:
    if core.scope.user is None:
        return True
    ns = getattr(record, "ns", None)
    if isinstance(record, Message):
        thread = await core.get(Thread, record.thread)
        ns = None if thread is None else thread.ns
    return ns is not None and core.scope.may_read(ns)


async def _find(core: Core, item: object) -> Record | None:
    if isinstance(item, FactVersion):
        return item
    if isinstance(item, Record):
        return await core.get(type(item), *item.row_key[1:])
    name, id, ns = getattr(item, "kind", None), getattr(item, "id", item), getattr(item, "namespace", None)
    if not isinstance(id, str):
        raise UsageError("pass a fact, a learning, a summary, a hit, or an id like 'thread#12' or 'user:ada/name'")
    refs = parse_refs(check_name(id, "id"))
    if ns is not None and core.scope.may_read(str(ns)):
        refs = [*(Ref(ref.kind, str(ns), ref.key, ref.part) for ref in refs if not ref.ns), *refs]
        refs.append(Ref("source", str(ns), id))
    hit_kind = FINDABLE.get(name) if isinstance(name, str) else None
    kinds: Iterable[Kind] = (*([hit_kind] if hit_kind is not None else ()), *LINKED.values())
    for kind in kinds:
        for ref in refs:
            key = kind.key(ref) if kind.key is not None and kind.record is not Thread else None
            record: Record | None = None if key is None else await core.get(kind.record, *key)
            if record is not None:
                return record
    return None


def reference(record: Record) -> Ref:
    """Return the reference to a record."""
    kind = kind_of(record)
    if kind.ref is None or kind.record is Thread:
        raise UsageError(f"a {type(record).__name__} has no lineage")
    return kind.ref(record)


async def links_from(core: Core, ref: Ref) -> list[Link]:
    """Return the links that lead from a thing to what was derived from it."""
    return await core.scan(Link, ref.ns, ref.key, ref.kind, ref.part)


async def links_to(core: Core, ref: Ref) -> list[Link]:
    """Return the links that lead to a thing from what it was derived from."""
    return await core.scan(Link, ref.ns, ref.key, ref.kind, ref.part, index="by_target")


async def sources_of(core: Core, record: Record) -> list[str]:
    """Return the ids that a record was derived from, by its own `sources` and by lineage links."""
    links = await links_to(core, reference(record))
    return list(dict.fromkeys([*getattr(record, "sources", ()), *(link.source.id for link in links)]))
