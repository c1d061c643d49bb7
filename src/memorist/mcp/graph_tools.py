"""Implements the nine tools of `@modelcontextprotocol/server-memory`, with its names, schemas and answers, over
facts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..errors import UsageError
from ..protocol.keys import Role
from ..values import JsonMapping, JsonObject
from . import graph
from .answers import Fitted, tokens_of
from .callers import Caller
from .tools import DESTROY, READ, WRITE, Hints

RESOURCE = "memory://knowledge-graph"
_DRAFT = "http://json-schema.org/draft-07/schema#"
Schema = JsonObject


def _text(about: str = "") -> Schema:
    return {"type": "string", "description": about} if about else {"type": "string"}


def _list(items: Schema, about: str = "") -> Schema:
    schema: Schema = {"type": "array", "items": items}
    return {**schema, "description": about} if about else schema


def _object(**fields: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": fields}
    return {**schema, "required": list(fields)} if fields else schema


def _closed(schema: Schema) -> Schema:
    """Return the schema with `additionalProperties: false`, as that server declares its answers."""
    if schema["type"] == "object":
        properties = {name: _closed(field_schema) for name, field_schema in schema["properties"].items()}
        return {**schema, "properties": properties, "additionalProperties": False}
    return {**schema, "items": _closed(schema["items"])} if schema["type"] == "array" else schema


_ENTITY = _object(
    name=_text("what it is called"),
    entityType=_text("what it is"),
    observations=_list(_text(), "what is known about it"),
)
_RELATION = _object(
    **{
        "from": _text("the entity it starts from"),
        "to": _text("the entity it leads to"),
        "relationType": _text("how they are related, in active voice"),
    }
)
_ADDED = _object(entityName=_text(), addedObservations=_list(_text()))
_DONE = _object(success={"type": "boolean"}, message=_text())
_GRAPH = _object(entities=_list(_ENTITY), relations=_list(_RELATION))


class GraphTool(msgspec.Struct, frozen=True, eq=False):
    """Describes one of the nine tools. It has either `edit` or `read`."""

    name: str
    title: str
    about: str
    input: Schema
    output: Schema
    hints: Hints
    edit: Callable[..., object] | None = None
    """This function changes the graph and returns the answer."""
    read: Callable[..., JsonObject] | None = None
    answer: str = ""
    """This is the field of the answer, or the message of a deletion."""

    @property
    def role(self) -> Role:
        """This is the role that a key needs."""
        return "reader" if self.edit is None else "writer"


def _tool(name: str, about: str, input: Schema, output: Schema, hints: Hints, **more: Any) -> GraphTool:
    title = name.replace("_", " ").title()
    values = {"$schema": _DRAFT, **_closed(output)}
    return GraphTool(name, title, about, {"$schema": _DRAFT, **input}, values, hints, **more)


GRAPH_TOOLS: tuple[GraphTool, ...] = (
    _tool(
        "create_entities", "Add entities to the graph. Entities whose names already exist are skipped.",
        _object(entities=_list(_ENTITY)), _object(entities=_list(_ENTITY)), WRITE,
        edit=graph.create_entities, answer="entities",
    ),
    _tool(
        "create_relations", "Add relations between entities to the graph.",
        _object(relations=_list(_RELATION)), _object(relations=_list(_RELATION)), WRITE,
        edit=graph.create_relations, answer="relations",
    ),
    _tool(
        "add_observations", "Add observations to entities in the graph.",
        _object(observations=_list(_object(entityName=_text("whose"), contents=_list(_text(), "what is new")))),
        _object(results=_list(_ADDED)), WRITE, edit=graph.add_observations, answer="results",
    ),
    _tool(
        "delete_entities", "Delete entities and their relations from the graph.",
        _object(entityNames=_list(_text(), "which")), _DONE, DESTROY,
        edit=graph.delete_entities, answer="Entities deleted successfully",
    ),
    _tool(
        "delete_observations", "Delete observations from entities.",
        _object(deletions=_list(_object(entityName=_text("whose"), observations=_list(_text(), "which")))), _DONE,
        DESTROY, edit=graph.delete_observations, answer="Observations deleted successfully",
    ),
    _tool(
        "delete_relations", "Delete relations from the graph.",
        _object(relations=_list(_RELATION, "which")), _DONE, DESTROY,
        edit=graph.delete_relations, answer="Relations deleted successfully",
    ),
    _tool("read_graph", "The whole graph.", _object(), _GRAPH, READ, read=lambda whole: whole.shown()),
    _tool(
        "search_nodes", "Entities whose name, type or observations contain a text, with their relations.",
        _object(query=_text("the text")), _GRAPH, READ, read=graph.search_nodes,
    ),
    _tool(
        "open_nodes", "Entities by name, with their relations.",
        _object(names=_list(_text(), "which")), _GRAPH, READ, read=graph.open_nodes,
    ),
)  # fmt: skip


async def call_graph(caller: Caller, tool: GraphTool, arguments: JsonMapping) -> Fitted:
    """Run a graph tool. The answer is byte for byte what that server would write."""
    values = [
        _declared_fields(tool.input["properties"][name], value) for name, value in _checked(tool, arguments).items()
    ]
    space = caller.own
    if tool.read is not None:
        return _written(tool.read(await graph.load(caller.memory, space), *values))
    edit = tool.edit
    assert edit is not None
    result = await graph.change(caller.memory, space, lambda whole: edit(whole, *values))
    if result is None:
        return Fitted({"success": True, "message": tool.answer}, tool.answer, tokens_of(tool.answer))
    written = _written(result)
    return msgspec.structs.replace(written, data={tool.answer: result})


def _written(data: Any) -> Fitted:
    text = json.dumps(data, indent=2, ensure_ascii=False)
    return Fitted(data, text, tokens_of(text))


def _checked(tool: GraphTool, arguments: JsonMapping) -> JsonObject:
    wrong = _problems(tool.input, dict(arguments), "")
    if wrong:
        listing = "\n".join(wrong)
        raise WrongArguments(
            f"MCP error -32602: Input validation error: Invalid arguments for tool {tool.name}: {listing}"
        )
    return {name: arguments[name] for name in tool.input["properties"]}


class WrongArguments(UsageError):
    """Raised for arguments that do not match the schema, with that server's error message."""


_ABSENT = object()
_KINDS: Mapping[type, str] = {
    str: "string", list: "array", dict: "object", bool: "boolean", int: "number", float: "number"
}  # fmt: skip


def _problems(schema: Schema, value: Any, path: str) -> list[str]:
    """Return where and how a value violates a schema."""
    received = "undefined" if value is _ABSENT else _KINDS.get(type(value), "null")
    if received != schema["type"]:
        return [f"Invalid input: expected {schema['type']}, received {received}" + (f" at {path}" if path else "")]
    if received == "array":
        return [
            problem for at, item in enumerate(value) for problem in _problems(schema["items"], item, f"{path}[{at}]")
        ]
    if received != "object":
        return []
    inner = {name: (f"{path}.{name}" if path else name) for name in schema["properties"]}
    return [
        problem
        for name, item in schema["properties"].items()
        for problem in _problems(item, value.get(name, _ABSENT), inner[name])
    ]


def _declared_fields(schema: Schema, value: Any) -> object:
    """Return the value without fields that the schema does not declare."""
    if schema["type"] == "array":
        return [_declared_fields(schema["items"], item) for item in value]
    if schema["type"] == "object":
        return {name: _declared_fields(item, value[name]) for name, item in schema["properties"].items()}
    return value
