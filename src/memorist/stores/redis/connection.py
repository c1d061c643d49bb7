"""Sends commands to one server, to the primary that Sentinels name, or to the nodes of a Cluster.

Every process and every event loop has its own redis-py clients, because a connection belongs to the loop that opened
it. With `memorist_replicas=N` in the URL, a write is acknowledged once N replicas have received it (`WAIT`).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Sequence
from typing import Any

from redis.exceptions import (
    AskError,
    ClusterDownError,
    ClusterError,
    MovedError,
    NoPermissionError,
    NoScriptError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError

from ...errors import UnknownOutcome, UsageError
from ...runtime import Runtime
from ..homes import Homes
from . import errors
from .clients import Factory
from .scripts import Script
from .urls import Address, parse_url

_FAILURES = (RedisError, RedisClusterException, OSError)
_REDIRECTIONS = (MovedError, AskError, TryAgainError, ClusterDownError, ClusterError)
_REDIRECTION_PAUSE_SECONDS = 0.1


class _Clients:
    """Holds redis-py's clients for one process and event loop."""

    def __init__(self, main: Any, sentinels: Sequence[object] = ()) -> None:
        self.main = main
        self.sentinels = sentinels
        self.nodes: dict[Address, Any] = {}
        """Clients for single servers, by address."""


class _Attempt:
    """Describes a command in progress, including its destination and earlier attempts."""

    __slots__ = ("address", "deadline", "follow", "is_last", "is_script", "key", "write")

    def __init__(self, key: bytes, is_script: bool = False, write: bool = False) -> None:
        self.key, self.is_script, self.write = key, is_script, write
        self.address: Address | None = None
        self.deadline: float | None = None
        """The time at which to stop waiting for keys that are being moved. The first redirection sets this."""
        self.follow = False
        """Whether redis-py's Cluster client sends the command and follows redirects."""
        self.is_last = False


class Client:
    """Sends commands to the server that owns a key, follows redirects, and reports lost replies as such."""

    def __init__(self, url: str, *, runtime: Runtime, connect_timeout: float, timeout: float, connections: int) -> None:
        self._runtime = runtime
        self._timeout = timeout
        servers = parse_url(url)
        self.cluster, self.service, self.replicas = servers.cluster, servers.service, servers.replicas
        self._wait_ms = servers.wait_ms
        self._seeds = servers.seeds
        self._factory = Factory(
            servers,
            blocking=runtime.blocking,
            connect_timeout=connect_timeout,
            timeout=timeout,
            connections=connections,
            on_connect=self._count_connection,
        )
        self._homes = Homes(runtime, self._make, self._dispose)
        self._numbers = itertools.count(1)
        self.connections_made = 0
        """Changes with every new connection. The tiered store compares it to notice that a server may have
        restarted."""
        self.round_trips = 0
        """The number of requests sent so far."""

    # -- requests

    async def script(self, script: Script, key: bytes, args: Sequence[object], *, write: bool) -> Any:
        """Run a script by its digest, or by its text if the server does not know it yet. If a script may safely run
        twice, pass `write=False`, even if it writes: it is then sent again if its reply is lost."""
        try:
            # Only one key is declared. The script computes the others, which share its hash tag and therefore its
            # Cluster slot.
            return await self._send(("EVALSHA", script.digest, 1, key, *args), _Attempt(key, True, write))
        except NoScriptError:
            return await self._send(("EVAL", script.text, 1, key, *args), _Attempt(key, True, write))

    async def command(self, key: bytes, *command: object) -> Any:
        """Return the reply to an idempotent command. It is sent once more if the connection breaks."""
        return await self._send(command, _Attempt(key))

    async def many(self, commands: Sequence[tuple[bytes, Sequence[object]]]) -> list[Any]:
        """Return replies to idempotent commands on several keys, in one round trip per server that owns some of
        them.
        """
        replies = await self._homes.use(lambda clients: self._pipeline(clients, commands))
        return [
            await self.command(key, *command) if isinstance(reply, Exception) else reply
            for (key, command), reply in zip(commands, replies, strict=True)
        ]

    async def scripts(self, script: Script, keys: Sequence[bytes], args: Sequence[object]) -> list[Any]:
        """Run a read-only script on several keys, in one round trip per server."""
        commands = [(key, ("EVALSHA", script.digest, 1, key, *args)) for key in keys]
        replies = await self._homes.use(lambda clients: self._pipeline(clients, commands))
        return [
            await self.script(script, key, args, write=False) if isinstance(reply, Exception) else reply
            for key, reply in zip(keys, replies, strict=True)
        ]

    async def everywhere(self, *command: object) -> list[tuple[str, Any]]:
        """Return the name of each server that contains data, with the server's reply or refusal."""
        return [(self.name(address), await self.ask(address, *command)) for address in await self.servers()]

    async def ask(self, address: Address, *command: object) -> Any:
        """Return one server's reply or refusal."""
        try:
            return await self._homes.use(lambda clients: self._execute(self._node(clients, address), command))
        except ResponseError as refusal:
            return refusal
        except _FAILURES as error:
            raise errors.broken(error, self.name(address), write=False) from error

    async def servers(self) -> list[Address]:
        """Return the primaries that contain data."""
        try:
            return await self._homes.use(self._primaries)
        except _FAILURES as error:
            raise errors.broken(error, self.name(), write=False) from error

    def reaches(self, address: Address) -> bool:
        """Return whether a server can be reached by its address. Through a Unix socket, only that one server can be
        reached."""
        return self._factory.path is None or address == self._factory.address

    def name(self, address: Address | None = None) -> str:
        """Return a server's name for use in messages."""
        if self._factory.path:
            return self._factory.path
        host, port = address or (self._seeds or (self._factory.address,))[0]
        return f"{host}:{port}"

    def open(self) -> None:
        """Accept connections again, after `close`."""
        self._homes.open()

    async def close(self) -> None:
        """Close every connection opened here. A call in progress finishes first, and then closes the connections it
        used."""
        await self._homes.close()

    # -- clients

    async def _make(self) -> _Clients:
        if self.cluster:
            return _Clients(self._factory.cluster_client())
        return _Clients(*self._factory.sentinel_client()) if self.service else _Clients(self._factory.client())

    async def _dispose(self, clients: _Clients) -> None:
        singles = [*clients.sentinels, *clients.nodes.values()]
        if not self.cluster:
            singles.append(clients.main)
        elif self._runtime.blocking:
            clients.main.close()
        else:
            await clients.main.aclose()
            # After a failure, redis-py considers its Cluster client closed, even if that still has open connections.
            for nodes in ("nodes_cache", "startup_nodes"):
                await clients.main.nodes_manager.aclose(nodes)
        for client in singles:
            await self._result(client.connection_pool.disconnect())

    def _count_connection(self) -> None:
        # `next` is atomic. With `+= 1`, two threads that connect at once could store the same number, and the tiered
        # store would miss one of the connections.
        self.connections_made = next(self._numbers)

    # -- sending

    async def _send(self, command: Sequence[object], attempt: _Attempt) -> object:
        """Return the reply of the server that owns a key."""

        def send(clients: _Clients) -> Awaitable[object]:
            return self._send_once(clients, attempt, command)

        while True:
            try:
                return await self._homes.use(send)
            except NoScriptError:
                raise
            except _FAILURES as error:
                await self._consider(error, attempt)

    async def _send_once(self, clients: _Clients, attempt: _Attempt, command: Sequence[object]) -> object:
        client = clients.main if not self.cluster or attempt.follow else await self._owner(clients, attempt)
        if not attempt.write or not self.replicas:
            self.round_trips += 1
            reply = client.execute_command(*command)
            return reply if self._runtime.blocking else await reply
        # WAIT only covers the writes of its own connection, so it must follow the command on the same one.
        reply, replicas = await self._execute_many(client, [command, ("WAIT", self.replicas, self._wait_ms)])
        if isinstance(reply, Exception):
            raise reply
        self._check_replicas(replicas, self._where(attempt))
        return reply

    def _check_replicas(self, replicas: Any, where: str) -> None:
        if isinstance(replicas, NoPermissionError):
            raise replicas
        if isinstance(replicas, ResponseError):
            raise UnknownOutcome(
                f"Redis at {where} became a replica during the write, which may be lost; read before writing again, or "
                "append with key=… to repeat it safely",
                address=where,
            )
        if replicas < self.replicas:
            raise UnknownOutcome(
                f"Redis at {where} did the write, but only {replicas} of {self.replicas} replicas received it within "
                f"{self._wait_ms} ms, so a failover now would lose it; append with key=… to repeat it safely",
                address=where,
            )

    async def _consider(self, error: Exception, attempt: _Attempt) -> None:
        """Return normally if the command must be sent again. Otherwise raise the error for the caller."""
        where = self._where(attempt)
        if isinstance(error, _REDIRECTIONS):
            if not self.cluster:
                raise UsageError("this server is part of a Redis Cluster; use redis+cluster://…") from error
            await self._redirect(error, attempt, where)
        elif isinstance(error, ResponseError):
            raise errors.refused(error, where) from error
        elif attempt.is_last or not await self._may_repeat(error, attempt):
            raise errors.broken(error, where, write=attempt.write) from error
        else:
            attempt.is_last = True

    async def _redirect(self, error: RedisError, attempt: _Attempt, where: str) -> None:
        """Handle a redirect, which means that nothing was done. Find the new owner, or wait until it has received the
        keys."""
        # While a slot is being moved, its keys are on two nodes. redis-py can ask both for a single key. A script needs
        # all its keys on one node, so it waits until the move is complete.
        if isinstance(error, AskError) and not attempt.is_script:
            attempt.follow = True
            return
        if attempt.deadline is None:
            attempt.deadline = time.monotonic() + self._timeout
        if time.monotonic() > attempt.deadline:
            raise errors.refused(error, where) from error
        if not isinstance(error, MovedError):
            await self._runtime.sleep(_REDIRECTION_PAUSE_SECONDS)
        attempt.follow = False
        await self._refresh()

    async def _may_repeat(self, error: Exception, attempt: _Attempt) -> bool:
        """Return whether sending the command again is safe and may help."""
        sent = errors.was_sent(error)
        # A write that was sent may have been applied, and would be applied twice. A read that timed out would time out
        # again.
        if sent and (attempt.write or isinstance(error, RedisTimeoutError)):
            return False
        if self.cluster:
            return await self._refresh()
        # redis-py has closed its connection to the demoted primary, and will ask the Sentinels for the new one.
        return sent or isinstance(error.__context__, ReadOnlyError)

    async def _refresh(self) -> bool:
        """Query any node for the owners of the slots, and return whether one has answered."""

        async def refresh(clients: _Clients) -> None:
            await self._result(clients.main.nodes_manager.initialize())

        try:
            await self._homes.use(refresh)
        except _FAILURES:
            return False  # the next command will fail in the same way and report the error
        return True

    async def _owner(self, clients: _Clients, attempt: _Attempt) -> Any:
        """Return the client for the server that owns a key."""
        if self.cluster:
            await self._initialize(clients)
            node = clients.main.get_node_from_key(attempt.key)
            attempt.address = (node.host, int(node.port))
            return self._node(clients, attempt.address)
        return clients.main

    def _where(self, attempt: _Attempt) -> str:
        """Return the name of the server to which a command was sent."""
        clients = self._homes.peek()
        if self.service is not None and clients is not None:
            return self.name(clients.main.connection_pool.master_address)
        return self.name(attempt.address)

    async def _primaries(self, clients: _Clients) -> list[Address]:
        if self.cluster:
            await self._initialize(clients)
            await self._result(clients.main.nodes_manager.initialize())
            return sorted({(node.host, int(node.port)) for node in clients.main.get_primaries()})
        if self.service is not None:
            host, port = await self._result(clients.main.connection_pool.get_master_address())
            return [(host, int(port))]
        return [self._factory.address]

    async def _initialize(self, clients: _Clients) -> None:
        """Connect to the Cluster. The blocking client does this when it is created."""
        if not self._runtime.blocking:
            await clients.main.initialize()

    def _node(self, clients: _Clients, address: Address) -> object:
        """Return the client for one server."""
        if not self.cluster and self.service is None and address == self._factory.address:
            return clients.main
        # `setdefault`, because another thread may have added the client in the meantime.
        node = clients.nodes.get(address)
        return node or clients.nodes.setdefault(address, self._factory.client(address))

    async def _pipeline(self, clients: _Clients, commands: Sequence[tuple[bytes, Sequence[object]]]) -> list[object]:
        """Return replies in the order of the commands, with an exception for each command that must be sent
        separately."""
        replies: list[object] = [None] * len(commands)
        groups: dict[object, list[int]] = {}
        try:
            for number, (key, _) in enumerate(commands):
                groups.setdefault(await self._owner(clients, _Attempt(key)), []).append(number)
            for owner, numbers in groups.items():
                answers = await self._execute_many(owner, [commands[number][1] for number in numbers])
                for number, answer in zip(numbers, answers, strict=True):
                    replies[number] = answer
        except _FAILURES as error:
            return [error] * len(commands)
        return replies

    async def _execute(self, client: Any, command: Sequence[object]) -> object:
        self.round_trips += 1
        return await self._result(client.execute_command(*command))

    async def _execute_many(self, client: Any, commands: Sequence[Sequence[object]]) -> list[object]:
        """Return the replies to several commands over one connection, including refusals."""
        self.round_trips += 1
        # No MULTI: a transaction would add two commands, and none of ours needs to be atomic with another.
        pipeline = client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        replies: list[object] = await self._result(pipeline.execute(raise_on_error=False))
        return replies

    async def _result(self, reply: Any) -> Any:
        """Return redis-py's result. Blocking clients return the result itself, and asyncio clients return an
        awaitable."""
        return reply if self._runtime.blocking else await reply
