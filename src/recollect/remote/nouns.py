"""The nouns over HTTP: classes made from the table of operations, with the methods of the engine's own.

A method here binds its arguments by the engine's signature, sends them, and turns the answer into the type that the
engine's method declares; so a program sees no difference but the time a network takes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime, timedelta
from functools import cache, wraps
from math import isfinite
from typing import Any
from uuid import uuid4

import msgspec

from ..engine.forgetting.lineage import reference
from ..engine.processors import PROCESSORS
from ..errors import InvalidNamespace, InvalidValue, NotFound, Unsupported
from ..ids import new_id
from ..messages import Message
from ..ports import to_micros
from ..records import Record
from ..scope import Namespace
from ..server.data import RecordItem, data_out, items_out, policy_out, record_in
from ..server.operations import (
    COLLECTED,
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
from ..values import encode_json
from .clients import Answer
from .composed import COMPOSED
from .provisional import provisional

_encode = msgspec.json.Encoder().encode
_KEPT_AS_JSON = ("value", "data", "metadata", "meta")
"""What is stored as it is given: the engine's own check refuses here what would not come back the same."""
_OWN_FIELDS = ("metadata", "importance", "pinned", "trust", "raw")


@cache
def noun_class(noun: str) -> type:
    """A class with the noun's methods, each of which is one request."""
    engine = owner_of(noun)
    made: dict[str, Any] = {"__doc__": engine.__doc__, "__init__": _init}
    offered = {operation.call: operation for operation in OPERATIONS if operation.noun == noun}
    for name, declared in inspect.getmembers(engine, inspect.isfunction):
        if not name.startswith("_"):
            composed = COMPOSED.get(f"{noun}.{name}")
            offer = _method(offered[name]) if name in offered else _missing(noun, name, declared)
            made[name] = composed or offer
    return type(engine.__name__, (), made)


def _init(self: Any, core: Any, template: type | None = None) -> None:
    self._core = core
    self._template = template


_NAMED = ("threads.create", "documents.add")
"""What gets its id here where the caller gives none, so that sending it twice makes one."""


def _method(operation: Operation) -> Callable[..., Coroutine[Any, Any, Any]]:
    declared = method_of(operation)
    signature = inspect.signature(declared)

    @wraps(declared)
    async def call(self: Any, *args: Any, **options: Any) -> Any:
        bound = signature.bind(self, *args, **options)
        if operation.name in _NAMED and bound.arguments.get("id") is None:
            bound.arguments["id"] = new_id()
        return await request(self._core, operation, bound.arguments, self._template)

    return call


def _missing(noun: str, name: str, declared: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(declared)
    def refuse(self: Any, *args: Any, **options: Any) -> Any:
        raise Unsupported(f"{noun}.{name} is not offered over HTTP; call it where the store is")

    return refuse


async def request(core: Any, operation: Operation, given: Mapping[str, Any], template: type | None = None) -> Any:
    """Send one call and give back what the engine's method would; in a batch, collect it."""
    core.shared.check_open()
    if core.batch is not None and operation.noun in COLLECTED:
        return await _collect(core, operation, given)
    query: dict[str, str] = {}
    body: dict[str, Any] = {}
    headers: dict[str, str] = core.headers()
    for parameter in parameters_of(operation):
        if parameter.name in given:
            _place(parameter, given[parameter.name], query, body, headers)
    if takes_key(operation):
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
        if operation.found:
            return None
        raise
    return result_of(operation, answer, template)


async def _collect(core: Any, operation: Operation, given: Mapping[str, Any]) -> Any:
    """A write waits for the commit; a read is asked of the server with the writes before it."""
    names = {parameter.name: parameter for parameter in parameters_of(operation)}
    arguments: dict[str, Any] = {}
    for name, value in given.items():
        parameter = names.get(name)
        if parameter is None:
            continue
        if parameter.kind == "fields":
            arguments |= plain(value)
        elif parameter.kind == "many" or parameter.required or not _is_default(value, parameter.default):
            arguments[name] = _checked(parameter, plain(_wired(parameter, value)))
    step = {"operation": operation.name, "arguments": arguments}
    made = provisional(operation, given, core) if operation.writes else None
    if made is None:
        # Only the store knows what a read answers, or how many rows a write will touch.
        made = converted(operation, await _tried(core, step))
    if operation.writes:
        core.batch.append(step)
    return made


async def _tried(core: Any, step: Mapping[str, Any]) -> Any:
    """What an operation answers after the writes of the batch so far."""
    direct = type(core)(core.shared, core.scope)
    return await direct.call("batches.read", operations=list(core.batch), last=step)


def _place(
    parameter: Parameter, value: Any, query: dict[str, str], body: dict[str, Any], headers: dict[str, str]
) -> None:
    if parameter.place == "header":
        if value is not None:
            headers["if-none-match" if value == 0 else "if-match"] = "*" if value == 0 else f'"{value}"'
        return
    if parameter.kind == "one" and not parameter.required and _is_default(value, parameter.default):
        return
    sent = _checked(parameter, plain(_wired(parameter, value)))
    if parameter.place == "query":
        query[parameter.name] = sent if isinstance(sent, str) else _encode(sent).decode()
    elif parameter.kind == "fields":
        body.update(sent)
    else:
        body[parameter.name] = sent


def _is_default(value: Any, default: Any) -> bool:
    return value is None if default is None else type(value) is type(default) and bool(value == default)


def _checked(parameter: Parameter, sent: Any) -> Any:
    """Refuse here what the server would refuse by its type, in the words of the engine."""
    kind = list[parameter.type] if parameter.kind == "many" else parameter.type  # type: ignore[name-defined]  # run time
    try:
        if parameter.kind != "fields":
            msgspec.convert(sent, kind)
        _encode(sent).decode()
        msgspec.json.decode(_encode(sent))
    except (msgspec.MsgspecError, UnicodeEncodeError, ValueError, TypeError, OverflowError, RecursionError) as wrong:
        error = InvalidNamespace if parameter.name == "ns" else InvalidValue
        raise error(f"{parameter.name} cannot be sent: {type(wrong).__name__}") from wrong
    if _has_odd_number(sent):
        raise InvalidValue(f"{parameter.name} holds a number that JSON has no word for")
    return sent


def _has_odd_number(value: Any) -> bool:
    """NaN and the infinities, which some encoders write as null."""
    if isinstance(value, float):
        return not isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_odd_number, value.values()))
    return isinstance(value, list) and any(map(_has_odd_number, value))


def plain(value: Any) -> Any:
    """A value as JSON says it: times as ISO text, durations as seconds, messages in the shape they came in."""
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
        raise InvalidValue(f"JSON has no word for {type(value).__name__}")
    if isinstance(value, list | tuple) or hasattr(value, "__next__"):
        return [plain(inner) for inner in value]
    if callable(value):
        raise Unsupported("functions do not travel to a server; use what it has, or a store of your own")
    return value


def _message(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, **message.extra}
    if message.shape == "responses":
        [out] = message.responses()
    elif message.shape != "bare":
        out["content"] = message.content
    if message.name is not None:
        out["name"] = message.name
    if message.created_at is not None:
        out["created_at"] = message.created_at.isoformat()
    return out | {name: found for name in _OWN_FIELDS if (found := getattr(message, name))}


def _wired(parameter: Parameter, value: Any) -> Any:
    """What JSON has no word for, in the words we have for it."""
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
    if parameter.name == "items" and parameter.type == list[RecordItem]:
        return items_out(value)
    if parameter.name == "item":
        return _traced(value)
    if parameter.name == "processors":
        return [_named(one) for one in value or ()]
    return value


def _named(processor: Any) -> Any:
    """A processor by its name, where it is one of ours as it comes; settings are the server's."""
    if isinstance(processor, str):
        return processor
    made = processor() if isinstance(processor, type) else processor
    usual = PROCESSORS.get(getattr(made, "name", ""))
    if usual is None or type(made) is not usual or vars(made) != vars(usual()):
        raise Unsupported("a processor with settings of its own does not travel to a server; run it where the store is")
    return made.name


def _traced(item: Any) -> Any:
    """The id of a record that is asked about."""
    if isinstance(item, Record):
        return reference(item)[1]
    return getattr(item, "id", item)


def result_of(operation: Operation, answer: Answer, template: type | None = None) -> Any:
    """What the engine's method would have given back."""
    found = msgspec.json.decode(answer.body)
    if is_list(operation):
        return converted(operation, found["items"], template)
    if isinstance(found, dict) and set(found) == {"result"}:
        return converted(operation, found["result"], template)
    return converted(operation, found, template)


def converted(operation: Operation, found: Any, template: type | None = None) -> Any:
    """Data as the type that the method declares."""
    if found is None:
        return None
    kind = answer_of(operation)
    if operation.noun == "records" and isinstance(found, dict) and "data" in found:
        return record_in(found)
    if operation.noun == "records" and isinstance(found, list):
        return [None if one is None else record_in(one) for one in found]
    if template is not None:
        kind = list[template | None] if isinstance(found, list) else template  # type: ignore[valid-type]  # run time
    return msgspec.convert(found, kind, strict=False)
