"""Notices of changes over HTTP: each request waits for the next ones, and carries what its caller has seen."""

from __future__ import annotations

import msgspec

from ...engine.watching import AsyncWatch, Notice
from ...errors import InvalidValue
from .asked import ServerNoun

MAX_WAIT = 20.0


class Watched(msgspec.Struct, frozen=True):
    """What changed, and what the caller has seen by now: to be sent with the next request."""

    notices: list[Notice]
    seen: dict[str, int]


class Watching(ServerNoun):
    """Follows changes of any process: which kind of thing, in which namespace."""

    async def look(
        self,
        seen: dict[str, int] | None = None,
        namespaces: list[str] | None = None,
        kinds: list[str] | None = None,
        timeout: float = 0.0,
    ) -> Watched:
        """The changes since what was `seen`, waiting up to `timeout` seconds (20 at most) for one.

        Without `seen` it begins: from when this answers no change is missed, where the next request comes within a
        minute.
        """
        if not 0 <= timeout <= MAX_WAIT:
            raise InvalidValue(f"timeout is from 0 to {MAX_WAIT:.0f} seconds")
        if any(" " not in item for item in seen or ()):
            raise InvalidValue("seen must be as the last answer gave it")
        watch = AsyncWatch(self._core, namespaces, kinds)
        if seen is None:
            await watch.start()
            return Watched([], watch._known())
        watch._resume(seen)
        return Watched(await watch.next(timeout), watch._known())
