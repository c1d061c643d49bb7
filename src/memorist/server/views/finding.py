"""Finds users, threads, facts and ids by prefix, for the search box that opens with `/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...engine.noun import core_of
from ...messages.message import split_message_id
from ...records import Fact, Thread
from .shared import Row, picked

if TYPE_CHECKING:
    from ...memory import AsyncMemory

HITS_PER_KIND = 6
MAX_SCANNED_ROWS = 2_000
"""The maximum number of rows of each kind whose titles or keys are searched for words."""


async def find(handle: AsyncMemory, *, text: str) -> Row:
    """Return matches by kind: users by the start of their id or name, and facts and threads that contain every word."""
    words = text.casefold().split()
    if not words:
        return {"users": [], "threads": [], "facts": [], "id": None}
    return {
        "users": await _users(handle, words),
        "facts": await _facts(handle, words),
        "threads": await _threads(handle, words),
        "id": await _id(handle, text.strip()),
    }


async def _users(handle: AsyncMemory, words: list[str]) -> list[Row]:
    core = core_of(handle)
    rows: dict[str, Row] = {}
    for ns in await handle.namespaces("user", prefix=words[0], limit=HITS_PER_KIND):
        name = await core.get(Fact, ns, "name")
        rows[ns] = {"user": ns.removeprefix("user:"), "name": name.value if name else None}
    if len(rows) < HITS_PER_KIND:
        for fact in await core.scan(Fact, limit=MAX_SCANNED_ROWS):
            named = fact.key == "name" and fact.ns.startswith("user:") and core.scope.may_read(fact.ns)
            if named and _holds(str(fact.value), words):
                rows.setdefault(fact.ns, {"user": fact.ns.removeprefix("user:"), "name": fact.value})
    return list(rows.values())[:HITS_PER_KIND]


async def _facts(handle: AsyncMemory, words: list[str]) -> list[Row]:
    core = core_of(handle)
    near = (
        await core.scan(Fact, f"user:{words[0]}", limit=MAX_SCANNED_ROWS)
        if core.scope.may_read(f"user:{words[0]}")
        else []
    )
    rest = [fact for fact in await core.scan(Fact, limit=MAX_SCANNED_ROWS) if core.scope.may_read(fact.ns)]
    rows: dict[str, Row] = {}
    for fact in (*near, *rest):
        if _holds(f"{fact.ns} {fact.key}".replace(":", " ").replace(".", " "), words) and fact.id not in rows:
            rows[fact.id] = picked(fact, "ns key value")
        if len(rows) >= HITS_PER_KIND:
            break
    return list(rows.values())


async def _threads(handle: AsyncMemory, words: list[str]) -> list[Row]:
    core = core_of(handle)
    rows = await core.scan(Thread, reverse=True, limit=MAX_SCANNED_ROWS)
    readable = [row for row in rows if core.scope.may_read(row.ns) and _holds(f"{row.ns} {row.title or ''}", words)]
    return [picked(row, "id title ns", at="updated_at") for row in readable[:HITS_PER_KIND]]


async def _id(handle: AsyncMemory, text: str) -> Row | None:
    """Return the thread or message that a pasted id identifies."""
    if " " in text or len(text) < 8:
        return None
    thread, seq = split_message_id(text) or (text, None)
    row = await handle.threads.get(thread)
    if row is None:
        return None
    kind = "thread" if seq is None else "message"
    return {"kind": kind, "thread": thread, "seq": None if seq is None else str(seq), "title": row.title}


def _holds(text: str, words: list[str]) -> bool:
    """Return whether every word is the beginning of a word in the text."""
    parts = text.casefold().replace(":", " ").replace("-", " ").split()
    return all(any(part.startswith(word) for part in parts) for word in words)
