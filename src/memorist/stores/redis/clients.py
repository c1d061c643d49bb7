"""Builds redis-py's clients, blocking or asyncio, for one server, for the primary that Sentinels name, or for a
Cluster.

redis-py's own retries are off, because a write repeated after a lost reply would be done twice. Its pools are extended
to mark errors that occur before a connection is ready. This distinguishes "nothing was sent" from "the reply was lost".
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable
from typing import Any

import redis.asyncio.cluster
import redis.asyncio.sentinel
import redis.cluster
import redis.sentinel
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoPermissionError, RedisError
from redis.retry import Retry

from ...errors import UsageError
from .urls import Address, Servers

_MAX_CONNECTIONS = 2**31
_FOR_SENTINELS = ("socket_connect_timeout", "socket_timeout", "protocol", "retry")
"""The settings that connections to Sentinels share with connections to servers. These are all settings except user,
password and database."""
_FOR_SERVERS = ("connection_class", "host", "port")
"""The settings that name one server. Clients of Sentinels and of a Cluster find their servers themselves."""


class _Pool(redis.ConnectionPool):
    def get_connection(self, *args: Any, **options: Any) -> Any:
        try:
            return super().get_connection(*args, **options)
        except (RedisError, OSError) as error:
            # redis-py sends a command only after this has returned a ready connection, so nothing was sent.
            error.before_sending = True  # type: ignore[union-attr]
            raise


class _AsyncPool(redis.asyncio.BlockingConnectionPool):
    """Lets callers wait for a connection while all are in use."""

    async def ensure_connection(self, connection: Any) -> None:
        try:
            # asyncio notices that the server has closed a connection only when the loop runs. If it has not run since,
            # redis-py would use the dead connection, and the outcome of a write on it would be unknown.
            if connection.is_connected and _is_readable(connection):
                await connection.disconnect()
            await super().ensure_connection(connection)
        except (RedisError, OSError) as error:
            error.before_sending = True  # type: ignore[union-attr]
            raise


class _SentinelPool(redis.sentinel.SentinelConnectionPool, _Pool):
    pass


class _AsyncSentinelPool(redis.asyncio.sentinel.SentinelConnectionPool, _AsyncPool):
    pass


class Factory:
    """Creates clients with the settings of one URL. `on_connect` is called after each new connection."""

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
        self._servers, self._on_connect = servers, on_connect
        # The two halves of redis-py have the same names.
        self._driver: Any = redis if blocking else redis.asyncio
        settings = self._parse(servers.plain)
        self._tls = issubclass(settings.get("connection_class", object), self._driver.SSLConnection)
        self.path: str | None = settings.get("path")
        self.address: Address = (settings.get("host", "localhost"), int(settings.get("port", 6379)))
        if servers.cluster and settings.pop("db", 0):
            raise UsageError("a Redis Cluster has database 0 only; leave the number out of the URL")
        # RESP 2. redis-py's default, RESP 3, changes the types of some replies and lets the server push messages.
        defaults = {"socket_connect_timeout": connect_timeout, "socket_timeout": timeout, "protocol": 2}
        retry: object = Retry(NoBackoff(), 0) if blocking else AsyncRetry(NoBackoff(), 0)
        self._settings: dict[str, object] = {**defaults, **settings, "retry": retry, "decode_responses": False}
        # Threads are as many as the program starts, but a loop may run any number of calls at once.
        self._pool_settings: dict[str, object] = (
            {"max_connections": _MAX_CONNECTIONS, "redis_connect_func": self._connect}
            if blocking
            else {"max_connections": connections, "timeout": None, "redis_connect_func": self._connect_async}
        )
        self._pool_type: Any = _Pool if blocking else _AsyncPool
        self._sentinel_pool_type: Any = _SentinelPool if blocking else _AsyncSentinelPool

    def main_client(self) -> Any:
        """Return the client for what the URL names: a server, the primary of a service, or a Cluster."""
        if self._servers.cluster:
            return self._cluster_client()
        return self._sentinel_client() if self._servers.service else self.client(self.address)

    def client(self, address: Address) -> Any:
        """Return a client for one server."""
        settings = {**self._settings, **self._pool_settings}
        if self.path is None:
            settings["host"], settings["port"] = address
        return self._driver.Redis(connection_pool=self._pool_type(**settings))

    def _sentinel_client(self) -> Any:
        """Return a client for a service's primary that asks the Sentinels before each new connection."""
        shared = {name: self._settings[name] for name in _FOR_SENTINELS}
        manager = self._driver.Sentinel(self._servers.seeds, sentinel_kwargs=shared)
        settings = {**self._without_server(), **self._pool_settings, "ssl": self._tls}
        pool = self._sentinel_pool_type(self._servers.service, manager, **settings)
        return self._driver.Redis(connection_pool=pool)

    def _cluster_client(self) -> Any:
        """Return a client for the whole Cluster. The blocking one connects immediately."""
        return self._driver.RedisCluster(
            startup_nodes=[self._driver.cluster.ClusterNode(*seed) for seed in self._servers.seeds],
            # After some redirections redis-py would otherwise close connections that other calls use.
            reinitialize_steps=0,
            max_connections=_MAX_CONNECTIONS,
            ssl=self._tls,
            **self._without_server(),
        )

    def _without_server(self) -> dict[str, object]:
        return {name: value for name, value in self._settings.items() if name not in _FOR_SERVERS}

    def _parse(self, url: str) -> dict[str, Any]:
        try:
            settings = dict(self._driver.connection.parse_url(url))
        except (ValueError, TypeError):
            # The driver's own message may quote the URL, password included.
            raise UsageError("this Redis URL cannot be read; write it like redis://user:password@host:6379/0") from None
        options = {name: value for name, value in settings.items() if name != "connection_class"}
        try:
            # Refuse unknown options now. The driver would reject them only when it first connects.
            settings.get("connection_class", self._driver.Connection)(**options)
        except TypeError as error:
            option = str(error).partition("'")[2].partition("'")[0]
            raise UsageError(f"unknown option {option[:40]!r} in the Redis URL") from None
        return settings

    # redis-py calls one of these after opening a socket, instead of `connection.on_connect` alone.

    def _connect(self, connection: Any) -> None:
        connection.on_connect()
        if self._servers.service:
            connection.send_command("ROLE", check_health=False)
            with contextlib.suppress(NoPermissionError):  # without this permission, the role remains unknown
                _refuse_replica(connection.read_response())
        self._on_connect()

    async def _connect_async(self, connection: Any) -> None:
        await connection.on_connect()
        if self._servers.service:
            await connection.send_command("ROLE", check_health=False)
            with contextlib.suppress(NoPermissionError):
                _refuse_replica(await connection.read_response())
        self._on_connect()


def _refuse_replica(role: Any) -> None:
    """Refuse a server that is a replica.

    A crashed primary comes back at its old address as an empty replica of the new one. It refuses writes, but it
    answers reads (and read-only scripts) as if there had never been any data.
    """
    if bytes(role[0]) != b"master":
        raise RedisConnectionError("the server is a replica now")


def _is_readable(connection: Any) -> bool:
    """Return whether the socket of an idle connection has data to read, which is a late reply or the end."""
    sock = connection._writer.get_extra_info("socket")
    if sock is None:
        return False
    if sock.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    return bool(poll.poll(0))
