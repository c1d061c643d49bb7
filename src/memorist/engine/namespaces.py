"""Lists non-empty namespaces by skipping from one to the next in each table's index (a skip scan)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ..errors import UsageError
from ..kinds import kind_of
from ..records import Document, Fact, Learning, Record, StateEntry, StoredRecord, Task, Thread
from ..scope import NAMESPACE_KINDS
from ..values import check_prefix
from .core import Bounds, Core
from .options import checked_limit

TABLES: tuple[type[Record], ...] = (Thread, Fact, Document, Learning, StateEntry, StoredRecord, Task)
"""The kinds stored in a namespace."""


class Namespaces:
    """Lists the namespaces of a handle."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def namespaces(
        self, kind: str | None, *, prefix: str | None, limit: int | None, after: str | None, reverse: bool
    ) -> list[str]:
        """Return the non-empty namespaces that this handle can read, in order."""
        core, begins, limit = self._core, _beginning(kind, prefix), checked_limit(limit)
        if core.scope.user is None:
            return await _first_names(_in_order(core, begins, after, reverse), limit)
        # A user's handle may read only a few, so these are looked up one by one instead of scanning all users'.
        names = {space for space in core.scope.spaces() if space.startswith(begins) and await _is_used(core, space)}
        for start in core.scope.beginnings():
            if begins.startswith(start) or start.startswith(begins):
                longer = max(begins, start, key=len)
                names |= {ns async for ns in _in_order(core, longer, None, False)}
        listed = sorted(names, reverse=reverse)
        if after is not None:
            listed = [ns for ns in listed if (ns < after if reverse else ns > after)]
        return listed[:limit]


def _beginning(kind: str | None, prefix: str | None) -> str:
    if kind is None:
        return check_prefix(prefix) or ""
    if kind not in NAMESPACE_KINDS:
        raise UsageError(f"kind is one of {', '.join(NAMESPACE_KINDS)}")
    return "global" if kind == "global" else f"{kind}:{check_prefix(prefix) or ''}"


async def _first_names(names: AsyncIterator[str], limit: int | None) -> list[str]:
    first: list[str] = []
    if limit != 0:
        async for ns in names:
            first.append(ns)
            if len(first) == limit:
                break
    return first


async def _in_order(core: Core, begins: str, after: str | None, reverse: bool) -> AsyncIterator[str]:
    """Merge the namespaces of all tables in order, without duplicates."""
    heads = {table: await _next(core, table, begins, after, reverse) for table in TABLES}
    while waiting := [ns for ns in heads.values() if ns is not None]:
        nearest = max(waiting) if reverse else min(waiting)
        yield nearest
        for table, ns in heads.items():
            if ns == nearest:
                heads[table] = await _next(core, table, begins, nearest, reverse)


async def _next(core: Core, record_type: type[Record], begins: str, after: str | None, reverse: bool) -> str | None:
    index = kind_of(record_type).ns_index
    bounds: Bounds = {"index": index, "limit": 1, "reverse": reverse, "starts": begins or None}
    if after is not None:
        bounds["before" if reverse else "after"] = (after,)
    rows: list[Any] = await core.scan(record_type, **bounds)
    return rows[0].ns if rows else None


async def _is_used(core: Core, ns: str) -> bool:
    for record_type in TABLES:
        if await core.scan(record_type, ns, index=kind_of(record_type).ns_index, limit=1):
            return True
    return False
