"""Between the OpenAI chat shape and the Anthropic messages shape, block by block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from .messages import Message, parse_arguments, text_of

_LIST_CONTENT = (list, tuple)


def to_openai(message: Message) -> list[dict[str, Any]]:
    """One dict, or several where an Anthropic user message carries several tool results."""
    if message.shape != "anthropic":
        return [_as_given(message)]
    if message.role == "assistant":
        return [_assistant_to_openai(message)]
    return _user_to_openai(message)


def to_anthropic(message: Message) -> dict[str, Any]:
    """One dict in the Anthropic messages shape."""
    if message.shape == "anthropic":
        return _as_given(message)
    if message.role in ("tool", "function"):
        return _tool_to_anthropic(message)
    if message.role == "assistant":
        return _assistant_to_anthropic(message)
    out: dict[str, Any] = {"role": message.role, "content": _parts_to_anthropic(message.content)}
    # Anthropic has no speaker name: keep it readable in front of the text.
    if message.name and message.role == "user":
        out["content"] = _with_name(message.name, out["content"])
    return out


def _as_given(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role}
    if message.shape != "bare":
        out["content"] = message.content
    if message.name is not None:
        out["name"] = message.name
    out.update(message.extra)
    return out


def _with_name(name: str, content: Any) -> Any:
    if isinstance(content, str):
        return f"{name}: {content}"
    return [{"type": "text", "text": f"{name}:"}, *content]


def _assistant_to_openai(message: Message) -> dict[str, Any]:
    texts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    other: list[Any] = []
    for block in message.content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "text":
            texts.append({"type": "text", "text": block.get("text", "")})
        elif kind == "tool_use":
            calls.append(_tool_use_to_call(block))
        else:
            other.append(block)
    content: Any = texts[0]["text"] if len(texts) == 1 else (texts or None)
    out: dict[str, Any] = {"role": "assistant", "content": content}
    if message.name is not None:
        out["name"] = message.name
    if calls:
        out["tool_calls"] = calls
    thinking = "\n".join(str(b["thinking"]) for b in other if isinstance(b, Mapping) and b.get("type") == "thinking")
    if thinking:
        # The field OpenAI-compatible servers use for reasoning; plain OpenAI ignores it in history.
        out["reasoning_content"] = thinking
    out.update(message.extra)
    return out


def _tool_use_to_call(block: Mapping[str, Any]) -> dict[str, Any]:
    arguments = msgspec.json.encode(block.get("input", {})).decode()
    return {
        "id": block.get("id", ""),
        "type": "function",
        "function": {"name": block.get("name", ""), "arguments": arguments},
    }


def _user_to_openai(message: Message) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for block in message.content:
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            content = block.get("content")
            if isinstance(content, _LIST_CONTENT):
                content = text_of(content) or msgspec.json.encode(content).decode()
            result = {"role": "tool", "tool_call_id": block.get("tool_use_id", ""), "content": content or ""}
            out.append(result)
        else:
            parts.append(_part_to_openai(block))
    if parts or not out:
        content = parts[0]["text"] if len(parts) == 1 and parts[0].get("type") == "text" else parts
        plain: dict[str, Any] = {"role": message.role, "content": content}
        if message.name is not None:
            plain["name"] = message.name
        plain.update(message.extra)
        out.append(plain)
    return out


def _part_to_openai(block: Any) -> dict[str, Any]:
    if not isinstance(block, Mapping):
        return {"type": "text", "text": str(block)}
    if block.get("type") == "text":
        return {"type": "text", "text": block.get("text", "")}
    source = block.get("source")
    if block.get("type") == "image" and isinstance(source, Mapping):
        if source.get("type") == "base64":
            url = f"data:{source.get('media_type', 'image/png')};base64,{source.get('data', '')}"
        else:
            url = str(source.get("url", ""))
        return {"type": "image_url", "image_url": {"url": url}}
    return dict(block)


def _tool_to_anthropic(message: Message) -> dict[str, Any]:
    call_id = message.extra.get("tool_call_id", message.name or "")
    block = {"type": "tool_result", "tool_use_id": call_id, "content": _parts_to_anthropic(message.content)}
    return {"role": "user", "content": [block]}


def _assistant_to_anthropic(message: Message) -> dict[str, Any]:
    calls = message.extra.get("tool_calls")
    if not calls:
        return {"role": "assistant", "content": _parts_to_anthropic(message.content)}
    content = _parts_to_anthropic(message.content)
    blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) and content else []
    if isinstance(content, list):
        blocks.extend(content)
    for call in calls:
        inner = call.get("function") or call.get("custom") or {}
        given = parse_arguments(inner.get("arguments") or inner.get("input") or "{}")
        if not isinstance(given, dict):
            given = {"arguments": given}
        blocks.append({"type": "tool_use", "id": call.get("id", ""), "name": inner.get("name", ""), "input": given})
    return {"role": "assistant", "content": blocks}


def _parts_to_anthropic(content: Any) -> Any:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return [_part_to_anthropic(part) for part in content]


def _part_to_anthropic(part: Any) -> dict[str, Any]:
    if not isinstance(part, Mapping):
        return {"type": "text", "text": str(part)}
    if part.get("type") == "refusal":
        return {"type": "text", "text": str(part.get("refusal", ""))}
    image = part.get("image_url")
    if part.get("type") != "image_url" or not isinstance(image, Mapping):
        return dict(part)
    url = str(image.get("url", ""))
    head, mark, data = url.partition(";base64,")
    if mark and head.startswith("data:"):
        return {"type": "image", "source": {"type": "base64", "media_type": head[5:], "data": data}}
    return {"type": "image", "source": {"type": "url", "url": url}}
