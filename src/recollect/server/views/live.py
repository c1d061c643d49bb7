"""News for an open page, over server-sent events: what kinds of things changed in which namespaces, never content.

It watches the store, so that it tells of what other processes write too, and of what this key may read alone. How
things stand is sent first: a page that was away compares it with what it had.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from ...engine.watching import Notice
from .overview import Pulse, pulse

if TYPE_CHECKING:
    from ...memory import AsyncMemory
    from ..app import Server

LOOK_SECONDS = 1.0
SILENT_LOOKS = 15
"""After so many looks without news it says again how things stand: nobody between thinks that the stream has ended."""
LOOKS = 600
"""Then the stream ends and the browser comes back: its key is checked again."""


async def live(server: Server, handle: AsyncMemory) -> AsyncIterator[bytes]:
    """How things stand, then again whenever something changed."""
    yield b"retry: 2000\n\n"
    stands = await pulse(handle, Pulse())
    yield _sent(stands, [])
    async with handle.watch() as watch:
        if (now := await pulse(handle, Pulse())) != stands:
            yield _sent(now, [])
        silent = 0
        for _ in range(LOOKS):
            await anyio.sleep(LOOK_SECONDS)
            if server.draining:
                return
            notices = await watch.next(timeout=0)
            silent = 0 if notices else silent + 1
            # Jobs make no notices: how many were given up is looked up now and then.
            if silent % SILENT_LOOKS == 0:
                yield _sent(await pulse(handle, Pulse()), notices)


def _sent(stands: dict[str, Any], notices: Sequence[Notice]) -> bytes:
    changed = [[one.kind, one.namespace] for one in notices]
    return b"data: %s\n\n" % msgspec.json.encode({**stands, "changed": changed}, enc_hook=str)
