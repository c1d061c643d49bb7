"""Reports changes by long polling. Each request waits for the next changes, and its cursor marks the changes that the
client has already seen."""

from __future__ import annotations

from ...engine.watching import ResumableWatch
from ...errors import InvalidValue
from ..server_nouns import Watched
from .caller import ServerNoun

MAX_WAIT_SECONDS = 20.0


class Watching(ServerNoun):
    """Follows changes made by any process. A notice names the kind of record and the namespace."""

    async def look(
        self,
        seen: dict[str, int] | None = None,
        namespaces: list[str] | None = None,
        kinds: list[str] | None = None,
        timeout: float = 0.0,
    ) -> Watched:
        """Return the changes since the cursor `seen`, waiting up to `timeout` seconds (20 at most) for one.

        Without `seen`, it returns an initial cursor. If the next request comes within a minute, no change is missed.
        """
        if not 0 <= timeout <= MAX_WAIT_SECONDS:
            raise InvalidValue(f"timeout must be from 0 to {MAX_WAIT_SECONDS:.0f} seconds")
        if any(" " not in item for item in seen or ()):
            raise InvalidValue("seen must be sent unchanged, as the last answer returned it")
        watch = ResumableWatch(self._core, namespaces, kinds)
        if seen is None:
            await watch.start()
            return Watched([], watch.cursor())
        watch.resume(seen)
        return Watched(await watch.next(timeout), watch.cursor())
