"""News for an open page, over server-sent events: what kinds of things changed in which namespaces, never content.

It watches the store, so that it tells of what other processes write too, and of what this key may read alone. How
things stand is sent first: a page that was away compares it with what it had.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from ...engine.watching import Notice
from .overview import Pulse, pulse

if TYPE_CHECKING:
    from ...memory import AsyncMemory
    from ..app import Server

LOOK_SECONDS = 1.0
LOOKS = 15
"""After so many looks it says how things stand, news or not: nobody between may think that the stream has ended."""
Allowed = Callable[[], Awaitable[bool]]
"""Says whether the one who listens still may."""


async def live(server: Server, handle: AsyncMemory, allowed: Allowed) -> AsyncIterator[bytes]:
    """How things stand, then again whenever something changed; it ends where the key or the login has ended."""
    yield b"retry: 2000\n\n"
    stands = await pulse(handle, Pulse())
    yield _sent(stands, [])
    async with handle.watch() as watch:
        if (now := await pulse(handle, Pulse())) != stands:
            yield _sent(now, [])
        for look in count(1):
            await anyio.sleep(LOOK_SECONDS)
            now_and_then = look % LOOKS == 0
            if server.draining or (now_and_then and not await allowed()):
                return
            notices = await watch.next(timeout=0)
            # Jobs make no notices: how many were given up is looked up now and then.
            if notices or now_and_then:
                yield _sent(await pulse(handle, Pulse()), notices)


def _sent(stands: dict[str, Any], notices: Sequence[Notice]) -> bytes:
    changed = [[one.kind, one.namespace] for one in notices]
    return b"data: %s\n\n" % msgspec.json.encode({**stands, "changed": changed}, enc_hook=str)
