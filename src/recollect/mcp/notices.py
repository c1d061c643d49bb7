"""Notices: clients that watch a resource are told when it has changed. Only its address is sent, never content.

What a client may watch is checked when it asks. Older clients subscribe to addresses on their connection; newer ones
open a stream for them. Both hear of what this process writes or derives.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

from ..engine.events import Event, Events
from .resources import touched

log = logging.getLogger("recollect.mcp")
MOST_WAITING = 10_000


class Notices:
    """Who watches what, by org."""

    def __init__(self) -> None:
        self._buses: dict[str, tuple[InMemorySubscriptionBus, ListenHandler]] = {}
        self._connections: dict[tuple[str, str], dict[int, Any]] = {}
        """Connections of older clients by org and address."""
        self._send: MemoryObjectSendStream[tuple[str, str]] | None = None
        self._events: Events | None = None
        self._hooks: list[Callable[[], None]] = []

    def subscribe(self, org: str, uri: str, session: Any) -> None:
        """Tell an older client's connection of changes of one address."""
        self._watch()
        connection = session._connection  # what lasts of a session: requests have a session each
        self._connections.setdefault((org, uri), {})[id(connection)] = session
        connection.exit_stack.callback(self.unsubscribe, org, uri, session)

    def unsubscribe(self, org: str, uri: str, session: Any) -> None:
        """Stop telling it."""
        watching = self._connections.get((org, uri), {})
        watching.pop(id(session._connection), None)
        if not watching:
            self._connections.pop((org, uri), None)

    async def listen(
        self, org: str, ctx: Any, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a newer client's stream."""
        self._watch()
        return await self._bus(org)[1](ctx, params)

    def _bus(self, org: str) -> tuple[InMemorySubscriptionBus, ListenHandler]:
        if org not in self._buses:
            bus = InMemorySubscriptionBus()
            self._buses[org] = bus, ListenHandler(bus)
        return self._buses[org]

    def changed(self, org: str, uris: Iterable[str]) -> None:
        """Note that something changed; it is told by `running`, not by whoever changed it."""
        if self._send is None or not (self._buses or self._connections):
            return
        for uri in uris:
            try:
                self._send.send_nowait((org, uri))
            except anyio.WouldBlock:
                log.warning("a notice of a change was not sent: too many wait")

    @asynccontextmanager
    async def running(self, events: Events) -> AsyncIterator[None]:
        """Tell clients of changes while this runs: of those that the store's events tell of."""
        send, receive = anyio.create_memory_object_stream[tuple[str, str]](MOST_WAITING)
        async with send, receive, anyio.create_task_group() as group:
            self._send, self._events = send, events
            group.start_soon(self._tell, receive)
            try:
                yield
            finally:
                self._send = self._events = None
                while self._hooks:
                    self._hooks.pop()()
                group.cancel_scope.cancel()

    def _watch(self) -> None:
        """Follow the events, from the first client on that wants to know: on a server's handle they are a stream."""
        if self._events is not None and not self._hooks:
            self._hooks = [self._events.on(name, self._heard) for name in ("fact", "learning", "message")]

    def _heard(self, event: Event) -> None:
        kind, id = (event.name, event.data.get("id")) if event.name != "message" else ("thread", event.data["thread"])
        if id:
            self.changed(event.org, touched(kind, str(id)))

    async def _tell(self, receive: MemoryObjectReceiveStream[tuple[str, str]]) -> None:
        async for org, uri in receive:
            if org in self._buses:
                await self._buses[org][0].publish(ResourceUpdated(uri=uri))
            for session in [*self._connections.get((org, uri), {}).values()]:
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await session.send_resource_updated(uri)
