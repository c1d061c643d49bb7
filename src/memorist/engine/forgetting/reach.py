"""Decides what a handle may forget: only what belongs to a namespace that it may write."""

from __future__ import annotations

from ...kinds import parse_refs
from ...records import Link, Thread
from ..core import Core
from .guard import owners


async def thread_row(core: Core, id: str) -> Thread | None:
    """A thread that this scope may write, even if it has expired."""
    thread = await core.store.get(Thread, (core.org, id), now=0)
    return thread if thread is not None and core.scope.may_write(thread.ns) else None


async def thread_reach(core: Core, id: str) -> bool:
    """Whether this scope may forget a thread: it is, or was, in a namespace that the scope may write."""
    if await core.store.get(Thread, (core.org, id), now=0) is not None:
        return await thread_row(core, id) is not None
    return any(core.scope.may_write(link.source_ns) for link in await owners(core, "thread", id))


async def in_reach(core: Core, source: str, *, known: bool = False) -> bool:
    """Whether this scope may forget a source: it belongs to no namespace that the scope may not write.

    With `known`, a source that belongs to no namespace (the name of an import, say) does not count.
    """
    if core.scope.user is None:
        return True
    refs = parse_refs(source)
    spaces = {ref.ns for ref in refs if ref.ns}
    for name in dict.fromkeys((source, *(ref.key for ref in refs if not ref.ns))):
        thread = await core.store.get(Thread, (core.org, name), now=0)
        spaces |= {thread.ns} if thread is not None else set()
        links: list[Link] = [link for kind in ("thread", "document") for link in await owners(core, kind, name)]
        spaces |= {link.source_ns for link in links}
    return all(core.scope.may_write(ns) for ns in spaces) and bool(spaces or not known)
