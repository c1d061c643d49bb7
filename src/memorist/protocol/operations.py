"""Contains the table of operations, with the verb, path and role of every method available over HTTP.

A row names a method of `AsyncMemory` or of one of its nouns (`memorist.protocol.surface` lists them), or of a noun that
only a server has (`nouns/`). Parameters, types and documentation come from the method's own signature and
docstring. The routes, the OpenAPI document, the remote client and the MCP tools are generated from this table. It
imports no web framework.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Literal

import msgspec

from ..context.profile import ProfileLine
from ..engine.records import OpaqueRecord
from ..scope import OMITTED
from ..values import JsonMapping, JsonObject
from . import surface
from .data import RecordItem, SentBytes
from .keys import Role

MAX_LIMIT = 500
"""The maximum number of rows in one answer."""


class Operation(msgspec.Struct, frozen=True):
    """Represents one method, available under one verb and path."""

    method: str
    path: str
    noun: str
    """This is the memory's attribute that has the method; it is empty for the memory's own methods."""
    call: str
    role: Role = "reader"
    query: tuple[str, ...] = ()
    """These parameters are sent in the query if the request has a body. Without a body, all parameters are sent in the
    query."""
    cursor: str | None = None
    """If the answer is a paginated list, this is the attribute of a listed item to pass as `after`."""
    none_is_missing: bool = False
    """This is True if a result of None means a 404."""
    heavy: bool = False
    """This is True if the operation reads a lot of data and therefore counts more against the rate limit."""
    streamed: str = ""
    """This is the media type of the answer if it is a stream. Other answers are a single JSON value."""
    upload: str = ""
    """This is the media type of the body if it is a stream. Other bodies are a single JSON object."""
    waits: bool = False
    """This is True if the operation mostly waits (long polling) and therefore does not count against the limit of
    concurrent requests."""
    admits: bool = False
    """This is True if any key may call the operation, whatever its roles."""
    of_server: bool = False
    """This is True if the method belongs to a noun that only a server has."""

    def __hash__(self) -> int:
        # Every request looks up its operation in several caches. Method and path identify it, so it is enough to hash
        # these two fields.
        return hash((self.method, self.path))

    @property
    def name(self) -> str:
        """This is `facts.set`, or `recall` for a method of the memory itself."""
        return f"{self.noun}.{self.call}" if self.noun else self.call

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PUT", "PATCH") and not self.upload

    @property
    def writes(self) -> bool:
        return self.role != "reader" and self.method != "GET"


class Parameter(msgspec.Struct, frozen=True):
    """Represents one parameter of an operation, as it is sent over HTTP."""

    name: str
    type: Any
    required: bool
    default: Any
    location: Literal["query", "body", "header"]
    kind: Literal["one", "many", "fields"] = "one"
    """This is `many` for `*messages`, which is sent as a list, and `fields` for `**fields`, which form the body
    itself."""


def _noun(noun: str, *rows: tuple[Any, ...]) -> list[Operation]:
    return [Operation(method, f"/v1/{path}", noun, call, **dict(more)) for method, path, call, *more in rows]


def _server_noun(noun: str, *rows: tuple[Any, ...]) -> list[Operation]:
    return _noun(noun, *((*row, ("of_server", True)) for row in rows))


def _w(*names: str, **more: object) -> list[tuple[str, Any]]:
    return [("role", "writer"), ("query", names), *more.items()]


_LIST_KEY, _LIST_ID = ("cursor", "key"), ("cursor", "id")
_NONE_IS_MISSING = ("none_is_missing", True)
_ANY_BYTES = "application/octet-stream"
OPERATIONS: tuple[Operation, ...] = (
    *_noun(
        "facts",
        ("GET", "facts", "list", _LIST_KEY),
        ("POST", "facts", "set_many", *_w("ns")),
        ("POST", "facts/get", "get_many", ("query", ("ns",))),
        ("POST", "facts/expire", "delete_expired", *_w()),
        ("DELETE", "facts", "delete_range", ("role", "writer")),
        ("GET", "fact", "get", _NONE_IS_MISSING),
        ("PUT", "fact", "set", *_w("ns", "key")),
        ("POST", "fact/touch", "touch", *_w("ns", "key")),
        ("DELETE", "fact", "delete", ("role", "writer")),
        ("GET", "fact/history", "history"),
        ("POST", "fact/correct", "correct", *_w("ns", "key")),
        ("PATCH", "fact", "update", *_w("ns", "key")),
        ("POST", "fact/end", "end", *_w("ns", "key")),
        ("POST", "fact/reject", "reject", *_w("ns", "key")),
        ("POST", "fact/unforget", "unforget", *_w("ns", "key")),
        ("POST", "fact/restore", "restore", *_w("ns", "key")),
    ),
    *_noun(
        "threads",
        ("GET", "threads", "list", _LIST_ID),
        ("POST", "threads", "create", *_w()),
        ("POST", "threads/get", "get_many"),
        ("GET", "thread", "get", _NONE_IS_MISSING),
        ("PATCH", "thread", "update", *_w("id")),
        ("DELETE", "thread", "delete", ("role", "writer")),
        ("POST", "thread/pop", "pop", *_w("id")),
        ("POST", "thread/fork", "fork", *_w("id")),
        ("POST", "thread/stash", "stash", *_w("id")),
        ("POST", "thread/requests", "report", *_w("id")),
        ("GET", "thread/requests", "requests"),
        ("PUT", "thread/messages", "replace", *_w("id")),
        ("GET", "thread/messages", "messages", ("cursor", "seq")),
        ("POST", "thread/messages", "append", *_w("id")),
        ("DELETE", "thread/messages", "delete_messages", ("role", "writer")),
        ("GET", "thread/recent", "recent"),
        ("GET", "thread/summaries", "summaries"),
        ("GET", "thread/summaries/lines", "summary_lines"),
        ("GET", "thread/compactions", "compactions"),
        ("GET", "message", "message", _NONE_IS_MISSING),
        ("POST", "message/redact", "redact", *_w("message_id")),
        ("POST", "message/pin", "pin", *_w("message_id")),
    ),
    *_noun(
        "learnings",
        ("GET", "learnings", "list", _LIST_ID),
        ("POST", "learnings", "add", *_w()),
        ("POST", "learnings/get", "get_many"),
        ("POST", "learnings/used", "used", *_w()),
        ("GET", "learning", "get", _NONE_IS_MISSING),
        ("DELETE", "learning", "delete", ("role", "writer")),
        ("PATCH", "learning", "update", *_w("id")),
        ("POST", "learning/reinforce", "reinforce", *_w("id")),
        ("POST", "learning/weaken", "weaken", *_w("id")),
    ),
    # GET /v1/events is the stream of changes, so the events of a memory are listed under another path.
    *_noun(
        "events",
        ("GET", "events/list", "list", _LIST_ID),
        ("POST", "events", "add", *_w()),
        ("POST", "events/get", "get_many"),
        ("GET", "event", "get", _NONE_IS_MISSING),
        ("PATCH", "event", "update", *_w("id", "ns")),
        ("DELETE", "event", "delete", ("role", "writer")),
        ("POST", "event/cancel", "cancel", *_w("id", "ns")),
        ("GET", "event/history", "history"),
    ),
    *_noun(
        "memories",
        ("GET", "memories", "list", _LIST_ID),
        ("POST", "memories/get", "get_many"),
        ("POST", "memories/search", "search", ("heavy", True)),
        ("GET", "memory", "get", _NONE_IS_MISSING),
        ("PATCH", "memory", "update", *_w("id", "ns")),
        ("DELETE", "memory", "delete", ("role", "writer")),
        ("GET", "memory/history", "history"),
        ("POST", "memory/undo", "undo", *_w("id", "ns")),
    ),
    *_noun(
        "review",
        ("GET", "review", "list", _LIST_ID),
        ("POST", "review/get", "get_many"),
        ("GET", "review/candidate", "get", _NONE_IS_MISSING),
        ("PATCH", "review/candidate", "edit", *_w("id", "ns")),
        ("POST", "review/approve", "approve", *_w("id", "ns")),
        ("POST", "review/reject", "reject", *_w("id", "ns")),
    ),
    *_noun(
        "gate",
        ("GET", "gate", "get"),
        ("PATCH", "gate", "set", ("role", "operator")),
        ("DELETE", "gate", "reset", ("role", "operator")),
        ("POST", "gate/check", "check"),
        ("GET", "gate/report", "report", ("role", "operator"), ("heavy", True)),
    ),
    *_noun(
        "plans",
        ("POST", "tidy", "make", *_w(), ("heavy", True)),
        ("POST", "tidy/apply", "apply", *_w()),
        ("POST", "tidy/undo", "undo", *_w()),
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
        ("GET", "state", "entry", _NONE_IS_MISSING),
        ("PUT", "state", "set", *_w("key")),
        ("DELETE", "state", "delete", ("role", "writer")),
        ("POST", "state/increment", "increment", *_w("key")),
    ),
    *_noun(
        "documents",
        ("GET", "documents", "list", _LIST_ID),
        ("POST", "documents", "add", *_w()),
        ("POST", "documents/get", "get_many", ("query", ("ns",))),
        ("GET", "document", "get", _NONE_IS_MISSING),
        ("DELETE", "document", "delete", ("role", "writer")),
        ("GET", "document/chunks", "chunks"),
    ),
    *_noun(
        "tasks",
        ("GET", "tasks", "list", ("cursor", "task_id")),
        ("POST", "tasks/get", "get_many"),
        ("GET", "task", "resume", _NONE_IS_MISSING),
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
        ("GET", "record", "get", _NONE_IS_MISSING),
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
        ("POST", "jobs/drain", "drain", ("role", "operator"), ("heavy", True)),
    ),
    *_noun(
        "",
        ("POST", "recall", "recall", ("heavy", True)),
        ("POST", "remember", "remember", *_w(), ("heavy", True)),
        ("POST", "context", "context", ("heavy", True)),
        ("POST", "tools/find", "find_tools"),
        ("GET", "why", "why"),
        ("GET", "namespaces", "namespaces"),
        ("POST", "process", "process", ("role", "operator"), ("heavy", True)),
        ("POST", "scrub", "scrub", ("role", "operator"), ("heavy", True)),
        ("GET", "stats", "stats", ("role", "operator")),
        ("GET", "doctor", "doctor", ("role", "operator"), ("heavy", True)),
    ),
    *_server_noun(
        "keys",
        ("GET", "me", "me", ("admits", True)),
        ("GET", "keys", "list", ("role", "admin")),
        ("POST", "keys", "create", ("role", "admin")),
        ("POST", "keys/rotate", "rotate", ("role", "admin"), ("query", ("id",))),
        ("DELETE", "keys", "revoke", ("role", "admin")),
    ),
    *_server_noun(
        "batches",
        ("POST", "batch", "commit", *_w()),
        ("POST", "batch/read", "read"),
    ),
    *_server_noun(
        "leases",
        ("POST", "task/lease", "take", *_w("task_id")),
        ("PUT", "task/lease", "renew", *_w("task_id")),
        ("DELETE", "task/lease", "release", ("role", "writer")),
        ("POST", "task/steps", "save", *_w("task_id")),
    ),
    *_server_noun(
        "entity_cache",
        ("GET", "entity", "look", _NONE_IS_MISSING),
        ("PUT", "entity", "keep", *_w("type", "id")),
        ("DELETE", "entity", "invalidate", ("role", "writer")),
        ("POST", "entity/lease", "lease", *_w("type", "id")),
        ("DELETE", "entity/lease", "give_back", ("role", "writer")),
    ),
    *_server_noun(
        "turns",
        ("POST", "thread/turns", "add", *_w("id")),
        ("POST", "thread/context", "context", ("heavy", True), *_w("id")),
        ("POST", "thread/fold", "fold", ("heavy", True), *_w("id")),
        ("POST", "thread/end", "end", ("heavy", True), *_w("id")),
    ),
    *_server_noun(
        "functions",
        ("POST", "function/recall", "recall", ("heavy", True)),
        ("POST", "function/output", "keep", *_w()),
    ),
    *_server_noun("erasing", ("POST", "forget", "forget", ("role", "forget"))),
    *_server_noun("outbox", ("POST", "messages/wait", "wait", ("heavy", True))),
    *_server_noun(
        "transfers",
        ("GET", "export", "export", ("role", "operator"), ("heavy", True), ("streamed", "application/jsonl")),
        ("POST", "import", "import_", ("role", "operator"), ("heavy", True), ("upload", "application/jsonl")),
        ("POST", "import/from", "import_from", ("role", "operator"), ("heavy", True), ("upload", _ANY_BYTES)),
    ),
    *_server_noun("stream", ("GET", "events", "follow", ("streamed", "text/event-stream"))),
    *_server_noun("watching", ("POST", "watch", "look", ("waits", True))),
    *_server_noun(
        "analyses",
        ("GET", "analyses", "list", ("role", "operator")),
        ("POST", "analyses", "run", ("role", "operator"), ("heavy", True)),
        ("GET", "analysis", "get", ("role", "operator"), _NONE_IS_MISSING),
    ),
)
BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS}

COLLECTED = frozenset(
    (
        "facts threads state events learnings memories review profile working documents records tasks gate entity_cache"
    ).split()
)
"""Nouns whose writes can be part of a batch."""
_ONCE = frozenset({"batches", "leases", "entity_cache", "turns", "functions", "erasing"})
"""Server nouns with an `again` method, which answers a request whose idempotency key was used before."""


def takes_key(operation: Operation) -> bool:
    """Return whether an operation accepts an idempotency key.

    Operator operations do not, because they are safe to repeat.
    """
    return operation.writes and (operation.noun in _ONCE or operation.role == "writer")


_LOCAL = frozenset({"progress", "physical", "load", "request"})
"""Parameters that are never sent: functions, the request itself, and options for a local file."""
_WIRE: JsonObject = {
    "Ns": str, "Json": Any, "When": str, "Ttl": float, "Where": JsonObject, "FactRef": str, "Traceable": str,
    "Spaces": str | list[str] | None, "Given": str | JsonObject, "Place": int | str, "Keep": int | str,
    "Prompt": str | JsonObject | list[str | JsonObject], "Tool": JsonObject, "Policy": JsonObject,
    "BudgetSpec": int | str | JsonObject, "Item": str | JsonObject, "ProcessorSpec": str,
    "Recall": JsonObject, "W": JsonObject, "Checkpoint": JsonObject, "Namespace": str, "timedelta": float,
    "Keys": str | list[str | None] | None, "RecordKey": list[str | int | float], "RecordPut": JsonObject,
    "Reported": JsonObject,
}  # fmt: skip
"""The JSON types that replace the type aliases in our signatures."""


def declared(operation: Operation) -> surface.Operation:
    """Return the entry of an operation in `memorist.protocol.surface`."""
    return surface.by_name()[operation.name]


def method_of(operation: Operation) -> Callable[..., Any]:
    """Return the coroutine method behind an operation."""
    if not operation.of_server:
        return declared(operation).function
    method: Callable[..., Any] = getattr(owner_of(operation.noun), operation.call)
    return method


def declared_words(operation: Operation) -> str:
    """Return the documentation of an operation: its method's docstring without the Python examples."""
    words = inspect.getdoc(method_of(operation)) or ""
    return words.partition("\nExamples:")[0].rstrip()


@cache
def first_paragraph(words: str) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join(words.partition("\n\n")[0].split())


def takes_request(operation: Operation) -> bool:
    """Return whether the method needs the HTTP request itself, for its headers or to stream its body."""
    return "request" in inspect.signature(method_of(operation)).parameters


@cache
def owner_of(noun: str) -> type:
    """Return the class of a noun that belongs to a memory or to the server."""
    from .nouns import SERVER_NOUNS  # they read this table, and a program without a server needs only some of them

    if noun in SERVER_NOUNS:
        return SERVER_NOUNS[noun]
    return surface.groups()[noun] if noun else surface.memory_class()


@cache
def parameters_of(operation: Operation) -> tuple[Parameter, ...]:
    """Return the parameters of an operation, in order."""
    declared_ = list(inspect.signature(method_of(operation)).parameters.values())[1:]
    hints = typing.get_type_hints(method_of(operation)) if operation.of_server else {}
    own = tuple(_parameter(operation, parameter, hints) for parameter in declared_ if parameter.name not in _LOCAL)
    return (*own, *_OVER_HTTP.get(operation.name, ()))


def _parameter(operation: Operation, declared: inspect.Parameter, hints: Mapping[str, object]) -> Parameter:
    kinds: dict[Any, Literal["many", "fields"]] = {
        inspect.Parameter.VAR_POSITIONAL: "many",
        inspect.Parameter.VAR_KEYWORD: "fields",
    }
    kind: Literal["one", "many", "fields"] = kinds.get(declared.kind, "one")
    no_default = declared.default in (inspect.Parameter.empty, OMITTED)
    required = no_default and kind == "one"
    location: Literal["query", "body", "header"] = "query" if not operation.has_body else "body"
    if declared.name in operation.query:
        location = "query"
    if declared.name == "expect" and declared.annotation == "int | None" and not operation.of_server:
        location = "header"
    default = None if no_default else declared.default
    type_ = _wire_type(operation, declared, hints)
    return Parameter(declared.name, type_, required, default, location, kind)


def _wire_type(operation: Operation, declared: inspect.Parameter, hints: Mapping[str, object]) -> object:
    """Return the JSON type of a parameter."""
    if operation.of_server:
        return hints[declared.name]
    if declared.name == "ns":
        return str | None if declared.default is None else str
    if declared.name in _OWN_TYPES.get(operation.name, {}):
        return _OWN_TYPES[operation.name][declared.name]
    return _evaluated(declared.annotation, _wire_names())


_OVER_HTTP: Mapping[str, tuple[Parameter, ...]] = {
    "context": (
        Parameter("format", Literal["context", "openai", "anthropic"], False, "context", "body"),
        Parameter("manifest", bool, False, False, "body"),
    )
}
"""Parameters that exist only over HTTP, for programs that cannot render a request from a `Context` themselves."""
_RECALLED = bool | str | list[str | JsonObject] | JsonObject | None
_OWN_TYPES: Mapping[str, JsonMapping] = {
    # `recall` is a bool, namespaces, a `Recall` or items, and `profile` is a bool or lines. The engine distinguishes
    # them.
    "context": {"recall": _RECALLED, "profile": bool | str | list[str | ProfileLine]},
    # In Python, the namespace or user may be left out and the next argument takes its place, so these accept more types
    # there than over HTTP.
    "facts.set": {"key": str},
    "facts.correct": {"key": str},
    "facts.touch": {"key": str},
    "facts.restore": {"key": str},
    "profile.set_preference": {"key": str},
    "documents.add": {"text": str | SentBytes},
    "records.put": {"data": Any, "key": list[str | int | float]},
    "records.put_many": {"items": list[RecordItem]},
}
"""Parameters whose JSON type cannot be derived from their annotation."""


@cache
def answer_of(operation: Operation) -> object:
    """Return the type of an operation's result."""
    if operation.of_server:
        return typing.get_type_hints(method_of(operation)).get("return")
    return _evaluated(method_of(operation).__annotations__["return"], _public_names())


def _evaluated(annotation: object, names: Mapping[str, object]) -> object:
    if not isinstance(annotation, str):
        return annotation
    # This is safe, because annotations come from our own modules, never from users.
    return eval(annotation, dict(names))


@cache
def _wire_names() -> JsonMapping:
    return {**_public_names(), **_WIRE, "Sequence": list, "Iterable": list, "Mapping": dict, "JsonMapping": JsonObject}


@cache
def _public_names() -> JsonMapping:
    import memorist
    import memorist.types

    from ..engine.events import EventStatus
    from ..engine.memories import MemoryKind
    from ..engine.options import MemoryScope
    from ..engine.working import Working
    from ..extract.extracted import LearningType

    public = {name: getattr(home, name) for home in (memorist, memorist.types) for name in home.__all__}
    return {
        **vars(typing), **public, "Any": Any, "object": Any, "datetime": datetime, "Json": Any,
        "Tool": JsonObject, "JsonObject": JsonObject, "JsonMapping": JsonMapping, "W": Working,
        "OpaqueRecord": OpaqueRecord, "LearningType": LearningType, "MemoryScope": MemoryScope,
        "EventStatus": EventStatus, "MemoryKind": MemoryKind, "Sequence": Sequence, "Iterable": Iterable,
        "Mapping": Mapping, "Layout": Literal["standard", "cached"], "NamespaceKind": str, "msgspec": msgspec,
    }  # fmt: skip


def is_list(operation: Operation) -> bool:
    """Return whether an operation returns a list."""
    return typing.get_origin(answer_of(operation)) is list
