"""Sets Anthropic's cache markers, and counts how much of a request a provider's prompt cache would serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..values import JsonMapping, JsonObject, compact_json
from .measure import MESSAGE_TOKENS, count_content, count_tools
from .tokens import Counter

if TYPE_CHECKING:
    from .context import Context

MARKER = {"cache_control": {"type": "ephemeral"}}


def mark(request: JsonObject, context: Context) -> JsonObject:
    """Return the request with cache markers after the stable parts: tools, system prompt, summary and input."""
    marked = dict(request)
    if request["tools"]:
        marked["tools"] = [*request["tools"][:-1], {**request["tools"][-1], **MARKER}]
    if request["system"]:
        marked["system"] = [{"type": "text", "text": request["system"], **MARKER}]
    messages = [{"role": message["role"], "content": list(message["content"])} for message in request["messages"]]
    if context.layout == "cached":
        _mark_summary(messages, context)
        _mark_end(messages, context)
    marked["messages"] = messages
    return marked


def _mark_summary(messages: list[JsonObject], context: Context) -> None:
    if context.summary_message is None or not messages:
        return
    text = context.summary_message.text
    for index, block in enumerate(messages[0]["content"]):
        if block.get("text") == text:
            messages[0]["content"][index] = {**block, **MARKER}


def _mark_end(messages: list[JsonObject], context: Context) -> None:
    """Mark the last block that the next request will repeat: the input, since the scratchpad changes each time."""
    if not messages:
        return
    content = messages[-1]["content"]
    index = len(content) - 1
    if context.scratchpad_message is not None:
        index -= 1
    while index >= 0 and content[index]["type"] in ("thinking", "redacted_thinking"):
        index -= 1
    if index >= 0 and "cache_control" not in content[index]:
        content[index] = {**content[index], **MARKER}


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
