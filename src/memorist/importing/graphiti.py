"""Reads data from Graphiti and Zep. Episodes become messages, and entities and edges become facts with the period in
which they were valid.

An export is a JSON object with `episodes`, `nodes` and `edges` (Zep: `sessions` with `messages`, and `facts`), or a
Neo4j export of the graph as JSON lines. Edges of one type between the same two entities are versions of one fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..values import JsonMapping, JsonObject
from .files import JsonStream, Part, SourceFiles, decoded, lines
from .graph_keys import entity_key, relation_key
from .items import FactItem, Item, MessageItem, Problem, ThreadItem, Version, listed, moment, moment_or_none, named

EPISODES = ("episodes", "episodic_nodes")
NODES = ("nodes", "entities", "entity_nodes")
EDGES = ("edges", "entity_edges", "facts")
THREADS = ("sessions", "threads")
_SPEAKER = re.compile(r"([^\n:]{1,80}):\s")
_ROLE = re.compile(r"\s*\((user|assistant|system|ai|human)\)$", re.IGNORECASE)
_ROLES = {"assistant": "assistant", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
MAX_NODES = 1_000_000


def recognises(source: SourceFiles) -> bool:
    """Return whether the source has episodes, or edges with a period of validity."""
    if not source.is_file:
        return False
    head = source.head().lstrip()
    if not head.startswith(b"{"):
        return False
    lists = any(f'"{name}"'.encode() in head for name in (*EPISODES, *EDGES, *THREADS))
    zep = b'"session_id"' in head or b'"thread_id"' in head or b'"role_type"' in head
    lined = b'"labels"' in head.split(b"\n", 1)[0] and b'"properties"' in head
    return lined or (
        lists and (b'"valid_at"' in head or b'"source_description"' in head or (zep and b'"messages"' in head))
    )


def read(source: SourceFiles) -> Iterator[Item]:
    """Yield the threads and facts of a graph."""
    for part in source.parts():
        reading = _Reading()
        yield from reading.lined(part) if _is_lines(part) else reading.whole(part)
        yield from reading.edges()


def _is_lines(part: Part) -> bool:
    with part.open() as file:
        first = file.readline(1024 * 1024)
    return b'"labels"' in first and b'"properties"' in first


class _Reading:
    """Reads one graph. Edges are buffered until the end, because they refer to nodes by id and need their names."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._edges: list[tuple[JsonMapping, str]] = []
        self._threads: set[str] = set()

    def whole(self, part: Part) -> Iterator[Item]:
        """Read a JSON object of lists."""
        with part.open() as file:
            stream = JsonStream(file, part.name)
            for name in stream.members():
                if stream.peek() != "[":
                    stream.value()
                    continue
                for number, element in enumerate(stream.elements(), 1):
                    yield from self._read_row(name, element, f"{name} {number}")
            stream.done()

    def lined(self, part: Part) -> Iterator[Item]:
        """Read nodes and relationships, one per line."""
        for number, line in lines(part):
            position = f"line {number}"
            try:
                row = decoded(line)
            except ValueError as problem:
                yield Problem(position, str(problem))
                continue
            yield from self._read_row(*_unwrapped(row), position)

    def _read_row(self, name: str, row: object, position: str) -> Iterator[Item]:
        if not isinstance(row, Mapping):
            yield Problem(position, "it is not an object")
            return
        try:
            if name in EPISODES:
                yield from self._episode(row, position)
            elif name in NODES:
                yield from self._node(row, position)
            elif name in EDGES:
                if len(self._edges) < MAX_NODES:
                    self._edges.append((row, position))
                else:
                    yield Problem(position, f"there are more than {MAX_NODES} edges before it")
            elif name in THREADS:
                yield from self._session(row, position)
        except ValueError as problem:
            yield Problem(position, str(problem))

    def _episode(self, episode: Mapping[str, object], position: str) -> Iterator[Item]:
        id, text = named(episode, "uuid", "id"), episode.get("content")
        if id is None or not isinstance(text, str) or not text:
            raise ValueError("it is not an episode with a uuid and a content")
        group = named(episode, "group_id", "session_id", "user_id") or "episodes"
        at = moment(episode.get("valid_at") or episode.get("created_at"))
        yield from self._thread(group, at, position)
        fields = _spoken(text) if episode.get("source", "message") == "message" else {"role": "user", "content": text}
        about = {name: episode[name] for name in ("name", "source_description") if isinstance(episode.get(name), str)}
        yield MessageItem(
            group, id, fields, at, {"id": id, **about}, position, text if fields["content"] != text else None
        )

    def _thread(self, id: str, at: Any, position: str) -> Iterator[Item]:
        if id not in self._threads:
            self._threads.add(id)
            yield ThreadItem(id, None, id if id != "episodes" else None, {}, at, position)

    def _session(self, fields: Mapping[str, object], position: str) -> Iterator[Item]:
        id, messages = named(fields, "session_id", "thread_id", "uuid", "id"), fields.get("messages")
        if id is None or not isinstance(messages, list):
            raise ValueError("it is not a session with an id and messages")
        if id not in self._threads:
            self._threads.add(id)
            at = moment_or_none(fields.get("created_at"))
            yield ThreadItem(id, None, named(fields, "user_id"), {}, at, position)
        for number, message in enumerate(messages, 1):
            where = f"{position}, message {number}"
            try:
                yield _message(id, message, number, where)
            except ValueError as problem:
                yield Problem(where, str(problem))

    def _node(self, fields: JsonMapping, position: str) -> Iterator[Item]:
        id, name = named(fields, "uuid", "id"), fields.get("name")
        if id is None or not isinstance(name, str) or not name:
            raise ValueError("it is not an entity with a uuid and a name")
        self._names[id] = name
        labels = [label for label in listed(fields, "labels") if isinstance(label, str) and label != "Entity"]
        summary = fields.get("summary")
        value: JsonObject = {"name": name, "entityType": labels[0] if labels else "entity"}
        value["observations"] = [summary] if isinstance(summary, str) and summary else []
        if isinstance(fields.get("attributes"), Mapping) and fields["attributes"]:
            value["attributes"] = dict(fields["attributes"])
        at = moment(fields.get("created_at"))
        yield FactItem(entity_key(name), (Version(value, at),), named(fields, "group_id", "user_id"), position=position)

    def edges(self) -> Iterator[Item]:
        """Yield the facts of all edges, each with its versions. An edge that became invalid ends its version."""
        versions: dict[tuple[str, str | None], list[Version]] = {}
        places: dict[tuple[str, str | None], str] = {}
        for fields, position in self._edges:
            try:
                key, edge_versions = self._edge(fields)
            except ValueError as problem:
                yield Problem(position, str(problem))
                continue
            owner = named(fields, "group_id", "user_id")
            versions.setdefault((key, owner), []).extend(edge_versions)
            places.setdefault((key, owner), position)
        for (key, owner), edge_versions in versions.items():
            yield FactItem(key, tuple(sorted(edge_versions, key=_order)), owner, position=places[key, owner])

    def _edge(self, fields: Mapping[str, object]) -> tuple[str, list[Version]]:
        text, kind = fields.get("fact"), named(fields, "name", "relation") or "related to"
        if not isinstance(text, str) or not text:
            raise ValueError("it is not an edge with a fact")
        ends = [self._name(fields, f"{end}_node_uuid", f"{end}_node_name") for end in ("source", "target")]
        value: JsonObject = {"from": ends[0], "to": ends[1], "relationType": kind, "fact": text}
        episodes = [episode for episode in listed(fields, "episodes") if isinstance(episode, str)]
        if episodes:
            value["episodes"] = episodes
        began = moment(fields.get("valid_at")) or moment(fields.get("created_at"))
        over = moment(fields.get("invalid_at")) or moment(fields.get("expired_at"))
        ended = [] if over is None else [Version(None, over, ended=True)]
        return relation_key(ends[0], kind, ends[1]), [Version(value, began), *ended]

    def _name(self, fields: Mapping[str, object], id: str, name: str) -> str:
        node_id = named(fields, id)
        name_ = self._names.get(node_id) if node_id is not None else None
        return name_ or named(fields, name) or node_id or "unknown"


def _order(version: Version) -> tuple[float, bool]:
    return (version.at.timestamp() if version.at is not None else 0.0, not version.ended)


def _unwrapped(row: object) -> tuple[str, object]:
    """Return the kind and the fields of a node or relationship as Neo4j exports it."""
    if not isinstance(row, Mapping) or not isinstance(row.get("properties", {}), Mapping):
        return "nodes", None
    fields = {**row.get("properties", {})}
    if row.get("type") == "relationship":
        for end, side in (("source", "start"), ("target", "end")):
            inner = row.get(side)
            about = inner.get("properties") if isinstance(inner, Mapping) else None
            if isinstance(about, Mapping) and isinstance(about.get("uuid"), str):
                fields.setdefault(f"{end}_node_uuid", about["uuid"])
        return ("edges" if "fact" in fields else "ignored"), fields
    labels = listed(row, "labels")
    fields.setdefault("labels", labels)
    return ("episodes" if "Episodic" in labels else "nodes" if "Entity" in labels else "ignored"), fields


def _spoken(text: str) -> JsonObject:
    """Return the message of an episode, whose text begins with the speaker: `Ada (user): …`."""
    match = _SPEAKER.match(text)
    if match is None:
        return {"role": "user", "content": text}
    speaker, rest = match.group(1).strip(), text[match.end() :]
    role_match = _ROLE.search(speaker)
    role = _ROLES.get((role_match.group(1) if role_match else speaker).casefold(), "user")
    name = _ROLE.sub("", speaker)
    is_user = not name or name.casefold() in ("user", "human", *_ROLES)
    return {"role": role, "content": rest, **({} if is_user else {"name": name})}


def _message(thread: str, message: object, number: int, position: str) -> Item:
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), str):
        raise ValueError("it is not a message with a content")
    id = named(message, "uuid", "id") or str(number)
    role = str(message.get("role_type") or message.get("role") or "user").casefold()
    fields: JsonObject = {"role": _ROLES.get(role, "user"), "content": message["content"]}
    name = message.get("name") or (message.get("role") if message.get("role_type") else None)
    if isinstance(name, str) and name and name.casefold() not in ("user", "assistant", "system", "ai", "human"):
        fields["name"] = name
    return MessageItem(thread, id, fields, moment(message.get("created_at")), {"id": id}, position)
