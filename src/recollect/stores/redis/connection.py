"""One client over one server or over the nodes of a Cluster; the store above does not know which."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from redis.crc import key_slot
from redis.exceptions import (
    AskError,
    ClusterDownError,
    MovedError,
    NoScriptError,
    ResponseError,
    TryAgainError,
)

from ...backoff import pause
from ...errors import StoreError, StoreUnavailable, UsageError
from ...runtime import Runtime
from . import errors
from .clients import Channel, Lost, NotSent, channel, settings_of
from .scripts import Script

_HOPS = 16
Address = tuple[str, int]


class Client:
    """Sends commands to the server that owns a key, and says honestly what became of them."""

    def __init__(self, url: str, *, runtime: Runtime, connect_timeout: float, timeout: float, connections: int) -> None:
        self._runtime = runtime
        self._connections = connections
        self._timeout = timeout
        self.cluster, plain, seeds = _parse(url)
        self._settings = settings_of(plain, blocking=runtime.blocking, connect_timeout=connect_timeout, timeout=timeout)
        if self.cluster and self._settings.get("db"):
            raise UsageError("a Redis Cluster has database 0 only; leave the number out of the URL")
        self._first = (self._settings.get("host", "localhost"), int(self._settings.get("port", 6379)))
        self._seeds = seeds or [self._first]
        self._channels: dict[Address, Channel] = {}
        self._slots: dict[int, Address] = {}

    @property
    def round_trips(self) -> int:
        """How many requests have gone out so far."""
        return sum(one.round_trips for one in self._channels.values())

    @property
    def connections_made(self) -> int:
        """How many connections have been made so far; a new one may lead to a server that restarted."""
        return sum(one.connections_made for one in self._channels.values())

    async def script(self, script: Script, key: bytes, args: Sequence[Any], *, write: bool) -> Any:
        """Run a script by its digest, or by its text where the server does not know it yet."""
        try:
            return await self.command(key, b"EVALSHA", script.digest, b"1", key, *args, write=write)
        except _NoScript:
            return await self.command(key, b"EVAL", script.text, b"1", key, *args, write=write)

    async def many(self, commands: Sequence[tuple[bytes, Sequence[Any]]]) -> list[Any]:
        """Replies to reads of several keys, each with its own server, in one round trip per server."""
        if self.cluster and not self._slots:
            await self._refresh()
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
                # What could not be answered in bulk is asked alone, where redirections are followed.
                if isinstance(answer, ResponseError):
                    answer = await self._again(*commands[number])
                replies[number] = answer
        return replies

    async def everywhere(self, *command: Any) -> list[tuple[str, Any]]:
        """The reply of each server that holds data, with its name; a refusal in its place."""
        return [(self.name(address), await self.ask(address, *command)) for address in await self.servers()]

    async def servers(self) -> list[Address]:
        """The servers that hold data, replicas apart."""
        if not self.cluster:
            return [self._first]
        await self._refresh()
        return sorted(set(self._slots.values()))

    def reaches(self, address: Address) -> bool:
        """Whether a server can be asked by its address: all but one are beyond a socket file."""
        return "path" not in self._settings or address == self._first

    async def close(self) -> None:
        """Close every connection made here."""
        for one in self._channels.values():
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
        """The reply of the server that owns `key`; a read that broke off is asked once more."""
        if self.cluster and not self._slots:
            await self._refresh()
        address, asking, refreshed = self.owner(key), False, False
        deadline = time.monotonic() + self._timeout
        hops, repeated = 0, write
        while True:
            try:
                if asking:
                    return await self._asked(address, command)
                return await self._channel(address).execute(*command)
            except MovedError as error:
                address, asking, hops = self._moved(error, address), False, hops + 1
                if hops > _HOPS:
                    raise errors.refused(error, self.name(address)) from error
            except (AskError, TryAgainError, ClusterDownError) as error:
                if isinstance(error, AskError) and command[0] == b"GET" and not asking:
                    address, asking = (error.host, error.port), True
                    continue
                # A script needs all of its slot: it waits until the slot has moved, and never runs on half of it.
                if time.monotonic() > deadline:
                    raise errors.refused(error, self.name(address)) from error
                await self._runtime.sleep(pause(1, first=0.1, longest=0.1))
                if not isinstance(error, TryAgainError):
                    await self._refresh()
                address, asking = self.owner(key), False
            except NoScriptError as error:
                raise _NoScript(error) from error
            except ResponseError as error:
                raise errors.refused(error, self.name(address)) from error
            except NotSent as error:
                if self.cluster and not refreshed:
                    # The slot may have a new owner.
                    refreshed = True
                    await self._refresh()
                    if self.owner(key) != address:
                        address, asking = self.owner(key), False
                        continue
                raise errors.not_sent(error, self.name(address)) from error.cause
            except Lost as error:
                if repeated or error.timeout:
                    raise errors.lost(error, self.name(address), write=write) from error.cause
                repeated = True

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
        """Learn who owns which slot, from any node that answers."""
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
            found = self._channels[address] = channel(settings, self._runtime, self._connections)
        return found

    def name(self, address: Address) -> str:
        """How a server is named to people."""
        path = self._settings.get("path")
        return str(path) if path else f"{address[0]}:{address[1]}"


class _NoScript(Exception):
    def __init__(self, cause: NoScriptError) -> None:
        super().__init__("unknown script")
        self.cause = cause


def _parse(url: str) -> tuple[bool, str, list[Address]]:
    """Whether a cluster is meant, a URL that redis-py reads, and the nodes named in it."""
    scheme, mark, rest = url.partition("://")
    if scheme.startswith("valkey"):
        scheme = "redis" + scheme.removeprefix("valkey")
        url = f"{scheme}{mark}{rest}"
    if not mark or scheme not in ("redis", "rediss", "unix", "redis+unix", "redis+cluster", "rediss+cluster"):
        raise UsageError("not a Redis URL; write redis://, rediss://, unix:// or redis+cluster://host:port")
    if not scheme.endswith("+cluster"):
        return False, f"unix://{rest}" if scheme == "redis+unix" else url, []
    account, at, place = rest.rpartition("@")
    hosts, slash, tail = place.partition("/")
    plain = scheme.removesuffix("+cluster")
    seeds = []
    for host in hosts.split(","):
        parts = urlsplit(f"//{host}")
        seeds.append((parts.hostname or "localhost", parts.port or 6379))
    return True, f"{plain}://{account}{at}{hosts.split(',')[0]}{slash}{tail}", seeds


def _slots_of(reply: Any, asked: Address) -> dict[int, Address]:
    slots: dict[int, Address] = {}
    for first, last, owner, *_ in reply:
        # A node that does not know its own name answers with an empty one: it is the one we asked.
        host = owner[0].decode() if owner[0] else asked[0]
        slots.update(dict.fromkeys(range(first, last + 1), (host, int(owner[1]))))
    return slots


def _not_a_cluster(error: ResponseError, where: str) -> StoreError:
    if "cluster support disabled" in str(error):
        return StoreError(f"Redis at {where} is not part of a cluster; write the URL as redis://…", address=where)
    return errors.refused(error, where)
