"""What a message carries of other things: what was recalled for it, and what a task made it of."""

from __future__ import annotations

from typing import Any

import msgspec

from ..messages import ATTACHED, Message
from ..records import Link

DERIVED = "recollect.sources"
"""Where a message that a task wrote names what it was made of."""
FORGOTTEN = "[what this was made of has been forgotten]"
_replace = msgspec.structs.replace


def carried(message: Message, at: Any) -> list[Link]:
    """Links from what a message was made of, or carries a copy of, to its thread, so that forgetting finds it."""
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
    """A message without the copy that it carried; one that was made of it says only that it was forgotten."""
    left = {name: value for name, value in message.metadata.items() if name not in (ATTACHED, DERIVED)}
    if DERIVED not in message.metadata:
        return _replace(message, metadata=left)
    return _replace(message, metadata=left, content=FORGOTTEN, extra={}, raw=None)
