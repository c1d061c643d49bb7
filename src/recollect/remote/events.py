"""Hooks on a server's events: a stream is followed beside the caller while somebody listens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from ..engine.events import Event, Events, Hook
from ..engine.watching import AsyncWatch
from ..errors import RecollectError, Unsupported

AGAIN_SECONDS = 1.0
log = logging.getLogger("recollect")


class RemoteEvents(Events):
    """Tells hooks what the server tells."""

    def __init__(self, shared: Any) -> None:
        super().__init__()
        self._shared = shared
        self._running: Any = None
        self._stop = False
        self._last = ""

    def on(self, name: str, hook: Hook) -> Callable[[], None]:
        """Call `hook` for each event of this name; the stream begins with the first hook."""
        off = super().on(name, hook)
        if self._running is None:
            self._running = self._shared.runtime.start(self._follow, "recollect-events")
        return off

    def trace(self) -> None:
        """Tracing is done where the work is done."""
        raise Unsupported("start the server with tracing instead; requests carry their ids")

    def span(self, name: str, **attributes: Any) -> AbstractContextManager[Any]:
        return super().span(name, **attributes)

    async def _follow(self) -> None:
        """Follow the stream, again and again, going on after the last event heard."""
        while not self._stop:
            try:
                async for name, id, data in self._shared.client.events(self._last, {}):
                    self._last = id or self._last
                    self._tell(name, data)
                    if self._stop:
                        return
            except RecollectError as lost:
                log.info("the stream of events broke: %s", type(lost).__name__)
            if not self._stop:
                await self._shared.runtime.sleep(AGAIN_SECONDS)

    def _tell(self, name: str, data: str) -> None:
        if name in self._hooks:
            told: Mapping[str, Any] = msgspec.json.decode(data)
            for hook in tuple(self._hooks[name]):
                self._call(hook, Event(name, self._shared.org, told))

    def _call(self, hook: Hook, event: Event) -> None:
        try:
            hook(event)
        except Exception as problem:  # a user's function may raise anything
            log.warning("a hook on %s failed: %s", event.name, type(problem).__name__)

    async def close(self) -> None:
        """Stop listening."""
        self._stop = True
        self._shared.client.stop_streams()
        if self._running is not None:
            await self._running.join(5.0)


class RemoteWatch(AsyncWatch):
    """A watch reads rows of the store, so it is held where the store is."""

    def __init__(self, core: Any, namespaces: Any, kinds: Any) -> None:
        raise Unsupported("a watch is held where the store is; a hook (memory.on) follows the events of a server")
