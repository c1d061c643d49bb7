"""Implements the thread page, which shows a thread's messages, the memories derived from each, and the summaries of its
older part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...engine.noun import core_of
from ...errors import NotFound
from ...messages.message import Message
from ...records import Link, Pins, Ref, Summary
from .shared import Row, message_row, yields

if TYPE_CHECKING:
    from ...memory import AsyncMemory

MAX_BARS = 120
MAX_WHOLE_MESSAGES = 600
"""If a thread has at most this many messages, the ruler reads all of them. Longer threads are sampled."""


class ThreadAsked(msgspec.Struct, forbid_unknown_fields=True):
    """Represents one thread."""

    id: str


class Messages(msgspec.Struct, forbid_unknown_fields=True):
    """Represents a page of messages after or before a sequence number."""

    id: str
    after: int | None = None
    before: int | None = None
    limit: int = 100


async def thread(handle: AsyncMemory, asked: ThreadAsked) -> Row:
    """Return the thread, its summaries, and a ruler: a token bar for each message or, in a long thread, for each
    group."""
    row = await handle.threads.get(asked.id)
    if row is None:
        raise NotFound("there is no such thread", thread=asked.id)
    core = core_of(handle)
    summaries = await handle.threads.summaries(asked.id)
    pins = await core.get(Pins, asked.id)
    links = await core.scan(Link, "", asked.id, limit=5000)
    return {
        "id": row.id, "ns": row.ns, "title": row.title, "length": row.length, "tokens": row.tokens,
        "created": row.created_at, "updated": row.updated_at, "expires": row.expires_at,
        "metadata": {name: value for name, value in row.metadata.items() if name not in ("system", "tools")},
        "summaries": [
            {
                "id": summary.id, "first": summary.first, "last": summary.last, "text": summary.text,
                "tokens": summary.tokens,
                "method": summary.method, "actor": summary.actor, "at": summary.created_at,
                "from": await _count_tokens(handle, summary),
            }
            for summary in summaries
        ],
        "pinned": list(pins.seqs) if pins else [],
        "yielded": _counted(links),
        "ruler": await _ruler(handle, asked.id, row.length),
    }  # fmt: skip


def _counted(links: list[Link]) -> dict[str, int]:
    kinds: dict[str, set[Ref]] = {}
    for link in links:
        kinds.setdefault(link.target_kind, set()).add(link.target)
    return {kind: len(targets) for kind, targets in kinds.items()}


async def _count_tokens(handle: AsyncMemory, summary: Summary) -> int | None:
    """Return the number of tokens in the messages that a summary replaces, or None if there are too many to count."""
    if summary.last - summary.first > MAX_WHOLE_MESSAGES:
        return None
    rows = await core_of(handle).scan(Message, summary.thread, after=(summary.first - 1,), before=(summary.last + 1,))
    return sum(row.tokens or 0 for row in rows)


async def _ruler(handle: AsyncMemory, id: str, length: int) -> list[Row]:
    core = core_of(handle)
    if length <= MAX_WHOLE_MESSAGES:
        rows: list[Message] = await core.scan(Message, id, limit=MAX_WHOLE_MESSAGES)
    else:
        seqs = sorted({1 + (length - 1) * bar // (MAX_BARS - 1) for bar in range(MAX_BARS)})
        rows = [row for row in await core.get_many(Message, [(id, seq) for seq in seqs]) if row is not None]
    step = max(1, -(-len(rows) // MAX_BARS))
    bars: list[Row] = []
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        bars.append(
            {"seq": part[0].seq, "last": part[-1].seq, "tokens": max(row.tokens or 0 for row in part),
             "tool": any(row.role in ("tool", "function") or row.tool_results for row in part)}
        )  # fmt: skip
    return bars


async def messages(handle: AsyncMemory, asked: Messages) -> Row:
    """Return messages in order, each with the memories derived from it."""
    limit = max(1, min(asked.limit, 200))
    rows = await handle.threads.messages(asked.id, limit, after=asked.after, before=asked.before)
    items = [{**message_row(row), "yields": await yields(core_of(handle), row)} for row in rows]
    return {"items": items}
