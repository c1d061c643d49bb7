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

from ..errors import InvalidNamespace, InvalidValue, NotFound, Unsupported
from ..ids import new_id
from ..messages import Message
from ..ports import to_micros
from ..scope import Namespace
from ..server.operations import OPERATIONS, Operation, Parameter, answer_of, is_list, method_of, owner_of, parameters_of
from .clients import Answer, Client

_encode = msgspec.json.Encoder().encode
_OWN_FIELDS = ("metadata", "importance", "pinned", "trust", "raw")


@cache
def noun_class(noun: str) -> type:
    """A class with the noun's methods, each of which is one request."""
    engine = owner_of(noun)
    made: dict[str, Any] = {"__doc__": engine.__doc__, "__init__": _init}
    offered = {operation.call: operation for operation in OPERATIONS if operation.noun == noun}
    for name, declared in inspect.getmembers(engine, inspect.isfunction):
        if not name.startswith("_"):
            composed = _COMPOSED.get(f"{noun}.{name}")
            offer = _method(offered[name]) if name in offered else _missing(noun, name, declared)
            made[name] = composed or offer
    return type(engine.__name__, (), made)


async def _state_get(self: Any, key: str, default: Any = None) -> Any:
    """The value under a key, read from its entry."""
    entry = await self.entry(key)
    return default if entry is None else entry.value


_COMPOSED: Mapping[str, Callable[..., Any]] = {"state.get": _state_get}
"""Methods that others make up."""


def _init(self: Any, client: Client) -> None:
    self._client = client


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
        return await request(self._client, operation, bound.arguments)

    return call


def _missing(noun: str, name: str, declared: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(declared)
    def refuse(self: Any, *args: Any, **options: Any) -> Any:
        raise Unsupported(f"{noun}.{name} is not offered over HTTP; call it where the store is")

    return refuse


async def request(client: Client, operation: Operation, given: Mapping[str, Any]) -> Any:
    """Send one call and give back what the engine's method would."""
    query: dict[str, str] = {}
    body: dict[str, Any] = {}
    headers: dict[str, str] = {}
    for parameter in parameters_of(operation):
        if parameter.name in given:
            _place(parameter, given[parameter.name], query, body, headers)
    if operation.writes:
        headers["idempotency-key"] = uuid4().hex
    content = None
    if operation.has_body:
        headers["content-type"] = "application/json"
        content = _encode(body)
    try:
        answer = await client.send(
            operation.method, operation.path, query=query, body=content, headers=headers, repeatable=True
        )
    except NotFound:
        if operation.found:
            return None
        raise
    return _result(operation, answer)


def _place(
    parameter: Parameter, value: Any, query: dict[str, str], body: dict[str, Any], headers: dict[str, str]
) -> None:
    if parameter.place == "header":
        if value is not None:
            headers["if-none-match" if value == 0 else "if-match"] = "*" if value == 0 else f'"{value}"'
        return
    if parameter.kind == "one" and not parameter.required and _is_default(value, parameter.default):
        return
    sent = _checked(parameter, plain(value))
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
    if isinstance(value, list | tuple | set | frozenset) or hasattr(value, "__next__"):
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


def _result(operation: Operation, answer: Answer) -> Any:
    found = msgspec.json.decode(answer.body)
    kind = answer_of(operation)
    if is_list(operation):
        return msgspec.convert(found["items"], kind, strict=False)
    if isinstance(found, dict) and set(found) == {"result"}:
        return msgspec.convert(found["result"], kind, strict=False)
    made = getattr(kind, "from_data", None)
    return made(found) if callable(made) else msgspec.convert(found, kind, strict=False)
