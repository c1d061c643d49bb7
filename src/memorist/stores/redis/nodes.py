"""Finds the servers that contain our rows, including replicas, and reads their INFO and settings for `scrub`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from redis.exceptions import ResponseError

from ...errors import StoreError, StoreTimeout
from ...runtime import Runtime
from ...values import JsonObject
from .connection import Client
from .urls import Address

_POLL_SECONDS = 0.02
_MAX_POLLS = 30_000


class Server(msgspec.Struct):
    """Represents a server that contains our rows: a primary or one of its replicas."""

    address: Address
    name: str
    info: JsonObject
    settings: dict[str, str]
    """These are the settings that this module reads. They are empty if the server does not reveal them."""
    primary: Address

    @property
    def appends(self) -> bool:
        """This is True if the server keeps an append-only file."""
        return self.info.get("aof_enabled") == 1

    @property
    def saves(self) -> bool:
        """This is True if a snapshot file may exist, either according to the settings or because the server has written
        or loaded one, as every replica does."""
        if self.settings.get("save", "unknown") or self.address != self.primary:
            return True
        loaded = not self.appends and self.info.get("rdb_last_load_keys_loaded", 0) != 0
        return bool(loaded or self.info.get("rdb_saves", 0))


async def servers_of(client: Client) -> tuple[list[Server], list[str]]:
    """Return primaries and their replicas, and a sentence about each unreachable server."""
    servers: dict[Address, Server] = {}
    unreachable: list[str] = []
    # Breadth first, because a replica may have replicas of its own, which also have the rows in their files.
    waiting = [(address, address) for address in await client.servers()]
    while waiting:
        address, primary = waiting.pop(0)
        if address in servers:
            continue
        try:
            server = await _read_server(client, address, primary)
        except StoreError:
            if address == primary:
                raise
            server = None
        if server is None or (address != primary and server.info.get("master_link_status") != "up"):
            unreachable.append(
                f"files of the replica {address[0]}:{address[1]} (it cannot be reached, or its primary cannot)"
            )
            continue
        servers[address] = server
        replicas = _replica_addresses(server.info)
        waiting += [(replica, primary) for replica in replicas]
        if not replicas and address == primary and server.info.get("repl_backlog_histlen", 0) != 0:
            # A backlog shows that a replica was connected before. When it reconnects, it receives the missed commands
            # from the backlog and writes them to its files.
            unreachable.append(f"files of a replica of {server.name} (it is not connected)")
    return list(servers.values()), unreachable


async def _read_server(client: Client, address: Address, primary: Address) -> Server:
    if not client.reaches(address):
        raise StoreError("a replica of a server that is reached through a socket file")
    info = await client.ask(address, "INFO", "all")
    if isinstance(info, ResponseError):
        raise StoreError(f"Redis at {client.name(address)} does not report its state (INFO is not allowed)")
    settings = await client.ask(address, "CONFIG GET", "save")
    return Server(address, client.name(address), info, {} if isinstance(settings, ResponseError) else settings, primary)


def _replica_addresses(info: JsonObject) -> list[Address]:
    replicas = [value for name, value in info.items() if name.startswith("slave") and name[5:].isdecimal()]
    return [(replica["ip"], int(replica["port"])) for replica in replicas]


async def until(
    client: Client, runtime: Runtime, server: Server, ready: Callable[[dict[str, object]], bool], complaint: str
) -> JsonObject:
    """Poll a server's INFO until `ready` accepts it, or raise StoreTimeout with `complaint`."""
    for _ in range(_MAX_POLLS):
        info = await info_of(client, server.address)
        if ready(info):
            return info
        await runtime.sleep(_POLL_SECONDS)
    raise StoreTimeout(complaint, address=server.name)


async def info_of(client: Client, address: Address) -> JsonObject:
    """Return a server's INFO as pairs, or no pairs if the server refuses."""
    reply = await client.ask(address, "INFO", "all")
    return {} if isinstance(reply, ResponseError) else reply
