"""Reads the JSON lines of the MCP memory server: entities with observations, and relations between them.

They become the facts that our graph tools use: `entity/<name>` and `relation/<from>/<type>/<to>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..graph_keys import entity_key, relation_key
from ..values import JsonMapping
from .files import Given, decoded, lines
from .items import FactItem, Item, Problem, Version


def recognises(given: Given) -> bool:
    """Return whether the first line is an entity or a relation."""
    if not given.is_file:
        return False
    first = next((line for line in given.head().split(b"\n") if line.strip()), b"")
    try:
        row = decoded(first)
    except ValueError:
        return False
    return isinstance(row, Mapping) and row.get("type") in ("entity", "relation")


def read(given: Given) -> Iterator[Item]:
    """Yield a fact per entity and relation. The file contains no times."""
    for part in given.parts():
        for number, line in lines(part):
            position = f"line {number}"
            try:
                yield _fact(decoded(line), number)
            except ValueError as problem:
                yield Problem(position, str(problem))


def _fact(found: Any, line: int) -> FactItem:
    """Return the fact of a line.

    Its line number is the `order`, which is lower than that of any entity added later.
    """
    place = f"line {line}"
    kind = found.get("type") if isinstance(found, Mapping) else None
    if kind == "entity":
        name, observations = _text(found, "name"), found.get("observations", [])
        if not isinstance(observations, list) or not all(isinstance(observation, str) for observation in observations):
            raise ValueError("the observations of an entity are a list of texts")
        value = {"name": name, "entityType": _text(found, "entityType"), "observations": observations, "order": line}
        return FactItem(entity_key(name), (Version(value),), place=place)
    if kind == "relation":
        start, stop, what = _text(found, "from"), _text(found, "to"), _text(found, "relationType")
        value = {"from": start, "to": stop, "relationType": what, "order": line}
        return FactItem(relation_key(start, what, stop), (Version(value),), place=place)
    raise ValueError("it is neither an entity nor a relation")


def _text(found: JsonMapping, name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"`{name}` is missing, or not text")
    return value
