"""Reads data from mem0: an export of `get_all()`, its history database, or the folder of its local store.

A memory becomes the fact `mem0/<id>` with its earlier versions from the history. Points of the local Qdrant store are
pickles, which are loaded with an allow-list (see `pickles`). Messages in the history database become threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any

from .databases import Database, has, sqlite_file
from .files import SQLITE, JsonStream, SourceFiles
from .items import FactItem, Item, MessageItem, Problem, ThreadItem, Version, moment, named
from .pickles import point

HISTORY = ("memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at")
MESSAGES = ("id", "session_scope", "role", "content", "created_at")
LISTS = ("results", "memories")


def recognises(source: SourceFiles) -> bool:
    """Return whether the source is an export, a history database, or a folder that contains either of these or a local
    store."""
    if source.url is not None:
        return False
    return bool(_databases(source)) or _is_export(source)


def _databases(source: SourceFiles) -> list[Path]:
    """Return the paths of history databases and local stores in the source."""
    if source.is_file:
        paths = [source.path] if source.head().startswith(SQLITE) else []
    else:
        names = ("history*.db", "storage.sqlite") if source.is_folder else ()
        paths = [path for name in names for path in sorted(source.path.rglob(name))]
    return [path for path in paths if not path.is_symlink() and _kind(path)]


def _kind(path: Path) -> str:
    with path.open("rb") as file:
        if not file.read(16).startswith(SQLITE):
            return ""
    with sqlite_file(path) as database:
        if has(database, "history", *HISTORY):
            return "history"
        return "points" if has(database, "points", "id", "point") else ""


def _is_export(source: SourceFiles) -> bool:
    if not source.is_file:
        return False
    head = source.head()[:4096]
    return head.lstrip()[:1] in (b"{", b"[") and b'"memory"' in head and (b'"user_id"' in head or b'"hash"' in head)


def read(source: SourceFiles) -> Iterator[Item]:
    """Yield the memories with their history, then the messages."""
    paths = _databases(source)
    if not paths:
        for part in source.parts("*.json"):
            with part.open() as file:
                yield from _export(JsonStream(file, part.name))
        return
    with ExitStack() as stack:
        kinds = [(_kind(path), stack.enter_context(sqlite_file(path))) for path in paths]
        histories = [database for kind, database in kinds if kind == "history"]
        seen: set[str] = set()
        for kind, database in kinds:
            if kind == "points":
                yield from _points(database, histories, seen)
        for history in histories:
            yield from _histories(history, seen)
            if has(history, "messages", *MESSAGES):
                yield from _messages(history)


def _export(stream: JsonStream) -> Iterator[Item]:
    if stream.peek() == "[":
        yield from _memories(stream)
    else:
        for name in stream.members():
            if name in LISTS and stream.peek() == "[":
                yield from _memories(stream)
            else:
                stream.value()
    stream.done()


def _memories(stream: JsonStream) -> Iterator[Item]:
    for number, memory in enumerate(stream.elements(), 1):
        position = f"memory {number}"
        try:
            if not isinstance(memory, Mapping):
                raise ValueError("it is not a memory")
            yield _fact(memory, (), position)
        except ValueError as problem:
            yield Problem(position, str(problem))


def _fact(memory: Mapping[str, object], past: tuple[Version, ...], position: str) -> FactItem:
    """Return the fact of a memory from an export (text in `memory`) or from a point (text in `data`)."""
    id, text = named(memory, "id"), memory.get("memory", memory.get("data"))
    if id is None or not isinstance(text, str) or not text:
        raise ValueError("it is not a memory with an id and a text")
    at = moment(memory.get("updated_at")) or moment(memory.get("created_at"))
    versions = past if past and past[-1].value == text else (*past, Version(text, at))
    owner, agent, run = named(memory, "user_id"), named(memory, "agent_id"), named(memory, "run_id")
    space = None if owner is not None else f"agent:{agent}" if agent is not None else f"workflow:{run}" if run else None
    return FactItem(f"mem0/{id}", versions, owner or agent or run, position=position, space=space)


def _points(database: Database, histories: list[Database], seen_ids: set[str]) -> Iterator[Item]:
    for number, (data,) in enumerate(database.rows("SELECT point FROM points ORDER BY id"), 1):
        position = f"point {number}"
        try:
            fields = point(data)
            id = str(fields["id"])
            yield _fact(fields, _past(histories, id), position)
            seen_ids.add(id)
        except ValueError as problem:
            yield Problem(position, str(problem))


_COLUMNS = "memory_id, new_memory, event, created_at, updated_at"


def _past(histories: list[Database], id: str) -> tuple[Version, ...]:
    query = f"SELECT {_COLUMNS} FROM history WHERE memory_id = ? ORDER BY rowid"
    return tuple(version for history in histories for version in map(_version, history.rows(query, (id,))) if version)


def _version(row: Any) -> Version | None:
    """Return the version that one event of the history created, or None if it changed nothing."""
    _, text, event, created, changed = row
    at = moment(changed) or moment(created)
    if event == "DELETE":
        return Version(None, at, ended=True)
    return Version(text, at) if isinstance(text, str) and text else None


def _histories(database: Database, seen_ids: set[str]) -> Iterator[Item]:
    """Yield memories that are only in the history: deleted ones, or all of them if the source has no store."""
    rows = database.rows(f"SELECT {_COLUMNS} FROM history ORDER BY memory_id, rowid")
    for id, events in groupby(rows, key=lambda row: row[0]):
        position = f"the history of memory {str(id)[:64]!r}"
        listed = list(events)
        if str(id) in seen_ids:
            continue
        try:
            versions = tuple(version for version in map(_version, listed) if version)
            if not versions or versions[0].ended:
                raise ValueError("its history has no text")
            yield FactItem(f"mem0/{id}", versions, position=position)
        except ValueError as problem:
            yield Problem(position, str(problem))


def _messages(database: Database) -> Iterator[Item]:
    """Yield the recent messages that mem0 stores as context, one thread per session."""
    query = (
        "SELECT session_scope, id, role, content, name, created_at FROM messages ORDER BY session_scope, created_at, id"
    )
    for scope, rows in groupby(database.rows(query), key=lambda row: row[0]):
        owner = _scope(scope).get("user_id")
        yield ThreadItem(f"mem0/{scope}", None, owner, {"session_scope": str(scope)}, None, "a session")
        for number, (_, id, role, content, name, at) in enumerate(rows, 1):
            position = f"message {number} of a session"
            try:
                fields = {"role": role, "content": content, **({"name": name} if name else {})}
                yield MessageItem(f"mem0/{scope}", str(id), fields, moment(at), {"id": str(id)}, position)
            except ValueError as problem:
                yield Problem(position, str(problem))


def _scope(scope: object) -> dict[str, str]:
    """Split a text such as `user_id=ada&run_id=7` into its parts."""
    pairs = [part.partition("=") for part in str(scope).split("&")]
    return {name: value for name, _, value in pairs if value}
