"""Items of OpenAI's Responses API as messages: calls, results and reasoning have no role of their own there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..messages import ROLES
from ..values import compact_json

CALLS = ("function_call", "custom_tool_call")


def as_chat(item: Mapping[str, Any]) -> dict[str, Any]:
    """The chat message that stands for an item; ValueError where it is none."""
    kind, role = item.get("type"), item.get("role")
    if kind in CALLS:
        return _call(item)
    if isinstance(kind, str) and kind.endswith("_output"):
        return {"role": "tool", "tool_call_id": str(item.get("call_id") or ""), "content": _output(item.get("output"))}
    if role in ROLES:
        made = {"role": role, "content": _content(item.get("content"))}
        more = ("name", "tool_calls", "tool_call_id", "refusal")
        return {**made, **{name: item[name] for name in more if item.get(name) is not None}}
    if isinstance(kind, str) and kind:
        # Reasoning, searches and other steps of the assistant: kept whole, as a part of their own type.
        return {"role": "assistant", "content": [dict(item)]}
    raise ValueError("it has neither a role nor a type")


def _call(item: Mapping[str, Any]) -> dict[str, Any]:
    arguments = item.get("arguments", item.get("input"))
    written = arguments if isinstance(arguments, str) else compact_json(arguments or {})
    function = {"name": str(item.get("name") or ""), "arguments": written}
    call = {"id": str(item.get("call_id") or item.get("id") or ""), "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _output(output: Any) -> Any:
    if isinstance(output, str) or output is None:
        return output or ""
    return _content(output) if isinstance(output, list) else compact_json(output)


def _content(content: Any) -> Any:
    """Text where it is text alone, so that it reads as other messages do; else the parts as they are."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        part = content[0]
        if part.get("type") in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
            return part["text"]
    return content
