"""Handles the items of OpenAI's Responses API. They are accepted as messages, stored unchanged, converted to chat
messages, and returned as items.

A call, its output and the model's reasoning are items without a role. Each is stored as one message whose content is
the item itself, so that it comes back unchanged. For a request, the items of one model turn become one chat message
(`as_turn`), which contains the items so that they can be rendered as items again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..values import JsonMapping, JsonObject, compact_json

if TYPE_CHECKING:
    from .message import Message

SHAPE = "responses"
PLACES = "memorist.places"
"""The metadata key for a message's positions in the caller's list while messages are compressed."""
_OTHERS = frozenset(
    ("reasoning", "item_reference", "compaction", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response")
)
_OURS = ("metadata", "created_at", "importance", "pinned", "trust", "raw")
_CARRIED = ("items", "item")
"""Fields of `extra` in which a chat message keeps its original items. They are not sent in the chat format."""
_replace = msgspec.structs.replace


def is_item(fields: Mapping[str, object]) -> bool:
    """Return whether a dict without a role is a Responses API item."""
    kind = fields.get("type")
    return isinstance(kind, str) and (kind in _OTHERS or kind.endswith(("_call", "_output")))


def item_fields(message: Mapping[str, object]) -> JsonObject:
    """Return the fields of the message that stores an item."""
    item = {name: value for name, value in message.items() if name not in _OURS}
    fields: JsonObject = {name: message[name] for name in _OURS if name in message}
    kind = str(item["type"])
    role = "tool" if kind.endswith("_output") else "user" if kind == "mcp_approval_response" else "assistant"
    extra = {"tool_call_id": item["call_id"]} if role == "tool" and "call_id" in item else {}
    return {**fields, "role": role, "content": [item], "extra": extra, "shape": SHAPE}


def flaw_of(item: Mapping[str, object]) -> str | None:
    """Return the reason why a provider would reject an item, or None if it would accept it."""
    kind = str(item.get("type"))
    if kind in ("function_call", "custom_tool_call"):
        field = "arguments" if kind == "function_call" else "input"
        for name in ("call_id", "name", field):
            if not isinstance(item.get(name), str) or not (item[name] or name == field):
                return f"a {kind} has no text under `{name}`"
    if kind.endswith("_output") and not isinstance(item.get("call_id"), str):
        return f"a {kind} does not name its call under `call_id`"
    return None


def output_text(item: Mapping[str, object]) -> Any:
    """Return the readable output of an item (text or parts), or None if the item is not an output."""
    output = item.get("output") if str(item.get("type", "")).endswith("_output") else None
    return [output] if isinstance(output, Mapping) else output


def as_chat(message: Message) -> Message:
    """Return an item's message in the chat format, together with the item. Other messages are returned unchanged."""
    if message.shape != SHAPE or any(name in message.extra for name in _CARRIED):
        return message
    if message.role == "tool":
        item = message.content[0] if isinstance(message.content, list) and message.content else {}
        return _replace(message, content=_chat_output(item), extra={**message.extra, "item": item}, tokens=None)
    if message.role == "assistant":
        return as_turn([message])
    content = message.content
    if isinstance(content, list):
        content = [_chat_part(part) for part in content]
    return _replace(message, content=content, extra={"items": _own_items(message)}, tokens=None)


def as_turn(messages: Sequence[Message]) -> Message:
    """Return the items of one model turn, oldest first, as one chat message."""
    items = [item for message in messages for item in _own_items(message)]
    parts = [part for item in items for part in _parts_of(item)]
    calls = [_chat_call(item) for item in items if _is_call(item)]
    extra: JsonObject = {"items": items, **({"tool_calls": calls} if calls else {})}
    content = parts[0]["text"] if len(parts) == 1 and parts[0].get("type") == "text" else parts or None
    pinned = any(message.pinned for message in messages)
    metadata, places = (
        messages[0].metadata,
        [position for message in messages for position in message.metadata.get(PLACES, ())],
    )
    if places:
        metadata = {**metadata, PLACES: places}
    return _replace(messages[0], content=content, extra=extra, metadata=metadata, pinned=pinned, tokens=None)


def after_compaction(items: list[JsonObject]) -> list[JsonObject]:
    """Return the last compaction item, which replaces the earlier items, and the items after it. An output is dropped
    together with its call.
    """
    last = max((index for index, item in enumerate(items) if item.get("type") == "compaction"), default=0)
    call_ids = {item["call_id"] for item in items[:last] if _is_call(item)}
    rest = [item for item in items[last:] if "output" not in item or item.get("call_id") not in call_ids]
    return [_sent_compaction(item) if item.get("type") == "compaction" else item for item in rest]


def _sent_compaction(item: JsonObject) -> JsonObject:
    """Return a compaction item with the fields that OpenAI accepts. It returns more of them."""
    return {name: item[name] for name in ("type", "id", "encrypted_content") if name in item}


def without_items(message: Message) -> Message:
    """Return a chat message without the items it contains."""
    extra = {name: value for name, value in message.extra.items() if name not in _CARRIED}
    return _replace(message, extra=extra, shape=None)


def to_items(message: Message) -> list[JsonObject]:
    """Return a message in any format as items."""
    if message.shape == SHAPE:
        return _kept_items(message)
    if message.shape == "anthropic":
        from .message import as_message
        from .wire import to_openai

        return [item for chat_message in to_openai(message) for item in to_items(as_message(chat_message))]
    if message.role in ("tool", "function"):
        call = message.extra.get("tool_call_id") or f"call_{message.name or 'function'}"
        return [{"type": "function_call_output", "call_id": call, "output": _output(message.content)}]
    return [*_message_items(message.role, message.content), *map(_call_item, message.extra.get("tool_calls") or ())]


def responses_tools(tools: Sequence[object]) -> list[object]:
    """Return tool definitions in the Responses API format. It is flat, whereas the chat format nests them under
    `function`."""
    return [_flat_tool(tool) for tool in tools]


def nested_tool(tool: object) -> object:
    """Return a Responses API tool definition in the chat format. Other definitions are returned unchanged."""
    if not isinstance(tool, Mapping) or tool.get("type") != "function" or not isinstance(tool.get("name"), str):
        return tool
    return {"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}}


def problems(items: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the reasons why the Responses API would reject a list of items."""
    flaws: list[str] = []
    open_calls: set[str] = set()
    for position, item in enumerate(items):
        kind, call = str(item.get("type", "message")), str(item.get("call_id", ""))
        if _is_call(item):
            open_calls.add(call)
        elif kind.endswith("_output"):
            if call not in open_calls:
                flaws.append(f"item {position}: an output must follow the call it answers")
            open_calls.discard(call)
        elif kind == "reasoning" and not _goes_on(items[position + 1 :]):
            flaws.append(f"item {position}: nothing follows from this reasoning")
    return [*flaws, *(["a call has no output"] if open_calls else [])]


def _goes_on(rest: Sequence[Mapping[str, object]]) -> bool:
    following = rest[0] if rest else {}
    return following.get("role") == "assistant" or str(following.get("type", "")).endswith(("_call", "reasoning"))


# -- from items to chat


def _own_items(message: Message) -> list[Any]:
    """Return the items that a message was created from."""
    if "items" in message.extra:
        return list(message.extra["items"])
    if "type" not in message.extra and isinstance(message.content, list):
        return list(message.content)
    return [{"role": message.role, "content": message.content, **message.extra}]


def _is_call(item: object) -> bool:
    """Return whether an item is a call that needs an output. Calls that the provider runs itself have no `call_id`."""
    return isinstance(item, Mapping) and str(item.get("type", "")).endswith("_call") and "call_id" in item


def _chat_call(item: Mapping[str, object]) -> JsonObject:
    if item["type"] == "custom_tool_call":
        inner = {"name": item.get("name", ""), "input": item.get("input", "")}
        return {"id": item["call_id"], "type": "custom", "custom": inner}
    name = item.get("name") or str(item["type"]).removesuffix("_call")
    arguments = item.get("arguments")
    written = (
        arguments if isinstance(arguments, str) else compact_json(item.get("action") or item.get("operation") or {})
    )
    return {"id": item["call_id"], "type": "function", "function": {"name": name, "arguments": written}}


def _parts_of(item: object) -> list[JsonObject]:
    """Return the readable parts of an item from the model."""
    if not isinstance(item, Mapping) or _is_call(item):
        return []
    if "role" in item:
        content = item.get("content") or ()
        return [_chat_part(part) for part in ([content] if isinstance(content, str) else content)]
    if item.get("type") in _OTHERS:
        return []
    return [{"type": "text", "text": f"[{item.get('type')}]"}]


def _chat_output(item: Mapping[str, object]) -> object:
    output = output_text(item)
    return output if isinstance(output, str) else [_chat_part(part) for part in output or ()]


def _chat_part(part: object) -> Any:
    if not isinstance(part, Mapping):
        return {"type": "text", "text": str(part)}
    kind = part.get("type")
    if kind in ("input_text", "output_text", "summary_text", "reasoning_text"):
        return {"type": "text", "text": part.get("text", "")}
    if kind in ("input_image", "computer_screenshot") and part.get("image_url"):
        detail = {"detail": part["detail"]} if part.get("detail") else {}
        return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
    if kind == "input_file":
        file = {name: part[name] for name in ("file_id", "file_data", "filename") if part.get(name)}
        return {"type": "file", "file": file}
    return dict(part)


# -- from chat to items


def _kept_items(message: Message) -> list[JsonObject]:
    """Return the original items of a message, updated with its current call ids and, for an output, its current
    content.
    """
    if "item" in message.extra:
        item = {**message.extra["item"], "call_id": message.extra.get("tool_call_id", "")}
        return [item if message.content == _chat_output(item) else {**item, "output": _output(message.content)}]
    ids = iter([call.get("id", "") for call in message.extra.get("tool_calls") or ()])
    items = [dict(item) if isinstance(item, Mapping) else item for item in _own_items(message)]
    return [{**item, "call_id": next(ids, item["call_id"])} if _is_call(item) else item for item in items]


def _output(content: Any) -> object:
    if content is None or isinstance(content, str):
        return content or ""
    return [_item_part(part, "user") for part in content]


def _message_items(role: str, content: Any) -> list[JsonObject]:
    if not content:
        return []
    parts = content if isinstance(content, str) else [_item_part(part, role) for part in content]
    return [{"role": role, "content": parts}]


def _item_part(part: object, role: str) -> object:
    text = "output_text" if role == "assistant" else "input_text"
    if not isinstance(part, Mapping):
        return {"type": text, "text": str(part)}
    kind = part.get("type")
    if kind in ("text", "input_text", "output_text"):
        return {"type": text, "text": part.get("text", "")}
    if kind == "image_url":
        image = part.get("image_url")
        image = image if isinstance(image, Mapping) else {"url": image}
        detail = {"detail": image["detail"]} if image.get("detail") else {}
        return {"type": "input_image", "image_url": image.get("url", ""), **detail}
    if kind == "file" and isinstance(part.get("file"), Mapping):
        return {"type": "input_file", **part["file"]}
    if kind in ("refusal", "input_image", "input_file"):
        return dict(part)
    return {"type": text, "text": f"[{kind}]"}


def _call_item(call: JsonMapping) -> JsonObject:
    custom = call.get("custom")
    if isinstance(custom, Mapping):
        function = {"name": custom.get("name", ""), "input": custom.get("input", "")}
        return {"type": "custom_tool_call", "call_id": call.get("id", ""), **function}
    inner = call.get("function") or {}
    raw = inner.get("arguments", "{}")
    written = raw if isinstance(raw, str) else compact_json(raw)
    return {"type": "function_call", "call_id": call.get("id", ""), "name": inner.get("name", ""), "arguments": written}


def _flat_tool(tool: object) -> object:
    if not isinstance(tool, Mapping):
        return tool
    if "input_schema" in tool:
        fields = {name: tool[name] for name in ("name", "description") if tool.get(name)}
        return {"type": "function", **fields, "parameters": tool["input_schema"]}
    inner = tool.get("function")
    return {"type": "function", **inner} if isinstance(inner, Mapping) else tool
