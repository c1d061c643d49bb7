"""What an id names: the kinds of things that lineage connects, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ...errors import InvalidNamespace, UsageError
from ...messages import Message, message_id
from ...records import Chunk, Document, Fact, FactVersion, Learning, Link, Record, Summary, Thread
from ...scope import Namespace
from ...values import check_name
from ..core import Core


async def find(core: Core, item: Any) -> Record | None:
    """The record an item, a hit or an id stands for; None where there is none in this scope."""
    found = await _find(core, item)
    return found if found is not None and await _visible(core, found) else None


async def _visible(core: Core, record: Record) -> bool:
    if core.scope.user is None:
        return True
    ns = getattr(record, "ns", None)
    if isinstance(record, Message):
        thread = await core.get(Thread, record.thread)
        ns = None if thread is None else thread.ns
    return ns is not None and core.scope.may_touch(ns)


async def _find(core: Core, item: Any) -> Record | None:
    if isinstance(item, Record):
        return await _again(core, item)
    kind, id, ns = getattr(item, "kind", None), getattr(item, "id", item), getattr(item, "namespace", None)
    if not isinstance(id, str):
        raise UsageError("pass a fact, a learning, a summary, a hit, or an id like 'thread#12' or 'user:ada/name'")
    check_name(id, "id")
    found = await _message_or_summary(core, id)
    if found is None and ns is not None and kind in (None, "fact", "learning", "document"):
        found = await _in_namespace(core, str(ns), id)
    return found or await _by_path(core, id)


def reference(record: Record) -> tuple[str, str]:
    """The kind of a record and the id that links use for it."""
    if isinstance(record, Fact):
        return "fact", record.id
    if isinstance(record, Learning):
        return "learning", f"{record.ns}/{record.id}"
    if isinstance(record, Summary):
        return "summary", record.id
    if isinstance(record, Message):
        return "message", record.id
    if isinstance(record, Document):
        return "document", f"{record.ns}/{record.id}"
    if isinstance(record, Chunk):
        return "chunk", record.id
    raise UsageError(f"a {type(record).__name__} has no lineage")


async def sources_of(core: Core, record: Record) -> list[str]:
    """The ids a record was derived from, as it says itself and as links say."""
    own = list(getattr(record, "sources", ()))
    links = await core.scan(Link, reference(record)[1], index="by_target")
    return list(dict.fromkeys([*own, *(link.source for link in links)]))


def namespaced(id: str) -> Iterator[tuple[str, str]]:
    """Ways to read `namespace/key`; both parts may hold slashes."""
    at = id.find("/")
    while at >= 0:
        # A slash that is not the border leaves no namespace before it.
        with suppress(InvalidNamespace):
            yield str(Namespace.parse(id[:at])), id[at + 1 :]
        at = id.find("/", at + 1)


async def _again(core: Core, item: Record) -> Record | None:
    if isinstance(item, FactVersion):
        return item
    return await core.get(type(item), *item.row_key[1:])


async def _message_or_summary(core: Core, id: str) -> Record | None:
    thread, mark, rest = id.rpartition("#")
    if not mark:
        return None
    first, dash, last = rest.partition("-")
    if dash and first.isdecimal() and last.isdecimal():
        return await core.get(Summary, thread, int(last))
    if rest.isdecimal():
        return await core.get(Message, *message_id(id))
    return None


async def _in_namespace(core: Core, ns: str, id: str) -> Record | None:
    if not core.scope.may_touch(ns):
        return None
    document, _, part = id.partition("#")
    return (
        await core.get(Fact, ns, id)
        or await core.get(Learning, ns, id)
        or await core.get(Document, ns, id)
        or (await core.get(Chunk, ns, document, part) if part else None)
    )


async def _by_path(core: Core, id: str) -> Record | None:
    for ns, key in namespaced(id):
        found = await _in_namespace(core, ns, key) if key else None
        if found is not None:
            return found
    return None
