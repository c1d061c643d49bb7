"""The table of tools: name, arguments, answer and description of each.

A row names the operation that a tool performs. The types of its arguments are those of the operation's parameters over
HTTP; one struct generated from them gives the JSON schema and validates the arguments of a call.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

import msgspec

from ..errors import UsageError
from ..protocol.operations import BY_NAME, Role, parameters_of
from . import shown

ToolSet = Literal["core", "tasks", "graph"]
SETS: tuple[ToolSet, ...] = ("core", "tasks", "graph")
MOST_HITS = 50
MOST_LISTED = 100
FORGETTABLE = Literal["fact", "message", "thread", "source", "user"]
SPEAKER = Literal["user", "assistant", "tool"]


class Hints(msgspec.Struct, frozen=True):
    """The annotations of a tool, as MCP defines them."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


READ = Hints(read_only=True, idempotent=True)
WRITE = Hints()
UPSERT = Hints(idempotent=True)
DESTROY = Hints(destructive=True, idempotent=True)


class Argument(msgspec.Struct, frozen=True):
    """One argument: the operation's parameter it takes its type from, or a type of its own (`kind`)."""

    parameter: str
    about: str = ""
    kind: Any = None
    """A narrower type than the parameter's."""
    required: bool = False
    limits: Mapping[str, Any] = {}


class Tool(msgspec.Struct, frozen=True, eq=False):
    """One tool, and the operation it performs."""

    name: str
    title: str
    operation: str
    set: ToolSet
    hints: Hints
    answer: type
    about: str
    arguments: Mapping[str, Argument]

    @property
    def role(self) -> Role:
        """The role that the operation behind it needs."""
        return BY_NAME[self.operation].role


def _needed(parameter: str, about: str = "", **more: Any) -> Argument:
    return Argument(parameter, about, required=True, **more)


_NS = Argument("ns")
_SPACE = "user:ID, agent:ID, workflow:ID or global; the user's own by default"
TOOLS: tuple[Tool, ...] = (
    Tool(
        "remember", "Remember", "threads.append", "core", WRITE, shown.Remembered,
        "Keep what was said, word for word. Facts are derived from what the user says.",
        {
            "text": _needed("messages", kind=str),
            "role": Argument("messages", "who said it; user by default", kind=SPEAKER),
            "thread": Argument("id"),
            "namespace": Argument("create", _SPACE),
            "key": Argument("key", "repeating it stores nothing twice", kind=str),
        },
    ),
    Tool(
        "recall", "Recall", "recall", "core", READ, shown.Hits,
        "Find what is remembered that matters for a query, best first, with reasons. Ask before answering about the "
        "user or earlier talks.",
        {
            "query": _needed("query"),
            "top_k": Argument("top_k", limits={"ge": 1, "le": MOST_HITS}),
            "kinds": Argument("kinds", "fact, message, summary, document, learning", kind=list[str]),
            "namespaces": Argument("namespaces", kind=list[str]),
            "after": Argument("after", "ISO time"),
            "before": Argument("before", "ISO time"),
        },
    ),
    Tool(
        "get_profile", "Get profile", "profile.get", "core", READ, shown.ShownProfile,
        "What is known of a user: facts, preferences, learnings.",
        {"user": Argument("user")},
    ),
    Tool(
        "list_facts", "List facts", "facts.list", "core", READ, shown.Facts,
        "The facts of a namespace by key.",
        {
            "namespace": _NS,
            "prefix": Argument("prefix", "how keys begin"),
            "limit": Argument("limit", limits={"ge": 1, "le": MOST_LISTED}),
            "cursor": Argument("after", "`next` of the page before"),
        },
    ),
    Tool(
        "set_fact", "Set fact", "facts.set", "core", UPSERT, shown.Written,
        "Store a JSON value under a key; an older value goes to its history.",
        {
            "key": _needed("key"),
            "value": _needed("value", "any JSON"),
            "namespace": Argument("ns", _SPACE),
            "confidence": Argument("confidence", limits={"ge": 0, "le": 1}),
            "ttl_seconds": Argument("ttl", limits={"gt": 0}),
            "source": Argument("source", "id of the message it is from"),
        },
    ),
    Tool(
        "correct_fact", "Correct fact", "facts.correct", "core", DESTROY, shown.Written,
        "Replace a wrong value by the right one; the wrong one is not derived again.",
        {"key": _needed("key"), "value": _needed("value", "any JSON"), "namespace": _NS, "reason": Argument("reason")},
    ),
    Tool(
        "reject_fact", "Reject fact", "facts.reject", "core", DESTROY, shown.Written,
        "Say that a fact is wrong: it goes and does not come back.",
        {"key": _needed("key"), "namespace": _NS, "reason": Argument("reason")},
    ),
    Tool(
        "why", "Why", "why", "core", READ, shown.Origins,
        "Where a fact, hit or message id came from, back to the messages.",
        {"id": _needed("item")},
    ),
    Tool(
        "build_context", "Build context", "context", "core", READ, shown.Request,
        "The messages to send a model for an input: profile, memories, history, within a budget.",
        {
            "input": _needed("input", kind=str),
            "thread": Argument("thread"),
            "budget_tokens": Argument("budget", kind=int, limits={"ge": 100, "le": 100_000}),
        },
    ),
    Tool(
        "forget", "Forget", "erasing.forget", "core", DESTROY, shown.Forgotten,
        "Erase a thing and all derived from it. Without `confirm` it only counts and answers a code; ask the user, "
        "then pass it.",
        {
            "kind": _needed("fact", kind=FORGETTABLE),
            "id": _needed("fact", "a fact's is namespace/key", kind=str),
            "confirm": Argument("fact", kind=str),
        },
    ),
    Tool(
        "save_checkpoint", "Save checkpoint", "tasks.save", "tasks", UPSERT, shown.Saved,
        "Save the progress of a long task, to resume it after an interruption.",
        {
            "task_id": _needed("checkpoint", kind=str),
            "state": Argument("checkpoint", kind=dict[str, Any]),
            "step": Argument("checkpoint", kind=int, limits={"ge": 0}),
            "completed": Argument("checkpoint", "subtasks done, by id", kind=list[str]),
        },
    ),
    Tool(
        "resume_task", "Resume task", "tasks.resume", "tasks", READ, shown.Saved,
        "The saved progress of a task.",
        {"task_id": _needed("task_id")},
    ),
)  # fmt: skip
BY_TOOL: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}


def chosen_sets(text: str) -> frozenset[ToolSet]:
    """The tool sets named by `--tools`: one or several separated by commas, or `all`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["all"]:
        return frozenset(SETS)
    unknown = [name for name in names if name not in SETS]
    if unknown or not names:
        raise UsageError(f"--tools takes {', '.join(SETS)} or all; several with commas between")
    return frozenset(one for one in SETS if one in names)


@cache
def arguments_of(tool: Tool) -> type[msgspec.Struct]:
    """The struct that validates a tool's arguments; arguments not given are None."""
    declared = {one.name: one for one in parameters_of(BY_NAME[tool.operation])}
    fields: list[Any] = []
    for name, argument in sorted(tool.arguments.items(), key=lambda pair: not pair[1].required):
        kind = argument.kind or _plain(declared[argument.parameter].type)
        limits = {**argument.limits, **({"description": argument.about} if argument.about else {})}
        limited: Any = Annotated[kind, msgspec.Meta(**limits)] if limits else kind
        fields.append((name, limited) if argument.required else (name, limited | None, None))
    return msgspec.defstruct(tool.name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def _plain(kind: Any) -> Any:
    """The type without None, since an argument not given is omitted."""
    if typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return kind
    left = tuple(one for one in typing.get_args(kind) if one is not type(None))
    return left[0] if len(left) == 1 else typing.Union[left]  # noqa: UP007  # made at run time


@cache
def input_schema(tool: Tool) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, kept short because models pay for it."""
    schema = _root(arguments_of(tool))
    asked = {name: _short(value) for name, value in schema["properties"].items()}
    made: dict[str, Any] = {"type": "object", "properties": asked}
    if schema.get("required"):
        made["required"] = schema["required"]
    return made


@cache
def output_schema(tool: Tool) -> dict[str, Any]:
    """The JSON Schema of a tool's structured answer."""
    return _root(tool.answer)


def _root(kind: type) -> dict[str, Any]:
    """The JSON Schema of a type with the object at its root, not a `$ref`, as clients expect."""
    schema = msgspec.json.schema(kind)
    defined: dict[str, Any] = dict(schema.get("$defs", {}))
    root = defined.pop(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    return {**root, "$defs": defined} if defined else dict(root)


def _short(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without defaults, titles and the alternative null."""
    kept = {name: value for name, value in schema.items() if name not in ("default", "title")}
    if "enum" in kept:
        # Some clients require `type` beside `enum`.
        kept = {"type": "string", **kept}
    options = [one for one in kept.pop("anyOf", []) if one != {"type": "null"}]
    if len(options) == 1:
        return {**_short(options[0]), **kept}
    return {**kept, "anyOf": options} if options else kept
