"""Reads the JSON lines of the MCP memory server: entities with observations, and relations between them.

They become the facts that our graph tools use: `entity/<name>` and `relation/<from>/<type>/<to>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..values import JsonMapping
from .files import SourceFiles, decoded, lines
from .graph_keys import entity_key, relation_key
from .items import FactItem, Item, Problem, Version


def recognises(source: SourceFiles) -> bool:
    """Return whether the first line is an entity or a relation."""
    if not source.is_file:
        return False
    first = next((line for line in source.head().split(b"\n") if line.strip()), b"")
    try:
        row = decoded(first)
    except ValueError:
        return False
    return isinstance(row, Mapping) and row.get("type") in ("entity", "relation")


def read(source: SourceFiles) -> Iterator[Item]:
    """Yield one fact per entity and per relation. The file contains no times."""
    for part in source.parts():
        for number, line in lines(part):
            position = f"line {number}"
            try:
                yield _fact(decoded(line), number)
            except ValueError as problem:
                yield Problem(position, str(problem))


def _fact(entry: Any, line: int) -> FactItem:
    """Return the fact that a line contains.

    Its line number is the `order`, which is lower than that of any entity added later.
    """
    position = f"line {line}"
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    if kind == "entity":
        name, observations = _text(entry, "name"), entry.get("observations", [])
        if not isinstance(observations, list) or not all(isinstance(observation, str) for observation in observations):
            raise ValueError("the observations of an entity are a list of texts")
        value = {"name": name, "entityType": _text(entry, "entityType"), "observations": observations, "order": line}
        return FactItem(entity_key(name), (Version(value),), position=position)
    if kind == "relation":
        start, stop, what = _text(entry, "from"), _text(entry, "to"), _text(entry, "relationType")
        value = {"from": start, "to": stop, "relationType": what, "order": line}
        return FactItem(relation_key(start, what, stop), (Version(value),), position=position)
    raise ValueError("it is neither an entity nor a relation")


def _text(entry: JsonMapping, name: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"`{name}` is missing, or not text")
    return value
