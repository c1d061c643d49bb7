"""Implements the search page, which shows each recall hit with the share of each signal in its score, and explains why
an item was not found."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from ...engine.noun import core_of
from ...kinds import namespaced, parse_refs
from ...messages.message import split_message_id
from ...recall.hit import Hit
from ...records import Entry, NamespaceStats
from .shared import Row, picked

if TYPE_CHECKING:
    from ...memory import AsyncMemory

MAX_SEARCHED_HITS = 300
"""The number of hits searched for an expected item."""


class Search(msgspec.Struct, forbid_unknown_fields=True):
    """Holds a question and filters. With `user`, the search is narrowed to that user's memory."""

    query: str
    user: str | None = None
    namespaces: list[str] | None = None
    kinds: list[str] | None = None
    trusts: list[str] | None = None
    after: str | None = None
    before: str | None = None
    top_k: int = 8


class WhyNot(Search, kw_only=True):
    """Represents a search, and the id of an item expected among its hits."""

    id: str


def as_user(handle: AsyncMemory, user: str | None) -> AsyncMemory:
    """Return the memory narrowed to a user, if there is one."""
    return handle if user is None else handle.scope(user=user)


async def search(handle: AsyncMemory, request: Search) -> Row:
    """Return the hits, best first, each with its signals, and the number of entries searched."""
    start = perf_counter()
    own = as_user(handle, request.user)
    hits = await _search_hits(own, request, max(1, min(request.top_k, 100)))
    took = (perf_counter() - start) * 1000
    namespaces = await core_of(own).scan(NamespaceStats, limit=5000)
    reach = [stats for stats in namespaces if core_of(own).scope.may_read(stats.ns)]
    return {
        "hits": [await hit_row(own, hit) for hit in hits],
        "findable": sum(stats.entries for stats in reach),
        "milliseconds": took,
        "namespaces": [stats.ns for stats in reach][:200],
    }


async def _search_hits(own: AsyncMemory, request: Search, top_k: int) -> list[Hit]:
    hits = await own.recall(
        request.query, namespaces=request.namespaces, kinds=request.kinds, after=request.after, before=request.before,
        # Recall has no filter on trust, so more hits are fetched than are shown, and the others are left out here.
        top_k=top_k if not request.trusts else 100,
    )  # fmt: skip
    return [hit for hit in hits if not request.trusts or hit.trust in request.trusts][:top_k]


async def hit_row(handle: AsyncMemory, hit: Hit) -> Row:
    """Return a hit with its signals and the thread it belongs to."""
    refs = parse_refs(hit.id) if hit.kind in ("message", "summary") else []
    part = next((ref for ref in refs if ref.kind == hit.kind), None)
    titled = None if part is None else await handle.threads.get(part.key)
    return {
        **picked(hit, "kind id text score trust speaker source", ns="namespace", at="created_at",
                 superseded="superseded_by"),
        "signals": {reason.signal: reason.weight for reason in hit.reasons},
        "thread": None if part is None else part.key, "title": titled.title if titled else None,
        "seq": None if part is None else part.part,
    }  # fmt: skip


async def why_not(handle: AsyncMemory, request: WhyNot) -> Row:
    """Return the reason why an expected item is not among the hits: its rank, the filter that excludes it, or its
    absence.
    """
    own = as_user(handle, request.user)
    hits = await _search_hits(own, request, MAX_SEARCHED_HITS if not request.trusts else 100)
    rank = _rank_of(hits, request.id)
    if rank is not None:
        row = await hit_row(own, hits[rank])
        last = hits[min(request.top_k, len(hits)) - 1]
        return {"found": True, "place": rank + 1, "hit": row, "cut": last.score, "reason": _reason(rank, request)}
    hidden = await _hidden(own, request)
    if hidden is not None:
        return {"found": True, "place": None, "hit": None, "reason": hidden}
    return {"found": False, "place": None, "hit": None, "reason": await _absent(own, request.id)}


def _rank_of(hits: Sequence[Hit], id: str) -> int | None:
    return next((index for index, hit in enumerate(hits) if id in (hit.id, f"{hit.namespace}/{hit.id}")), None)


def _reason(rank: int, request: WhyNot) -> str:
    if rank < request.top_k:
        return "It is among the hits."
    return f"It is number {rank + 1}; only the first {request.top_k} are shown."


async def _hidden(own: AsyncMemory, request: WhyNot) -> str | None:
    """Return the filter that excludes the item, by repeating the search without each filter in turn."""
    loosened = {"kinds": "kind", "trusts": "trust", "namespaces": "namespace"}
    # One filter at a time, so that the answer names the one that has to change.
    for field, name in loosened.items():
        if getattr(request, field):
            hits = await _search_hits(own, msgspec.structs.replace(request, **{field: None}), MAX_SEARCHED_HITS)
            if _rank_of(hits, request.id) is not None:
                return f"The {name} filter excludes it."
    if request.after or request.before:
        hits = await _search_hits(own, msgspec.structs.replace(request, after=None, before=None), MAX_SEARCHED_HITS)
        if _rank_of(hits, request.id) is not None:
            return "It is outside the date range."
    return None


async def _absent(own: AsyncMemory, id: str) -> str:
    """Return the reason why an item is not found even without filters."""
    parts = split_message_id(id)
    if parts is not None:
        thread, _ = parts
        if await own.threads.get(thread) is None:
            return "This user cannot read a thread with this id; it may have been forgotten."
        message = await own.threads.message(id)
        if message is None:
            return "There is no such message; it was deleted or forgotten."
        if not message.text.strip():
            return "The message has no text: tool calls and their results are not searched."
        entry = await core_of(own).get(Entry, *(await _entry_key(own, thread, id)))
        return (
            "It is not indexed yet."
            if entry is None
            else f"It ranks below the first {MAX_SEARCHED_HITS}: its score is too low."
        )
    for ns, key in namespaced(id):
        if core_of(own).scope.may_read(ns) and await own.facts.get(ns, key) is not None:
            return f"It ranks below the first {MAX_SEARCHED_HITS}: it has too little in common with the question."
    return "This user cannot read anything with this id. It may have expired, been rejected or been forgotten."


async def _entry_key(own: AsyncMemory, thread: str, id: str) -> tuple[str, str, str, str]:
    row = await own.threads.get(thread)
    return (row.ns if row else "", "message", thread, id)
