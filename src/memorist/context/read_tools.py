"""Defines the two tools that let a model read messages left out of its request, and their arguments and answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from ..messages.message import Message, split_message_id, text_of
from ..messages.stashed import RESULTS
from ..values import JsonMapping, JsonObject
from .outline import reading_lines
from .stash import READ_MORE

MAX_LINES = 200
MAX_CHARACTERS = 16_000
MAX_PATTERN_CHARACTERS = 200
MAX_HITS = 10
MAX_HIT_LINES = 3
MAX_HIT_CHARACTERS = 300
SEARCH_HISTORY = "search_history"
Shape = Literal["openai", "anthropic"]
_TOOLS: tuple[tuple[str, str, JsonObject, list[str]], ...] = (
    (
        READ_MORE,
        "Read the full text of an earlier message or tool result of this conversation, by lines or by a text to find.",
        {
            "id": {"type": "string", "description": "The id of the message or result, such as talk#12."},
            "from": {"type": "integer", "description": "The first line to read; the first line of all is 1."},
            "lines": {"type": "integer", "description": f"How many lines to read, at most {MAX_LINES}."},
            "pattern": {
                "type": "string",
                "description": "Return only lines that contain this text, or one of several texts separated by |. "
                "Plain text, not a regular expression.",
            },
        },
        ["id"],
    ),
    (
        SEARCH_HISTORY,
        "Search earlier messages and tool results of this conversation; returns the best ones with their ids.",
        {"query": {"type": "string", "description": "What to look for."}},
        ["query"],
    ),
)
_WORD = re.compile(r"\w+")


class ReadCall(msgspec.Struct, forbid_unknown_fields=True):
    """Holds the arguments of either tool."""

    id: str = ""
    first: int = msgspec.field(default=1, name="from")
    lines: int = MAX_LINES
    pattern: str = ""
    query: str = ""


def tools(shape: Shape = "openai") -> list[JsonObject]:
    """Return the definitions of both tools in a provider's format."""
    definitions: list[JsonObject] = []
    for name, description, properties, required in _TOOLS:
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        if shape == "anthropic":
            definitions.append({"name": name, "description": description, "input_schema": schema})
        else:
            function = {"name": name, "description": description, "parameters": schema}
            definitions.append({"type": "function", "function": function})
    return definitions


def tool_name(tool: Mapping[str, object]) -> str:
    """Return the name of a tool definition in any shape."""
    inner = tool.get("function")
    return str((inner if isinstance(inner, Mapping) else tool).get("name", ""))


def with_read_tools(others: Sequence[JsonMapping]) -> list[JsonMapping]:
    """Add the two tools to the definitions if they are missing, in the same shape as the others."""
    names = {tool_name(tool) for tool in others}
    shape: Shape = "anthropic" if any("input_schema" in tool for tool in others) else "openai"
    return [*others, *(tool for tool in tools(shape) if tool_name(tool) not in names)]


def parse_call(name: str, arguments: str | Mapping[str, object]) -> ReadCall | str:
    """Return the arguments of a model's call, or a sentence that explains to the model why they are wrong."""
    try:
        fields = msgspec.json.decode(arguments) if isinstance(arguments, str) else dict(arguments)
        # Models write null for what they leave out, and sometimes numbers in quotation marks.
        written = {name: value for name, value in fields.items() if value is not None}
        call = msgspec.convert(written, ReadCall, strict=False)
    except (msgspec.MsgspecError, AttributeError, TypeError, ValueError) as wrong:
        return f"The arguments of {name} are wrong: {wrong}"
    if name not in (READ_MORE, SEARCH_HISTORY):
        return f"There is no tool {name[:64]!r} here; use {READ_MORE} or {SEARCH_HISTORY}."
    if (name == READ_MORE and not call.id) or (name == SEARCH_HISTORY and not call.query.strip()):
        return f"{name} needs {'an id' if name == READ_MORE else 'a query'}."
    return call


def page(id: str, text: str, call: ReadCall) -> str:
    """Return the requested lines of a text with their line numbers, and where to continue reading. Lines are never
    cut."""
    lines = list(enumerate(reading_lines(text), 1))
    total = len(lines)
    if call.pattern:
        pattern = call.pattern[:MAX_PATTERN_CHARACTERS]
        # A row of a table contains | itself, so the whole text comes first.
        lines = _lines_with(lines, [pattern]) or _lines_with(lines, pattern.split("|"))
    wanted = [(number, line) for number, line in lines if number >= max(1, call.first)]
    shown: list[str] = []
    characters = 0
    for number, line in wanted[: max(1, min(call.lines, MAX_LINES))]:
        characters += len(line) + 8
        if shown and characters > MAX_CHARACTERS:
            break
        shown.append(f"{number}: {line}")
    if not shown:
        return f"{id} has {total} lines; none of them from line {max(1, call.first)} on is what was asked for."
    more = len(wanted) - len(shown)
    rest = f"\n({more} more; read on from {wanted[len(shown)][0]})" if more else ""
    return f"{id}, {total} lines:\n" + "\n".join(shown) + rest


def _lines_with(lines: list[tuple[int, str]], texts: Sequence[str]) -> list[tuple[int, str]]:
    # The texts are escaped: a model's own expression could take exponential time.
    options = [re.escape(text) for text in texts if text.strip()]
    if not options:
        return []
    pattern = re.compile("|".join(options), re.IGNORECASE)
    return [(number, line) for number, line in lines if pattern.search(line)]


def split_id(id: str) -> tuple[str, int]:
    """Return the message id in the id of a preview, and the number of a tool result in that message, or 0 for all of
    it."""
    message, _, number = id.rpartition(".")
    is_result = "#" in message and number.isdecimal() and len(number) < 6
    return (message, int(number)) if is_result else (id, 0)


def readable_text(message: Message, result: int) -> str | None:
    """Return the text of one tool result in a message, of the whole message (0), or None if there is no such result."""
    if not result:
        return message.text
    results = message.tool_results
    return text_of(results[result - 1].content) if result <= len(results) else None


def locate_message(thread: str, id: str) -> tuple[str, int] | None:
    """Return the thread and number in a message id if it belongs to this thread or its stashed results; otherwise
    return None."""
    parts = split_message_id(id)
    return parts if parts is not None and parts[0] in (thread, thread + RESULTS) else None


def locate_copy(thread: str, id: str) -> tuple[str, int] | None:
    """Return the thread and number under which this thread may have a copy of another thread's message, or None."""
    parts = split_message_id(id)
    return None if parts is None else (thread, parts[1])


def in_thread(thread: str) -> JsonObject:
    """Return the recall filter for the messages of a thread and its stashed results."""
    return {"parent": {"$in": [thread, thread + RESULTS]}}


def list_hits(query: str, hits: Sequence[Any]) -> str:
    """Return the hits, each with its id and the lines that share the most words with the query."""
    if not hits:
        return "Nothing was found."
    words = {word.casefold() for word in _WORD.findall(query)}
    return "\n".join(f"{hit.id} ({hit.created_at.date().isoformat()}):\n{_best_lines(hit.text, words)}" for hit in hits)


def _best_lines(text: str, words: set[str]) -> str:
    lines = list(enumerate(reading_lines(text), 1))
    shared = {number: len(words & {word.casefold() for word in _WORD.findall(line)}) for number, line in lines}
    best = sorted(lines, key=lambda line: (-shared[line[0]], line[0]))[:MAX_HIT_LINES]
    return "\n".join(f"  {number}: {_short(line.strip())}" for number, line in sorted(best) if line.strip())


def _short(line: str) -> str:
    return line if len(line) <= MAX_HIT_CHARACTERS else f"(a line of {len(line):,} characters)"
