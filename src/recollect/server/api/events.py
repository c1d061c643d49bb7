"""Events as they happen, over server-sent events: ids and sizes only, never content."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from ...engine.events import EVENTS, Event
from ...errors import InvalidValue
from .asked import ServerNoun

if TYPE_CHECKING:
    from ...memory import AsyncMemory

KEPT = 10_000
"""Events that a client may have missed and can still get by `Last-Event-ID`."""
HEARTBEAT_SECONDS = 15.0
LOOK_SECONDS = 0.1
"""How often a stream looks for news: events come from several threads."""


class Told(msgspec.Struct, frozen=True):
    """An event with its number in this process."""

    number: int
    event: Event


class Feed:
    """The last events of this process."""

    def __init__(self, memory: AsyncMemory) -> None:
        self.run = secrets.token_hex(4)
        """Numbers start anew with each process: an id of another run is not known here."""
        self._memory = memory
        self._last: deque[Told] = deque(maxlen=KEPT)
        self._number = 0
        self._listening = False

    def listen(self) -> None:
        """Begin to keep events; nobody pays for them before somebody asks."""
        if not self._listening:
            self._listening = True
            for name in EVENTS:
                self._memory.on(name, self._tell)

    def _tell(self, event: Event) -> None:
        self._number += 1
        self._last.append(Told(self._number, event))

    @property
    def newest(self) -> int:
        """The number of the last event."""
        return self._number

    def since(self, number: int, org: str, names: Sequence[str]) -> tuple[list[Told], bool]:
        """The events after a number, and whether some before them are not kept any more."""
        kept = list(self._last)
        missed = bool(kept) and number + 1 < kept[0].number
        return [one for one in kept if one.number > number and one.event.org == org and one.event.name in names], missed


class EventStream(ServerNoun):
    """Follows what happens in an org."""

    async def follow(self, names: str = "", request: Any = None) -> AsyncIterator[bytes]:
        """Events of this org as they happen: `event`, `id` and data with ids and sizes.

        `names` picks some, divided by commas. A client that comes back with `Last-Event-ID` gets what it missed, or an
        event `missed` where that is not known any more: then it reads again what it shows.
        """
        self._core.scope.whole_org("listening to events")
        wanted = [name for name in names.split(",") if name] or list(EVENTS)
        unknown = [name for name in wanted if name not in EVENTS]
        if unknown:
            raise InvalidValue(f"events are {', '.join(EVENTS)}")
        feed = self._server.feed
        feed.listen()
        last = request.headers.get("last-event-id", "") if request is not None else ""
        return _stream(self._server, feed, self._core.org, wanted, last)


async def _stream(server: Any, feed: Feed, org: str, names: Sequence[str], last: str) -> AsyncIterator[bytes]:
    run, _, number = last.partition("-")
    known = run == feed.run and number.isdecimal()
    at = int(number) if known else feed.newest
    yield b"retry: 1000\n\n"
    if last and not known:
        yield _sent("missed", f"{feed.run}-{at}", {})
    spoke = time.monotonic()
    while not server.draining:
        found, missed = feed.since(at, org, names)
        if missed:
            yield _sent("missed", f"{feed.run}-{at}", {})
        for told in found:
            yield _sent(told.event.name, f"{feed.run}-{told.number}", told.event.data)
        at = max(at, feed.newest if not found else found[-1].number)
        if found or missed:
            spoke = time.monotonic()
        elif time.monotonic() - spoke > HEARTBEAT_SECONDS:
            spoke = time.monotonic()
            yield b": still here\n\n"
        await anyio.sleep(LOOK_SECONDS)


def _sent(name: str, id: str, data: Any) -> bytes:
    return b"event: %s\nid: %s\ndata: %s\n\n" % (name.encode(), id.encode(), msgspec.json.encode(data, enc_hook=str))
