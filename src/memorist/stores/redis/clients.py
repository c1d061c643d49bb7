"""Builds redis-py's clients, blocking or asyncio, for one server, for the primary that Sentinels name, or for a
Cluster.

redis-py's own retries are off, because a write repeated after a lost reply would be done twice. Its connections are
extended to mark errors that occur while connecting. This distinguishes "nothing was sent" from "the reply was lost".
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


class _AsyncSentinelPool(redis.asyncio.sentinel.SentinelConnectionPool, redis.asyncio.BlockingConnectionPool):
    """Asks the Sentinels for the primary. Callers wait for a connection while all are in use."""


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
        self._extend = _extend if blocking else _extend_async
        self._check_role: object = _check_role if blocking else _check_role_async
        settings = self._parse(servers.plain)
        self._base = settings.pop("connection_class", self._driver.Connection)
        self.path: str | None = settings.get("path")
        self.address: Address = (settings.get("host", "localhost"), int(settings.get("port", 6379)))
        if servers.cluster and settings.pop("db", 0):
            raise UsageError("a Redis Cluster has database 0 only; leave the number out of the URL")
        defaults = {"socket_connect_timeout": connect_timeout, "socket_timeout": timeout, "protocol": 2}
        retry: object = Retry(NoBackoff(), 0) if blocking else AsyncRetry(NoBackoff(), 0)
        self._settings: dict[str, object] = {**defaults, **settings, "retry": retry, "decode_responses": False}
        if blocking:
            self._pool_types: tuple[Any, Any] = redis.ConnectionPool, redis.sentinel.SentinelConnectionPool
            self._limits: dict[str, object] = {"max_connections": _MAX_CONNECTIONS}
        else:
            self._pool_types = redis.asyncio.BlockingConnectionPool, _AsyncSentinelPool
            self._limits = {"max_connections": connections, "timeout": None}

    def client(self, address: Address | None = None) -> Any:
        """Return a client for the server that the URL names, or for the server at a given address."""
        settings = {**self._settings, **self._limits, "connection_class": self._extend(self._base, self._on_connect)}
        if address is not None:
            settings["host"], settings["port"] = address
        return self._driver.Redis(connection_pool=self._pool_types[0](**settings))

    def sentinel_client(self) -> tuple[object, list[object]]:
        """Return a client for a service's primary that asks the Sentinels before each connection, and the Sentinels'
        own clients."""
        shared = {name: self._settings[name] for name in _FOR_SENTINELS}
        manager = self._driver.Sentinel(self._servers.seeds, sentinel_kwargs=shared)
        sort = "SSL" if issubclass(self._base, self._driver.SSLConnection) else ""
        base = getattr(self._driver.sentinel, f"SentinelManaged{sort}Connection")
        settings = {**self._settings, **self._limits, "connection_class": self._extend(base, self._on_connect)}
        for name in ("host", "port"):
            settings.pop(name, None)
        pool = self._pool_types[1](self._servers.service, manager, redis_connect_func=self._check_role, **settings)
        return self._driver.Redis(connection_pool=pool), list(manager.sentinels)

    def cluster_client(self) -> object:
        """Return a client for the whole Cluster. The blocking one connects immediately."""
        settings = {name: value for name, value in self._settings.items() if name not in ("host", "port")}
        return self._driver.RedisCluster(
            startup_nodes=[self._driver.cluster.ClusterNode(*seed) for seed in self._servers.seeds],
            # After some redirections redis-py would otherwise close connections that other calls use.
            reinitialize_steps=0,
            max_connections=_MAX_CONNECTIONS,
            ssl=issubclass(self._base, self._driver.SSLConnection),
            **settings,
        )

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


def _extend(base: Any, on_connect: Callable[[], None]) -> object:
    """Return a class of blocking connections that marks errors that occur while connecting."""

    class Marked(base):  # type: ignore[misc]
        def connect(self) -> None:
            with _marking():
                super().connect()

        def connect_check_health(self, *args: object, **options: object) -> None:
            if not self.is_connected:
                with _marking():
                    super().connect_check_health(*args, **options)
                on_connect()

    return Marked


def _extend_async(base: Any, on_connect: Callable[[], None]) -> object:
    """Return a class of asyncio connections that marks errors that occur while connecting and detects closed
    connections in time."""

    class Marked(base):  # type: ignore[misc]
        async def connect(self) -> None:
            with _marking():
                await super().connect()

        async def connect_check_health(self, *args: object, **options: object) -> None:
            if not self.is_connected:
                with _marking():
                    await super().connect_check_health(*args, **options)
                on_connect()

        async def can_read(self) -> bool:
            # If the loop has not run since the server closed the connection, only the socket shows it.
            sock = self._writer.get_extra_info("socket") if self.is_connected else None
            return (sock is not None and _is_readable(sock.fileno())) or bool(await super().can_read())

    return Marked


class _marking:  # a context manager, used like a function on each call
    __slots__ = ()

    def __enter__(self) -> None:
        return

    def __exit__(self, error_type: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RedisError | OSError):
            error.before_sending = True  # type: ignore[union-attr]


def _is_readable(fd: int) -> bool:
    if fd < 0:
        return True
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _check_role(connection: Any) -> None:
    """Refuse a server that is a replica.

    A crashed primary comes back at its old address as an empty replica of the new one. It refuses writes, but it
    answers reads (and read-only scripts) as if there had never been any data.
    """
    connection.on_connect()
    connection.send_command("ROLE", check_health=False)
    with contextlib.suppress(NoPermissionError):  # without this permission, the role remains unknown
        _refuse_replica(connection.read_response())


async def _check_role_async(connection: Any) -> None:
    await connection.on_connect()
    await connection.send_command("ROLE", check_health=False)
    with contextlib.suppress(NoPermissionError):
        _refuse_replica(await connection.read_response())


def _refuse_replica(role: Any) -> None:
    if bytes(role[0]) != b"master":
        raise RedisConnectionError("the server is a replica now")
