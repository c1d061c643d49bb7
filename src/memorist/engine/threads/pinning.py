"""Pins a stored message: every later request of its thread sends it, however old it is."""

from __future__ import annotations

import msgspec

from ...errors import NotFound
from ...messages.message import Message
from ...records import Mark, Thread
from ...stores.base import Expect, Load, Put
from ..audit import audit
from ..core import Core
from .threads import Threads


async def pin(core: Core, message: str, *, pinned: bool = True) -> Message:
    """Pin or unpin a message by its id; returns the changed message."""
    thread, _, seq = message.rpartition("#")
    threads = Threads(core)

    async def attempt() -> Message:
        row = await threads._to_change(thread)
        held = await core.get(Message, thread, int(seq)) if seq.isdecimal() else None
        if held is None:
            raise NotFound(f"no message #{seq[:20]} in this thread", thread=thread)
        mark = await core.get(Mark, "pinned", thread)
        places = {*(mark.detail or () if mark else ())} - {held.seq} | ({held.seq} if pinned else set())
        kept = Mark(org=core.org, name="pinned", item=thread, detail=sorted(places), updated_at=core.at())
        made = msgspec.structs.replace(held, pinned=pinned)
        await core.apply(
            Expect(Thread, row.row_key, row.version), Expect(Mark, kept.row_key, mark.version if mark else 0),
            Load(made), Put(kept), audit(core, "pin" if pinned else "unpin", "message", held.id),
        )  # fmt: skip
        return made

    done: Message = await core.retry(attempt)
    return done
