"""Reads LangGraph's savers and stores, in SQLite files and Postgres databases.

A thread receives the messages of all its checkpoints in order of first appearance, each with the time of the checkpoint
in which it first appeared. The other channels of its newest checkpoint become the fact `state/<thread>`. Items of a
store become facts in the namespaces that `MemoristStore` reads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from ..values import JsonMapping, JsonObject
from .databases import Database, has, is_database, opened
from .files import SourceFiles, decoded
from .items import FactItem, Item, MessageItem, Problem, ThreadItem, Version, moment, moment_or_none, named
from .langchain_values import as_messages, chat, loaded, plain

INSIDE = ("__", "branch:", "start:", "to:")
"""Prefixes of LangGraph's internal channels."""
STORE = "workflow:store"


def recognises(source: SourceFiles) -> bool:
    """Return whether the source is a database with checkpoints or a store."""
    if not is_database(source):
        return False
    with opened(source) as database:
        return _has_checkpoints(database) or _has_store(database)


def read(source: SourceFiles) -> Iterator[Item]:
    """Yield the threads of a saver, then the items of a store."""
    with opened(source) as database:
        if _has_checkpoints(database):
            yield from _threads(database)
        if _has_store(database):
            yield from _store(database)


def _has_checkpoints(database: Database) -> bool:
    return has(database, "checkpoints", "thread_id", "checkpoint_ns", "checkpoint", "metadata")


def _has_store(database: Database) -> bool:
    return has(database, "store", "prefix", "key", "value", "created_at", "updated_at")


class _Thread:
    """Holds the state of reading one thread."""

    def __init__(self, id: str, position: str) -> None:
        self.id = id
        self.position = position
        self.seen: set[str] = set()
        self.state: JsonObject = {}
        self.at: datetime | None = None
        self.announced = False


def _threads(database: Database) -> Iterator[Item]:
    query = "SELECT thread_id, type, checkpoint, metadata FROM checkpoints WHERE checkpoint_ns = '' ORDER BY thread_id"
    if has(database, "checkpoints", "checkpoint_id"):  # a shallow saver keeps one checkpoint per thread, without id
        query += ", checkpoint_id"
    thread: _Thread | None = None
    for number, (id, kind, data, about) in enumerate(database.rows(query), 1):
        if thread is None or thread.id != str(id):
            if thread is not None:
                yield from _ended(database, thread)
            thread = _Thread(str(id), f"checkpoint {number}")
        try:
            checkpoint = _checkpoint(kind, data)
        except ValueError as problem:
            yield Problem(f"checkpoint {number}", str(problem))
            continue
        yield from _checkpointed(database, thread, checkpoint, about, f"checkpoint {number}")
    if thread is not None:
        yield from _ended(database, thread)


def _checkpoint(kind: object, data: object) -> JsonMapping:
    values = data if isinstance(data, Mapping) else loaded(kind, data)  # Postgres holds it as JSON
    if not isinstance(values, Mapping):
        raise ValueError("it is not a checkpoint")
    return values


def _checkpointed(
    database: Database, thread: _Thread, checkpoint: Mapping[str, object], about: object, position: str
) -> Iterator[Item]:
    at = moment_or_none(checkpoint.get("ts"))
    if not thread.announced:
        thread.announced = True
        yield ThreadItem(thread.id, None, _owner(about), {}, at, position)
    thread.at = at
    values, problems = _values(database, thread.id, checkpoint)
    yield from (Problem(position, reason) for reason in problems)
    thread.state = {}
    for channel, value in values.items():
        messages = as_messages(value)
        for message in messages:
            yield from _message(thread, message, at, position)
        if not messages and value not in (None, [], {}) and not channel.startswith(INSIDE):
            thread.state[channel] = value


def _values(database: Database, thread: str, checkpoint: Mapping[str, object]) -> tuple[JsonObject, list[str]]:
    """Return the channel values of a checkpoint, which are stored inside it or in a table of blobs by version, and any
    problems."""
    inside = checkpoint.get("channel_values")
    values = {str(name): value for name, value in inside.items()} if isinstance(inside, Mapping) else {}
    problems: list[str] = []
    versions = checkpoint.get("channel_versions")
    if not has(database, "checkpoint_blobs", "channel", "type", "blob") or not isinstance(versions, Mapping):
        return values, problems
    query = "SELECT type, blob FROM checkpoint_blobs WHERE thread_id = ? AND checkpoint_ns = '' AND channel = ?"
    versioned = has(database, "checkpoint_blobs", "version")
    query += " AND version = ?" if versioned else ""
    for channel, version in versions.items():
        if str(channel).startswith(INSIDE):
            continue
        key = (thread, str(channel), str(version)) if versioned else (thread, str(channel))
        for kind, blob in database.rows(query, key):
            try:
                if kind != "empty":
                    values[str(channel)] = loaded(kind, blob)
            except ValueError as problem:
                problems.append(str(problem))
    return values, problems


def _message(thread: _Thread, fields: JsonObject, at: datetime | None, position: str) -> Iterator[Item]:
    original = plain(fields)
    id = named(fields, "id") or hashlib.blake2b(msgspec.json.encode(original), digest_size=8).hexdigest()
    if id in thread.seen:
        return
    thread.seen.add(id)
    try:
        message = chat(fields)
    except ValueError as problem:
        yield Problem(position, str(problem))
    else:
        yield MessageItem(thread.id, id, message, at, {"id": id}, position, original)


def _ended(database: Database, thread: _Thread) -> Iterator[Item]:
    """Yield the items of a thread that are known only after its last checkpoint."""
    if not thread.seen:
        yield from _written(database, thread)
    if thread.state and thread.announced:
        value = plain(thread.state)
        versions = (Version(value, thread.at),)
        yield FactItem(f"state/{thread.id}", versions, position=thread.position, space="workflow:langgraph")


def _written(database: Database, thread: _Thread) -> Iterator[Item]:
    """Yield the messages of a thread from the table of writes, if its checkpoints contain none."""
    table = next((name for name in ("writes", "checkpoint_writes") if name in database.tables), None)
    if table is None:
        return
    blob = "value" if table == "writes" else "blob"
    query = f"SELECT channel, type, {blob} FROM {table} WHERE thread_id = ? AND checkpoint_ns = '' "
    for channel, kind, data in database.rows(f"{query} ORDER BY checkpoint_id, task_id, idx", (thread.id,)):
        if str(channel).startswith(INSIDE):
            continue
        try:
            messages = as_messages(loaded(kind, data))
        except ValueError as problem:
            yield Problem(f"{thread.position}, a write", str(problem))
            continue
        for message in messages:
            yield from _message(thread, message, thread.at, f"{thread.position}, a write")


def _json(value: object) -> object:
    """Return the value of a JSON column, which is a value in Postgres and text or bytes in SQLite."""
    if isinstance(value, str):
        return decoded(value.encode("utf-8", "surrogateescape"))
    return decoded(value) if isinstance(value, bytes) else value


def _owner(about: object) -> str | None:
    """Return the user of a thread, if its metadata names one."""
    try:
        metadata = _json(about)
    except ValueError:
        return None
    return named(metadata, "user_id") if isinstance(metadata, Mapping) else None


def _store(database: Database) -> Iterator[Item]:
    expires = "expires_at" if has(database, "store", "expires_at") else "NULL"
    query = f"SELECT prefix, key, value, created_at, updated_at, {expires} FROM store ORDER BY prefix, key"
    for number, (prefix, key, value, created, changed, ends) in enumerate(database.rows(query), 1):
        position = f"item {number} of the store"
        try:
            document = _json(value)
            versions = (Version(document, moment(changed) or moment(created)),)
            yield FactItem(
                str(key), versions, str(prefix), expires_at=moment(ends), position=position, space=f"{STORE}/{prefix}"
            )
        except ValueError as problem:
            yield Problem(position, str(problem))
