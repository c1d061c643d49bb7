"""Counts a rendered request again, written apart from the product, from the rule and the rendered JSON alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Count = Callable[[str], int]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def openai_tokens(request: dict[str, Any], count: Count) -> int:
    total = 3 + sum(8 + count(_json(tool)) for tool in request.get("tools", ()))
    return total + sum(_openai_message(message, count) for message in request["messages"])


def _openai_message(message: dict[str, Any], count: Count) -> int:
    total = 4 + _parts(message.get("content"), count)
    if message.get("name") is not None:
        total += 2 + count(message["name"])
    for name in ("tool_call_id", "refusal", "reasoning_content"):
        if message.get(name):
            total += count(message[name])
    for call in message.get("tool_calls") or ():
        inner = call.get("function") or call["custom"]
        total += 8 + count(call["id"]) + count(inner["name"]) + count(inner.get("arguments", inner.get("input")))
    return total


def anthropic_tokens(request: dict[str, Any], count: Count) -> int:
    tools = [{name: value for name, value in tool.items() if name != "cache_control"} for tool in request["tools"]]
    total = 3 + sum(8 + count(_json(tool)) for tool in tools)
    if request["system"]:
        total += 4 + _parts(request["system"], count)
    for message in request["messages"]:
        blocks = message["content"]
        only_results = isinstance(blocks, list) and all(block["type"] == "tool_result" for block in blocks)
        total += (0 if only_results else 4) + _parts(blocks, count)
    return total


def _parts(content: Any, count: Count) -> int:
    if content is None:
        return 0
    if isinstance(content, str):
        return count(content)
    return sum(_part(part, count) for part in content)


def _part(part: dict[str, Any], count: Count) -> int:
    kind = part["type"]
    if kind == "text":
        return count(part["text"])
    if kind == "tool_use":
        return 8 + count(part["id"]) + count(part["name"]) + count(_json(part["input"]))
    if kind == "tool_result":
        return 4 + count(part["tool_use_id"]) + _parts(part.get("content"), count)
    if kind == "thinking":
        return count(part["thinking"])
    if kind == "redacted_thinking":
        return len(part["data"]) // 4
    if kind == "image_url":
        # The pictures of these tests are one pixel: one tile, or 85 tokens where low detail was asked for.
        return 85 if part["image_url"].get("detail") == "low" else 255
    if kind == "image":
        return 255 if part["source"]["type"] == "base64" else 1600
    if kind == "document" and part["source"]["type"] == "base64":
        return 1500
    if kind == "file":
        return 1500
    return count(_json({name: value for name, value in part.items() if name != "cache_control"}))
