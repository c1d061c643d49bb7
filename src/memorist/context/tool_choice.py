"""Chooses the tools of a request: pinned tools, tools in use, and the most relevant others that fit.

Tool definitions are the first thing that a provider caches, so a choice that changed with every input would invalidate
the whole prompt cache. In the cached layout, each request therefore repeats the tools of the previous one, and adds
others only when the model calls them or finds them with `find_tool`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from ..errors import BudgetError, UsageError
from ..messages.message import Message, text_of
from ..recall.analyze import query_terms, tokens
from ..values import JsonMapping, JsonObject, compact_json
from .measure import count_tools
from .read_tools import Shape, tool_name
from .tokens import Counter

FIND_TOOL = "find_tool"
MAX_FOUND_TOOLS = 5
_DESCRIPTION = (
    "Find tools that are not listed here, by what they should do; they can be called from the next message on."
)
_QUERY = {"type": "string", "description": "What the tool should do."}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_LISTED = re.compile(r"^- (\S+):", re.MULTILINE)
Tool = JsonMapping


class ToolChoice(msgspec.Struct, frozen=True):
    """Holds the tools of a request and the names of tools that were left out."""

    sent: tuple[Tool, ...]
    left: tuple[str, ...] = ()


NO_TOOLS = ToolChoice(())


class FindCall(msgspec.Struct, forbid_unknown_fields=True):
    """Holds the arguments of `find_tool`."""

    query: str


def find_tool_definition(shape: Shape = "openai") -> JsonObject:
    """Return the definition of `find_tool` in a provider's format."""
    schema = {
        "type": "object",
        "properties": {"query": _QUERY},
        "required": ["query"],
        "additionalProperties": False,
    }
    if shape == "anthropic":
        return {"name": FIND_TOOL, "description": _DESCRIPTION, "input_schema": schema}
    return {"type": "function", "function": {"name": FIND_TOOL, "description": _DESCRIPTION, "parameters": schema}}


def tool_text(tool: Tool) -> str:
    """Return the searchable text of a tool: its name as words, its description and its parameters."""
    inner = tool.get("function")
    fields: JsonMapping = inner if isinstance(inner, Mapping) else tool
    schema = fields.get("parameters") or fields.get("input_schema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    texts = [" ".join(_WORD.findall(tool_name(tool))), str(fields.get("description") or "")]
    for name, about in properties.items() if isinstance(properties, Mapping) else ():
        texts.append(" ".join(_WORD.findall(str(name))))
        if isinstance(about, Mapping) and isinstance(about.get("description"), str):
            texts.append(about["description"])
    return ". ".join(text for text in texts if text)


def rank_by_words(query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
    """Return the (index, score) of each text that shares words with a query, ranked by BM25, best first. Ties keep
    their order."""
    terms = query_terms(query)
    bags = [tokens(text) for text in texts]
    mean = sum(map(len, bags)) / len(bags) if bags else 1.0
    frequency = {term: sum(term in bag for bag in bags) for term in terms}
    scores: list[tuple[int, float]] = []
    for index, bag in enumerate(bags):
        score = 0.0
        for term in terms:
            if count := bag.count(term):
                rarity = math.log(1 + (len(bags) - frequency[term] + 0.5) / (frequency[term] + 0.5))
                score += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(bag) / max(mean, 1.0)))
        if score > 0:
            scores.append((index, score))
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))


def used_tools(messages: Iterable[Message]) -> list[str]:
    """Return the names of tools that messages call or that `find_tool` listed, newest first."""
    names: dict[str, None] = {}
    finds: set[str] = set()
    listed = list(messages)
    for message in listed:
        finds |= {call.id for call in message.tool_calls if call.name == FIND_TOOL}
    for message in reversed(listed):
        for call in reversed(message.tool_calls):
            names.setdefault(call.name)
        for result in message.tool_results:
            if result.id in finds:
                names.update(dict.fromkeys(name for name in _LISTED.findall(text_of(result.content))))
    return list(names)


def choose_tools(
    tools: Sequence[Tool],
    ceiling: int | None,
    counter: Counter,
    *,
    ranked: Sequence[int],
    pinned: Collection[str] = (),
    used: Sequence[str] = (),
    earlier: Sequence[str] = (),
) -> ToolChoice:
    """Choose the tools that fit under a token ceiling, or all of them if they fit.

    Args:
        tools: All definitions.
        ceiling: The maximum number of tokens in the chosen tools.
        ranked: The indices of the tools, the most relevant first.
        pinned: Names of tools that are always sent.
        used: Names of tools that the conversation uses, which have priority.
        earlier: Names of the tools in the previous request, in its order. If there are any, `ranked` is not needed.

    Raises:
        BudgetError: The pinned tools and `find_tool` alone exceed the ceiling.
    """
    index_of = {tool_name(tool): index for index, tool in reversed(list(enumerate(tools)))}
    check_pinned(pinned, index_of)
    if ceiling is None or count_tools(tools, counter) <= ceiling:
        return ToolChoice(tuple(tools))
    fixed = [index for index, tool in enumerate(tools) if tool_name(tool) in pinned]
    finder = _finder(tools, index_of)
    spent = count_tools([*(tools[index] for index in fixed), *finder], counter)
    if spent > ceiling:
        raise BudgetError(
            f"the section tools takes at least {spent} tokens (the pinned tools and {FIND_TOOL}); "
            f"its limit in the budget is {ceiling}",
            sections={"tools": spent},
            budget_tokens=ceiling,
        )
    wanted = [index_of[name] for name in (*used, *earlier) if name in index_of]
    # The tools of the request before are all there is unless the model uses another, so the cached prefix stays.
    wanted += ranked if not earlier else ()
    chosen: dict[int, None] = {}
    for index in wanted:
        tokens_of = count_tools([tools[index]], counter)
        if index not in chosen and index not in fixed and spent + tokens_of <= ceiling:
            chosen[index] = None
            spent += tokens_of
    order = {name: index for index, name in enumerate(earlier)}
    rest = sorted(chosen, key=lambda index: order.get(tool_name(tools[index]), len(order)))
    indices = [*fixed, *rest]
    present = {*indices, index_of.get(FIND_TOOL)}
    left = tuple(tool_name(tool) for index, tool in enumerate(tools) if index not in present)
    return ToolChoice((*(tools[index] for index in fixed), *finder, *(tools[index] for index in rest)), left)


def check_pinned(pinned: Collection[str], names: Collection[str]) -> None:
    """Raise UsageError for a pinned name that no tool has."""
    if isinstance(pinned, str):
        raise UsageError("pinned_tools is a list of names")
    missing = [name for name in pinned if name not in names]
    if missing:
        raise UsageError(f"no tool is called {missing[0][:64]!r}, which pinned_tools names")


def _finder(tools: Sequence[Tool], index_of: Mapping[str, int]) -> list[Tool]:
    """Return the caller's own `find_tool` if there is one, or else ours in the same format as the other tools."""
    if FIND_TOOL in index_of:
        return [tools[index_of[FIND_TOOL]]]
    return [find_tool_definition("anthropic" if any("input_schema" in tool for tool in tools) else "openai")]


def parse_find(name: str, arguments: str | Mapping[str, object]) -> FindCall | str:
    """Return the arguments of a model's call, or a sentence that explains to the model why they are wrong."""
    if name != FIND_TOOL:
        return f"There is no tool {name[:64]!r} here; there is {FIND_TOOL}."
    try:
        fields = msgspec.json.decode(arguments) if isinstance(arguments, str) else dict(arguments)
        call = msgspec.convert(fields, FindCall)
    except (msgspec.MsgspecError, TypeError, ValueError) as wrong:
        return f"The arguments of {name} are wrong: {wrong}"
    return call if call.query.strip() else f"{FIND_TOOL} needs a query."


def list_tools(tools: Sequence[Tool]) -> str:
    """Return the answer to a `find_tool` call: each tool with its description and parameters."""
    if not tools:
        return "No tool was found."
    return "\n".join(_line(tool) for tool in tools)


def _line(tool: Tool) -> str:
    inner = tool.get("function")
    fields: JsonMapping = inner if isinstance(inner, Mapping) else tool
    schema = fields.get("parameters") or fields.get("input_schema") or {}
    about = " ".join(str(fields.get("description") or "").split())
    return f"- {tool_name(tool)}: {about} Parameters: {compact_json(schema)}"
