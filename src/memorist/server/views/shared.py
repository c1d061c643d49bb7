"""Builds rows that several views share: an audit event, a message, a fact, and the memories derived from a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ...engine.core import Core
from ...engine.facts.corrections import is_correction, replaced_correction
from ...engine.facts.facts import Facts
from ...engine.noun import core_of
from ...kinds import namespaced, parse_refs
from ...messages.message import ATTACHED, Message, split_message_id
from ...records import AuditEvent, Fact, Learning, Link

if TYPE_CHECKING:
    from ...context.profile import ProfileLine
    from ...memory import AsyncMemory

Row = dict[str, Any]
"""The data that a page shows, as a JSON object. It is sent to the page and never read back."""
MAX_CHARACTERS = 20_000
"""The maximum number of characters of a message sent to a page."""


def picked(record: object, names: str, **renamed: str) -> Row:
    """Return some attributes of a record. The renamed ones have the names that the pages use: `at="updated_at"`."""
    attributes = {name: name for name in names.split()} | renamed
    return {name: getattr(record, attribute) for name, attribute in attributes.items()}


async def event_row(handle: AsyncMemory, event: AuditEvent, count: int = 1) -> Row:
    """Return one audit event: whose record changed, who changed it, the title of the thread it is about, and for
    `forget` the number of rows that were removed."""
    source = split_message_id(event.source or "")
    thread = source[0] if source is not None else event.subject if event.kind == "thread" else ""
    row = await handle.threads.get(thread) if thread else None
    rows = sum((event.detail or {}).get("counts", {}).values()) if event.action == "forget" else None
    return {
        "id": event.id, "at": event.created_at, "actor": event.actor, "user": event.user, "action": event.action,
        "kind": event.kind, "subject": event.subject, "source": event.source, "detail": event.detail, "count": count,
        "title": row.title if row else None, "thread": thread or None, "rows": rows,
        "of": owner_of(event.subject) or (row.ns if row is not None else None),
    }  # fmt: skip


def owner_of(subject: str) -> str | None:
    """Return the namespace of a record from its id: `user:ada/location` is Ada's.

    Returns None if the id does not show it.
    """
    return next((ns for ns, _ in namespaced(subject)), None)


async def fact_behind(handle: AsyncMemory, line: ProfileLine) -> Fact | None:
    """Return the fact that a line of the profile shows, or None if the line shows something else."""
    refs = [ref for ref in parse_refs(line.source) if ref.ns and ref.key]
    facts = await core_of(handle).get_many(Fact, [(ref.ns, ref.key) for ref in refs]) if refs else []
    return next((fact for fact in facts if fact is not None), None)


def message_row(message: Message) -> Row:
    """Return a message with its text, tool calls and results separated."""
    text = message.text
    return {
        **picked(message, "id thread seq role name pinned", at="created_at", trust="trust_level"),
        "text": text[:MAX_CHARACTERS], "cut": len(text) > MAX_CHARACTERS, "tokens": message.tokens or 0,
        "calls": [msgspec.to_builtins(call) for call in message.tool_calls],
        "results": [msgspec.to_builtins(result) for result in message.tool_results],
        "attached": bool(message.metadata.get(ATTACHED)),
    }  # fmt: skip


def fact_row(fact: Fact) -> Row:
    """Return a fact or one of its versions."""
    names = "id ns key value confidence trust actor status reason version sources"
    return picked(fact, names, at="updated_at", created="created_at", expires="expires_at")


async def standing(core: Core, fact: Fact) -> Row:
    """Return whether a fact is a correction, and the correction it replaced, if any."""
    if fact.version < 2:
        return {"corrected": False, "replaced": None}
    versions = [version for version in await Facts(core).history(fact.ns, fact.key) if version.status == "active"]
    replaced = replaced_correction(versions)
    corrected = len(versions) > 1 and is_correction(versions[-1], versions[-2])
    return {"corrected": corrected, "replaced": fact_row(replaced) if replaced else None}


async def yields(core: Core, message: Message) -> list[Row]:
    """Return the memories derived from a message: facts with their values at that time, and learnings."""
    rows: list[Row] = []
    for link in await core.scan(Link, "", message.thread, "message", str(message.seq), limit=50):
        ns, key = link.target_ns, link.target_key
        if link.target_kind == "fact" and core.scope.may_read(ns):
            versions = await Facts(core).history(ns, key)
            version = next((candidate for candidate in versions if message.id in candidate.sources), None)
            if version is not None:
                before = next((candidate for candidate in versions if candidate.version == version.version - 1), None)
                now = versions[-1]
                rows.append(
                    {
                        "kind": "fact", "ns": ns, "key": key, "value": version.value, "confidence": version.confidence,
                        "expires": version.expires_at, "replaced": before.value if before else None,
                        "had": before is not None, "holds": now.status == "active" and now.value == version.value,
                    }
                )  # fmt: skip
        elif link.target_kind == "learning" and core.scope.may_read(ns):
            learning = await core.get(Learning, ns, key)
            if learning is not None and learning.status != "deleted":
                rows.append({"kind": "learning", "type": learning.type, "content": learning.content, "ns": ns,
                              "id": learning.id})  # fmt: skip
    return rows
