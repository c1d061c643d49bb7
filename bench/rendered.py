"""Counts the tokens of rendered requests from scratch: how many there are, and how many a prompt cache would serve.

Assembled requests add up counts that are stored with their messages; these functions check the sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memorist.context.measure import (
    CALL_TOKENS,
    MESSAGE_TOKENS,
    REQUEST_TOKENS,
    count_arguments,
    count_content,
    count_item,
    count_openai,
    count_parts,
    count_tools,
    sum_tools,
)
from memorist.context.tokens import Counter, open_counter
from memorist.messages.responses import nested_tool
from memorist.values import JsonMapping, compact_json


def measure_openai(messages: Sequence[JsonMapping], tools: Any = None, counter: Counter | None = None) -> int:
    """Count the tokens in a rendered OpenAI request from scratch."""
    counter = counter or open_counter()
    tokens = REQUEST_TOKENS + sum_tools(tools or (), counter)
    return tokens + sum(count_openai(message, counter) for message in messages)


def measure_anthropic(request: JsonMapping, counter: Counter | None = None) -> int:
    """Count the tokens in a rendered Anthropic request from scratch."""
    counter = counter or open_counter()
    tokens = REQUEST_TOKENS + sum_tools(_unmarked(request.get("tools")), counter)
    if request.get("system"):
        tokens += MESSAGE_TOKENS + count_content(request["system"], counter)
    return tokens + sum(count_parts(message["content"], counter) for message in request["messages"])


def measure_responses(request: JsonMapping, counter: Counter | None = None) -> int:
    """Count a rendered request of OpenAI's Responses API from scratch, by the rule above."""
    counter = counter or open_counter()
    tokens = REQUEST_TOKENS + sum_tools(map(nested_tool, request.get("tools") or ()), counter)
    if request.get("instructions"):
        tokens += MESSAGE_TOKENS + counter.count(request["instructions"])
    return tokens + sum(_measure_item(item, counter) for item in request["input"])


def _measure_item(item: JsonMapping, counter: Counter) -> int:
    kind = str(item.get("type", "message"))
    if kind == "message":
        return count_parts(item.get("content"), counter)
    if kind == "function_call":
        name = counter.count(item["call_id"]) + counter.count(item["name"])
        return CALL_TOKENS + name + count_arguments(item["arguments"], counter)
    if kind == "function_call_output":
        return MESSAGE_TOKENS + counter.count(item["call_id"]) + count_content(item.get("output"), counter)
    return count_item(item, counter)


def _unmarked(tools: Any) -> list[object]:
    """Return the tools without cache markers, which providers do not count as text."""
    return [{name: value for name, value in tool.items() if name != "cache_control"} for tool in tools or ()]


def cached_tokens(
    before: Mapping[str, object] | None, after: Mapping[str, object], counter: Counter
) -> tuple[int, int]:
    """Return how many tokens two OpenAI requests share at the start, and how many tokens `after` has in total.

    Tools come first, as in the providers' caches. A cache serves nothing after the first difference.
    """
    pieces = _pieces(after, counter)
    earlier_pieces = [piece for piece, _ in _pieces(before, counter)] if before is not None else []
    served = 0
    for index, (piece, tokens) in enumerate(pieces):
        if index >= len(earlier_pieces) or earlier_pieces[index] != piece:
            break
        served += tokens
    return served, sum(tokens for _, tokens in pieces)


def _pieces(request: JsonMapping, counter: Counter) -> list[tuple[str, int]]:
    tools: Sequence[object] = request.get("tools") or ()
    pieces = [(compact_json(tool), count_tools([tool], counter)) for tool in tools]
    for message in request["messages"]:
        calls = message.get("tool_calls") or ()
        extra = sum(counter.count(compact_json(call)) for call in calls)
        tokens = MESSAGE_TOKENS + count_content(message.get("content"), counter) + extra
        pieces.append((compact_json(message), tokens))
    return pieces
