"""Every store that keeps files, with all of them at hand: what it says of them can be held against a byte scan."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from recollect import Memory
from tests.servers.postgres import Postgres
from tests.servers.redis import RedisServer, start_redis

PLACES = ("sqlite", "postgres", "redis", "redis-cluster", "redis-before-sqlite", "redis-before-postgres")
KEPT = {"save": "3600 1"}
"""What makes a test server keep snapshots beside its append-only file."""


class Place:
    """Where a memory lives, and every file it has there."""

    def __init__(self, options: dict[str, Any], folders: list[Path], servers: list[RedisServer]) -> None:
        self.options: dict[str, Any] = {"embedder": None, "counter": "estimate", "worker": False, **options}
        self._folders = folders
        self._servers = servers

    def open(self) -> Memory:
        """A memory in this place."""
        return Memory(**self.options)

    def holding(self, mark: str) -> list[str]:
        """Files with the mark in them; those of Redis are also loaded, as they hold packed strings."""
        found = files_with(self._folders, mark)
        for server in self._servers:
            assert server.folder is not None
            found += files_with([server.folder], mark) or loaded_with(server, mark)
        return found


PlaceOn = Callable[[str], Place]


def files_with(folders: Iterable[Path], mark: str) -> list[str]:
    """Files that hold a text, in any of the ways that texts are written."""
    needles = [mark.encode(), mark.upper().encode(), mark.encode("utf-16-le"), mark[::-1].encode()]
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [path.name for path in paths if any(needle in path.read_bytes() for needle in needles)]


def loaded_with(server: RedisServer, mark: str) -> list[str]:
    """Whether a server that loads these files has the mark: it writes all it has without packing anything."""
    found = []
    with server.client() as client:
        appends = client.config_get("appendonly")["appendonly"]
    for name, aof in (("append-only file", "always"), ("snapshot", "no")):
        if aof == "always" and appends != "yes":
            continue
        with Copy(server, aof) as folder:
            found += [f"{name}: {file}" for file in files_with([folder], mark)]
    return found


class Copy:
    """A server on a copy of another one's files, which has saved all it knows, unpacked."""

    def __init__(self, server: RedisServer, aof: str) -> None:
        self._server = start_redis(aof="no", options={"rdbcompression": "no"})
        assert self._server.folder is not None and server.folder is not None
        self._server.kill()
        shutil.copytree(server.folder, self._server.folder, dirs_exist_ok=True)
        if aof == "always":
            self._server._command += ["--appendonly", "yes"]
        self._server.start()

    def __enter__(self) -> Path:
        folder = self._server.folder
        assert folder is not None
        with self._server.client() as client:
            client.execute_command("SAVE")
        return folder

    def __exit__(self, *error: object) -> None:
        self._server.stop()


def place_named(
    name: str, org: str, path: Path, postgres: Callable[[], Postgres], server: Callable[[str], Any]
) -> Place:
    """The place of a store; `server` gives a Redis or a cluster that keeps files."""
    options: dict[str, Any] = {"org": org}
    folders: list[Path] = []
    servers: list[RedisServer] = []
    durable = name.rpartition("redis-before-")[2]
    if durable == "sqlite":
        options["url"], folders = path / "memory.db", [path]
    elif durable == "postgres":
        found = postgres()
        assert found.folder is not None
        options["url"], folders = found.url, [found.folder / "data"]
    if "redis" in name:
        running = server(durable)
        options["hot" if "before" in name else "url"] = running.url
        servers = getattr(running, "nodes", [running])
    return Place(options, folders, servers)
