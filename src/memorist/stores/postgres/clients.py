"""A blocking and an async client over psycopg with the same coroutine methods, and a connection pool over either.

The pool is ours rather than psycopg_pool's: it has no threads and no tasks of its own, so that it survives forks and
new event loops; it reports a server that is away at once, with the cause; and taking a channel costs microseconds.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import psycopg
from psycopg import waiting
from psycopg.abc import PQGen

from ...errors import StoreUnavailable
from ...runtime import Runtime, run_blocking
from .options import Options
from .wire import Channel, Lost, Reply, Step

T = TypeVar("T")
IDLE_CHECK_SECONDS = 60.0
_INTERVAL = 0.1
_PROBE = [Step(b"SELECT 1", ())]
_abandoned: list[Any] = []
"""Channels inherited through a fork. The child keeps them referenced and unused: closing them, or letting the garbage
collector do so, would end the parent's sessions."""


class Client(Protocol):
    """The part that differs between blocking and async."""

    async def connect(self, conninfo: str) -> psycopg.BaseConnection[Any]:
        """A new connection."""
        ...

    async def wait(self, generator: PQGen[T], channel: Channel) -> T:
        """Run a psycopg generator to its end, waiting for the socket whenever it asks to."""
        ...


class BlockingClient:
    """Over psycopg's blocking connection; never suspends."""

    async def connect(self, conninfo: str) -> psycopg.BaseConnection[Any]:
        return psycopg.Connection.connect(conninfo, autocommit=True)

    async def wait(self, generator: PQGen[T], channel: Channel) -> T:
        return waiting.wait(generator, channel.pgconn.socket, _INTERVAL)


class AsyncClient:
    """Over psycopg's async connection; a cancelled exchange costs its channel, nothing else."""

    async def connect(self, conninfo: str) -> psycopg.BaseConnection[Any]:
        return await psycopg.AsyncConnection.connect(conninfo, autocommit=True)

    async def wait(self, generator: PQGen[T], channel: Channel) -> T:
        return await waiting.wait_async(generator, channel.pgconn.socket, _INTERVAL)


class Pool:
    """A connection pool of at most `pool_size` channels; callers that find none free wait in a queue.

    A place is the right to hold one channel; there are `pool_size` of them."""

    def __init__(self, options: Options, runtime: Runtime) -> None:
        self._options = options
        self._runtime = runtime
        self._prepare = options.prepare
        self._client: Client = BlockingClient() if runtime.blocking else AsyncClient()
        self._pid = os.getpid()
        self._closed = False
        self._reset()

    def _reset(self) -> None:
        self._guard = threading.Lock()
        self._idle: list[Channel] = []
        self._busy: set[Channel] = set()
        self._places = self._options.pool_size
        self._waiting: deque[Any] = deque()
        self.round_trips = 0

    def open(self) -> None:
        """Keep channels again, after `close`."""
        self._closed = False

    def close(self) -> None:
        """Close idle channels now, and busy ones when they are given back; so are those that are taken later, by calls
        that had begun before."""
        self._closed = True
        self._drop_channels()

    def _drop_channels(self) -> None:
        self._after_fork()
        with self._guard:
            idle, self._idle = self._idle, []
            for channel in list(self._busy):
                channel.broken = True
        for channel in idle:
            channel.close()

    def stop_preparing(self) -> bool:
        """Stop using prepared statements; False if they were off already."""
        was, self._prepare = self._prepare, False
        if was:
            self._drop_channels()
        return was

    async def take(self) -> Channel:
        """A live channel for one unit of work; the caller gives it back with `give`."""
        if self._pid != os.getpid():
            self._after_fork()
        with self._guard:
            channel = self._idle.pop() if self._idle and self._places > 0 else None
            self._places -= channel is not None
        if channel is not None:
            if not channel.readable() and time.monotonic() - channel.used_at < IDLE_CHECK_SECONDS:
                self._busy.add(channel)
                return channel
            with self._guard:
                self._idle.append(channel)
            self._free_place()
        await self._take_place()
        try:
            channel = await self._checked()
        except BaseException:
            self._free_place()
            raise
        self._busy.add(channel)
        return channel

    def give(self, channel: Channel) -> None:
        """Take a channel back, and wake the next caller in the queue; a broken channel is closed."""
        self._busy.discard(channel)
        with self._guard:
            kept = not (channel.broken or self._closed)
            if kept:
                self._idle.append(channel)
        if not kept:
            channel.close()
        self._free_place()

    async def exchange(self, channel: Channel, steps: Sequence[Step]) -> list[Reply]:
        """Run statements as one transaction in one round trip."""
        self.round_trips += 1
        return await self._client.wait(channel.exchange(steps, self._patience(len(steps))), channel)

    async def script(self, channel: Channel, sql: str, patience: float) -> None:
        """Several statements as one text."""
        await self._client.wait(channel.script(sql.encode(), patience), channel)

    def _patience(self, steps: int) -> float:
        # The server's own timeouts end slow statements; this limit is for a server that does not answer at all.
        return self._options.statement_timeout + self._options.lock_timeout + 5.0 + steps / 1000

    def _after_fork(self) -> None:
        if self._pid != os.getpid():
            _abandoned.append((self._idle, self._busy))
            self._reset()
            self._pid = os.getpid()

    async def _take_place(self) -> None:
        with self._guard:
            if self._places > 0:
                self._places -= 1
                return
        # The runtime's lock serves as an event: it is not re-entrant, so the second acquire below waits until
        # `_free_place` releases it and thereby hands its place over to us.
        turn = self._runtime.lock()
        await turn.__aenter__()
        with self._guard:
            if self._places > 0:
                self._places -= 1
                return
            self._waiting.append(turn)
        try:
            await turn.__aenter__()
        except BaseException:
            self._leave_line(turn)
            raise

    def _leave_line(self, turn: Any) -> None:
        with self._guard:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return
        self._free_place()

    def _free_place(self) -> None:
        with self._guard:
            if not self._waiting:
                self._places += 1
                return
            turn = self._waiting.popleft()
        run_blocking(turn.__aexit__(None, None, None))

    async def _checked(self) -> Channel:
        while True:
            with self._guard:
                channel = self._idle.pop() if self._idle else None
            if channel is None:
                return await self._connect()
            if await self._alive(channel):
                return channel
            channel.close()

    async def _alive(self, channel: Channel) -> bool:
        """Whether an idle channel still works: one with bytes to read was closed by the server, and one that was idle
        for long is probed with a statement."""
        if channel.readable():
            return False
        if time.monotonic() - channel.used_at < IDLE_CHECK_SECONDS:
            return True
        try:
            await self._client.wait(channel.exchange(_PROBE, self._options.connect_timeout), channel)
        except Lost:
            return False
        return True

    async def _connect(self) -> Channel:
        place = self._options.place
        try:
            connection = await self._client.connect(self._options.conninfo)
        except psycopg.errors.ConnectionTimeout as cause:
            limit = self._options.connect_timeout
            raise StoreUnavailable(f"Postgres at {place} did not answer within {limit:.0f} s", place=place) from cause
        except psycopg.Error as cause:
            raise StoreUnavailable(f"Postgres at {place} cannot be reached: {_reason(cause)}", place=place) from cause
        return Channel(connection, self._prepare)


def _reason(cause: psycopg.Error) -> str:
    """The driver's first line, which names no password."""
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return lines[0] if lines else type(cause).__name__
