"""Calls hooks for a server's events, which arrive on a stream in the background, and watches for changes by long
polling."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Self, cast

import msgspec

from ..engine.hooks import Events, Hook, HookEvent
from ..engine.watching import AsyncWatch, Notice
from ..errors import MemoristError
from ..runtime import Background
from ..scope import Ns
from ..telemetry import Telemetry
from ..values import JsonMapping

if TYPE_CHECKING:
    from ..engine.core import Core
    from .core import RemoteCore, RemoteShared


AGAIN_SECONDS = 1.0
WAIT_SECONDS = 10.0
"""The maximum number of seconds that one request waits on the server for changes; closing a watch may take that
long."""
log = logging.getLogger("memorist")


class RemoteEvents(Events):
    """Calls hooks for the events that the server streams."""

    def __init__(self, shared: RemoteShared) -> None:
        super().__init__()
        self._shared = shared
        self._running: Background | None = None
        self._stop = False
        self._last = ""

    def on(self, name: str, hook: Hook) -> Callable[[], None]:
        """Call `hook` for each event with this name. The first hook opens the stream."""
        off = super().on(name, hook)
        if self._running is None:
            self._running = self._shared.runtime.start(self._follow, "memorist-events")
        return off

    def trace(self) -> None:
        """Send the current span with each request (`traceparent`), so that the server's spans join the trace."""
        self._traced = Telemetry()

    def headers(self) -> dict[str, str]:
        """Return the trace context headers of the current span."""
        return self._traced.headers() if self._traced is not None else {}

    async def _follow(self) -> None:
        """Read the stream, and reconnect after the last event received (`Last-Event-ID`) whenever it breaks."""
        while not self._stop:
            try:
                async for name, id, data in self._shared.client.events(self._last, {}):
                    self._last = id or self._last
                    self._tell(name, data)
                    if self._stop:
                        return
            except MemoristError as lost:
                log.info("the stream of events broke: %s", type(lost).__name__)
            if not self._stop:
                await self._shared.runtime.sleep(AGAIN_SECONDS)

    def _tell(self, name: str, data: str) -> None:
        if name in self._hooks:
            facts: JsonMapping = msgspec.json.decode(data)
            for hook in tuple(self._hooks[name]):
                self._call(hook, HookEvent(name, self._shared.org, facts))

    def _call(self, hook: Hook, event: HookEvent) -> None:
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
    """Watches by long polling. Each request waits on the server for the next changes."""

    def __init__(self, core: RemoteCore, namespaces: Sequence[Ns] | None, kinds: Sequence[str] | None) -> None:
        super().__init__(cast("Core", core), namespaces, kinds)
        self._call_server = core.call
        self._asked = {
            "namespaces": None if self._spaces is None else sorted(self._spaces),
            "kinds": None if self._kinds is None else sorted(self._kinds),
        }

    async def start(self) -> Self:
        """Start the watch. No change made after this returns is missed."""
        if self._seen is None:
            self._seen = (await self._call_server("watching.look", **self._asked)).seen
        return self

    async def next(self, timeout: float | None = None) -> list[Notice]:
        """Return the changes since the last call, at most one per kind and namespace. Returns nothing after `timeout`
        seconds without changes.
        """
        await self.start()
        ends = None if timeout is None else monotonic() + timeout
        notices, self._waiting = self._waiting, []
        while not self._closed and not notices:
            left = WAIT_SECONDS if ends is None else max(0.0, min(WAIT_SECONDS, ends - monotonic()))
            news = await self._call_server("watching.look", seen=self._seen, timeout=left, **self._asked)
            notices, self._seen = news.notices, news.seen
            if ends is not None and monotonic() >= ends:
                break
        return notices
