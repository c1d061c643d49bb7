"""Streams the events of this process as server-sent events: ids and sizes only, never content."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from ...engine.hooks import EVENTS, HookEvent

if TYPE_CHECKING:
    from ...memory import AsyncMemory

MAX_BUFFERED_EVENTS = 10_000
"""The number of events buffered for clients that reconnect with `Last-Event-ID`."""
HEARTBEAT_SECONDS = 15.0
CHECK_SECONDS = 1.0
"""The interval at which a quiet stream checks that its key is still valid; a busy stream checks at each event."""
LOOK_SECONDS = 0.1
"""The interval at which a stream polls the buffer. Several threads add events, so it cannot simply await them."""


class Numbered(msgspec.Struct, frozen=True):
    """Represents an event with its number in this process."""

    number: int
    event: HookEvent


class Feed:
    """Implements a ring buffer of this process's most recent events."""

    def __init__(self, memory: AsyncMemory) -> None:
        self.run = secrets.token_hex(4)
        """The prefix of event ids. Numbers restart with each process, so the prefix shows that an id comes from another
        process."""
        self._memory = memory
        self._last: deque[Numbered] = deque(maxlen=MAX_BUFFERED_EVENTS)
        self._number = 0
        self._listening = False

    def listen(self) -> None:
        """Start buffering events. Before the first stream is opened, they cost nothing."""
        if not self._listening:
            self._listening = True
            for name in EVENTS:
                self._memory.on(name, self._add)

    def _add(self, event: HookEvent) -> None:
        self._number += 1
        self._last.append(Numbered(self._number, event))

    @property
    def newest(self) -> int:
        """This is the number of the last event."""
        return self._number

    def since(self, number: int, org: str, names: Sequence[str]) -> tuple[list[Numbered], bool]:
        """Return the events after a number, and whether some of them have already left the buffer."""
        numbered = list(self._last)
        missed = bool(numbered) and number + 1 < numbered[0].number
        return [
            item for item in numbered if item.number > number and item.event.org == org and item.event.name in names
        ], missed


async def stream(
    server: Any, feed: Feed, org: str, names: Sequence[str], last: str, is_allowed: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    run, _, number = last.partition("-")
    is_continued = run == feed.run and number.isdecimal()
    at = int(number) if is_continued else feed.newest
    yield b"retry: 1000\n\n"
    if last and not is_continued:
        yield _sent("missed", f"{feed.run}-{at}", {})
    spoke = checked = time.monotonic()
    while not server.draining:
        items, missed = feed.since(at, org, names)
        # A stream may outlive the validity of its key, so the key is checked before anything more is sent.
        if items or missed or time.monotonic() - checked > CHECK_SECONDS:
            checked = time.monotonic()
            if not await is_allowed():
                return
        if missed:
            yield _sent("missed", f"{feed.run}-{at}", {})
        for item in items:
            yield _sent(item.event.name, f"{feed.run}-{item.number}", item.event.data)
        at = max(at, feed.newest if not items else items[-1].number)
        if items or missed:
            spoke = time.monotonic()
        elif time.monotonic() - spoke > HEARTBEAT_SECONDS:
            spoke = time.monotonic()
            yield b": still here\n\n"
        await anyio.sleep(LOOK_SECONDS)


def _sent(name: str, id: str, data: Any) -> bytes:
    return b"event: %s\nid: %s\ndata: %s\n\n" % (name.encode(), id.encode(), msgspec.json.encode(data, enc_hook=str))
