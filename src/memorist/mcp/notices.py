"""Notifies clients when a resource they watch has changed. A notice contains its address, never its content.

Access is checked when a client subscribes. Clients of older protocol versions subscribe on their connection; newer ones
open a stream. Both are notified of changes that this process writes or derives.
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

from ..engine.hooks import Events, HookEvent
from .resources import touched

log = logging.getLogger("memorist.mcp")
MAX_WAITING_NOTICES = 10_000


class Notices:
    """Holds the subscriptions of clients, by org and resource."""

    def __init__(self) -> None:
        self._buses: dict[str, tuple[InMemorySubscriptionBus, ListenHandler]] = {}
        self._connections: dict[tuple[str, str], dict[int, Any]] = {}
        """Sessions of clients of older protocol versions, by org and address, then by connection."""
        self._send: MemoryObjectSendStream[tuple[str, str]] | None = None
        self._events: Events | None = None
        self._hooks: list[Callable[[], None]] = []

    def subscribe(self, org: str, uri: str, session: Any) -> None:
        """Subscribe a connection (older protocol) to one address."""
        self._watch()
        connection = session._connection  # the SDK makes a session per request; the connection persists
        self._connections.setdefault((org, uri), {})[id(connection)] = session
        # A client that disconnects does not unsubscribe, and its session would be kept for ever.
        connection.exit_stack.callback(self.unsubscribe, org, uri, session)

    def unsubscribe(self, org: str, uri: str, session: Any) -> None:
        """End a connection's subscription."""
        watching = self._connections.get((org, uri), {})
        watching.pop(id(session._connection), None)
        if not watching:
            self._connections.pop((org, uri), None)

    async def listen(
        self, org: str, ctx: Any, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a client's stream of changes (newer protocol)."""
        self._watch()
        return await self._bus(org)[1](ctx, params)

    def _bus(self, org: str) -> tuple[InMemorySubscriptionBus, ListenHandler]:
        if org not in self._buses:
            bus = InMemorySubscriptionBus()
            self._buses[org] = bus, ListenHandler(bus)
        return self._buses[org]

    def changed(self, org: str, uris: Iterable[str]) -> None:
        """Queue notices of changed addresses. A task of `running` sends them, so that writers do not wait."""
        if self._send is None or not (self._buses or self._connections):
            return
        for uri in uris:
            try:
                # A slow client must not delay the writer of a fact. A notice only says that something changed, so one
                # that is dropped is made up for by the next.
                self._send.send_nowait((org, uri))
            except anyio.WouldBlock:
                log.warning("a change notice was dropped: %d are waiting to be sent", MAX_WAITING_NOTICES)

    @asynccontextmanager
    async def running(self, events: Events) -> AsyncIterator[None]:
        """Send notices to clients while this context is open, for the changes that `events` report."""
        send, receive = anyio.create_memory_object_stream[tuple[str, str]](MAX_WAITING_NOTICES)
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
        """Hook into the events at the first subscription, because this opens an event stream if the memory is
        remote."""
        if self._events is not None and not self._hooks:
            self._hooks = [self._events.on(name, self._heard) for name in ("fact", "learning", "message")]

    def _heard(self, event: HookEvent) -> None:
        kind, id = (event.name, event.data.get("id")) if event.name != "message" else ("thread", event.data["thread"])
        if id:
            self.changed(event.org, touched(kind, str(id)))

    async def _tell(self, receive: MemoryObjectReceiveStream[tuple[str, str]]) -> None:
        async for org, uri in receive:
            if org in self._buses:
                await self._buses[org][0].publish(ResourceUpdated(uri=uri))
            # A copy, because clients subscribe and disconnect while the notices are being sent.
            for session in [*self._connections.get((org, uri), {}).values()]:
                # The client has disconnected; its subscription ends with its connection.
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await session.send_resource_updated(uri)
