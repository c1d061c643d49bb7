"""Sends commands to one server, to the primary that Sentinels name, or to the nodes of a Cluster.

Every process and every event loop has its own redis-py clients, because a connection belongs to the loop that opened
it. With `memorist_replicas=N` in the URL, a write is acknowledged once N replicas have received it (`WAIT`).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
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
from .scripts import TEXTS, Script
from .urls import Address, parse_url

_FAILURES = (RedisError, RedisClusterException, OSError)
_REDIRECTIONS = (MovedError, AskError, TryAgainError, ClusterDownError, ClusterError)
_SCRIPT_COMMANDS = ("EVALSHA", "EVAL")
_REDIRECTION_PAUSE_SECONDS = 0.1


class _Clients:
    """Holds redis-py's clients for one process and event loop."""

    def __init__(self, main: Any) -> None:
        self.main = main
        self.nodes: dict[Address, Any] = {}
        """Clients for single servers, by address."""


class _Request:
    """Describes a command in progress, including its destination and earlier attempts."""

    __slots__ = ("address", "command", "deadline", "follow", "is_last", "key", "write")

    def __init__(self, key: bytes, command: Sequence[object], write: bool = False) -> None:
        self.key, self.command, self.write = key, command, write
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
        """Run a script. If it may safely run twice, pass `write=False`, even if it writes: it is then sent again if its
        reply is lost."""
        return await self._send(_Request(key, script.command(key, args), write))

    async def command(self, key: bytes, *command: object) -> Any:
        """Return the reply to an idempotent command. It is sent once more if the connection breaks."""
        return await self._send(_Request(key, command))

    async def ask_many(self, commands: Sequence[tuple[bytes, Sequence[object]]]) -> list[Any]:
        """Return replies to idempotent commands on several keys, in one round trip per server that owns some of
        them.
        """
        replies = await self._homes.use(lambda clients: self._pipeline(clients, commands))
        # A redirect, an unknown script or a broken connection concerns single commands. Each of these is sent again
        # alone, because `_send` has the only loop that knows what to do about it.
        return [
            await self._send(_Request(key, command)) if isinstance(reply, Exception) else reply
            for (key, command), reply in zip(commands, replies, strict=True)
        ]

    async def ask_everywhere(self, *command: object) -> list[tuple[str, Any]]:
        """Return the name of each server that contains data, with the server's reply or refusal."""
        return [(self.name(address), await self.ask(address, *command)) for address in await self.servers()]

    async def ask(self, address: Address, *command: object) -> Any:
        """Return one server's reply or refusal."""
        try:
            return await self._homes.use(lambda clients: self._execute(self._node(clients, address), command))
        except ResponseError as refusal:
            return refusal
        except _FAILURES as error:
            raise errors.no_reply_error(error, self.name(address), write=False) from error

    async def servers(self) -> list[Address]:
        """Return the primaries that contain data."""
        try:
            return await self._homes.use(self._primaries)
        except _FAILURES as error:
            raise errors.no_reply_error(error, self.name(), write=False) from error

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
        return _Clients(self._factory.main_client())

    async def _dispose(self, clients: _Clients) -> None:
        main, singles = clients.main, list(clients.nodes.values())
        if not self.cluster:
            singles.append(main)
        elif self._runtime.blocking:
            main.close()
        else:
            await main.aclose()
            # After a failure, redis-py considers its Cluster client closed, even if that still has open connections.
            for nodes in ("nodes_cache", "startup_nodes"):
                await main.nodes_manager.aclose(nodes)
        if self.service is not None:
            singles += main.connection_pool.sentinel_manager.sentinels
        for client in singles:
            await self._result(client.connection_pool.disconnect())

    def _count_connection(self) -> None:
        # `next` is atomic. With `+= 1`, two threads that connect at once could store the same number, and the tiered
        # store would miss one of the connections.
        self.connections_made = next(self._numbers)

    # -- sending

    async def _send(self, request: _Request) -> object:
        """Return the reply of the server that owns a key."""
        while True:
            try:
                return await self._homes.use(lambda clients: self._send_once(clients, request))
            except NoScriptError:
                # A server that restarted or took over no longer knows the script. Nothing ran. EVAL runs the script and
                # makes it known in one step; redis-py's Script objects take two, and need permission for SCRIPT LOAD.
                _, digest, *rest = request.command
                request.command = ("EVAL", TEXTS[digest], *rest)  # type: ignore[index]
            except _REDIRECTIONS as redirection:
                await self._redirect(redirection, request)
            except ResponseError as refusal:
                raise errors.refusal_error(refusal, self._where(request)) from refusal
            except _FAILURES as failure:
                # The first failure may only show that an idle connection was closed. The second one is a server in
                # trouble, and the caller decides how long to wait for it.
                if request.is_last or not await self._may_repeat(failure, request):
                    raise errors.no_reply_error(failure, self._where(request), write=request.write) from failure
                request.is_last = True

    async def _send_once(self, clients: _Clients, request: _Request) -> object:
        client = await self._owner(clients, request)
        if not request.write or not self.replicas:
            return await self._execute(client, request.command)
        # WAIT only covers the writes of its own connection, so it must follow the command on the same one.
        wait = ("WAIT", self.replicas, self._wait_ms)
        reply, replicas = await self._execute_many(client, [request.command, wait])
        if isinstance(reply, Exception):
            raise reply
        self._check_replicas(replicas, self._where(request))
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

    async def _redirect(self, error: RedisError, request: _Request) -> None:
        """Handle a redirect, which means that nothing was done. Find the new owner, or wait until it has received the
        keys."""
        if not self.cluster:
            raise UsageError("this server is part of a Redis Cluster; use redis+cluster://…") from error
        # While a slot is being moved, its keys are on two nodes. redis-py can ask both for a single key. A script needs
        # all its keys on one node, so it waits until the move is complete.
        if isinstance(error, AskError) and request.command[0] not in _SCRIPT_COMMANDS:
            request.follow = True
            return
        if request.deadline is None:
            request.deadline = time.monotonic() + self._timeout
        if time.monotonic() > request.deadline:
            raise errors.refusal_error(error, self._where(request)) from error
        # MOVED names a new owner that is ready. After the other redirects, the nodes need some time first.
        if not isinstance(error, MovedError):
            await self._runtime.sleep(_REDIRECTION_PAUSE_SECONDS)
        request.follow = False
        await self._refresh()

    async def _may_repeat(self, error: Exception, request: _Request) -> bool:
        """Return whether sending the command again is safe and may help."""
        was_sent = errors.was_sent(error)
        # A write that was sent may have been applied, and would be applied twice. A read that timed out would time out
        # again.
        if was_sent and (request.write or isinstance(error, RedisTimeoutError)):
            return False
        if self.cluster:
            return await self._refresh()  # the node may be gone, and its slots may have another owner by now
        # redis-py has closed its connection to the demoted primary, and will ask the Sentinels for the new one.
        return was_sent or isinstance(error.__context__, ReadOnlyError)

    async def _refresh(self) -> bool:
        """Query any node for the owners of the slots, and return whether one has answered."""

        async def refresh(clients: _Clients) -> None:
            await self._result(clients.main.nodes_manager.initialize())

        try:
            await self._homes.use(refresh)
        except _FAILURES:
            return False  # the next command will fail in the same way and report the error
        return True

    async def _owner(self, clients: _Clients, request: _Request) -> Any:
        """Return the client that sends a command to the server that owns its key."""
        if not self.cluster or request.follow:
            return clients.main
        if not self._runtime.blocking:  # the blocking client connected when it was created
            await clients.main.initialize()
        node = clients.main.get_node_from_key(request.key)
        request.address = (node.host, int(node.port))
        # Not redis-py's Cluster client, which follows every redirect itself, even with a script.
        return self._node(clients, request.address)

    def _where(self, request: _Request) -> str:
        """Return the name of the server to which a command was sent."""
        clients = self._homes.peek()
        if self.service is not None and clients is not None:
            return self.name(clients.main.connection_pool.master_address)
        return self.name(request.address)

    async def _primaries(self, clients: _Clients) -> list[Address]:
        if self.cluster:
            await self._result(clients.main.nodes_manager.initialize())
            return sorted({(node.host, int(node.port)) for node in clients.main.get_primaries()})
        if self.service is not None:
            host, port = await self._result(clients.main.connection_pool.get_master_address())
            return [(host, int(port))]
        return [self._factory.address]

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
            for number, (key, command) in enumerate(commands):
                groups.setdefault(await self._owner(clients, _Request(key, command)), []).append(number)
            for owner, numbers in groups.items():
                answers = await self._execute_many(owner, [commands[number][1] for number in numbers])
                for number, answer in zip(numbers, answers, strict=True):
                    replies[number] = answer
        except _FAILURES as error:
            return [error] * len(commands)
        return replies

    async def _execute(self, client: Any, command: Sequence[object]) -> object:
        self.round_trips += 1
        reply = client.execute_command(*command)
        return reply if self._runtime.blocking else await reply

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
