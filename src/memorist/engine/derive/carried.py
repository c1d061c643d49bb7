"""Handles text in messages that comes from elsewhere, such as recalled items or the sources of a task's output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from ...kinds import parse_refs, thread_ref
from ...messages.message import ATTACHED, Message
from ...records import Link
from ...values import JsonObject
from ..trust import lowest_trust

DERIVED = "memorist.sources"
"""The metadata key under which a message written by a task names its sources."""
FORGOTTEN = "[what this was made of has been forgotten]"
_replace = msgspec.structs.replace


def based_on(message: Message, sources: Sequence[str], trusts: Iterable[str]) -> Message:
    """Return a message that names the sources it is based on, with the lowest trust of its own and theirs."""
    trust = lowest_trust([message.trust_level, *trusts])
    own = message.trust if trust == message.trust_level else trust
    return _replace(message, metadata={**message.metadata, DERIVED: list(sources)}, trust=own)


def carried(message: Message) -> dict[str, list[str]]:
    """Return, by relation, the sources of the text in a message and the sources from which the message was written."""
    attached = message.metadata.get(ATTACHED)
    named = {
        "carried": attached.get("sources", ()) if isinstance(attached, dict) else (),
        "written": message.metadata.get(DERIVED, ()),
    }
    return {
        relation: [source for source in sources if isinstance(source, str) and source]
        for relation, sources in named.items()
        if isinstance(sources, list | tuple) and sources
    }


def carried_links(message: Message, at: datetime) -> list[Link]:
    """Return lineage links from the sources of a message, or of the text in it, to its thread, so that `forget` can
    follow them.
    """
    return [
        Link.of(message.org, ref, thread_ref(message.thread), at, relation)
        for relation, sources in carried(message).items()
        for source in sources
        for ref in parse_refs(source)
    ]


def bare(message: Message) -> Message:
    """Return a message without text that comes from elsewhere. A message written by a task from such text is replaced
    by a note.
    """
    metadata = {name: value for name, value in message.metadata.items() if name not in (ATTACHED, DERIVED)}
    if DERIVED not in message.metadata:
        return _replace(message, metadata=metadata)
    if message.shape is not None and isinstance(message.content, list):
        return _replace(message, metadata=metadata, content=[_bare_part(part) for part in message.content], raw=None)
    # A tool result without the id of its call would be an orphan.
    paired = {name: value for name, value in message.extra.items() if name == "tool_call_id"}
    return _replace(message, metadata=metadata, content=FORGOTTEN, extra=paired, raw=None)


def _bare_part(part: object) -> JsonObject:
    """Return a content block without its text. Results and outputs keep the id of their call."""
    if isinstance(part, dict) and part.get("type") == "tool_result":
        return {"type": "tool_result", "tool_use_id": part.get("tool_use_id", ""), "content": FORGOTTEN}
    if isinstance(part, dict) and str(part.get("type", "")).endswith("_output"):
        return {"type": part["type"], "call_id": part.get("call_id", ""), "output": FORGOTTEN}
    return {"type": "text", "text": FORGOTTEN}
