"""Resolves lineage ids: finds the record that an id, a hit or a record stands for, and the sources it names."""

from __future__ import annotations

from typing import Any

from ...errors import UsageError
from ...kinds import FINDABLE, LINKED, kind_of
from ...messages.message import Message
from ...records import FactVersion, Link, Record, Thread
from ...values import check_name
from ..core import Core
from .guard import OWNED


async def find(core: Core, item: Any) -> Record | None:
    """The record that an item, a hit or an id stands for; None if there is none in this scope."""
    found = await _find(core, item)
    return found if found is not None and await _visible(core, found) else None


async def _visible(core: Core, record: Record) -> bool:
    if core.scope.user is None:
        return True
    ns = getattr(record, "ns", None)
    if isinstance(record, Message):
        thread = await core.get(Thread, record.thread)
        ns = None if thread is None else thread.ns
    return ns is not None and core.scope.may_read(ns)


async def _find(core: Core, item: Any) -> Record | None:
    if isinstance(item, Record):
        return await _again(core, item)
    kind, id, ns = getattr(item, "kind", None), getattr(item, "id", item), getattr(item, "namespace", None)
    if not isinstance(id, str):
        raise UsageError("pass a fact, a learning, a summary, a hit, or an id like 'thread#12' or 'user:ada/name'")
    check_name(id, "id")
    space = None if ns is None or not core.scope.may_read(str(ns)) else str(ns)
    wanted = FINDABLE.get(kind) if isinstance(kind, str) else None
    for one in [*([wanted] if wanted is not None else ()), *LINKED]:
        assert one.read is not None
        for key in one.read(id, space):
            found: Record | None = await core.get(one.record, *key)
            if found is not None:
                return found
    return None


def reference(record: Record) -> tuple[str, str]:
    """The kind of a record and the id that links use for it."""
    kind = kind_of(record)
    if kind.link is None:
        raise UsageError(f"a {type(record).__name__} has no lineage")
    return kind.name, kind.link(record)


async def sources_of(core: Core, record: Record) -> list[str]:
    """The ids that a record was derived from, by its own `sources` and by lineage links."""
    own = list(getattr(record, "sources", ()))
    links = await core.scan(Link, reference(record)[1], index="by_target")
    return list(dict.fromkeys([*own, *(link.source for link in links if link.kind not in OWNED)]))


async def _again(core: Core, item: Record) -> Record | None:
    if isinstance(item, FactVersion):
        return item
    return await core.get(type(item), *item.row_key[1:])
