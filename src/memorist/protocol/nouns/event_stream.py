"""Streams the events of a server's process: ids and sizes only, never content."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ...engine.hooks import EVENTS
from ...errors import InvalidValue
from ..keys import Limited, Unauthorized
from .caller import ServerNoun


class EventStream(ServerNoun):
    """Streams the events of an org."""

    async def follow(self, names: str = "", request: Any = None) -> AsyncIterator[bytes]:
        """Stream the events of this org as server-sent events, which contain ids and sizes but no content.

        `names` is a comma-separated list of the events to send. A client that reconnects with `Last-Event-ID` gets the
        events it missed, or a `missed` event if they are no longer buffered; it should then read its data again.
        """
        self._core.scope.whole_org("listening to events")
        wanted = [name for name in names.split(",") if name] or list(EVENTS)
        unknown = [name for name in wanted if name not in EVENTS]
        if unknown:
            raise InvalidValue(f"there is no such event; use one of {', '.join(EVENTS)}")
        last = request.headers.get("last-event-id", "") if request is not None else ""

        async def is_allowed() -> bool:
            # Checks the key or the cookie of the request. If another process revoked the key, this is noticed once its
            # cached copy has expired.
            try:
                key = await self._server.who(request) if request is not None else self._key
            except (Unauthorized, Limited):
                return False
            return key == self._key

        return self._server.stream_events(self._core.org, wanted, last, is_allowed)
