"""Implements the nouns over HTTP, as classes generated from the table of operations, with the methods of the engine's
nouns.

A method binds its arguments according to the engine's signature, sends them, and converts the answer to the type that
the engine's method declares. A program can therefore move from a local store to a server without changes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime, timedelta
from functools import cache, wraps
from math import isfinite
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from ..context.policy_names import policy_out
from ..engine.memories import Remembered, record_id
from ..engine.processors import PROCESSORS
from ..errors import InvalidNamespace, InvalidValue, NotFound, Unsupported, UsageError
from ..ids import new_id
from ..kinds import reference
from ..messages.message import Message
from ..ports import as_datetime, to_micros
from ..protocol.data import RecordItem, SentBytes, data_out, items_out, record_in, with_file_bytes
from ..protocol.operations import (
    COLLECTED,
    MAX_LIMIT,
    OPERATIONS,
    Operation,
    Parameter,
    answer_of,
    is_list,
    method_of,
    owner_of,
    parameters_of,
    takes_key,
)
from ..records import Record
from ..scope import OMITTED, Namespace
from ..values import RESERVED_PREFIX, JsonMapping, JsonObject, encode_json
from .clients import Answer
from .composed import COMPOSED
from .provisional import provisional

if TYPE_CHECKING:
    from .core import RemoteCore


_encode = msgspec.json.Encoder().encode
_KEPT_AS_JSON = ("value", "data", "metadata", "meta")
"""Parameters that are stored as JSON. They are also checked on the client, so that values which JSON cannot restore are
refused."""
_PLACES = ("after", "before", "at", "message")
"""Parameters that name a message. If a `Message` is passed, its id is sent."""
_OWN_FIELDS = ("metadata", "importance", "pinned", "trust", "raw")


@cache
def noun_class(noun: str) -> type:
    """Return a class with the methods of a noun, each of which sends one request."""
    engine = owner_of(noun)
    members: JsonObject = {"__doc__": engine.__doc__, "__init__": _init}
    offered = {operation.call: operation for operation in OPERATIONS if operation.noun == noun}
    for name, declared in inspect.getmembers(engine, inspect.isfunction):
        if not name.startswith("_"):
            composed = COMPOSED.get(f"{noun}.{name}")
            offer = _method(offered[name]) if name in offered else _missing(noun, name, declared)
            members[name] = composed or offer
    return type(engine.__name__, (), members)


def _init(self: Any, core: RemoteCore, template: type | None = None) -> None:
    self._core = core
    self._template = template


_NAMED = {"threads.create": "id", "threads.fork": "new_id", "documents.add": "id"}
"""Operations for which the client generates an id if none is passed, and the argument that the id is passed as. A retry
then does not create a second record, and a batch can refer to the record that it creates. A document with a `source`
does not need one, because the source is its identity."""


def _method(operation: Operation) -> Callable[..., Coroutine[object, None, object]]:
    declared = method_of(operation)
    signature = inspect.signature(declared)

    @wraps(declared)
    async def call(self: Any, *args: object, **options: object) -> object:
        bound = signature.bind(self, *args, **options)
        _leave_first_out(signature, bound.arguments)
        if operation.name == "documents.add":
            bound.arguments |= with_file_bytes(bound.arguments)
        name = _NAMED.get(operation.name)
        if name and bound.arguments.get(name) is None and bound.arguments.get("source") is None:
            bound.arguments[name] = new_id()
        return await request(self._core, operation, bound.arguments, self._template)

    return call


def _leave_first_out(signature: inspect.Signature, arguments: JsonObject) -> None:
    """Move the arguments of `facts.get("city")` to their positions, because the server fills in the user or the user's
    own namespace.

    Only the server knows the user of an API key, so this cannot be resolved here.
    """
    names = [name for name, parameter in signature.parameters.items() if parameter.default is OMITTED]
    omitted = [name for name in names if arguments.get(name, OMITTED) is OMITTED]
    if not omitted:
        return
    first = list(signature.parameters)[1]  # after `self`
    passed = [arguments.pop(name) for name in (first, *names) if name in arguments]
    passed = [argument for argument in passed if argument is not OMITTED]
    if len(passed) != len(names):
        raise UsageError("an argument is missing")
    arguments.update(zip(names, passed, strict=True))


def _missing(noun: str, name: str, declared: Callable[..., object]) -> Callable[..., object]:
    @wraps(declared)
    def refuse(self: object, *args: object, **options: object) -> Any:
        raise Unsupported(f"{noun}.{name} is not available over HTTP; call it on a memory that opens the store itself")

    return refuse


async def request(
    core: RemoteCore, operation: Operation, arguments: JsonMapping, template: type | None = None
) -> object:
    """Send one call and return the result that the engine's method would return. In a batch, collect the call
    instead."""
    core.shared.check_open()
    if core.batch is not None and operation.noun in COLLECTED:
        return await _collect(core, operation, arguments)
    if core.batch is not None and operation.writes:
        # The server would carry it out at once, even if the batch is never committed.
        raise UsageError(f"{operation.name} cannot be part of a batch over HTTP; call it on the memory itself")
    limit = arguments.get("limit")
    if operation.cursor is not None and (limit is None or (type(limit) is int and limit > MAX_LIMIT)):
        return await _all_pages(core, operation, arguments, limit, template)
    return await _request_once(core, operation, arguments, template)


async def _all_pages(
    core: RemoteCore, operation: Operation, arguments: Mapping[str, object], limit: int | None, template: type | None
) -> object:
    """Return a list of any length, although a server returns at most `MAX_LIMIT` items at once."""
    assert operation.cursor is not None
    # With `before` alone, the messages nearest to it are wanted, so the pages run backwards.
    backwards = operation.name == "threads.messages" and arguments.get("before") and arguments.get("after") is None
    # The bounds of a scan of records are in key order, even if the scan runs in reverse.
    bound = "before" if backwards or (operation.name == "records.scan" and arguments.get("reverse")) else "after"
    items: list[object] = []
    while True:
        size = MAX_LIMIT if limit is None else min(limit - len(items), MAX_LIMIT)
        page = await _request_once(core, operation, {**arguments, "limit": size}, template)
        items = [*page, *items] if backwards else [*items, *page]
        if len(page) < size or len(items) == limit:
            return items
        arguments = {**arguments, bound: getattr(page[0 if backwards else -1], operation.cursor)}


async def _request_once(core: RemoteCore, operation: Operation, arguments: JsonMapping, template: type | None) -> Any:
    query: dict[str, str] = {}
    body: JsonObject = {}
    headers: dict[str, str] = core.headers()
    for parameter in parameters_of(operation):
        if parameter.name in arguments:
            _put_argument(parameter, arguments[parameter.name], query, body, headers)
    if takes_key(operation):
        # One key for all attempts, so that the server recognises a repeated write.
        headers["idempotency-key"] = uuid4().hex
    content = None
    if operation.has_body:
        headers["content-type"] = "application/json"
        content = _encode(body)
    try:
        answer = await core.shared.client.send(
            operation.method, operation.path, query=query, body=content, headers=headers, writes=operation.writes,
            repeatable=True,
        )  # fmt: skip
    except NotFound:
        if operation.none_is_missing:
            return None
        raise
    return result_of(operation, answer, template)


async def _collect(core: RemoteCore, operation: Operation, options: JsonMapping) -> object:
    """Collect a write in a batch, or send a read together with the writes collected so far, so that the read sees
    them."""
    names = {parameter.name: parameter for parameter in parameters_of(operation)}
    arguments: JsonObject = {}
    for name, value in options.items():
        parameter = names.get(name)
        if parameter is None:
            continue
        if parameter.kind == "fields":
            arguments |= plain(value)
        elif parameter.kind == "many" or parameter.required or not _is_default(value, parameter.default):
            arguments[name] = _checked(parameter, plain(_wired(parameter, value)))
    step: JsonObject = {"operation": operation.name, "arguments": arguments}
    if core.scope != core.batch_scope:
        step["scope"] = msgspec.to_builtins(core.scope.narrowed())
    record = provisional(operation, options, core) if operation.writes else None
    if record is None:
        # Only the store knows the result of a read, or the number of rows that a write affects.
        record = converted(operation, await _tried(core, step))
    if operation.writes:
        assert core.batch is not None
        core.batch.append(step)
    return record


async def _tried(core: RemoteCore, step: JsonMapping) -> object:
    """Return the result of an operation as if the writes of the batch so far were committed."""
    direct = type(core)(core.shared, core.batch_scope)
    return await direct.call("batches.read", operations=list(core.batch or ()), last=step)


def _put_argument(
    parameter: Parameter, value: object, query: dict[str, str], body: JsonObject, headers: dict[str, str]
) -> None:
    if parameter.location == "header":
        if value is not None:
            headers["if-none-match" if value == 0 else "if-match"] = "*" if value == 0 else f'"{value}"'
        return
    if parameter.kind == "one" and not parameter.required and _is_default(value, parameter.default):
        return
    sent = _checked(parameter, plain(_wired(parameter, value)))
    if parameter.location == "query":
        query[parameter.name] = sent if isinstance(sent, str) else _encode(sent).decode()
    elif parameter.kind == "fields":
        body.update(sent)
    else:
        body[parameter.name] = sent


def _is_default(value: object, default: object) -> bool:
    return value is None if default is None else type(value) is type(default) and bool(value == default)


def _checked(parameter: Parameter, sent: object) -> Any:
    """Check an argument's type before sending, and raise the engine's own errors instead of the server's."""
    kind = list[parameter.type] if parameter.kind == "many" else parameter.type  # type: ignore[name-defined]  # run time
    try:
        if parameter.kind != "fields":
            msgspec.convert(sent, kind)
        # Encode and decode it here, so that a lone surrogate or deep nesting fails before it is sent.
        _encode(sent).decode()
        msgspec.json.decode(_encode(sent))
    except (msgspec.MsgspecError, UnicodeEncodeError, ValueError, TypeError, OverflowError, RecursionError) as wrong:
        error = InvalidNamespace if parameter.name == "ns" else InvalidValue
        raise error(f"{parameter.name} has a wrong type or cannot be sent as JSON: {type(wrong).__name__}") from wrong
    if _has_odd_number(sent):
        raise InvalidValue(f"{parameter.name} contains NaN or infinity, which JSON cannot express")
    return sent


def _has_odd_number(value: object) -> bool:
    """Return whether a value contains NaN or infinity, which some encoders write as null."""
    if isinstance(value, float):
        return not isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_odd_number, value.values()))
    return isinstance(value, list) and any(map(_has_odd_number, value))


def plain(value: Any) -> Any:
    """Return a value as JSON data, with times as ISO text, durations as seconds, and messages in their original
    format."""
    if isinstance(value, Message):
        return _message(value)
    if isinstance(value, Namespace):
        return str(value)
    if isinstance(value, datetime):
        to_micros(value)
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, msgspec.Struct):
        as_data = getattr(value, "to_data", None)
        return plain(as_data()) if callable(as_data) else plain(msgspec.structs.asdict(value))
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, set | frozenset | bytes):
        raise InvalidValue(f"a {type(value).__name__} cannot be sent as JSON")
    if isinstance(value, list | tuple) or hasattr(value, "__next__"):
        return [plain(inner) for inner in value]
    if callable(value):
        raise Unsupported("functions cannot be sent to a server; use a memory that opens the store itself")
    return value


def _message(message: Message) -> JsonObject:
    out: JsonObject = {"role": message.role, **message.extra}
    if message.shape == "responses":
        [out] = message.responses()
    elif message.shape != "bare":
        out["content"] = message.content
    if message.name is not None:
        out["name"] = message.name
    if message.created_at is not None:
        out["created_at"] = as_datetime(message.created_at, "created_at").isoformat()
    own = {name: value for name in _OWN_FIELDS if (value := getattr(message, name))}
    if "metadata" in own:
        # The server writes its own notes on a message, such as what it masked, and accepts them from nobody else.
        items = own["metadata"].items()
        own["metadata"] = {name: value for name, value in items if not name.startswith(RESERVED_PREFIX)}
    return out | own


def _wired(parameter: Parameter, value: Any) -> object:
    """Encode arguments for which JSON has no type, such as sets, policies, bytes, records to put, and processors."""
    if parameter.name in _PLACES:
        return getattr(value, "id", value)
    if isinstance(value, set | frozenset) and parameter.type is not Any:
        return sorted(value, key=repr)
    if parameter.name == "policy" and value is not None and not isinstance(value, dict):
        return policy_out(value)
    if (
        parameter.name in _KEPT_AS_JSON
        and value is not None
        and not (parameter.name == "data" and isinstance(value, bytes | bytearray | memoryview))
    ):
        encode_json(value, parameter.name)
    if parameter.name == "data":
        return data_out(value)
    if parameter.name == "text" and parameter.type == str | SentBytes:
        return data_out(value)
    if parameter.name == "items" and parameter.type == list[RecordItem]:
        return items_out(value)
    if parameter.name == "item":
        return _traced(value)
    if parameter.name == "processors":
        return [_named(item) for item in value or ()]
    return value


def _named(processor: Any) -> object:
    """Return the name of a built-in processor with default settings. Other processors cannot be sent."""
    if isinstance(processor, str):
        return processor
    instance = processor() if isinstance(processor, type) else processor
    usual = PROCESSORS.get(getattr(instance, "name", ""))
    if usual is None or type(instance) is not usual or vars(instance) != vars(usual()):
        raise Unsupported("only built-in processors with default settings can be sent to a server, by their names")
    return instance.name


def _traced(item: object) -> object:
    """Return the id of the record that `why` is asked about."""
    if isinstance(item, Record):
        return reference(item).id
    if isinstance(item, Remembered):
        return record_id(item)
    return getattr(item, "id", item)


def result_of(operation: Operation, answer: Answer, template: type | None = None) -> Any:
    """Return the result in a response, as the engine's method would return it."""
    body = msgspec.json.decode(answer.body)
    if is_list(operation):
        return converted(operation, body["items"], template)
    if isinstance(body, dict) and set(body) == {"result"}:
        return converted(operation, body["result"], template)
    return converted(operation, body, template)


def converted(operation: Operation, data: object, template: type | None = None) -> object:
    """Convert JSON data to the return type of the engine's method."""
    if data is None:
        return None
    kind = answer_of(operation)
    if operation.noun == "records" and isinstance(data, dict) and "data" in data:
        return record_in(data)
    if operation.noun == "records" and isinstance(data, list):
        return [None if item is None else record_in(item) for item in data]
    if template is not None:
        kind = list[template | None] if isinstance(data, list) else template  # type: ignore[valid-type]  # run time
    return msgspec.convert(data, kind, strict=False)
