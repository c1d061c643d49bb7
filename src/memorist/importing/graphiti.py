"""Reads Graphiti and Zep. Episodes become messages, and entities and edges become facts with their time of validity.

An export is a JSON object with `episodes`, `nodes` and `edges` (Zep: `sessions` with `messages`, and `facts`), or a
Neo4j export of the graph as JSON lines. Edges of one type between the same two entities are versions of one fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..graph_keys import entity_key, relation_key
from ..values import JsonMapping, JsonObject
from .files import Given, JsonStream, Part, decoded, lines
from .items import FactItem, Item, MessageItem, Problem, ThreadItem, Version, listed, moment, moment_or_none, named

EPISODES = ("episodes", "episodic_nodes")
NODES = ("nodes", "entities", "entity_nodes")
EDGES = ("edges", "entity_edges", "facts")
THREADS = ("sessions", "threads")
_SPEAKER = re.compile(r"([^\n:]{1,80}):\s")
_ROLE = re.compile(r"\s*\((user|assistant|system|ai|human)\)$", re.IGNORECASE)
_ROLES = {"assistant": "assistant", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
MOST_NODES = 1_000_000


def recognises(given: Given) -> bool:
    """Return whether the source has episodes, or edges with their validity."""
    if not given.is_file:
        return False
    head = given.head().lstrip()
    if not head.startswith(b"{"):
        return False
    lists = any(f'"{name}"'.encode() in head for name in (*EPISODES, *EDGES, *THREADS))
    zep = b'"session_id"' in head or b'"thread_id"' in head or b'"role_type"' in head
    lined = b'"labels"' in head.split(b"\n", 1)[0] and b'"properties"' in head
    return lined or (
        lists and (b'"valid_at"' in head or b'"source_description"' in head or (zep and b'"messages"' in head))
    )


def read(given: Given) -> Iterator[Item]:
    """Yield the threads and facts of a graph."""
    for part in given.parts():
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

    def _read_row(self, name: str, found: object, place: str) -> Iterator[Item]:
        if not isinstance(found, Mapping):
            yield Problem(place, "it is not an object")
            return
        try:
            if name in EPISODES:
                yield from self._episode(found, place)
            elif name in NODES:
                yield from self._node(found, place)
            elif name in EDGES:
                if len(self._edges) < MOST_NODES:
                    self._edges.append((found, place))
                else:
                    yield Problem(place, f"there are more than {MOST_NODES} edges before it")
            elif name in THREADS:
                yield from self._session(found, place)
        except ValueError as problem:
            yield Problem(place, str(problem))

    def _episode(self, found: Mapping[str, object], place: str) -> Iterator[Item]:
        id, text = named(found, "uuid", "id"), found.get("content")
        if id is None or not isinstance(text, str) or not text:
            raise ValueError("it is not an episode with a uuid and a content")
        group = named(found, "group_id", "session_id", "user_id") or "episodes"
        at = moment(found.get("valid_at") or found.get("created_at"))
        yield from self._thread(group, at, place)
        fields = _spoken(text) if found.get("source", "message") == "message" else {"role": "user", "content": text}
        about = {name: found[name] for name in ("name", "source_description") if isinstance(found.get(name), str)}
        yield MessageItem(
            group, id, fields, at, {"id": id, **about}, place, text if fields["content"] != text else None
        )

    def _thread(self, id: str, at: Any, place: str) -> Iterator[Item]:
        if id not in self._threads:
            self._threads.add(id)
            yield ThreadItem(id, None, id if id != "episodes" else None, {}, at, place)

    def _session(self, found: Mapping[str, object], place: str) -> Iterator[Item]:
        id, messages = named(found, "session_id", "thread_id", "uuid", "id"), found.get("messages")
        if id is None or not isinstance(messages, list):
            raise ValueError("it is not a session with an id and messages")
        if id not in self._threads:
            self._threads.add(id)
            at = moment_or_none(found.get("created_at"))
            yield ThreadItem(id, None, named(found, "user_id"), {}, at, place)
        for number, message in enumerate(messages, 1):
            where = f"{place}, message {number}"
            try:
                yield _message(id, message, number, where)
            except ValueError as problem:
                yield Problem(where, str(problem))

    def _node(self, found: JsonMapping, place: str) -> Iterator[Item]:
        id, name = named(found, "uuid", "id"), found.get("name")
        if id is None or not isinstance(name, str) or not name:
            raise ValueError("it is not an entity with a uuid and a name")
        self._names[id] = name
        labels = [label for label in listed(found, "labels") if isinstance(label, str) and label != "Entity"]
        summary = found.get("summary")
        value: JsonObject = {"name": name, "entityType": labels[0] if labels else "entity"}
        value["observations"] = [summary] if isinstance(summary, str) and summary else []
        if isinstance(found.get("attributes"), Mapping) and found["attributes"]:
            value["attributes"] = dict(found["attributes"])
        at = moment(found.get("created_at"))
        yield FactItem(entity_key(name), (Version(value, at),), named(found, "group_id", "user_id"), place=place)

    def edges(self) -> Iterator[Item]:
        """Yield the facts of all edges, each with its versions. An edge that became invalid ends its version."""
        versions: dict[tuple[str, str | None], list[Version]] = {}
        places: dict[tuple[str, str | None], str] = {}
        for found, place in self._edges:
            try:
                key, made = self._edge(found)
            except ValueError as problem:
                yield Problem(place, str(problem))
                continue
            owner = named(found, "group_id", "user_id")
            versions.setdefault((key, owner), []).extend(made)
            places.setdefault((key, owner), place)
        for (key, owner), made in versions.items():
            yield FactItem(key, tuple(sorted(made, key=_order)), owner, place=places[key, owner])

    def _edge(self, found: Mapping[str, object]) -> tuple[str, list[Version]]:
        text, kind = found.get("fact"), named(found, "name", "relation") or "related to"
        if not isinstance(text, str) or not text:
            raise ValueError("it is not an edge with a fact")
        ends = [self._name(found, f"{end}_node_uuid", f"{end}_node_name") for end in ("source", "target")]
        value: JsonObject = {"from": ends[0], "to": ends[1], "relationType": kind, "fact": text}
        episodes = [episode for episode in listed(found, "episodes") if isinstance(episode, str)]
        if episodes:
            value["episodes"] = episodes
        began = moment(found.get("valid_at")) or moment(found.get("created_at"))
        over = moment(found.get("invalid_at")) or moment(found.get("expired_at"))
        ended = [] if over is None else [Version(None, over, ended=True)]
        return relation_key(ends[0], kind, ends[1]), [Version(value, began), *ended]

    def _name(self, found: Mapping[str, object], id: str, name: str) -> str:
        held = named(found, id)
        name_ = self._names.get(held) if held is not None else None
        return name_ or named(found, name) or held or "unknown"


def _order(version: Version) -> tuple[float, bool]:
    return (version.at.timestamp() if version.at is not None else 0.0, not version.ended)


def _unwrapped(found: object) -> tuple[str, Any]:
    """Return the kind and the fields of a node or relationship as Neo4j exports it."""
    if not isinstance(found, Mapping) or not isinstance(found.get("properties", {}), Mapping):
        return "nodes", None
    fields = {**found.get("properties", {})}
    if found.get("type") == "relationship":
        for end, side in (("source", "start"), ("target", "end")):
            inner = found.get(side)
            about = inner.get("properties") if isinstance(inner, Mapping) else None
            if isinstance(about, Mapping) and isinstance(about.get("uuid"), str):
                fields.setdefault(f"{end}_node_uuid", about["uuid"])
        return ("edges" if "fact" in fields else "ignored"), fields
    labels = listed(found, "labels")
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


def _message(thread: str, found: object, number: int, place: str) -> Item:
    if not isinstance(found, Mapping) or not isinstance(found.get("content"), str):
        raise ValueError("it is not a message with a content")
    id = named(found, "uuid", "id") or str(number)
    role = str(found.get("role_type") or found.get("role") or "user").casefold()
    fields: JsonObject = {"role": _ROLES.get(role, "user"), "content": found["content"]}
    name = found.get("name") or (found.get("role") if found.get("role_type") else None)
    if isinstance(name, str) and name and name.casefold() not in ("user", "assistant", "system", "ai", "human"):
        fields["name"] = name
    return MessageItem(thread, id, fields, moment(found.get("created_at")), {"id": id}, place)
