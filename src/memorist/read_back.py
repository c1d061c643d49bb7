"""Two tools with which a model reads back what its request left out: `read_more` and `search_history`.

A request may show only the beginning of a long tool result, or leave out old messages. Offer `ReadBack.tools` with the
request and run the model's calls with `ReadBack.call`; both work with any loop that can call tools.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from .messages.message import Message, text_of

if TYPE_CHECKING:
    from .blocking.memory import Memory
    from .memory import AsyncMemory

MAX_LINES = 200
MAX_CHARACTERS = 16_000
MAX_PATTERN_CHARACTERS = 200
MAX_HITS = 10
READ_MORE = "read_more"
SEARCH_HISTORY = "search_history"
_TOOLS: tuple[tuple[str, str, dict[str, Any], list[str]], ...] = (
    (
        READ_MORE,
        "Read the full text of an earlier message or tool result of this conversation, by lines or by a text to find.",
        {
            "id": {"type": "string", "description": "The id of the message, such as talk#12."},
            "from": {"type": "integer", "description": "The first line to read; the first line of all is 1."},
            "lines": {"type": "integer", "description": f"How many lines to read, at most {MAX_LINES}."},
            "pattern": {"type": "string", "description": "Return only lines that contain this text."},
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


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of either tool."""

    id: str = ""
    first: int = msgspec.field(default=1, name="from")
    lines: int = MAX_LINES
    pattern: str = ""
    query: str = ""


def tools(shape: Literal["openai", "anthropic"] = "openai") -> list[dict[str, Any]]:
    """The definitions of both tools, in the shape of a provider."""
    definitions: list[dict[str, Any]] = []
    for name, description, properties, required in _TOOLS:
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        if shape == "anthropic":
            definitions.append({"name": name, "description": description, "input_schema": schema})
        else:
            function = {"name": name, "description": description, "parameters": schema}
            definitions.append({"type": "function", "function": function})
    return definitions


def parse_call(name: str, arguments: str | Mapping[str, Any]) -> _Call | str:
    """The arguments of a model's call, or a sentence that tells the model what is wrong with them."""
    try:
        given = msgspec.json.decode(arguments) if isinstance(arguments, str) else dict(arguments)
        call = msgspec.convert(given, _Call)
    except (msgspec.MsgspecError, TypeError, ValueError) as wrong:
        return f"The arguments of {name} are wrong: {wrong}"
    if name not in (READ_MORE, SEARCH_HISTORY):
        return f"There is no tool {name[:64]!r} here; there are {READ_MORE} and {SEARCH_HISTORY}."
    if (name == READ_MORE and not call.id) or (name == SEARCH_HISTORY and not call.query.strip()):
        return f"{name} needs {'an id' if name == READ_MORE else 'a query'}."
    return call


def page(id: str, text: str, call: _Call) -> str:
    """The asked lines of a text, with their numbers, and where to read on; whole lines only."""
    lines = list(enumerate(text.splitlines() or [""], 1))
    if call.pattern:
        found = re.compile(re.escape(call.pattern[:MAX_PATTERN_CHARACTERS]), re.IGNORECASE)
        lines = [(number, line) for number, line in lines if found.search(line)]
    wanted = [(number, line) for number, line in lines if number >= max(1, call.first)]
    shown: list[str] = []
    characters = 0
    for number, line in wanted[: max(1, min(call.lines, MAX_LINES))]:
        characters += len(line) + 8
        if shown and characters > MAX_CHARACTERS:
            break
        shown.append(f"{number}: {line}")
    total = len(text.splitlines())
    if not shown:
        return f"{id} has {total} lines; none of them from line {max(1, call.first)} on is what was asked for."
    more = len(wanted) - len(shown)
    rest = f"\n({more} more; read on from {wanted[len(shown)][0]})" if more else ""
    return f"{id}, {total} lines:\n" + "\n".join(shown) + rest


def full_text(message: Message) -> str:
    """All text of a message, with that of its tool results."""
    results = [text_of(result.content) for result in message.tool_results]
    return (
        "\n".join(results) if results and message.role == "tool" else "\n".join(filter(None, [message.text, *results]))
    )


def position(thread: str, id: str) -> int | None:
    """The number of a message of this thread; None for anything else."""
    place, _, number = id.rpartition("#")
    return int(number) if place == thread and number.isdecimal() and len(number) < 16 else None


def listed(thread: str, hits: list[Any]) -> str:
    """The hits of a search that belong to the thread, each with its id and the start of its text."""
    own = [hit for hit in hits if position(thread, hit.id) is not None][:MAX_HITS]
    if not own:
        return "Nothing was found."
    return "\n".join(
        f"{hit.id} ({hit.created_at.date().isoformat()}): {' '.join(hit.text.split())[:300]}" for hit in own
    )


class ReadBack:
    """Runs the two tools over one thread of a `Memory`."""

    def __init__(self, memory: Memory, thread: str) -> None:
        self._memory = memory
        self._thread = thread

    def tools(self, shape: Literal["openai", "anthropic"] = "openai") -> list[dict[str, Any]]:
        """The definitions of both tools."""
        return tools(shape)

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """Run a model's call; wrong arguments get an answer that says what is wrong, so the model can try again."""
        call = parse_call(name, arguments)
        if isinstance(call, str):
            return call
        if name == SEARCH_HISTORY:
            hits = self._memory.recall(call.query, kinds="message", top_k=4 * MAX_HITS)
            return listed(self._thread, hits)
        seq = position(self._thread, call.id)
        messages = [] if seq is None else self._memory.threads.messages(self._thread, 1, after=seq - 1)
        return _answer(call, seq, messages)


class AsyncReadBack:
    """Runs the two tools over one thread of an `AsyncMemory`."""

    def __init__(self, memory: AsyncMemory, thread: str) -> None:
        self._memory = memory
        self._thread = thread

    def tools(self, shape: Literal["openai", "anthropic"] = "openai") -> list[dict[str, Any]]:
        """The definitions of both tools."""
        return tools(shape)

    async def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """Run a model's call; wrong arguments get an answer that says what is wrong, so the model can try again."""
        call = parse_call(name, arguments)
        if isinstance(call, str):
            return call
        if name == SEARCH_HISTORY:
            hits = await self._memory.recall(call.query, kinds="message", top_k=4 * MAX_HITS)
            return listed(self._thread, hits)
        seq = position(self._thread, call.id)
        messages = [] if seq is None else await self._memory.threads.messages(self._thread, 1, after=seq - 1)
        return _answer(call, seq, messages)


def _answer(call: _Call, seq: int | None, messages: list[Message]) -> str:
    if not messages or messages[0].seq != seq:
        return f"There is no message {call.id[:80]!r} in this conversation."
    return page(call.id, full_text(messages[0]), call)
