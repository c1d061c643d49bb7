"""The table of operations: how each method of the nouns is reached over HTTP.

A row names a method of `AsyncMemory` or of one of its nouns, and its verb, path and role. Parameters, types and the
words of the documentation come from the method's own declaration. The routes, the OpenAPI document, the remote client
and the MCP tools are made from this table; it imports no web framework.
"""

from __future__ import annotations

import builtins
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Literal

import msgspec

Role = Literal["reader", "writer", "forget", "operator", "admin"]
ROLES: tuple[Role, ...] = ("reader", "writer", "forget", "operator", "admin")
MAX_LIMIT = 500
"""The most rows one answer lists."""


class Operation(msgspec.Struct, frozen=True):
    """One method, reachable by one verb and path."""

    method: str
    path: str
    noun: str
    """The attribute of a memory that has the method; empty for the memory itself."""
    call: str
    role: Role = "reader"
    query: tuple[str, ...] = ()
    """Parameters that stand in the query of a request with a body; without a body all do."""
    cursor: str | None = None
    """The attribute of a listed item that `after` takes, where the answer is a list in pages."""
    found: bool = False
    """No result means that there is no such thing: 404."""
    heavy: bool = False
    """Reads much for one request, and is limited more."""

    @property
    def name(self) -> str:
        """`facts.set`, or `recall` for a method of the memory itself."""
        return f"{self.noun}.{self.call}" if self.noun else self.call

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PUT", "PATCH")

    @property
    def writes(self) -> bool:
        return self.role != "reader" and self.method != "GET"


class Parameter(msgspec.Struct, frozen=True):
    """One parameter as it travels."""

    name: str
    type: Any
    required: bool
    default: Any
    place: Literal["query", "body", "header"]
    kind: Literal["one", "many", "fields"] = "one"
    """`many` for `*messages`, sent as a list; `fields` for `**fields`, which are the body itself."""


def _noun(noun: str, *rows: tuple[Any, ...]) -> list[Operation]:
    return [Operation(method, f"/v1/{path}", noun, call, **dict(more)) for method, path, call, *more in rows]


def _w(*names: str, **more: Any) -> list[tuple[str, Any]]:
    return [("role", "writer"), ("query", names), *more.items()]


_LIST_KEY, _LIST_ID = ("cursor", "key"), ("cursor", "id")
_FOUND = ("found", True)
OPERATIONS: tuple[Operation, ...] = (
    *_noun(
        "facts",
        ("GET", "facts", "list", _LIST_KEY),
        ("POST", "facts", "set_many", *_w("ns")),
        ("POST", "facts/get", "get_many", ("query", ("ns",))),
        ("GET", "fact", "get", _FOUND),
        ("PUT", "fact", "set", *_w("ns", "key")),
        ("DELETE", "fact", "delete", ("role", "writer")),
        ("GET", "fact/history", "history"),
        ("POST", "fact/correct", "correct", *_w("ns", "key")),
        ("POST", "fact/reject", "reject", *_w("ns", "key")),
    ),
    *_noun(
        "threads",
        ("GET", "threads", "list", _LIST_ID),
        ("POST", "threads", "create", *_w()),
        ("POST", "threads/get", "get_many"),
        ("GET", "thread", "get", _FOUND),
        ("DELETE", "thread", "delete", ("role", "writer")),
        ("GET", "thread/messages", "messages", ("cursor", "seq")),
        ("POST", "thread/messages", "append", *_w("id")),
        ("DELETE", "thread/messages", "delete_messages", ("role", "writer")),
        ("GET", "thread/recent", "recent"),
        ("GET", "thread/summaries", "summaries"),
        ("GET", "message", "message", _FOUND),
    ),
    *_noun(
        "learnings",
        ("GET", "learnings", "list", _LIST_ID),
        ("POST", "learnings", "add", *_w()),
        ("POST", "learnings/get", "get_many"),
        ("POST", "learnings/used", "used", *_w()),
        ("GET", "learning", "get", _FOUND),
        ("DELETE", "learning", "delete", ("role", "writer")),
        ("POST", "learning/reinforce", "reinforce", *_w("id")),
        ("POST", "learning/weaken", "weaken", *_w("id")),
    ),
    *_noun(
        "profile",
        ("GET", "profile", "get"),
        ("POST", "profile/get", "get_many"),
        ("GET", "profile/block", "block"),
        ("PUT", "profile/preference", "set_preference", *_w("user", "key")),
    ),
    *_noun(
        "working",
        ("GET", "working", "get"),
        ("PUT", "working", "set", *_w("user", "session")),
        ("PATCH", "working", "update", *_w()),
        ("DELETE", "working", "clear", ("role", "writer")),
        ("POST", "working/get", "get_many"),
        ("POST", "working/actions", "record_action", *_w()),
        ("DELETE", "working/actions", "undo_action", ("role", "writer")),
        ("POST", "working/turns", "add_turn", *_w()),
    ),
    *_noun(
        "state",
        ("GET", "states", "list", _LIST_KEY),
        ("POST", "states/get", "get_many"),
        ("GET", "state", "entry", _FOUND),
        ("PUT", "state", "set", *_w("key")),
        ("DELETE", "state", "delete", ("role", "writer")),
        ("POST", "state/increment", "increment", *_w("key")),
    ),
    *_noun(
        "documents",
        ("GET", "documents", "list", _LIST_ID),
        ("POST", "documents", "add", *_w()),
        ("POST", "documents/get", "get_many", ("query", ("ns",))),
        ("GET", "document", "get", _FOUND),
        ("DELETE", "document", "delete", ("role", "writer")),
        ("GET", "document/chunks", "chunks"),
    ),
    *_noun(
        "tasks",
        ("GET", "tasks", "list", ("cursor", "task_id")),
        ("POST", "tasks/get", "get_many"),
        ("GET", "task", "get", _FOUND),
        ("PUT", "task", "save", *_w()),
        ("DELETE", "task", "delete", ("role", "writer")),
        ("GET", "task/history", "history"),
    ),
    *_noun(
        "records",
        ("GET", "records", "scan", _LIST_KEY),
        ("DELETE", "records", "delete_range", ("role", "writer")),
        ("POST", "records", "put_many", *_w("ns")),
        ("POST", "records/get", "get_many", ("query", ("ns",))),
        ("GET", "record", "get", _FOUND),
        ("PUT", "record", "put", *_w("ns", "key")),
        ("DELETE", "record", "delete", ("role", "writer")),
    ),
    *_noun(
        "audit",
        ("GET", "audit", "list", ("role", "operator"), _LIST_ID),
        ("POST", "audit/expire", "expire", ("role", "operator")),
    ),
    *_noun(
        "jobs",
        ("GET", "jobs", "backlog", ("role", "operator")),
        ("GET", "jobs/dead", "dead", ("role", "operator")),
        ("POST", "jobs/retry", "retry_dead", ("role", "operator")),
    ),
    *_noun(
        "",
        ("POST", "recall", "recall", ("heavy", True)),
        ("POST", "context", "context", ("heavy", True)),
        ("POST", "forget", "forget", ("role", "forget")),
        ("GET", "why", "why"),
        ("GET", "namespaces", "namespaces"),
        ("POST", "process", "process", ("role", "operator")),
        ("GET", "stats", "stats", ("role", "operator")),
        ("GET", "doctor", "doctor", ("role", "operator")),
    ),
)
BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS}

_LOCAL = frozenset({"progress", "physical", "load"})
"""Parameters that have no meaning on a server: functions, and what is done to a file of one's own."""
_WIRE: dict[str, Any] = {
    "Ns": str, "Json": Any, "When": str, "Ttl": float, "Where": dict[str, Any], "FactRef": str, "Traceable": str,
    "Spaces": str | list[str] | None, "Given": str | dict[str, Any], "Place": int | str, "Keep": int | str,
    "Prompt": str | dict[str, Any] | list[str | dict[str, Any]], "Tool": dict[str, Any], "Policy": dict[str, Any],
    "BudgetSpec": int | str | dict[str, Any], "Item": str | dict[str, Any], "ProcessorSpec": str,
    "Recall": dict[str, Any], "W": dict[str, Any], "Checkpoint": dict[str, Any], "Namespace": str, "timedelta": float,
    "RecordKey": list[str | int | float], "RecordPut": dict[str, Any],
}  # fmt: skip
"""What the aliases in our signatures are on the wire: plain JSON."""


def method_of(operation: Operation) -> Callable[..., Any]:
    """The declared coroutine method behind an operation."""
    found: Callable[..., Any] = getattr(owner_of(operation.noun), operation.call)
    return found


@cache
def owner_of(noun: str) -> type:
    """The class of a noun, from the annotations of AsyncMemory."""
    from ..memory import AsyncMemory

    if not noun:
        return AsyncMemory
    written = str(AsyncMemory.__annotations__[noun]).partition("[")[0]
    found: type = vars(inspect.getmodule(AsyncMemory))[written]
    return found


@cache
def parameters_of(operation: Operation) -> tuple[Parameter, ...]:
    """The parameters of an operation, in order."""
    declared = list(inspect.signature(method_of(operation)).parameters.values())[1:]
    return tuple(_parameter(operation, one) for one in declared if one.name not in _LOCAL)


def _parameter(operation: Operation, declared: inspect.Parameter) -> Parameter:
    kinds: dict[Any, Literal["many", "fields"]] = {
        inspect.Parameter.VAR_POSITIONAL: "many",
        inspect.Parameter.VAR_KEYWORD: "fields",
    }
    kind: Literal["one", "many", "fields"] = kinds.get(declared.kind, "one")
    required = declared.default is inspect.Parameter.empty and kind == "one"
    place: Literal["query", "body", "header"] = "query" if not operation.has_body else "body"
    if declared.name in operation.query:
        place = "query"
    if declared.name == "expect":
        place = "header"
    default = None if declared.default is inspect.Parameter.empty else declared.default
    if operation.name == "context" and declared.name in ("recall", "profile"):
        # A switch, namespaces, items or lines: JSON of several shapes, which the engine tells apart.
        return Parameter(declared.name, Any, required, default, place)
    return Parameter(declared.name, _evaluated(declared.annotation, _wire_names()), required, default, place, kind)


def answer_of(operation: Operation) -> Any:
    """The type an operation answers with, as programs see it."""
    return _evaluated(method_of(operation).__annotations__["return"], _public_names())


def _evaluated(annotation: Any, names: Mapping[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    # Annotations are source text of our own modules, none of it from users.
    return eval(annotation, dict(names))


@cache
def _wire_names() -> Mapping[str, Any]:
    return {**_public_names(), **_WIRE, "Sequence": list, "Iterable": list, "Mapping": dict}


@cache
def _public_names() -> Mapping[str, Any]:
    import recollect

    from ..engine.records import OpaqueRecord
    from ..engine.working import Working
    from ..extract.extracted import LearningType

    public = {name: getattr(recollect, name) for name in recollect.__all__}
    return {
        **vars(typing), **public, "builtins": builtins, "Any": Any, "datetime": datetime, "Json": Any, "W": Working,
        "OpaqueRecord": OpaqueRecord, "LearningType": LearningType, "Sequence": Sequence, "Iterable": Iterable,
        "Mapping": Mapping, "Layout": Literal["standard", "cached"], "Kind": str,
    }  # fmt: skip


def is_list(operation: Operation) -> bool:
    """Whether an operation answers a list."""
    return typing.get_origin(answer_of(operation)) is list
