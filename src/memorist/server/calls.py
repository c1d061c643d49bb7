"""Decodes a request into the arguments of a method, and encodes the result of the method as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec

from ..context.budget import TokenBudget
from ..context.context import Context
from ..context.policy_names import policy_in
from ..engine.records import OpaqueRecord
from ..engine.sessions.assembling import Recall
from ..errors import InvalidValue, NotFound
from ..protocol.data import data_in, document_in, put_in, record_out
from ..protocol.operations import MAX_LIMIT, Operation, Parameter, is_list, parameters_of
from ..protocol.rendering import Format, rendered
from ..values import JsonObject
from .strict_json import Malformed, strict_json

_encode = msgspec.json.Encoder(enc_hook=str).encode


class Call(msgspec.Struct):
    """Holds the positional and keyword arguments of one call."""

    args: list[Any]
    options: JsonObject
    format: Format = "context"
    """This is the provider's format in which a context is returned."""
    with_manifest: bool = False


def read_call(operation: Operation, query: bytes, body: bytes, headers: Mapping[str, str]) -> Call:
    """Decode the arguments of a request from its query, headers and body. Raises an error for an unknown field."""
    arguments = _query(query, operation)
    fields = _body(body) if operation.has_body else {}
    call = Call([], {})
    for parameter in parameters_of(operation):
        source = fields if parameter.location == "body" else arguments
        if parameter.location == "header":
            _take_expect(call, headers)
        elif parameter.kind == "fields":
            call.options |= {name: fields.pop(name) for name in list(fields)}
        elif parameter.kind == "many":
            call.args += _converted(parameter, source.pop(parameter.name, []), listed=True)
        elif parameter.name in source:
            call.options[parameter.name] = _taken(operation, parameter, source.pop(parameter.name))
        elif parameter.required:
            raise Malformed(f"`{parameter.name}` is missing in the {parameter.location}")
    unknown = [*fields, *arguments]
    if unknown:
        raise InvalidValue(f"unknown field {unknown[0][:40]!r}")
    return _positional(operation, _with_rendering(operation, call))


def call_from(operation: Operation, arguments: Mapping[str, object]) -> Call:
    """Decode the arguments of an operation from one JSON object, as in a batch."""
    call, remaining = Call([], {}), dict(arguments)
    for parameter in parameters_of(operation):
        if parameter.kind == "fields":
            call.options |= {name: remaining.pop(name) for name in list(remaining)}
        elif parameter.kind == "many":
            call.args += _converted(parameter, remaining.pop(parameter.name, []), listed=True)
        elif parameter.name in remaining:
            call.options[parameter.name] = _taken(operation, parameter, remaining.pop(parameter.name))
        elif parameter.required:
            raise InvalidValue(f"{operation.name} needs `{parameter.name}`")
    if remaining:
        raise InvalidValue(f"{operation.name} has no argument {next(iter(remaining))[:40]!r}")
    return _positional(operation, _with_rendering(operation, call))


def _with_rendering(operation: Operation, call: Call) -> Call:
    """Remove `format` and `manifest` from the arguments of a context, because they only determine how it is
    returned."""
    if operation.name == "context":
        call.format = call.options.pop("format", "context")
        call.with_manifest = call.options.pop("manifest", False)
    return call


def _taken(operation: Operation, parameter: Parameter, value: object) -> object:
    """Convert an argument to the type that the method accepts."""
    converted = _converted(parameter, value)
    if operation.noun == "records" and parameter.name == "data":
        return data_in(converted)
    if operation.name == "documents.add" and parameter.name == "text":
        return document_in(converted)
    if operation.noun == "records" and parameter.name == "items":
        return [put_in(item) for item in converted]
    if parameter.name == "budget" and isinstance(converted, dict):
        return _struct(parameter, converted, TokenBudget)
    if parameter.name == "policy" and converted is not None:
        return policy_in(converted)
    if parameter.name == "recall" and isinstance(converted, dict):
        return _struct(parameter, converted, Recall)
    return converted


def _struct(parameter: Parameter, data: object, kind: type) -> object:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as wrong:
        raise InvalidValue(f"`{parameter.name}` is invalid: {wrong}") from None


def _positional(operation: Operation, call: Call) -> Call:
    """Pass the parameters before `*messages` by position, as Python requires."""
    # The names are in reverse order, so that inserting each at the front restores the order of the parameters.
    for name in _before_many(operation):
        if name in call.options:
            call.args.insert(0, call.options.pop(name))
    return call


@cache
def _before_many(operation: Operation) -> tuple[str, ...]:
    """Return the names of the parameters before a variadic one (`*messages`), in reverse order. Without a variadic
    parameter, the result is empty."""
    parameters = parameters_of(operation)
    many = next((n for n, parameter in enumerate(parameters) if parameter.kind == "many"), 0)
    return tuple(parameter.name for parameter in reversed(parameters[:many]))


def _query(query: bytes, operation: Operation) -> JsonObject:
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, strict_parsing=bool(query), errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise Malformed("the query cannot be read; escape it as UTF-8") from None
    arguments: JsonObject = {}
    for name, value in pairs:
        if name in arguments:
            raise InvalidValue(f"`{name[:40]}` occurs twice in the query")
        arguments[name] = value
    if operation.cursor is not None:
        arguments["limit"] = _limit(arguments.get("limit"))
    return arguments


def _limit(text: str | None) -> str:
    if text is None:
        return "100"
    if not text.isdecimal() or not text.isascii() or int(text) > MAX_LIMIT:
        raise InvalidValue(f"limit must be a whole number from 0 to {MAX_LIMIT}")
    return text


def _body(body: bytes) -> JsonObject:
    try:
        fields = strict_json(body) if body else {}
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Malformed("the body is not JSON") from None
    if not isinstance(fields, dict):
        raise Malformed("the body must be a JSON object")
    return fields


def _take_expect(call: Call, headers: Mapping[str, str]) -> None:
    """Read the expected version: `If-Match: "3"` means `expect=3`, and `If-None-Match: *` means `expect=0`."""
    match, none = headers.get("if-match"), headers.get("if-none-match")
    if match is not None:
        text = match.strip().removeprefix("W/").strip('"')
        # A number of 18 digits always fits into 64 bits. `isdecimal` also accepts digits of other scripts.
        if not text.isdecimal() or not text.isascii() or len(text) > 18:
            raise Malformed('If-Match must contain a version as in ETag, like "3"')
        call.options["expect"] = int(text)
    if none is not None:
        if none.strip() != "*":
            raise Malformed("If-None-Match must be *, which means that nothing may exist yet")
        call.options["expect"] = 0


def _converted(parameter: Parameter, value: object, *, listed: bool = False) -> Any:
    if parameter.type is str and type(value) is str and not listed:
        return value
    kind = list[parameter.type] if listed else parameter.type  # type: ignore[name-defined]  # made at run time
    if parameter.location == "query" and isinstance(value, str):
        value = _from_text(parameter, value)
    try:
        # Only text that is not JSON is converted leniently, because a limit of 0.0 is not a whole number.
        return msgspec.convert(value, kind, strict=parameter.location != "query" or not isinstance(value, str))
    except msgspec.ValidationError as wrong:
        choices = ", ".join(_choices(parameter.type))
        hint = f"; valid values are {choices}" if choices else ""
        raise InvalidValue(f"`{parameter.name}` is invalid: {wrong}{hint}") from None


def _choices(kind: object) -> list[str]:
    """Return the literal values that a type consists of. It may be a list of them, or optional."""
    if get_origin(kind) is Literal:
        return [str(value) for value in get_args(kind)]
    inner = [member for member in get_args(kind) if member is not NoneType]
    return _choices(inner[0]) if len(inner) == 1 else []


def _from_text(parameter: Parameter, value: str) -> object:
    """Decode a query parameter. Text is used unchanged; lists, objects and numbers are JSON."""
    if parameter.type is str or parameter.type == str | None:
        return value
    if value[:1] in '[{"' or value in ("true", "false", "null") or _is_number(value):
        try:
            return strict_json(value.encode())
        except (msgspec.DecodeError, RecursionError):
            return value
    return value


def _is_number(value: str) -> bool:
    return value.lstrip("-").replace(".", "", 1).isdecimal() and value.isascii()


def written(operation: Operation, call: Call, result: Any) -> tuple[bytes, int]:
    """Encode a result, and return the body and the version of the record (0 if it has none). A list has a cursor."""
    if result is None and operation.none_is_missing:
        raise NotFound("nothing is stored under that name")
    if call.format != "context" and isinstance(result, Context):
        return _encode(rendered(result, call.format, call.with_manifest)), 0
    version = getattr(result, "version", None)
    version = version if isinstance(version, int) else 0
    if result is not None and is_list(operation):
        return _encode({"items": [_sent(item) for item in result], "next": _next(operation, call, result)}), version
    if isinstance(result, msgspec.Struct) or is_dataclass(result):
        return _encode(_sent(result)), version
    return _encode({"result": _sent(result)}), version


def answer_data(operation: Operation, result: object) -> object:
    """Convert a result to plain data without an envelope, for use inside another answer."""
    data = [_sent(item) for item in result] if isinstance(result, list) else _sent(result)
    return msgspec.to_builtins(data, enc_hook=str)


def _sent(item: object) -> object:
    """Convert a record whose data is bytes, which JSON cannot contain. Anything else is returned unchanged."""
    return record_out(item) if isinstance(item, OpaqueRecord) else item


def _next(operation: Operation, call: Call, items: Sequence[object]) -> object:
    limit = call.options.get("limit")
    if operation.cursor is None or limit is None or len(items) < limit or not items:
        return None
    return getattr(items[-1], operation.cursor)
