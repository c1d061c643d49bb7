"""Routes commands to one server, to the primary that Sentinels name, or to the nodes of a Cluster.

With `memorist_replicas=N` in the URL a write is acknowledged once so many replicas have it (`WAIT`)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from redis.crc import key_slot
from redis.exceptions import (
    AskError,
    ClusterDownError,
    MovedError,
    NoPermissionError,
    NoScriptError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)

from ...backoff import pause
from ...errors import StoreError, StoreUnavailable, UnknownOutcome, UsageError
from ...runtime import Runtime
from . import errors
from .clients import Channel, Lost, NotSent, channel, only_primaries, settings_of
from .scripts import Script
from .urls import Address, parse_url

_HOPS = 16
_TO_SENTINELS = ("socket_connect_timeout", "socket_timeout", "protocol", "retry", "decode_responses")
"""The settings that connections to Sentinels share with those to the servers: all but user, password and database."""


class Client:
    """Sends commands to the server that owns a key, follows redirections, and reports lost replies as such."""

    def __init__(self, url: str, *, runtime: Runtime, connect_timeout: float, timeout: float, connections: int) -> None:
        self._runtime = runtime
        self._connections = connections
        self._timeout = timeout
        found = parse_url(url)
        self.cluster, self.service, self.replicas = found.cluster, found.service, found.replicas
        self._wait_ms, seeds = found.wait_ms, found.seeds
        self._settings = settings_of(
            found.plain, blocking=runtime.blocking, connect_timeout=connect_timeout, timeout=timeout
        )
        if self.cluster and self._settings.get("db"):
            raise UsageError("a Redis Cluster has database 0 only; leave the number out of the URL")
        self._first = (self._settings.get("host", "localhost"), int(self._settings.get("port", 6379)))
        self._seeds = seeds or [self._first]
        self._sought = self.service is None
        """Whether the primary is known. Sentinels are asked before the first command, and again after a failure."""
        self._channels: dict[Address, Channel] = {}
        self._slots: dict[int, Address] = {}
        self._sentinels: dict[Address, Channel] = {}
        self._closed = False

    @property
    def round_trips(self) -> int:
        """How many requests have gone out so far."""
        return sum(one.round_trips for one in self._channels.values())

    @property
    def connections_made(self) -> int:
        """How many connections have been made so far. The store compares it to notice that a server may have
        restarted."""
        return sum(one.connections_made for one in self._channels.values())

    async def script(self, script: Script, key: bytes, args: Sequence[Any], *, write: bool) -> Any:
        """Run a script by its digest, or by its text where the server does not know it yet."""
        try:
            return await self.command(key, b"EVALSHA", script.digest, b"1", key, *args, write=write)
        except _NoScript:
            return await self.command(key, b"EVAL", script.text, b"1", key, *args, write=write)

    async def many(self, commands: Sequence[tuple[bytes, Sequence[Any]]]) -> list[Any]:
        """Replies to reads of several keys, in one round trip per server that owns some of them."""
        await self._know_owners()
        groups: dict[Address, list[int]] = {}
        for number, (key, _) in enumerate(commands):
            groups.setdefault(self.owner(key), []).append(number)
        replies: list[Any] = [None] * len(commands)
        for address, numbers in groups.items():
            try:
                answers = await self._channel(address).execute_many([commands[n][1] for n in numbers])
            except (NotSent, Lost):
                answers = [ResponseError()] * len(numbers)
            for number, answer in zip(numbers, answers, strict=True):
                # A read that failed in the pipeline is sent alone, by the method that follows redirections.
                if isinstance(answer, ResponseError):
                    answer = await self._again(*commands[number])
                replies[number] = answer
        return replies

    async def everywhere(self, *command: Any) -> list[tuple[str, Any]]:
        """The reply of each server that holds data, with its name; a refusal in its place."""
        return [(self.name(address), await self.ask(address, *command)) for address in await self.servers()]

    async def servers(self) -> list[Address]:
        """The primaries that hold data."""
        if not self.cluster:
            await self._find_primary()
            return [self._first]
        await self._refresh()
        return sorted(set(self._slots.values()))

    def reaches(self, address: Address) -> bool:
        """Whether a server can be asked by its address. Through a Unix socket only the one server can."""
        return "path" not in self._settings or address == self._first

    def open(self) -> None:
        """Keep connections again, after `close`."""
        self._closed = False
        for one in (*self._channels.values(), *self._sentinels.values()):
            one.closed = False

    async def close(self) -> None:
        """Close every connection made here: idle ones now, busy ones and those that calls under way still make when
        they are given back."""
        self._closed = True
        for one in (*self._channels.values(), *self._sentinels.values()):
            await one.close()

    async def _again(self, key: bytes, command: Sequence[Any]) -> Any:
        try:
            return await self.command(key, *command)
        except _NoScript as error:
            return error.cause

    async def ask(self, address: Address, *command: Any) -> Any:
        """The reply of one server, or its refusal."""
        try:
            return await self._channel(address).execute(*command)
        except ResponseError as refusal:
            return refusal
        except NotSent as error:
            raise errors.not_sent(error, self.name(address)) from error.cause
        except Lost as error:
            raise errors.lost(error, self.name(address), write=False) from error.cause

    async def command(self, key: bytes, *command: Any, write: bool = False) -> Any:
        """The reply of the server that owns `key`; a read whose connection broke is sent once more."""
        await self._know_owners()
        address, asking, refreshed = self.owner(key), False, False
        deadline = time.monotonic() + self._timeout
        hops, repeated = 0, write
        while True:
            try:
                if asking:
                    return await self._asked(address, command)
                return await self._sent(address, command, write)
            except MovedError as error:
                address, asking, hops = self._moved(error, address), False, hops + 1
                if hops > _HOPS:
                    raise errors.refused(error, self.name(address)) from error
            except (AskError, TryAgainError, ClusterDownError) as error:
                if isinstance(error, AskError) and command[0] == b"GET" and not asking:
                    address, asking = (error.host, error.port), True
                    continue
                # While a slot is migrating its keys are on two nodes: a script, which needs all, waits for the end.
                if time.monotonic() > deadline:
                    raise errors.refused(error, self.name(address)) from error
                await self._runtime.sleep(pause(1, first=0.1, longest=0.1))
                if not isinstance(error, TryAgainError):
                    await self._refresh()
                address, asking = self.owner(key), False
            except NoScriptError as error:
                raise _NoScript(error) from error
            except ResponseError as error:
                if isinstance(error, ReadOnlyError) and not refreshed and await self._moved_on():
                    refreshed, address = True, self.owner(key)
                    continue
                raise errors.refused(error, self.name(address)) from error
            except NotSent as error:
                if not refreshed and (self.cluster or self.service):
                    # The slot may have a new owner, or the service a new primary.
                    refreshed = True
                    await self._moved_on()
                    if self.owner(key) != address:
                        address, asking = self.owner(key), False
                        continue
                raise errors.not_sent(error, self.name(address)) from error.cause
            except Lost as error:
                self._sought = self.service is None
                if repeated or error.timeout:
                    raise errors.lost(error, self.name(address), write=write) from error.cause
                repeated = True
                await self._know_owners()
                address = self.owner(key)

    async def _know_owners(self) -> None:
        if self.cluster and not self._slots:
            await self._refresh()
        elif not self._sought:
            await self._find_primary()

    async def _moved_on(self) -> bool:
        """Ask again which server owns what; False for a single server, where nothing can have changed."""
        if self.cluster:
            await self._refresh()
        elif self.service:
            self._sought = False
            await self._find_primary()
        return self.cluster or self.service is not None

    async def _find_primary(self) -> None:
        """Ask the Sentinels which server is the primary of the service."""
        if self._sought or self.service is None:
            return
        trouble: StoreError | None = None
        for address in self._seeds:
            sentinel = self._sentinels.get(address) or self._sentinel(address)
            try:
                reply = await sentinel.execute(b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", self.service)
            except ResponseError as error:
                trouble = trouble or errors.refused(error, f"{address[0]}:{address[1]}")
                continue
            except (NotSent, Lost) as error:
                trouble = trouble or errors.not_sent(NotSent(error.cause), f"{address[0]}:{address[1]}")
                continue
            if reply:
                self._first, self._sought = (bytes(reply[0]).decode(), int(reply[1])), True
                return
        raise trouble or UsageError(
            f"the Sentinels know no service {self.service!r}; it is named in their configuration"
        )

    def _sentinel(self, address: Address) -> Channel:
        kept = {name: self._settings[name] for name in _TO_SENTINELS if name in self._settings}
        self._sentinels[address] = self._made({**kept, "host": address[0], "port": address[1]}, 1)
        return self._sentinels[address]

    async def _sent(self, address: Address, command: Sequence[Any], write: bool) -> Any:
        if not write or not self.replicas:
            return await self._channel(address).execute(*command)
        reply, have = await self._channel(address).execute_many([command, (b"WAIT", self.replicas, self._wait_ms)])
        if isinstance(reply, ResponseError):
            raise reply
        if isinstance(have, NoPermissionError):
            raise have
        if isinstance(have, ResponseError):
            self._sought = self.service is None
            raise UnknownOutcome(
                f"Redis at {self.name(address)} was made a replica while it did the write, which may be lost with what "
                "it had; read before writing again, or append with key=… to repeat it safely",
                address=self.name(address),
            )
        if have < self.replicas:
            raise UnknownOutcome(
                f"Redis at {self.name(address)} did the write, and {have} of {self.replicas} replicas have it after "
                f"{self._wait_ms} ms: a failover now would lose it; append with key=… to repeat it safely",
                address=self.name(address),
            )
        return reply

    async def _asked(self, address: Address, command: Sequence[Any]) -> Any:
        _, reply = await self._channel(address).execute_many([(b"ASKING",), command])
        if isinstance(reply, ResponseError):
            raise reply
        return reply

    def _moved(self, error: MovedError, address: Address) -> Address:
        if not self.cluster:
            raise UsageError("this server is part of a Redis Cluster; write the URL as redis+cluster://…") from error
        owner = (error.host or address[0], int(error.port))
        self._slots[int(error.slot_id)] = owner
        return owner

    async def _refresh(self) -> None:
        """Read the slot map from any node that answers."""
        first: StoreError | None = None
        for address in dict.fromkeys([*self._slots.values(), *self._seeds]):
            try:
                reply = await self._channel(address).execute(b"CLUSTER", b"SLOTS")
            except ResponseError as error:
                first = first or _not_a_cluster(error, self.name(address))
                continue
            except (NotSent, Lost) as error:
                sent = isinstance(error, Lost)
                shown = NotSent(error.cause) if sent else error
                first = first or errors.not_sent(shown, self.name(address))  # type: ignore[arg-type]
                continue
            slots = _slots_of(reply, address)
            if slots:
                self._slots = slots
                return
        raise first or StoreUnavailable("no node of the Redis Cluster knows its slots; nothing was done")

    def owner(self, key: bytes) -> Address:
        """The server on which a key lives."""
        if not self.cluster:
            return self._first
        slot = key_slot(key)
        address = self._slots.get(slot)
        if address is None:
            raise StoreUnavailable(f"no node of the Redis Cluster serves slot {slot}; nothing was done", slot=slot)
        return address

    def _channel(self, address: Address) -> Channel:
        found = self._channels.get(address)
        if found is None:
            settings = dict(self._settings)
            if "path" not in settings:
                settings["host"], settings["port"] = address
            if self.service:
                settings["redis_connect_func"] = only_primaries(blocking=self._runtime.blocking)
            found = self._channels[address] = self._made(settings, self._connections)
        return found

    def _made(self, settings: dict[str, Any], connections: int) -> Channel:
        made = channel(settings, self._runtime, connections)
        made.closed = self._closed
        return made

    def name(self, address: Address) -> str:
        """A server's name in messages."""
        path = self._settings.get("path")
        return str(path) if path else f"{address[0]}:{address[1]}"


class _NoScript(Exception):
    def __init__(self, cause: NoScriptError) -> None:
        super().__init__("unknown script")
        self.cause = cause


def _slots_of(reply: Any, asked: Address) -> dict[int, Address]:
    slots: dict[int, Address] = {}
    for first, last, owner, *_ in reply:
        # A node that does not know its own address leaves it empty; it is the node that we asked.
        host = owner[0].decode() if owner[0] else asked[0]
        slots.update(dict.fromkeys(range(first, last + 1), (host, int(owner[1]))))
    return slots


def _not_a_cluster(error: ResponseError, where: str) -> StoreError:
    if "cluster support disabled" in str(error):
        return StoreError(f"Redis at {where} is not part of a cluster; write the URL as redis://…", address=where)
    return errors.refused(error, where)
