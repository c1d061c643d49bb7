"""Ensures that message numbers are never reused, even when a thread is created again under a former id.

A deleted or forgotten thread leaves behind a watermark with its last number, under the fingerprint of its id. The next
thread with that id continues after it. An expiring thread cannot leave a watermark, because its rows vanish on their
own. Instead, when it is created, it reserves more numbers than it can ever use.
"""

from __future__ import annotations

import msgspec

from ...ids import fingerprint
from ...kinds import owned_by
from ...records import Thread, Watermark
from ...stores.base import Change, Delete, DeleteRange, Expect, Put
from ..core import Core

RESERVED_NUMBERS = 1_000_000_000
"""How many numbers to reserve for an expiring thread."""


async def numbered(core: Core, thread: Thread) -> tuple[Thread, list[Change]]:
    """Return a new thread, with the number after which it continues, and the changes to commit after its row."""
    earlier = await core.get(Watermark, "numbers", fingerprint(thread.id))
    expired = await core.store.get(Thread, thread.row_key, now=0)  # an expired one that was not purged yet
    # The row of an expired thread has its exact last number, while its watermark holds the reserved one.
    last = expired.length if expired is not None else earlier.position if earlier is not None else 0
    watermark = _last_number(core, thread.id, last + RESERVED_NUMBERS)
    # Two callers may read the same number, but only one of them may continue after it.
    changes: list[Change] = [Expect(Watermark, watermark.row_key, 0 if earlier is None else earlier.version)]
    if thread.expires_at is not None:
        changes.append(Put(watermark))
    return msgspec.structs.replace(thread, length=last, start=last), changes


async def fresh(core: Core, thread: Thread) -> tuple[Thread, list[Change]]:
    """Return a new thread and the changes that create it, which also delete the remains of an expired thread with that
    id.
    """
    org, id = core.org, thread.id
    core.shared.threads.pop((org, id), None)
    changes, numbers = await numbered(core, thread)
    return changes, [
        # An expired row counts as absent here, although it still exists; it is deleted before the new one is written.
        Expect(Thread, (org, id), 0),
        *(DeleteRange(part, (org, id)) for part in owned_by("thread")),
        Delete(Thread, (org, id)),
        Put(changes),
        *numbers,
    ]


async def used_before(core: Core, id: str) -> bool:
    """Return whether an earlier thread with this id assigned numbers to messages."""
    earlier = await core.get(Watermark, "numbers", fingerprint(id))
    if earlier is not None and earlier.position > 0:
        return True
    return await core.store.get(Thread, (core.org, id), now=0) is not None


def numbering_changes(core: Core, thread: Thread) -> list[Change]:
    """Return changes that record a thread's last number before its row is deleted.

    They fail if someone appends in the meantime.
    """
    ended = thread.expires_at is not None and thread.expires_at <= core.at()
    # An Expect sees only live rows, so an expired one has version 0.
    live = 0 if ended else thread.version
    return [Expect(Thread, thread.row_key, live), Put(_last_number(core, thread.id, thread.length))]


def _last_number(core: Core, id: str, last: int) -> Watermark:
    return Watermark(org=core.org, name="numbers", item=fingerprint(id), position=last, updated_at=core.at())
