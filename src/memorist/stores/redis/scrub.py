"""Physically removes deleted bytes from Redis. Every server, including replicas, rewrites its files without them.

This is for operators, because each server rewrites all its data, including other users' data. The files are in
Redis's own formats and are not read here.
"""

from __future__ import annotations

from collections.abc import Sequence

from redis.exceptions import ResponseError

from ...errors import StoreError
from ...runtime import Runtime
from ...values import JsonObject
from ..base import Scrubbed
from .connection import Client
from .nodes import Server, info_of, servers_of, until

_BUSY_FIELDS = ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress")
_LOG_RESETS = (("SLOWLOG", "RESET"), *(("COMMANDLOG", "RESET", log) for log in ("large-request", "large-reply")))


async def scrub(client: Client, runtime: Runtime) -> Scrubbed:
    """Rewrite the append-only file and the snapshot of every server, and wait until this is complete."""
    servers, unreachable = await servers_of(client)
    # A replica that is behind would write the deleted rows to its new files before it receives their deletion.
    await _wait_for_replicas(client, runtime, servers)
    report = Scrubbed(left=unreachable)
    appending = [server for server in servers if server.appends]
    saving = [server for server in servers if server.saves]
    for command, status, file, writers in (
        ("BGREWRITEAOF", "aof_last_bgrewrite_status", "append-only file", appending),
        ("BGSAVE", "rdb_last_bgsave_status", "snapshot", saving),
    ):
        # Start all before waiting for any, so that the servers rewrite their files at the same time.
        for server in writers:
            await _start(client, runtime, server, command)
        for server in writers:
            info = await _wait_until_idle(client, runtime, server)
            if info.get(status) == "err":
                raise StoreError(
                    f"Redis at {server.name} could not rewrite its files; check its log and its disk space. "
                    "The rows are deleted, but their bytes are still in the old files",
                    address=server.name,
                )
            report += Scrubbed([f"{file} of {server.name}"])
    for server in servers:
        report += await _empty_logs(client, server)
    return report


async def _empty_logs(client: Client, server: Server) -> Scrubbed:
    """Empty the logs in which a server keeps the arguments of slow or large commands."""
    refused = []
    for reset in _LOG_RESETS:
        reply = await client.ask(server.address, *reset)
        # Only Valkey has COMMANDLOG. A server that does not know the command keeps no such log.
        if isinstance(reply, ResponseError) and "unknown command" not in str(reply).lower():
            refused.append(" ".join(reset))
    remaining = [f"logs of {server.name} (this user is not allowed {', '.join(refused)})"] if refused else []
    return Scrubbed([] if refused else [f"slow log of {server.name}"], remaining)


async def _wait_for_replicas(client: Client, runtime: Runtime, servers: Sequence[Server]) -> None:
    """Wait until each replica has replicated everything that its primary contained at the time of the call."""
    for server in servers:
        if server.address == server.primary:
            continue
        offset = int((await info_of(client, server.primary)).get("master_repl_offset", 0))

        def has_caught_up(info: JsonObject, offset: int = offset) -> bool:
            return int(info.get("slave_repl_offset", 0)) >= offset or info.get("master_link_status") != "up"

        await until(
            client, runtime, server, has_caught_up, "a replica is far behind; deleted bytes may be left in its files"
        )


async def _start(client: Client, runtime: Runtime, server: Server, command: str) -> None:
    while True:
        await _wait_until_idle(client, runtime, server)
        reply = await client.ask(server.address, command)
        if not isinstance(reply, ResponseError):
            return
        # The server may have started its own rewrite since `_wait_until_idle` returned. Wait for it, and try again.
        if "in progress" not in str(reply):
            raise StoreError(
                f"Redis at {server.name} refused {command}; deleted bytes may be left", address=server.name
            )


async def _wait_until_idle(client: Client, runtime: Runtime, server: Server) -> JsonObject:
    """Wait until a server is not writing files, then return its INFO."""
    complaint = "Redis is still rewriting its files; deleted bytes may be left in the old ones"
    return await until(
        client, runtime, server, lambda info: all(info.get(name) != 1 for name in _BUSY_FIELDS), complaint
    )
