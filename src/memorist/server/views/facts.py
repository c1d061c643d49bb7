"""Implements the fact page, which shows a fact's value, sources, history and uses, and previews the effect of a
correction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...engine.facts.corrections import is_correction
from ...engine.noun import core_of
from ...engine.sessions.rehearsing import Reads, Supposed, supposing
from ...errors import NotFound
from ...messages.message import Message, split_message_id
from ...records import Entry, Fact, Link
from ...values import Json
from .people import profile
from .shared import Row, event_row, fact_row, message_row, standing

if TYPE_CHECKING:
    from ...memory import AsyncMemory

NEIGHBOUR_MESSAGES = 1


async def fact(handle: AsyncMemory, *, ns: str, key: str) -> Row:
    """Return the fact with its history as diffs, its sources back to the messages, its uses and its audit trail."""
    versions = await handle.facts.history(ns, key)
    if not versions:
        raise NotFound("there is no such fact", namespace=ns, key=key)
    now = versions[-1]
    live = type(now) is Fact
    core = core_of(handle)
    events = await handle.audit.list(subject=now.id, limit=50, reverse=True)
    return {
        "fact": {**fact_row(now), **(await standing(core, now) if live else {"corrected": False, "replaced": None})},
        "live": live,
        "history": [await _version(handle, versions, index) for index in range(len(versions) - 1, -1, -1)],
        "why": [await _source(handle, id) for id in now.sources],
        "used": await _used(handle, now),
        "audit": [await event_row(handle, event) for event in events],
    }


async def _version(handle: AsyncMemory, versions: list[Fact], index: int) -> Row:
    version = versions[index]
    before = versions[index - 1] if index else None
    quoted = await _message(handle, version.source)
    return {
        **fact_row(version),
        "before": None if before is None else before.value,
        "was": None if before is None else before.confidence,
        "first": before is None,
        "correction": is_correction(version, before),
        "quote": quoted.text[:300] if quoted is not None else None,
    }


async def _message(handle: AsyncMemory, id: str | None) -> Message | None:
    parts = split_message_id(id or "")
    thread = None if parts is None else await handle.threads.get(parts[0])
    return None if id is None or thread is None else await handle.threads.message(id)


async def _source(handle: AsyncMemory, id: str) -> Row:
    """Return a source: a message with its neighbours, or the kind of another record.

    `present` is false if it was deleted.
    """
    message = await _message(handle, id)
    if message is None:
        why = await _others(handle, id)
        return {"id": id, "present": bool(why), "message": None, "near": [], "title": None, "kind": why}
    thread = await handle.threads.get(message.thread)
    first = max(0, message.seq - 1 - NEIGHBOUR_MESSAGES)
    last = message.seq + NEIGHBOUR_MESSAGES
    near = await core_of(handle).scan(Message, message.thread, after=(first,), before=(last + 1,))
    return {
        "id": id, "present": True, "kind": "message", "message": message_row(message),
        "near": [message_row(message) for message in near], "title": thread.title if thread else None,
        "who": thread.ns.removeprefix("user:") if thread else None,
    }  # fmt: skip


async def _others(handle: AsyncMemory, id: str) -> str | None:
    """Return the kind of a source that is not a message, or None if it no longer exists."""
    try:
        lineage = await handle.why(id)
    except NotFound:
        return None
    return lineage.kind


async def _used(handle: AsyncMemory, now: Fact) -> Row:
    """Return the uses of a fact: its profile line, the messages it marks as superseded, and everything derived from
    it.
    """
    core = core_of(handle)
    lines: list[Row] = []
    if now.ns.startswith("user:"):
        lines = (await profile(handle, now.ns.removeprefix("user:")))["lines"]
    message_ids = {
        id for version in await handle.facts.history(now.ns, now.key) for id in version.sources
        if version.value != now.value
    }  # fmt: skip
    keys = [
        (now.ns, "message", parts[0], id) for id in sorted(message_ids) if (parts := split_message_id(id)) is not None
    ]
    entries = await core.get_many(Entry, keys) if keys else []
    marked = [
        entry.id for entry in entries if entry is not None and entry.metadata.get("memorist.superseded") == now.id
    ]
    derived = await core.scan(Link, now.ns, now.key, limit=100)
    return {
        "profile": next((line for line in lines if line["source"] == now.id), None),
        "supersedes": marked,
        "derived": [{"kind": link.target_kind, "target": link.target.id} for link in derived],
    }


async def suppose(handle: AsyncMemory, *, ns: str, key: str, value: Json = None) -> Row:
    """Return the profile lines that a correction would remove and add, and the profile's token counts before and
    after."""
    if not ns.startswith("user:"):
        return {"gone": [], "new": [], "before": None, "after": None}
    user = core_of(handle).scope.subject(ns.removeprefix("user:"))
    supposed = Supposed(facts=await supposing(core_of(handle), ns, key, value))
    before = await profile(handle, user)
    # A handle of its own, so that no other request sees the supposed value.
    other = handle.scope()
    core_of(other).store = Reads(core_of(handle).store, supposed)  # type: ignore[assignment]  # reads are all it needs
    after = await profile(other, user)
    was, becomes = [line["text"] for line in before["lines"]], [line["text"] for line in after["lines"]]
    return {
        "gone": [text for text in was if text not in becomes],
        "new": [text for text in becomes if text not in was],
        "before": before["tokens"],
        "after": after["tokens"],
    }
