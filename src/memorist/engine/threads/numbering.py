"""Ensures that message numbers are never reused, even when a thread is created again under a former id.

A thread that is deleted or forgotten leaves a mark with its last number, under the fingerprint of its id; the next
thread of that id continues after it. A thread that expires cannot leave one, because its rows vanish by themselves: it
reserves more numbers than it can ever use when it is created.
"""

from __future__ import annotations

import msgspec

from ...messages.message import Message
from ...records import Mark, Receipt, Summary, Thread
from ...stores.base import Change, Delete, DeleteRange, Expect, Put
from ..core import Core
from ..forgetting.fingerprints import fingerprint
from ..forgetting.guard import imported_marks

NUMBERS = "numbers"
RESERVED = 1_000_000_000
"""How many numbers are reserved for a thread that expires."""


async def numbered(core: Core, thread: Thread) -> tuple[Thread, list[Change]]:
    """A new thread with the number it continues after, and the changes to commit after its row."""
    known = await core.get(Mark, NUMBERS, fingerprint(thread.id))
    gone = await core.store.get(Thread, thread.row_key, now=0)  # an expired one that was not purged yet
    last = gone.length if gone is not None else known.position if known is not None else 0
    changes: list[Change] = [Expect(Mark, _mark(core, thread.id, 0).row_key, 0 if known is None else known.version)]
    if thread.expires_at is not None:
        changes.append(Put(_mark(core, thread.id, last + RESERVED)))
    return msgspec.structs.replace(thread, length=last, start=last), changes


async def fresh(core: Core, thread: Thread) -> tuple[Thread, list[Change]]:
    """A new thread and the changes that create it, which also delete the remains of an expired thread of that id."""
    org, id = core.org, thread.id
    core.shared.threads.pop((org, id), None)
    made, numbers = await numbered(core, thread)
    return made, [
        Expect(Thread, (org, id), 0),
        *(DeleteRange(kind, (org, id)) for kind in (Message, Receipt, Summary)),
        *(Delete(Mark, (org, name, f"thread:{id}")) for name in ("index", "derive")),
        DeleteRange(Mark, (org, imported_marks(id))),
        Delete(Thread, (org, id)),
        Put(made),
        *numbers,
    ]


async def used_before(core: Core, id: str) -> bool:
    """Whether an earlier thread of this id gave numbers to messages."""
    known = await core.get(Mark, NUMBERS, fingerprint(id))
    return (known is not None and known.position > 0) or await core.store.get(Thread, (core.org, id), now=0) is not None


def kept(core: Core, thread: Thread) -> list[Change]:
    """Changes that record a thread's last number before its row is deleted; they fail if someone appends meanwhile."""
    ended = thread.expires_at is not None and thread.expires_at <= core.at()
    live = 0 if ended else thread.version
    return [Expect(Thread, thread.row_key, live), Put(_mark(core, thread.id, thread.length))]


def _mark(core: Core, id: str, last: int) -> Mark:
    return Mark(org=core.org, name=NUMBERS, item=fingerprint(id), position=last, updated_at=core.at())
