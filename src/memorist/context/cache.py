"""Sets Anthropic's cache markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import JsonObject

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
