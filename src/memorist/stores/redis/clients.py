"""Two small clients with the same coroutine methods, one over redis-py's blocking connections, one over its async ones.

They speak to one server each and never repeat a command by themselves. `NotSent` means that nothing reached the server;
`Lost` means that the command went out and no reply came back, so that its outcome is unknown.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import warnings
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, Protocol

from redis.asyncio.connection import Connection as AsyncConnection
from redis.asyncio.connection import parse_url as parse_async_url
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.connection import Connection, parse_url
from redis.exceptions import BusyLoadingError, NoPermissionError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from ...errors import UsageError
from ...runtime import Runtime

_pack_command: Any = None
with contextlib.suppress(ImportError):  # optional: packs commands faster, into the same bytes
    from hiredis import pack_command as _pack_command

_BROKEN = (RedisConnectionError, RedisTimeoutError, OSError)
_abandoned: list[Any] = []
"""Async connections inherited through a fork; the child keeps them referenced, unused and open.

Parent and child share the epoll instance of the parent's loop: closing a connection in the child would unregister its
socket there, and the parent would wait for its reply forever.
"""


class NotSent(Exception):
    """No connection could be had; nothing was done."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


class Lost(Exception):
    """The command was sent and its reply never came."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause
        self.timeout = isinstance(cause, RedisTimeoutError)


class Channel(Protocol):
    """Connections to one server. While it is closed none is kept: calls that began before close what they used."""

    closed: bool
    round_trips: int
    connections_made: int

    async def execute(self, *command: Any) -> Any:
        """The reply to one command; ResponseError where the server refused it."""
        ...

    async def execute_many(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """The replies to several commands in one round trip, refusals in their place."""
        ...

    async def close(self) -> None: ...


def channel(settings: dict[str, Any], runtime: Runtime, connections: int) -> Channel:
    """The client that fits the runtime."""
    return BlockingChannel(settings) if runtime.blocking else AsyncChannel(settings, runtime, connections)


def settings_of(url: str, *, blocking: bool, connect_timeout: float, timeout: float) -> dict[str, Any]:
    """The arguments of a connection; options in the URL override ours."""
    parse: Any = parse_url if blocking else parse_async_url
    try:
        parsed = dict(parse(url))
    except (ValueError, TypeError):
        # The driver's own message may quote the URL, password included.
        raise UsageError("this Redis URL cannot be read; write it like redis://user:password@host:6379/0") from None
    _check_options(parsed)
    retry: Any = Retry(NoBackoff(), 0) if blocking else AsyncRetry(NoBackoff(), 0)
    base = {"socket_connect_timeout": connect_timeout, "socket_timeout": timeout, "protocol": 2}
    return {**base, **parsed, "retry": retry, "decode_responses": False}


def only_primaries(*, blocking: bool) -> Callable[[Any], Any]:
    """A hook for new connections that refuses a server which is a replica.

    A primary that died comes back at its old address as an empty replica of the new one. It refuses writes, but it
    answers reads, and scripts that find nothing to write to, as if there had never been anything.
    """
    return _check_role if blocking else _check_role_async


def _check_role(connection: Any) -> None:
    connection.on_connect()
    connection.send_command("ROLE", check_health=False)
    with contextlib.suppress(NoPermissionError):  # then nobody can tell
        _refuse_replica(connection.read_response())


async def _check_role_async(connection: Any) -> None:
    await connection.on_connect()
    await connection.send_command("ROLE", check_health=False)
    with contextlib.suppress(NoPermissionError):
        _refuse_replica(await connection.read_response())


def _refuse_replica(role: Any) -> None:
    if bytes(role[0]) != b"master":
        raise RedisConnectionError("the server is a replica now")


def _check_options(parsed: dict[str, Any]) -> None:
    """Refuse unknown options of the URL now; the driver would complain only on the first connect."""
    kind = parsed.get("connection_class", Connection)
    known = {"connection_class"}
    for base in kind.__mro__:
        known.update(signature(base.__init__).parameters if "__init__" in vars(base) else ())
    unknown = sorted(set(parsed) - known)
    if unknown:
        raise UsageError(f"unknown option {unknown[0][:40]!r} in the Redis URL")


class BlockingChannel:
    """Blocking connections, one per thread that needs one at the same time."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = dict(settings)
        self._class = self._settings.pop("connection_class", Connection)
        self._idle: list[Any] = []
        self.closed = False
        self._pid = os.getpid()
        self.round_trips = 0
        self.connections_made = 0

    async def execute(self, *command: Any) -> Any:
        connection = self._take()
        try:
            connection.send_packed_command(_packed(connection, command), check_health=False)
            reply = connection.read_response()
        except BusyLoadingError as cause:
            connection.disconnect()
            raise NotSent(cause) from cause
        except ResponseError:
            self._give(connection)
            raise
        except _BROKEN as cause:
            connection.disconnect()
            raise Lost(cause) from cause
        except BaseException:
            connection.disconnect()
            raise
        self._give(connection)
        return reply

    async def execute_many(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        connection = self._take()
        replies: list[Any] = []
        try:
            connection.send_packed_command(connection.pack_commands(commands), check_health=False)
            for _ in commands:
                try:
                    replies.append(connection.read_response(disconnect_on_error=False))
                except ResponseError as refusal:
                    replies.append(refusal)
        except _BROKEN as cause:
            connection.disconnect()
            raise Lost(cause) from cause
        except BaseException:
            connection.disconnect()
            raise
        self._give(connection)
        return replies

    async def close(self) -> None:
        self.closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().disconnect()

    def _give(self, connection: Any) -> None:
        self._idle.append(connection)
        if self.closed:  # looked at last: either this thread or the one that closes finds the connection
            self._close_idle()

    def _take(self) -> Any:
        self.round_trips += 1
        if self._pid != os.getpid():
            # After a fork the child opens its own connections and leaves the inherited sockets to the parent.
            self._idle, self._pid = [], os.getpid()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._class(**self._settings)
            self.connections_made += 1
        try:
            connection.connect()
            if _is_stale(connection):
                # The server closed it, or an old reply is left in it: connect again before anything is sent.
                connection.disconnect()
                self.connections_made += 1
                connection.connect()
        except (RedisError, OSError) as cause:
            connection.disconnect()
            raise NotSent(cause) from cause
        return connection


class AsyncChannel:
    """Async connections, at most `connections` of them; further callers wait for their turn."""

    def __init__(self, settings: dict[str, Any], runtime: Runtime, connections: int) -> None:
        self._settings = dict(settings)
        self._class = self._settings.pop("connection_class", AsyncConnection)
        self._runtime = runtime
        self._size = connections
        self._lanes: list[_Lane] = []
        self._free: list[_Lane] = []
        self._turn = 0
        self.closed = False
        self._home: object = None
        self._pid = 0
        self.round_trips = 0
        self.connections_made = 0

    async def execute(self, *command: Any) -> Any:
        # When a cancellation coincides with a timeout, the driver swallows it or turns it into an error of its own.
        with self._runtime.cancellable():
            return await self._execute(*command)

    async def _execute(self, *command: Any) -> Any:
        lane = self._lane()
        try:
            async with lane.lock:
                connection = await self._ready(lane)
                try:
                    await connection.send_packed_command(_packed(connection, command), check_health=False)
                    return await connection.read_response()
                except BusyLoadingError as cause:
                    raise NotSent(cause) from cause
                except ResponseError:
                    raise
                except _BROKEN as cause:
                    await _drop(connection)
                    raise Lost(cause) from cause
        finally:
            await self._leave(lane)

    async def execute_many(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        with self._runtime.cancellable():
            return await self._execute_many(commands)

    async def _execute_many(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        lane = self._lane()
        replies: list[Any] = []
        try:
            async with lane.lock:
                connection = await self._ready(lane)
                try:
                    await connection.send_packed_command(connection.pack_commands(commands), check_health=False)
                    for _ in commands:
                        try:
                            replies.append(await connection.read_response(disconnect_on_error=False))
                        except ResponseError as refusal:
                            replies.append(refusal)
                except _BROKEN as cause:
                    await _drop(connection)
                    raise Lost(cause) from cause
                except BaseException:
                    await _drop(connection)
                    raise
            return replies
        finally:
            await self._leave(lane)

    async def close(self) -> None:
        self.closed = True
        if self._home == self._runtime.home():
            self._lanes, free = [], self._free
            self._free = []
            for lane in free:
                await lane.connection.disconnect()
        self._discard_lanes()

    def _lane(self) -> _Lane:
        self.round_trips += 1
        home = self._runtime.home()
        if home != self._home:
            self._discard_lanes()
            self._home, self._pid = home, os.getpid()
        if self._free:
            lane = self._free.pop()
        elif len(self._lanes) < self._size:
            lane = _Lane(self._runtime.lock(), self._class(**self._settings))
            self._lanes.append(lane)
        else:
            self._turn = (self._turn + 1) % self._size
            lane = self._lanes[self._turn]
        lane.users += 1
        return lane

    async def _leave(self, lane: _Lane) -> None:
        lane.users -= 1
        if lane.users == 0 and self.closed:
            self._lanes = [other for other in self._lanes if other is not lane]
            await _drop(lane.connection)
        elif lane.users == 0:
            self._free.append(lane)

    async def _ready(self, lane: _Lane) -> Any:
        connection = lane.connection
        try:
            if not connection.is_connected:
                self.connections_made += 1
                await connection.connect()
            elif await _is_stale_async(connection):
                await _drop(connection)
                self.connections_made += 1
                await connection.connect()
        except (RedisError, OSError) as cause:
            await _drop(connection)
            raise NotSent(cause) from cause
        return connection

    def _discard_lanes(self) -> None:
        """Drop the connections of another process or of an event loop that has ended."""
        if not self._lanes:
            return
        if self._pid != os.getpid():
            _abandoned.append(self._lanes)
            self._lanes, self._free = [], []
            return
        # The loop of these connections has ended, so they cannot be closed on it: collecting them closes the sockets.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            self._lanes, self._free = [], []
            gc.collect()


class _Lane:
    """One async connection, the lock that its callers queue on, and how many they are."""

    def __init__(self, lock: Any, connection: Any) -> None:
        self.lock = lock
        self.connection = connection
        self.users = 0


async def _drop(connection: Any) -> None:
    await connection.disconnect(nowait=True)


def _packed(connection: Any, command: tuple[Any, ...]) -> list[bytes]:
    # As redis-py does with hiredis, without its type check of each argument.
    packed: list[bytes] = connection.pack_command(*command) if _pack_command is None else [_pack_command(command)]
    return packed


def _is_stale(connection: Any) -> bool:
    try:
        return bool(connection.can_read())
    except _BROKEN:
        return True


async def _is_stale_async(connection: Any) -> bool:
    # A loop that did not run meanwhile has not noticed that the server closed the connection; the socket shows it.
    writer = getattr(connection, "_writer", None)
    sock = None if writer is None else writer.get_extra_info("socket")
    if sock is not None and _readable(sock.fileno()):
        return True
    # Before redis-py 8 the check was called can_read_destructive.
    check = getattr(connection, "can_read", None) or connection.can_read_destructive
    try:
        return bool(await check())
    except _BROKEN:
        return True


def _readable(fd: int) -> bool:
    if fd < 0:
        return True
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))
