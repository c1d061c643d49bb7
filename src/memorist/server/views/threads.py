"""Implements the thread page, which shows a thread's messages, the memories derived from each, and the summaries of its
older part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...engine.noun import core_of
from ...errors import NotFound
from ...messages.message import Message
from ...records import Link, Pins, Ref, Summary
from .shared import Row, message_row, picked, yields

if TYPE_CHECKING:
    from ...memory import AsyncMemory

MAX_BARS = 120
MAX_WHOLE_MESSAGES = 600
"""If a thread has at most this many messages, the ruler reads all of them. Longer threads are sampled."""


async def thread(handle: AsyncMemory, *, id: str) -> Row:
    """Return the thread, its summaries, and a ruler: a token bar for each message or, in a long thread, for each
    group."""
    row = await handle.threads.get(id)
    if row is None:
        raise NotFound("there is no such thread", thread=id)
    core = core_of(handle)
    summaries = await handle.threads.summaries(id)
    pins = await core.get(Pins, id)
    links = await core.scan(Link, "", id, limit=5000)
    return {
        **picked(row, "id ns title length tokens", created="created_at", updated="updated_at", expires="expires_at"),
        "metadata": {name: value for name, value in row.metadata.items() if name not in ("system", "tools")},
        "summaries": [
            {
                **picked(summary, "id first last text tokens method actor", at="created_at"),
                "from": await _count_tokens(handle, summary),
            }
            for summary in summaries
        ],
        "pinned": list(pins.seqs) if pins else [],
        "yielded": _counted(links),
        "ruler": await _ruler(handle, id, row.length),
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


async def messages(
    handle: AsyncMemory, *, id: str, after: int | None = None, before: int | None = None, limit: int = 100
) -> Row:
    """Return messages in order, each with the memories derived from it."""
    limit = max(1, min(limit, 200))
    rows = await handle.threads.messages(id, limit, after=after, before=before)
    items = [{**message_row(row), "yields": await yields(core_of(handle), row)} for row in rows]
    return {"items": items}
