"""Validates the structure of messages, so that every provider accepts them.

`mended` checks a message's parts and repairs flaws. A new message with a flaw is refused, and the reason is stated. A
stored message with a flaw is repaired in the request, and the manifest says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..values import JsonMapping, JsonObject, compact_json
from .responses import flaw_of

if TYPE_CHECKING:
    from .message import Message

_TEXTS = ("text", "input_text", "output_text")
_NEEDED = {"thinking": "thinking", "redacted_thinking": "data", **dict.fromkeys(_TEXTS, "text")}
"""Maps each type of part to the field that must be text."""


def mended(message: Message) -> tuple[Message, list[str]]:
    """Return the message after removing or repairing everything that no provider accepts, and the reason for each
    change.
    """
    flaws: list[str] = []
    content, extra = message.content, message.extra
    if isinstance(content, list | tuple):
        content = _parts(content, flaws)
    if extra:
        extra = _extra(extra, flaws)
    if not flaws:
        return message, flaws
    # The stored count is that of the original, so it is counted again.
    return msgspec.structs.replace(message, content=content, extra=extra, tokens=None), flaws


def _extra(extra: Mapping[str, object], flaws: list[str]) -> JsonObject:
    fields = dict(extra)
    calls = fields.get("tool_calls")
    if calls is not None:
        fields["tool_calls"] = _calls(calls, flaws)
    if "tool_call_id" in fields:
        fields["tool_call_id"] = _identity(fields["tool_call_id"], "tool_call_id", flaws)
    return fields


def _calls(calls: object, flaws: list[str]) -> list[object]:
    if not isinstance(calls, list | tuple):
        flaws.append("tool_calls is not a list")
        calls = [calls]
    checked_calls = [_call(call, flaws) for call in calls]
    return [call for call in checked_calls if call is not None]


def _call(call: Any, flaws: list[str]) -> JsonObject | None:
    kind = "custom" if isinstance(call, Mapping) and "custom" in call else "function"
    inner = call.get(kind) if isinstance(call, Mapping) else None
    if not isinstance(inner, Mapping):
        flaws.append("a tool call is not an object with `function` in it")
        return None
    if not isinstance(inner.get("name"), str) or not inner["name"]:
        flaws.append("a tool call does not name its function")
        return None
    checked_call = dict(call)
    if checked_call.get("id") is not None:
        checked_call["id"] = _identity(checked_call["id"], "the id of a tool call", flaws)
    arguments = inner.get("arguments")
    if arguments is not None and not isinstance(arguments, str | Mapping):
        flaws.append("the arguments of a tool call are neither text nor an object")
        # A list or a number is valid JSON, but providers accept arguments only as text or as an object.
        checked_call[kind] = {**inner, "arguments": compact_json(arguments)}
    return checked_call


def _identity(value: object, what: str, flaws: list[str]) -> str:
    if isinstance(value, str):
        return value
    flaws.append(f"{what} is not text")
    return "" if value is None else str(value)


def _parts(content: Sequence[object], flaws: list[str]) -> list[object]:
    parts = [_part(part, flaws) for part in content]
    return [part for part in parts if part is not None]


def _part(part: Any, flaws: list[str]) -> object:
    if isinstance(part, str):
        return part
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(kind, str) or not kind:
        flaws.append("a part of the content has no type")
        return None
    needed = _NEEDED.get(kind)
    if needed is not None and not isinstance(part.get(needed), str):
        flaws.append(f"a part of type {kind} has no text under `{needed}`")
        return None
    flaw = flaw_of(part)
    if flaw is not None:
        flaws.append(flaw)
        return None
    if kind == "tool_use":
        return _use(part, flaws)
    if kind == "tool_result":
        return _result(part, flaws)
    if kind == "image_url" and not _has_url(part.get("image_url")):
        flaws.append("an image_url part has no url")
        return None
    if kind in ("image", "document") and not isinstance(part.get("source"), Mapping):
        flaws.append(f"a part of type {kind} has no source")
        return None
    return part


def _has_url(image: object) -> bool:
    return isinstance(image, str) or (isinstance(image, Mapping) and isinstance(image.get("url"), str))


def _use(part: JsonMapping, flaws: list[str]) -> JsonObject | None:
    if not isinstance(part.get("name"), str) or not part["name"]:
        flaws.append("a tool_use part does not name its tool")
        return None
    checked_part = {**part, "id": _identity(part.get("id"), "the id of a tool_use part", flaws)}
    if not isinstance(part.get("input", {}), Mapping):
        flaws.append("the input of a tool_use part is not an object")
        checked_part["input"] = {"arguments": part["input"]}
    return checked_part


def _result(part: JsonMapping, flaws: list[str]) -> JsonObject:
    checked_part = {**part, "tool_use_id": _identity(part.get("tool_use_id"), "the tool_use_id of a result", flaws)}
    content = part.get("content")
    if isinstance(content, list | tuple):
        checked_part["content"] = _parts(content, flaws)
    elif content is not None and not isinstance(content, str):
        flaws.append("the content of a tool_result is neither text nor parts")
        checked_part["content"] = compact_json(content)
    return checked_part
