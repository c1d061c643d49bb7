"""Text that a message carries from other things: items recalled for it, and sources that a task made it from."""

from __future__ import annotations

from typing import Any

import msgspec

from ...messages.message import ATTACHED, Message
from ...records import Link

DERIVED = "memorist.sources"
"""The metadata key under which a message written by a task names its sources."""
FORGOTTEN = "[what this was made of has been forgotten]"
_replace = msgspec.structs.replace


def carried(message: Message, at: Any) -> list[Link]:
    """Lineage links from the sources of a message, or of text it carries, to its thread, so that forgetting finds
    it."""
    carried = message.metadata.get(ATTACHED)
    sources = {"context": carried.get("sources", ()) if isinstance(carried, dict) else ()}
    sources["message"] = message.metadata.get(DERIVED, ())
    return [
        Link(org=message.org, source=source, kind=kind, target=message.thread, created_at=at)
        for kind, named in sources.items()
        for source in (named if isinstance(named, list | tuple) else ())
        if isinstance(source, str) and source
    ]


def bare(message: Message) -> Message:
    """A message without the text it carried; one that a task made from it is replaced by a note."""
    left = {name: value for name, value in message.metadata.items() if name not in (ATTACHED, DERIVED)}
    if DERIVED not in message.metadata:
        return _replace(message, metadata=left)
    return _replace(message, metadata=left, content=FORGOTTEN, extra={}, raw=None)
