"""Every store that keeps files, with all of them at hand: what it says of them can be held against a byte scan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from memorist import Memory
from tests.servers.postgres import Postgres
from tests.servers.redis import RedisServer

SERVERS = ("postgres", "redis", "redis-cluster", "redis-before-sqlite", "redis-before-postgres")
"""The places whose files are a server's, at least in part."""
KEPT = {"save": "3600 1", "rdbcompression": "no"}
"""What makes a test server keep snapshots beside its append-only file, with strings in them as they are."""


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
        """Files with the mark in them."""
        return files_with([*self._folders, *(server._folder() for server in self._servers)], mark)


PlaceOn = Callable[[str], Place]


def files_with(folders: Iterable[Path], mark: str) -> list[str]:
    """Files that hold a text, in any of the ways that texts are written."""
    needles = [mark.encode(), mark.upper().encode(), mark.encode("utf-16-le"), mark[::-1].encode()]
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [path.name for path in paths if any(needle in path.read_bytes() for needle in needles)]


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
        postgres_server = postgres()
        assert postgres_server.folder is not None
        options["url"], folders = postgres_server.url, [postgres_server.folder / "data"]
    if "redis" in name:
        running = server(durable)
        options["hot" if "before" in name else "url"] = running.url
        servers = getattr(running, "nodes", [running])
    return Place(options, folders, servers)
