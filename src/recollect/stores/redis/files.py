"""Forgetting on the servers' disks: their files rewritten without deleted bytes, then searched for what was deleted.

That a file read here is the server's, and is as new as the rewriting, is not believed but shown: before the rewriting
each primary is given a random mark, and only files among which the mark is found again count as searched.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redis.exceptions import ResponseError

from ...errors import StoreError
from ...runtime import Runtime
from ..base import Absence
from .nodes import Server, info_of, servers_of, until
from .routing import Address, Client
from .snapshots import held

_BUSY = ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress")
_MARK_SECONDS = 3600
# Deleting first, as a server out of memory then takes the rest.
_SET_MARK = b"redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])"
_LOGS = ((b"SLOWLOG", b"RESET"), *((b"COMMANDLOG", b"RESET", kind) for kind in (b"large-request", b"large-reply")))


async def scrub(client: Client, runtime: Runtime) -> None:
    """Rewrite the append-only file and the snapshot of every server, replicas too, and wait for the end."""
    servers, _ = await servers_of(client)
    for server in servers:
        if server.address == server.primary:
            await client.ask(server.address, b"EVAL", _SET_MARK, 1, *_mark(client, server.address), _MARK_SECONDS)
    await _caught_up(client, runtime, servers)
    appending = await runtime.call(lambda: [server for server in servers if server.appends])
    saving = await runtime.call(lambda: [server for server in servers if server.saves])
    for command, status, wanted in (
        (b"BGREWRITEAOF", "aof_last_bgrewrite_status", appending),
        (b"BGSAVE", "rdb_last_bgsave_status", saving),
    ):
        for server in wanted:
            await _start(client, runtime, server, command)
        for server in wanted:
            info = await _idle(client, runtime, server)
            if info.get(status) == "err":
                raise StoreError(
                    f"Redis at {server.name} could not rewrite its files, see its log and its disk: "
                    "the rows are gone, their bytes are still in the old files",
                    address=server.name,
                )
    for server in servers:
        for reset in _LOGS:
            # Where it is not known there is none; where it is not allowed the search says so.
            await client.ask(server.address, *reset)


async def search(client: Client, runtime: Runtime, base: bytes, needles: Sequence[bytes]) -> Absence:
    """Look for bytes among the keys and values of an org, and in the files of every server."""
    report = await _in_keys(client, base, needles)
    servers, away = await servers_of(client)
    for server in servers:
        mark = await client.ask(server.primary, b"GET", _mark(client, server.primary)[0])
        mark = mark if isinstance(mark, bytes) else None
        report += await runtime.call(_in_files, server, needles, mark)
        report += await _in_logs(client, server, needles)
    return report + Absence(unchecked=away)


# -- rewriting


async def _caught_up(client: Client, runtime: Runtime, servers: Sequence[Server]) -> None:
    """Wait until replicas have what their primaries had when this was called."""
    for server in servers:
        if server.address == server.primary:
            continue
        wanted = int((await info_of(client, server.primary)).get("master_repl_offset", 0))

        def there(info: dict[str, str], wanted: int = wanted) -> bool:
            return int(info.get("slave_repl_offset", 0)) >= wanted or info.get("master_link_status") != "up"

        await until(client, runtime, server, there, "a replica is far behind; deleted bytes may be left in its files")


async def _start(client: Client, runtime: Runtime, server: Server, command: bytes) -> None:
    while True:
        await _idle(client, runtime, server)
        reply = await client.ask(server.address, command)
        if not isinstance(reply, ResponseError):
            return
        if "in progress" not in str(reply):
            raise StoreError(
                f"Redis at {server.name} refused {command.decode()}; deleted bytes may be left", address=server.name
            )


async def _idle(client: Client, runtime: Runtime, server: Server) -> dict[str, str]:
    """What a server says of its files, once it is not writing any."""
    said = "Redis is still rewriting its files; deleted bytes may be left in the old ones"
    return await until(client, runtime, server, lambda info: all(info.get(name) != "1" for name in _BUSY), said)


def _mark(client: Client, primary: Address) -> tuple[bytes, bytes]:
    """A key that lives on this primary, and a new value that no file has yet; long enough to be packed like others."""
    keys = (b"rc:mark:{%d}" % number for number in itertools.count())
    return next(key for key in keys if client.owner(key) == primary), secrets.token_hex(16).encode() * 4


# -- what is kept in RAM


async def _in_keys(client: Client, base: bytes, needles: Sequence[bytes]) -> Absence:
    """Every key that begins as an org's do, its name and its value, whether or not an index knows it."""
    found: set[str] = set()
    cursor = b"0"
    try:
        while True:
            cursor, names = await client.command(base, b"SCAN", cursor, b"MATCH", base + b"*", b"COUNT", 1000)
            found |= await _in_values(client, base, names, needles)
            if cursor == b"0":
                return Absence([f"rows of {table}" for table in sorted(found)], ["keys and values of this org"])
    except StoreError as refusal:
        if refusal.facts.get("code") != "NOPERM":
            raise
        return Absence(unchecked=["keys of this org (the user is not allowed SCAN and ZSCAN)"])


async def _in_values(client: Client, base: bytes, names: Sequence[bytes], needles: Sequence[bytes]) -> set[str]:
    found = {_table(base, name) for name in names if _holds(needles, name)}
    rows = [name for name in names if name[len(base) : len(base) + 1] not in (b"@", b"!", b"~")]
    if rows:
        values = await client.command(base, b"MGET", *rows)
        found |= {_table(base, name) for name, value in zip(rows, values, strict=True) if _holds(needles, value or b"")}
    for name in set(names) - set(rows):
        cursor: Any = b"0"
        while True:
            cursor, members = await client.command(base, b"ZSCAN", name, cursor, b"COUNT", 1000)
            if _holds(needles, *members[::2]):
                found.add(_table(base, name))
            if cursor == b"0":
                break
    return found


def _table(base: bytes, name: bytes) -> str:
    return name[len(base) :].lstrip(b"@!~").partition(b":")[0].decode("utf-8", "replace")


async def _in_logs(client: Client, server: Server, needles: Sequence[bytes]) -> Absence:
    """A server remembers the arguments of slow commands."""
    reply = await client.ask(server.address, b"SLOWLOG", b"GET", 1000)
    if isinstance(reply, ResponseError):
        return Absence(unchecked=[f"slow log of {server.name} (SLOWLOG is not allowed)"])
    words = [bytes(word) for entry in reply for word in entry[3]]
    return Absence([f"slow log of {server.name}"] if _holds(needles, *words) else [], [f"slow log of {server.name}"])


def _holds(needles: Sequence[bytes], *texts: bytes) -> bool:
    return any(needle in text for text in texts for needle in needles)


# -- what is on disk


def _in_files(server: Server, needles: Sequence[bytes], mark: bytes | None) -> Absence:
    """Search the files of a server, where they can be shown to be its files."""
    where = f"files of {server.name}"
    if server.settings is None:
        return Absence(unchecked=[f"{where} (it does not say where they are: CONFIG is not allowed)"])
    if not server.appends and not server.saves:
        return Absence(checked=[f"{server.name} (it keeps no files)"])
    found, marked, shut = _searched(server, needles, mark)
    there = [f"{_relative(path, Path(server.settings['dir']))} of {server.name}" for path in found]
    if marked:
        return Absence(there, [where], [f"{path} of {server.name}" for path in shut])
    why = "they are not on this machine"
    if shut:
        why = "this user may not read them"
    elif mark is None:
        why = "the server took no mark to know them by"
    return Absence(there, unchecked=[f"{where} ({why})"])


def _searched(server: Server, needles: Sequence[bytes], mark: bytes | None) -> tuple[list[Path], bool, list[str]]:
    """Files that hold a needle, whether one holds the mark, and which cannot be read."""
    wanted = [*needles, mark] if mark else list(needles)
    found, marked, shut = [], False, []
    seen: set[Path] = set()
    # A file that goes while we look was replaced by one that is looked at too.
    while fresh := [path for path in server.files if path not in seen]:
        for path in fresh:
            seen.add(path)
            try:
                there = held(path, wanted)
            except FileNotFoundError:
                continue
            except OSError as refused:
                shut.append(f"{_relative(path, Path((server.settings or {})['dir']))} ({refused.strerror})")
                continue
            marked = marked or mark in there
            if there - {mark}:
                found.append(path)
    return found, marked, shut


def _relative(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name
