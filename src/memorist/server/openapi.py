"""Builds the OpenAPI 3.1 document from the table of operations."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from .. import __version__
from ..protocol.operations import (
    OPERATIONS,
    Operation,
    Parameter,
    answer_of,
    declared_words,
    first_paragraph,
    is_list,
    owner_of,
    parameters_of,
    takes_key,
)
from ..protocol.problems import Problem, error_tree
from ..protocol.rendering import RenderedRequest
from ..values import JsonObject

_REF = "#/components/schemas/{name}"
_ERRORS = {
    "400": "The request cannot be read", "401": "No valid key", "403": "The key may not do this",
    "404": "Not found", "405": "The path does not support this method",
    "409": "The record was changed since it was read", "412": "The version does not match",
    "413": "Too large: a body over 8 MB, or a budget or a number of hits over the server's limits",
    "415": "Unsupported content type", "422": "A value is invalid", "429": "Too many requests",
    "500": "Stored data is damaged", "501": "This store cannot do it",
    "502": "A model failed, or the outcome is lost",
    "503": "The store or the server is busy", "504": "The store did not answer in time",
}  # fmt: skip

_NAMESPACE = {"pattern": "^(global|(workflow|agent|user):.+)$"}
_VERSION_HEADERS = [
    {
        "name": "If-Match", "in": "header", "description": 'The version the record must have, as in its ETag: "3"',
        "schema": {"type": "string", "pattern": '^"[0-9]{1,18}"$'},
    },
    {
        "name": "If-None-Match", "in": "header", "description": "`*`: the record must not exist yet",
        "schema": {"type": "string", "enum": ["*"]},
    },
]  # fmt: skip
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key", "in": "header", "description": "A write repeated with the same key is done only once",
    "schema": {"type": "string", "pattern": "^[ -~]{1,200}$"},
}  # fmt: skip


@cache
def document() -> JsonObject:
    """Return the whole document, which is the same for every process of one version."""
    schemas = _schemas()
    paths: JsonObject = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Memorist",
            "version": __version__,
            "description": "Memory and context for LLM agents.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:8377"}],
        "security": [{"key": []}],
        "tags": [_tag(noun) for noun in dict.fromkeys(operation.noun for operation in OPERATIONS)],
        "x-errors": error_tree(),
        "paths": paths,
        "components": {
            "schemas": schemas["components"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "A key: rk_…"}},
            "responses": {code: _problem(text) for code, text in _ERRORS.items()},
        },
    }


def _tag(noun: str) -> dict[str, str]:
    words = first_paragraph(inspect.getdoc(owner_of(noun)) or "")
    return {"name": noun or "memory", "description": words}


def _problem(text: str) -> JsonObject:
    return {
        "description": text,
        "content": {"application/problem+json": {"schema": {"$ref": _REF.format(name="Problem")}}},
    }


@cache
def _schemas() -> JsonObject:
    """Return the schemas of every parameter and answer, with those of shared types under `components`."""
    types: list[object] = [Problem, RenderedRequest]
    for operation in OPERATIONS:
        types += [parameter.type for parameter in parameters_of(operation)]
        types.append(_answer(operation))
    schemas, components = msgspec.json.schema_components(types, schema_hook=_opaque, ref_template=_REF)
    shapes = iter(schemas)
    # The first two shapes, of Problem and RenderedRequest, only have to be among the components.
    next(shapes)
    next(shapes)
    by_operation = {
        operation.name: ([next(shapes) for _ in parameters_of(operation)], next(shapes)) for operation in OPERATIONS
    }
    made_all: JsonObject = _plain(_renamed({"components": components, "operations": by_operation}))
    return made_all


def _plain(schema: object) -> Any:
    """Return the schema without an `anyOf` that has an empty alternative, which accepts anything."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _plain(part) for name, part in schema.items()}
    if {} in plain.get("anyOf", ()):
        del plain["anyOf"]
    return plain


def _renamed(schemas: JsonObject) -> JsonObject:
    """Return the schemas with short names. If two types have the same name, msgspec includes the module in both
    names."""
    dotted = [name for name in schemas["components"] if "." in name]
    names = {name: _short(name, schemas["components"]) for name in dotted}
    text = msgspec.json.encode(schemas).decode()
    for long, short in names.items():
        text = text.replace(f'"#/components/schemas/{long}"', f'"#/components/schemas/{short}"')
        text = text.replace(f'"{long}":', f'"{short}":')
    document: JsonObject = msgspec.json.decode(text)
    return document


def _short(name: str, taken: Mapping[str, object]) -> str:
    """Return a short name: `Problem` from `protocol.problems` keeps its name, and the one from `importing.report`
    becomes `ReportProblem`.
    """
    *_, module, last = name.split(".")
    return last if module == f"{last.lower()}s" else f"{module.title().replace('_', '')}{last}"


def _opaque(kind: type) -> JsonObject:
    return {"type": "object", "description": first_paragraph(inspect.getdoc(kind) or "")}


def _answer(operation: Operation) -> object:
    kind = answer_of(operation)
    return kind if _is_described(kind) else Any


def _is_described(kind: object) -> bool:
    try:
        msgspec.json.schema_components([kind], schema_hook=_opaque)
    except (TypeError, NotImplementedError, NameError):
        return False
    return True


def _described(operation: Operation, schemas: JsonObject) -> JsonObject:
    shapes, answer = schemas["operations"][operation.name]
    if operation.name == "context":
        answer = {"anyOf": [answer, {"$ref": _REF.format(name="RenderedRequest")}]}
    doc = declared_words(operation)
    pairs = list(zip(parameters_of(operation), shapes, strict=True))
    described: JsonObject = {
        "operationId": operation.name.replace(".", "_"),
        "tags": [operation.noun or "memory"],
        "summary": first_paragraph(doc).rstrip("."),
        "description": f"{doc}\n\nRole: `{operation.role}`.",
        "x-call": operation.name,
        "x-writes": operation.writes,
        "x-found": operation.none_is_missing,
        "parameters": [_parameter(parameter, shape) for parameter, shape in pairs if parameter.location == "query"],
        "responses": {
            "200": _success(operation, answer),
            **{code: {"$ref": f"#/components/responses/{code}"} for code in _ERRORS},
        },
    }
    if any(parameter.location == "header" for parameter in parameters_of(operation)):
        described["parameters"] += _VERSION_HEADERS
    if takes_key(operation):
        described["parameters"].append(_IDEMPOTENCY_KEY)
    if operation.upload:
        uploaded = {operation.upload: {"schema": {"type": "string", "format": "binary"}}}
        described["requestBody"] = {"content": uploaded, "required": True}
    if operation.has_body:
        content = {"application/json": {"schema": _body(pairs)}}
        described["requestBody"] = {"content": content, "required": _needs_body(pairs)}
    return described


def _success(operation: Operation, answer: JsonObject) -> JsonObject:
    if operation.streamed:
        return {"description": "A stream", "content": {operation.streamed: {"schema": {"type": "string"}}}}
    return {"description": "Done", "content": {"application/json": {"schema": _envelope(operation, answer)}}}


def _needs_body(pairs: list[tuple[Parameter, object]]) -> bool:
    return any(parameter.location == "body" and parameter.required for parameter, _ in pairs)


def _envelope(operation: Operation, answer: JsonObject) -> JsonObject:
    if is_list(operation):
        properties = {"items": {"type": "array", "items": answer.get("items", {})}, "next": {}}
        return {"type": "object", "required": ["items", "next"], "properties": properties}
    if answer.get("$ref"):
        return answer
    choices = answer.get("anyOf", ())
    if any("$ref" in choice for choice in choices):
        some = [choice for choice in choices if choice != {"type": "null"}]
        if len(some) < len(choices) and not operation.none_is_missing:
            some.append({"type": "object", "required": ["result"], "properties": {"result": {"type": "null"}}})
        return some[0] if len(some) == 1 else {"anyOf": some}
    return {"type": "object", "required": ["result"], "properties": {"result": answer}}


def _parameter(parameter: Parameter, shape: JsonObject) -> JsonObject:
    shape = _named(parameter, shape)
    described: JsonObject = {"name": parameter.name, "in": "query", "required": parameter.required, "schema": shape}
    if _holds_more(shape):
        described["content"] = {"application/json": {"schema": described.pop("schema")}}
    return described


def _holds_more(shape: JsonObject) -> bool:
    """Return whether a parameter may be a list or an object, which would be sent as JSON in the query."""
    return any(choice.get("type") in ("array", "object") for choice in shape.get("anyOf", [shape]))


def _named(parameter: Parameter, shape: JsonObject) -> JsonObject:
    """Return the schema of a required name, which is either a namespace pattern or a non-empty string."""
    if shape != {"type": "string"} or not parameter.required:
        return shape
    return {**shape, **(_NAMESPACE if parameter.name == "ns" else {"minLength": 1})}


def _body(pairs: list[tuple[Parameter, object]]) -> JsonObject:
    fields = [(parameter, shape) for parameter, shape in pairs if parameter.location == "body"]
    if any(parameter.kind == "fields" for parameter, _ in fields):
        return {"type": "object"}
    properties = {
        parameter.name: {"type": "array", "items": shape} if parameter.kind == "many" else shape
        for parameter, shape in fields
    }
    required = [parameter.name for parameter, _ in fields if parameter.required]
    body_schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**body_schema, "required": required} if required else body_schema
