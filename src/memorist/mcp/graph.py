"""Stores a knowledge graph as facts, with the behaviour of `@modelcontextprotocol/server-memory`.

An entity is a fact `entity/<name>`, and a relation is a fact `relation/<from>/<type>/<to>`. An edit works on a copy of
the graph in memory. The changed facts are then written in one transaction, each by compare-and-set on the version that
was read. After a conflict with another process, the edit is repeated on a fresh copy (optimistic concurrency).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import anyio
import msgspec

from ..errors import Conflict, NotFound, Unsupported
from ..importing.graph_keys import ENTITY, RELATION, entity_key, relation_key
from ..records import Fact
from ..values import JsonMapping, JsonObject

if TYPE_CHECKING:
    from ..engine.facts.facts import Facts
    from ..memory import AsyncMemory

PAGE_ROWS = 500
MAX_ATTEMPTS = 40
T = TypeVar("T")


class Node(msgspec.Struct):
    """Represents an entity. `order` is its creation order."""

    name: str
    entityType: str  # camel case, as in that server's answers
    observations: list[str]
    order: int = 0

    def shown(self) -> JsonObject:
        """Return the entity as that server returns it."""
        return {"name": self.name, "entityType": self.entityType, "observations": list(self.observations)}


class Edge(msgspec.Struct):
    """Represents a relation."""

    start: str
    end: str
    kind: str
    order: int = 0

    def shown(self) -> JsonObject:
        """Return the relation as that server returns it."""
        return {"from": self.start, "to": self.end, "relationType": self.kind}

    @property
    def triple(self) -> tuple[str, str, str]:
        return self.start, self.end, self.kind


class Graph:
    """Holds a copy of the graph, with the versions of the facts it was read from."""

    def __init__(self, nodes: list[Node], edges: list[Edge], versions: Mapping[str, int]) -> None:
        self.nodes = nodes
        self.edges = edges
        self.versions = versions
        used = [*(node.order for node in nodes), *(edge.order for edge in edges)]
        # Never lower than what is stored: a clock that was set back would put new entities before old ones.
        self._clock = max(time.time_ns() // 1000, *used, 0)

    def next_order(self) -> int:
        """Return a number higher than any in use."""
        self._clock += 1
        return self._clock

    def facts(self) -> dict[str, JsonObject]:
        """Return the graph as fact values by key.

        Entities with the same name, created in one call, share a fact (`more`).
        """
        values: dict[str, JsonObject] = {}
        for node in self.nodes:
            value: JsonObject = {**node.shown(), "order": node.order}
            # The server that this one replaces allows several entities of one name, if they are created in one call.
            first = values.setdefault(entity_key(node.name), value)
            if first is not value:
                first.setdefault("more", []).append(value)
        for edge in self.edges:
            value = {**edge.shown(), "order": edge.order}
            first = values.setdefault(relation_key(edge.start, edge.kind, edge.end), value)
            if first is not value:
                first.setdefault("more", []).append(value)
        return values

    def shown(self, nodes: Sequence[Node] | None = None, edges: Sequence[Edge] | None = None) -> JsonObject:
        """Return the graph, or a part of it, as that server returns it."""
        return {
            "entities": [node.shown() for node in (self.nodes if nodes is None else nodes)],
            "relations": [edge.shown() for edge in (self.edges if edges is None else edges)],
        }

    def around(self, nodes: list[Node]) -> JsonObject:
        """Return the named nodes with all their relations."""
        names = {node.name for node in nodes}
        return self.shown(nodes, [edge for edge in self.edges if edge.start in names or edge.end in names])


async def load(memory: AsyncMemory, space: str) -> Graph:
    """Return the graph of a namespace."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    versions: dict[str, int] = {}
    for key, version, value in await _rows(memory.facts, space, ENTITY):
        versions[key] = version
        nodes += [_node(part) for part in (value, *value.get("more", ()))]
    for key, version, value in await _rows(memory.facts, space, RELATION):
        versions[key] = version
        edges += [_edge(part) for part in (value, *value.get("more", ()))]
    return Graph(sorted(nodes, key=lambda part: part.order), sorted(edges, key=lambda part: part.order), versions)


async def _rows(facts: Facts, space: str, prefix: str) -> list[tuple[str, int, JsonObject]]:
    rows: list[Fact] = []
    while page := await facts.list(space, prefix=prefix, limit=PAGE_ROWS, after=rows[-1].key if rows else None):
        rows += page
        if len(page) < PAGE_ROWS:
            break
    return [(fact.key, fact.version, fact.value) for fact in rows if isinstance(fact.value, dict)]


def _node(value: JsonMapping) -> Node:
    observations = [str(observation) for observation in value.get("observations") or ()]
    return Node(str(value.get("name")), str(value.get("entityType")), observations, int(value.get("order") or 0))


def _edge(value: JsonMapping) -> Edge:
    ends = (str(value.get("from")), str(value.get("to")), str(value.get("relationType")))
    return Edge(*ends, order=int(value.get("order") or 0))


async def change(memory: AsyncMemory, space: str, edit: Callable[[Graph], T]) -> T:
    """Apply an edit atomically, and repeat it on a fresh copy after a conflict with another process."""
    for tries in range(MAX_ATTEMPTS):
        graph = await load(memory, space)
        before = graph.facts()
        result = edit(graph)
        try:
            await _commit(memory, space, before, graph)
        except Conflict:
            # A random pause, because two processes that wait equally long would meet again.
            await anyio.sleep(min(0.2, 0.002 * 2**tries) * random.random())
        else:
            return result
    raise Conflict(f"other processes changed the graph {MAX_ATTEMPTS} times in a row; try again")


async def _commit(memory: AsyncMemory, space: str, before: Mapping[str, JsonObject], graph: Graph) -> None:
    after = graph.facts()
    # Only the differences are written, so two edits of different entities do not conflict.
    puts = {key: value for key, value in after.items() if before.get(key) != value}
    deleted_keys = [key for key in before if key not in after]
    if not puts and not deleted_keys:
        return
    try:
        async with memory.batch() as batch:
            await _write(batch.facts, space, puts, deleted_keys, graph.versions)
    except Unsupported:
        # A memory without batches: write one by one, each still by compare-and-set.
        await _write(memory.facts, space, puts, deleted_keys, graph.versions)


async def _write(
    facts: Facts, space: str, puts: Mapping[str, JsonObject], deleted_keys: Sequence[str], versions: Mapping[str, int]
) -> None:
    for key, value in puts.items():
        await facts.set(space, key, value, expect=versions.get(key, 0))
    for key in deleted_keys:
        await facts.delete(space, key, expect=versions[key])


# The edits and reads behind the nine tools


def create_entities(graph: Graph, entities: Sequence[JsonObject]) -> list[JsonObject]:
    """Add entities whose names are new."""
    names = {node.name for node in graph.nodes}
    new = [entity for entity in entities if entity["name"] not in names]
    nodes = [
        Node(entity["name"], entity["entityType"], list(entity["observations"]), graph.next_order()) for entity in new
    ]
    graph.nodes += nodes
    return [node.shown() for node in nodes]


def create_relations(graph: Graph, relations: Sequence[JsonObject]) -> list[JsonObject]:
    """Add relations that are new."""
    triples = {edge.triple for edge in graph.edges}
    new = [Edge(relation["from"], relation["to"], relation["relationType"]) for relation in relations]
    edges = [edge for edge in new if edge.triple not in triples]
    for edge in edges:
        edge.order = graph.next_order()
    graph.edges += edges
    return [edge.shown() for edge in edges]


def add_observations(graph: Graph, observations: Sequence[JsonObject]) -> list[JsonObject]:
    """Add observations that an entity does not have. Raises NotFound for an unknown entity."""
    added: list[JsonObject] = []
    for observation in observations:
        node = next((node for node in graph.nodes if node.name == observation["entityName"]), None)
        if node is None:
            raise NotFound(f"Entity with name {observation['entityName']} not found")
        had = set(node.observations)
        new = [content for content in observation["contents"] if content not in had]
        node.observations += new
        added.append({"entityName": observation["entityName"], "addedObservations": new})
    return added


def delete_entities(graph: Graph, names: Sequence[str]) -> None:
    """Remove entities, with their relations."""
    deleted_names = set(names)
    graph.nodes = [node for node in graph.nodes if node.name not in deleted_names]
    graph.edges = [edge for edge in graph.edges if edge.start not in deleted_names and edge.end not in deleted_names]


def delete_observations(graph: Graph, deletions: Sequence[JsonObject]) -> None:
    """Remove observations. Unknown ones are ignored."""
    for deletion in deletions:
        node = next((node for node in graph.nodes if node.name == deletion["entityName"]), None)
        if node is not None:
            deleted = set(deletion["observations"])
            node.observations = [text for text in node.observations if text not in deleted]


def delete_relations(graph: Graph, relations: Sequence[JsonObject]) -> None:
    """Remove relations."""
    deleted = {(relation["from"], relation["to"], relation["relationType"]) for relation in relations}
    graph.edges = [edge for edge in graph.edges if edge.triple not in deleted]


def search_nodes(graph: Graph, query: str) -> JsonObject:
    """Return entities whose name, type or observations contain the query, ignoring case."""
    needle = query.lower()
    return graph.around(
        [
            node
            for node in graph.nodes
            if any(needle in text.lower() for text in (node.name, node.entityType, *node.observations))
        ]
    )


def open_nodes(graph: Graph, names: Sequence[str]) -> JsonObject:
    """Return entities by name."""
    name_set = set(names)
    return graph.around([node for node in graph.nodes if node.name in name_set])
