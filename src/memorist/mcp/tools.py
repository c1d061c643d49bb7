"""Contains the table of tools, with the name, arguments, answer and description of each.

A row names the operation that a tool performs. The types of its arguments are those of the operation's parameters over
HTTP. One struct generated from them provides the JSON schema and validates the arguments of a call.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

import msgspec

from ..errors import UsageError
from ..protocol.keys import Role
from ..protocol.operations import BY_NAME, parameters_of
from ..values import JsonMapping, JsonObject
from . import shown

ToolSet = Literal["core", "review", "tasks", "graph"]
SETS: tuple[ToolSet, ...] = ("core", "review", "tasks", "graph")
MAX_HITS = 50


class Hints(msgspec.Struct, frozen=True):
    """Holds the annotations of a tool, as MCP defines them."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


READ = Hints(read_only=True, idempotent=True)
WRITE = Hints()
UPSERT = Hints(idempotent=True)
DESTROY = Hints(destructive=True, idempotent=True)


class Argument(msgspec.Struct, frozen=True):
    """Represents one argument: the operation's parameter that defines its type, or its own type (`kind`)."""

    parameter: str
    about: str = ""
    kind: Any = None
    """This is a narrower type than the parameter's."""
    required: bool = False
    limits: JsonMapping = {}


class Tool(msgspec.Struct, frozen=True, eq=False):
    """Represents one tool, and the operation it performs."""

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
        """This is the role that the operation behind it needs."""
        return BY_NAME[self.operation].role


def _needed(parameter: str, about: str = "", **more: Any) -> Argument:
    return Argument(parameter, about, required=True, **more)


_USER = Argument("user", "whose memory; the user's own by default", kind=str)
_ID = "as recall or profile show it; a key or word that only one memory has is fine"
TOOLS: tuple[Tool, ...] = (
    Tool(
        "remember", "Remember", "remember", "core", WRITE, shown.Remembered,
        "Keep something for later conversations: who the user is, what they like, decide or plan. Returns what was "
        "understood, and what was refused and why.",
        {
            "text": Argument("messages", "one or more plain sentences, first or third person", kind=str),
            "facts": Argument("messages", 'values by name, e.g. {"city": "Oslo"}', kind=JsonObject),
            "user": _USER,
        },
    ),
    Tool(
        "recall", "Recall", "recall", "core", READ, shown.Recalled,
        "Search what is remembered, one topic per query. Use it before answering about the user or earlier "
        "conversations. No result means nothing is remembered.",
        {
            "query": _needed("query", "a question or words"),
            "limit": Argument("top_k", limits={"ge": 1, "le": MAX_HITS}),
            "after": Argument("after", "ISO date"),
            "before": Argument("before", "ISO date"),
            "as_of": Argument("as_of", "ISO date or time: answer from what was known then"),
            "user": _USER,
        },
    ),
    Tool(
        "profile", "Profile", "memories.list", "core", READ, shown.ShownProfile,
        "Everything remembered about the user, with ids: home, diet, health, preferences. Use it before you suggest "
        "something to the user, and when they ask what you know about them.",
        {"user": Argument("ns", _USER.about, kind=str)},
    ),
    Tool(
        "update", "Update", "memories.update", "core", DESTROY, shown.Updated,
        "Change a memory that is wrong or out of date. The old version stays in its history.",
        {
            "id": _needed("id", _ID),
            "to": _needed("value", "the new value of a fact, or the new sentence", kind=Any),
            "reason": Argument("reason"),
        },
    ),
    Tool(
        "forget", "Forget", "erasing.forget", "core", DESTROY, shown.Forgotten,
        "Erase a memory for good; only when the user asks. The first call erases nothing: it shows what would be "
        "erased and a code. Ask the user, then call again with the code as `confirm`.",
        {"id": _needed("fact", _ID, kind=str), "confirm": Argument("fact", kind=str)},
    ),
    Tool(
        "why", "Why", "why", "core", READ, shown.Origins,
        "Where a memory came from: the words it was taken from, and when.",
        {"id": _needed("item", _ID)},
    ),
    Tool(
        "history", "History", "memories.history", "review", READ, shown.History,
        "Every version of a memory, oldest first, and why it changed.",
        {"id": _needed("id", _ID)},
    ),
    Tool(
        "undo", "Undo", "memories.undo", "review", DESTROY, shown.Updated,
        "Undo the last change to a memory; only when the user asks.",
        {"id": _needed("id", _ID)},
    ),
    Tool(
        "review", "Review", "review.approve", "review", WRITE, shown.Waiting,
        "Memories that wait for the user's approval. Without `id` it lists them. Show them to the user, and call it "
        "again with what the user decided.",
        {
            "id": Argument("id", "of a memory in the list", kind=str),
            "decision": Argument("id", "the user's decision", kind=Literal["approve", "reject"]),
            "text": Argument("id", "a better sentence to approve", kind=str),
            "user": _USER,
        },
    ),
    Tool(
        "tidy", "Tidy", "plans.apply", "review", WRITE, shown.Tidied,
        "Merge duplicate memories and end outdated ones. The first call changes nothing: it shows a plan and a code. "
        "Ask the user, then call again with the code as `confirm`. `undo` reverts an applied plan.",
        {
            "confirm": Argument("plan", kind=str),
            "undo": Argument("plan", "the id of an applied plan", kind=str),
            "user": _USER,
        },
    ),
    Tool(
        "build_context", "Build context", "context", "tasks", READ, shown.Request,
        "The messages to send a model for an input: profile, memories, history, within a budget.",
        {
            "input": _needed("input", kind=str),
            "thread": Argument("thread"),
            "budget_tokens": Argument("budget", kind=int, limits={"ge": 100, "le": 100_000}),
        },
    ),
    Tool(
        "save_checkpoint", "Save checkpoint", "tasks.save", "tasks", UPSERT, shown.Saved,
        "Save the progress of a long task, to resume it after an interruption.",
        {
            "task_id": _needed("checkpoint", kind=str),
            "state": Argument("checkpoint", kind=JsonObject),
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
    """Return the tool sets named by `--tools`: one or several separated by commas, or `all`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["all"]:
        return frozenset(SETS)
    unknown = [name for name in names if name not in SETS]
    if unknown or not names:
        raise UsageError(f"--tools accepts {', '.join(SETS)} or all; separate several with commas")
    return frozenset(name for name in SETS if name in names)


@cache
def arguments_of(tool: Tool) -> type[msgspec.Struct]:
    """Return the struct that validates a tool's arguments. Missing arguments are None."""
    declared = {parameter.name: parameter for parameter in parameters_of(BY_NAME[tool.operation])}
    fields: list[Any] = []
    for name, argument in sorted(tool.arguments.items(), key=lambda pair: not pair[1].required):
        kind = argument.kind or _plain(declared[argument.parameter].type)
        limits = {**argument.limits, **({"description": argument.about} if argument.about else {})}
        limited: Any = Annotated[kind, msgspec.Meta(**limits)] if limits else kind
        fields.append((name, limited) if argument.required else (name, limited | None, None))
    return msgspec.defstruct(tool.name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def _plain(kind: object) -> object:
    """Return the type without None, because a missing argument is omitted."""
    if typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return kind
    members = tuple(member for member in typing.get_args(kind) if member is not type(None))
    return members[0] if len(members) == 1 else typing.Union[members]  # noqa: UP007  # made at run time


@cache
def input_schema(tool: Tool) -> JsonObject:
    """Return the JSON Schema of a tool's arguments, kept short because models pay for it."""
    schema = _root(arguments_of(tool))
    properties = {name: _short(value) for name, value in schema["properties"].items()}
    short_schema: JsonObject = {"type": "object", "properties": properties}
    if schema.get("required"):
        short_schema["required"] = schema["required"]
    return short_schema


@cache
def output_schema(tool: Tool) -> JsonObject:
    """Return the JSON Schema of a tool's structured answer."""
    return _root(tool.answer)


def _root(kind: type) -> JsonObject:
    """Return the JSON Schema of a type with the object at its root, not a `$ref`, as clients expect."""
    schema = msgspec.json.schema(kind)
    defined: JsonObject = dict(schema.get("$defs", {}))
    root = defined.pop(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    return {**root, "$defs": defined} if defined else dict(root)


def _short(schema: JsonObject) -> JsonObject:
    """Return the schema without defaults, titles or the null alternative."""
    shortened = {name: value for name, value in schema.items() if name not in ("default", "title")}
    if "enum" in shortened:
        # Some clients require `type` beside `enum`.
        shortened = {"type": "string", **shortened}
    options = [option for option in shortened.pop("anyOf", []) if option != {"type": "null"}]
    if len(options) == 1:
        return {**_short(options[0]), **shortened}
    return {**shortened, "anyOf": options} if options else shortened
