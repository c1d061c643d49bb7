"""Decodes values serialised by LangGraph as plain data, without importing or constructing the classes they name.

Its MessagePack extensions contain a class name and constructor arguments, which are stored as `Built`. Pickles are
refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..values import JsonMapping, JsonObject
from .files import decoded

ROLES = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "HumanMessageChunk": "user",
    "system": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessageChunk": "tool",
    "function": "function",
    "chat": "user",
    "user": "user",
    "assistant": "assistant",
}
"""The types of LangChain's messages, with their roles."""
TUPLES = (0, 1, 2, 3, 4, 5)
"""Extensions that contain (module, name, arguments, …)."""
SNAPSHOT = 7
MAX_DEPTH = 40


class Built(msgspec.Struct, frozen=True):
    """Represents a serialised object by the name of its class and the arguments of its constructor."""

    module: str
    name: str
    arguments: Any


def loaded(kind: object, data: Any) -> object:
    """Decode a value from its type and bytes. Raises ValueError if it cannot be decoded safely."""
    if kind == "null" or data is None:
        return None
    raw = data.encode() if isinstance(data, str) else bytes(data)
    if kind == "json":
        return _revive(decoded(raw))
    if kind == "msgpack":
        return _unpacked(raw, 0)
    if kind in ("bytes", "bytearray"):
        return raw
    if kind == "pickle":
        raise ValueError("it is a pickle, which is not opened because it could run code")
    raise ValueError("its serialisation format is not supported")


def _unpacked(data: bytes, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise ValueError("it is nested too deeply")

    def extension(code: int, inner: memoryview) -> object:
        if code == SNAPSHOT:
            return _unpacked(bytes(inner), depth + 1)
        if code not in TUPLES:
            return Built("", f"extension {code}", None)
        inner_value = _unpacked(bytes(inner), depth + 1)
        if (
            not isinstance(inner_value, list)
            or len(inner_value) < 3
            or not all(isinstance(part, str) for part in inner_value[:2])
        ):
            raise ValueError("an extension in it is damaged")
        return Built(inner_value[0], inner_value[1], inner_value[2])

    try:
        return msgspec.msgpack.decode(data, ext_hook=extension)
    except (msgspec.MsgspecError, RecursionError, TypeError, UnicodeDecodeError) as cause:
        raise ValueError("it is not MessagePack, or damaged") from cause


def _revive(value: object) -> object:
    """Return the value with `lc` objects as `Built`. Earlier versions wrote classes as such JSON objects."""
    if isinstance(value, list):
        return [_revive(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    id = value.get("id")
    if value.get("lc") in (1, 2) and isinstance(id, list) and id and all(isinstance(part, str) for part in id):
        return Built(".".join(id[:-1]), id[-1], _revive(value.get("kwargs", value.get("args"))))
    return {name: _revive(item) for name, item in value.items()}


def as_messages(value: object) -> list[JsonObject]:
    """Return the LangChain messages in a channel as dicts, or nothing if the channel contains anything else."""
    listed = value if isinstance(value, list) else [value]
    messages = [_fields(message) for message in listed]
    return (
        [message for message in messages if message is not None]
        if messages and all(message is not None for message in messages)
        else []
    )


def _fields(value: object) -> JsonObject | None:
    if not isinstance(value, Built) or not isinstance(value.arguments, Mapping):
        return None
    fields = dict(value.arguments)
    if not value.name.endswith(("Message", "MessageChunk")) or "content" not in fields:
        return None
    fields.setdefault("type", value.name.removesuffix("Chunk").removesuffix("Message").lower())
    return fields


def chat(fields: Mapping[str, object]) -> JsonObject:
    """Return a LangChain message in OpenAI's chat format. Raises ValueError for an unknown type."""
    kind = fields.get("type")
    role = fields.get("role") if kind == "chat" else ROLES.get(str(kind))
    if role not in ("user", "assistant", "system", "tool", "function", "developer"):
        raise ValueError("its message type is not supported")
    message: JsonObject = {"role": role, "content": _content(fields.get("content"))}
    if isinstance(fields.get("name"), str) and fields["name"]:
        message["name"] = fields["name"]
    calls = fields.get("tool_calls")
    if role == "assistant" and isinstance(calls, list) and calls:
        message["tool_calls"] = [_call(call) for call in calls if isinstance(call, Mapping)]
    if role == "tool":
        message["tool_call_id"] = str(fields.get("tool_call_id") or "")
    return message


def _content(content: object) -> object:
    if isinstance(content, list):
        return [plain(part) for part in content]
    return content


def _call(call: JsonMapping) -> JsonObject:
    arguments = msgspec.json.encode(plain(call.get("args") or {})).decode()
    function = {"name": str(call.get("name") or ""), "arguments": arguments}
    return {"id": str(call.get("id") or ""), "type": "function", "function": function}


def plain(value: object) -> object:
    """Return a value as JSON data. An object becomes its arguments, and bytes and other types become the name of their
    type."""
    if isinstance(value, Built):
        return plain(value.arguments)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return f"[{type(value).__name__}]"
