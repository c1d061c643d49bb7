"""Builds redis-py's clients, blocking or asyncio: for one server, for the primary that Sentinels name, for a Cluster.

redis-py's own retries are off: repeated after a lost reply, a write would be done twice. Its connections are extended
in one point only: an error raised while connecting is marked, so that a caller can tell "nothing was sent" from "the
reply was lost".
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable
from typing import Any

from redis.asyncio.client import Redis as AsyncRedis
from redis.asyncio.cluster import ClusterNode as AsyncClusterNode
from redis.asyncio.cluster import RedisCluster as AsyncRedisCluster
from redis.asyncio.connection import BlockingConnectionPool as AsyncPool
from redis.asyncio.connection import Connection as AsyncConnection
from redis.asyncio.connection import SSLConnection as AsyncSSLConnection
from redis.asyncio.connection import parse_url as parse_async_url
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.asyncio.sentinel import SentinelConnectionPool as AsyncSentinelPool
from redis.asyncio.sentinel import SentinelManagedConnection as AsyncSentinelConnection
from redis.asyncio.sentinel import SentinelManagedSSLConnection as AsyncSentinelSSLConnection
from redis.backoff import NoBackoff
from redis.client import Redis
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import Connection, ConnectionPool, SSLConnection, parse_url
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoPermissionError, RedisError
from redis.retry import Retry
from redis.sentinel import (
    Sentinel,
    SentinelConnectionPool,
    SentinelManagedConnection,
    SentinelManagedSSLConnection,
)

from ...errors import UsageError
from .urls import Address, Servers

_UNLIMITED = 2**31
_FOR_SENTINELS = ("socket_connect_timeout", "socket_timeout", "protocol", "retry")
"""The settings that connections to Sentinels share with those to the servers: all but user, password and database."""


class Factory:
    """Makes clients with the settings of one URL; `on_connect` is called after each new connection."""

    def __init__(
        self,
        servers: Servers,
        *,
        blocking: bool,
        connect_timeout: float,
        timeout: float,
        connections: int,
        on_connect: Callable[[], None],
    ) -> None:
        self._servers = servers
        self._blocking = blocking
        self._connections = connections
        settings = _parse(servers.plain, blocking)
        base = settings.pop("connection_class", Connection if blocking else AsyncConnection)
        _check_options(base, settings)
        defaults = {"socket_connect_timeout": connect_timeout, "socket_timeout": timeout, "protocol": 2}
        retry: Any = Retry(NoBackoff(), 0) if blocking else AsyncRetry(NoBackoff(), 0)
        self._settings: dict[str, Any] = {**defaults, **settings, "retry": retry, "decode_responses": False}
        if servers.cluster and settings.get("db"):
            raise UsageError("a Redis Cluster has database 0 only; leave the number out of the URL")
        self.path: str | None = settings.get("path")
        self.address: Address = (settings.get("host", "localhost"), int(settings.get("port", 6379)))
        self._extend = _extend if blocking else _extend_async
        self._base, self._on_connect = base, on_connect

    def client(self, address: Address | None = None) -> Any:
        """A client of the server that the URL names, or of the one at an address."""
        settings = dict(self._settings)
        if address is not None:
            settings["host"], settings["port"] = address
        return self._client_of(ConnectionPool if self._blocking else AsyncPool, self._base, settings)

    def sentinel_client(self) -> tuple[Any, list[Any]]:
        """A client of the primary of a service, which asks the Sentinels before each connection; and theirs."""
        shared = {name: self._settings[name] for name in _FOR_SENTINELS}
        manager: Any = (Sentinel if self._blocking else AsyncSentinel)(self._servers.seeds, sentinel_kwargs=shared)
        settings = {name: value for name, value in self._settings.items() if name not in ("host", "port")}
        settings["redis_connect_func"] = _check_role if self._blocking else _check_role_async
        pool_type = SentinelConnectionPool if self._blocking else _AsyncSentinelPool
        base = _SENTINEL_CLASSES[self._base]
        return self._client_of(pool_type, base, settings, self._servers.service, manager), list(manager.sentinels)

    def cluster_client(self) -> Any:
        """A client of the whole Cluster. The blocking one connects at once."""
        node: Any = ClusterNode if self._blocking else AsyncClusterNode
        options = {name: value for name, value in self._settings.items() if name not in ("db", "host", "port")}
        if issubclass(self._base, SSLConnection | AsyncSSLConnection):
            options["ssl"] = True
        # With its `reinitialize_steps` redis-py would close the connections under other calls after some redirections.
        cluster: Any = RedisCluster if self._blocking else AsyncRedisCluster
        return cluster(
            startup_nodes=[node(*seed) for seed in self._servers.seeds],
            reinitialize_steps=0,
            max_connections=_UNLIMITED,
            **options,
        )

    def _client_of(self, pool_type: Any, base: Any, settings: dict[str, Any], *origin: Any) -> Any:
        settings["connection_class"] = self._extend(base, self._on_connect)
        if self._blocking:
            return Redis(connection_pool=pool_type(*origin, max_connections=_UNLIMITED, **settings))
        # Further callers wait for a connection, however long; each call has its own time limit.
        return AsyncRedis(
            connection_pool=pool_type(*origin, max_connections=self._connections, timeout=None, **settings)
        )


class _AsyncSentinelPool(AsyncSentinelPool, AsyncPool):
    """A pool that asks the Sentinels, and whose callers wait for a connection when all are in use."""


_SENTINEL_CLASSES = {
    Connection: SentinelManagedConnection,
    SSLConnection: SentinelManagedSSLConnection,
    AsyncConnection: AsyncSentinelConnection,
    AsyncSSLConnection: AsyncSentinelSSLConnection,
}


def _extend(base: Any, on_connect: Callable[[], None]) -> Any:
    """A class of blocking connections that marks the errors of connecting."""

    class Marked(base):  # type: ignore[misc]
        def connect(self) -> None:
            try:
                super().connect()
            except (RedisError, OSError) as error:
                _mark_unsent(error)
                raise

        def connect_check_health(self, *args: Any, **options: Any) -> None:
            was_connected = self.is_connected
            try:
                super().connect_check_health(*args, **options)
            except (RedisError, OSError) as error:
                _mark_unsent(error)
                raise
            if not was_connected:
                on_connect()

    return Marked


def _extend_async(base: Any, on_connect: Callable[[], None]) -> Any:
    """A class of asyncio connections that marks the errors of connecting, and notices a closed one in time."""

    class Marked(base):  # type: ignore[misc]
        async def connect(self) -> None:
            try:
                await super().connect()
            except (RedisError, OSError) as error:
                _mark_unsent(error)
                raise

        async def connect_check_health(self, *args: Any, **options: Any) -> None:
            was_connected = self.is_connected
            try:
                await super().connect_check_health(*args, **options)
            except (RedisError, OSError) as error:
                _mark_unsent(error)
                raise
            if not was_connected:
                on_connect()

        async def can_read(self) -> bool:
            # A loop that did not run meanwhile has not seen that the server closed the connection; the socket shows it.
            sock = self._writer.get_extra_info("socket") if self.is_connected else None
            return (sock is not None and _is_readable(sock.fileno())) or bool(await super().can_read())

    return Marked


def _mark_unsent(error: Any) -> None:
    error.before_sending = True


def _is_readable(fd: int) -> bool:
    if fd < 0:
        return True
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _check_role(connection: Any) -> None:
    """Refuse a server that is a replica.

    A primary that died comes back at its old address as an empty replica of the new one. It refuses writes, but it
    answers reads, and scripts that find nothing to write to, as if there had never been anything.
    """
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


def _parse(url: str, blocking: bool) -> dict[str, Any]:
    parse: Any = parse_url if blocking else parse_async_url
    try:
        return dict(parse(url))
    except (ValueError, TypeError):
        # The driver's own message may quote the URL, password included.
        raise UsageError("this Redis URL cannot be read; write it like redis://user:password@host:6379/0") from None


def _check_options(base: Any, settings: dict[str, Any]) -> None:
    """Refuse unknown options of the URL now; the driver would complain only on the first connect."""
    try:
        base(**settings)
    except TypeError as error:
        option = str(error).partition("'")[2].partition("'")[0]
        raise UsageError(f"unknown option {option[:40]!r} in the Redis URL") from None
