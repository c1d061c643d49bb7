"""Notifies an open page of changes with server-sent events. They name the kinds and namespaces that changed, but
contain no content.

It watches the store, so it also reports changes made by other processes, but only those that the key may read. The
first event is the current pulse (see `overview.pulse`), so that a reconnecting page knows whether it missed a change.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

import anyio
import msgspec

from ...engine.watching import Notice
from .overview import pulse
from .shared import Row

if TYPE_CHECKING:
    from ...memory import AsyncMemory
    from ..app import Server

LOOK_SECONDS = 1.0
POLLS_BETWEEN_HEARTBEATS = 15
"""Even without changes, an event is sent after at most this many polls as a heartbeat, so that proxies keep the stream
open."""
Allowed = Callable[[], Awaitable[bool]]
"""Checks that the listener's key or session is still valid."""


async def live(server: Server, handle: AsyncMemory, allowed: Allowed) -> AsyncIterator[bytes]:
    """Stream the pulse, and repeat it after every change. The stream ends when the key or session becomes invalid."""
    yield b"retry: 2000\n\n"
    stands = await pulse(handle)
    yield _sent(stands, [])
    async with handle.watch() as watch:
        # A change between the first pulse and the start of the watch would otherwise go unnoticed.
        if (now := await pulse(handle)) != stands:
            yield _sent(now, [])
        for look in count(1):
            await anyio.sleep(LOOK_SECONDS)
            now_and_then = look % POLLS_BETWEEN_HEARTBEATS == 0
            if server.draining or not await allowed():
                return
            notices = await watch.next(timeout=0)
            # Changes to jobs cause no notices, so the number of dead letters is polled.
            if notices or now_and_then:
                yield _sent(await pulse(handle), notices)


def _sent(stands: Row, notices: Sequence[Notice]) -> bytes:
    changed = [[notice.kind, notice.namespace] for notice in notices]
    return b"data: %s\n\n" % msgspec.json.encode({**stands, "changed": changed}, enc_hook=str)
