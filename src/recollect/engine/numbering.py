"""Numbers of messages are given once, also by a thread that is made again under an id that was used before.

A thread that is deleted or forgotten leaves a mark with the last number it gave, under the fingerprint of its id; the
next thread of that id goes on after it. A thread that expires cannot leave one, as its rows go without our doing: it
reserves its numbers when it is made, more than it can ever use.
"""

from __future__ import annotations

import msgspec

from ..messages import Message
from ..records import Mark, Receipt, Summary, Thread
from ..stores.base import Change, Delete, DeleteRange, Expect, Put
from .core import Core
from .forgetting.fingerprints import fingerprint
from .forgetting.guard import imported_marks

NUMBERS = "numbers"
RESERVED = 1_000_000_000
"""Numbers set aside for a thread whose end we may not see."""


async def numbered(core: Core, thread: Thread) -> tuple[Thread, list[Change]]:
    """A new thread with the number it goes on after, and what is to be committed after its row."""
    known = await core.get(Mark, NUMBERS, fingerprint(thread.id))
    gone = await core.store.get(Thread, thread.row_key, now=0)  # an expired one that is still there
    last = gone.length if gone is not None else known.position if known is not None else 0
    changes: list[Change] = [Expect(Mark, _mark(core, thread.id, 0).row_key, 0 if known is None else known.version)]
    if thread.expires_at is not None:
        changes.append(Put(_mark(core, thread.id, last + RESERVED)))
    return msgspec.structs.replace(thread, length=last, start=last), changes


async def fresh(core: Core, thread: Thread) -> tuple[Thread, list[Change]]:
    """A new thread and the changes that make it, clear of all that an expired one of its id may have left."""
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
    """Whether an earlier thread of this id gave numbers."""
    known = await core.get(Mark, NUMBERS, fingerprint(id))
    return (known is not None and known.position > 0) or await core.store.get(Thread, (core.org, id), now=0) is not None


def kept(core: Core, thread: Thread) -> list[Change]:
    """What a thread leaves when its row goes; for the start of a change list, as it fails where someone appends."""
    if core.batch is not None:  # whose own appends are not counted yet
        return [Put(_mark(core, thread.id, thread.length + RESERVED))]
    ended = thread.expires_at is not None and thread.expires_at <= core.at()
    live = 0 if ended else thread.version
    return [Expect(Thread, thread.row_key, live), Put(_mark(core, thread.id, thread.length))]


def _mark(core: Core, id: str, last: int) -> Mark:
    return Mark(org=core.org, name=NUMBERS, item=fingerprint(id), position=last, updated_at=core.at())
