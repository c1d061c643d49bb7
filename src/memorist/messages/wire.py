"""Converts messages between OpenAI's chat format and Anthropic's format.

`to_openai` and `to_anthropic` return a message unchanged, or converted without dropping anything. `sent_openai` and
`sent_anthropic` return the message for a request, with each part that the provider does not accept replaced by its type
in brackets. The same functions are used for counting tokens, so that the count matches the request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..values import JsonMapping, JsonObject, compact_json
from .message import INSTRUCTIONS, Message, parse_arguments, text_of
from .responses import SHAPE as RESPONSES
from .responses import as_chat, nested_tool, without_items

SYSTEM_NOTE = "System note:"
"""Precedes a system message in the middle of a conversation, for a provider that does not accept one there."""
_LISTED = (list, tuple)


def to_openai(message: Message) -> list[JsonObject]:
    """Return one dict, or several if an Anthropic user message contains several tool results."""
    if message.shape == RESPONSES:
        message = without_items(as_chat(message))
    if message.shape != "anthropic":
        return [_as_given(message)]
    if message.role == "assistant":
        return [_assistant_to_openai(message)]
    return _user_to_openai(message)


def to_anthropic(message: Message) -> JsonObject:
    """Return one dict in Anthropic's format."""
    if message.shape == RESPONSES:
        message = without_items(as_chat(message))
    if message.shape == "anthropic":
        return _as_given(message)
    if message.role in ("tool", "function"):
        return _tool_to_anthropic(message)
    if message.role == "assistant":
        return _assistant_to_anthropic(message)
    out: JsonObject = {"role": message.role, "content": _parts_to_anthropic(message.content)}
    # Anthropic has no speaker name: keep it readable in front of the text.
    if message.name and message.role == "user":
        out["content"] = _with_name(message.name, out["content"])
    return out


def _as_given(message: Message) -> JsonObject:
    out: JsonObject = {"role": message.role}
    if message.shape != "bare":
        out["content"] = message.content
    if message.name is not None:
        out["name"] = message.name
    out.update(message.extra)
    return out


def _with_name(name: str, content: Any) -> object:
    if isinstance(content, str):
        return f"{name}: {content}"
    return [{"type": "text", "text": f"{name}:"}, *content]


# What a request carries


def sent_openai(message: Message) -> list[JsonObject]:
    """Return the chat messages that represent a message in a request."""
    chat_messages = to_openai(message)
    for chat_message in chat_messages:
        if chat_message.get("role") != "assistant" or not chat_message.get("tool_calls"):
            chat_message.pop("tool_calls", None)
        else:
            chat_message["tool_calls"] = [_written_call(call) for call in chat_message["tool_calls"]]
        if isinstance(chat_message.get("content"), _LISTED):
            chat_message["content"] = [_part_to_openai(part) for part in chat_message["content"]]
        if chat_message.get("role") == "tool":
            chat_message["content"] = _tool_content(chat_message.get("content"))
    return chat_messages


def _written_call(call: Mapping[str, object]) -> JsonObject:
    """Return a call whose arguments are text, as the API requires. Some servers return an object."""
    inner = call.get("function")
    if not isinstance(inner, Mapping) or isinstance(inner.get("arguments"), str):
        return dict(call)
    return {**call, "function": {**inner, "arguments": compact_json(inner.get("arguments") or {})}}


def _tool_content(content: object) -> str | list[object]:
    """Return the content of a tool message, which may only be text. Other parts are replaced by their type in
    brackets."""
    if not isinstance(content, _LISTED):
        return "" if content is None else str(content)
    return [part if part.get("type") == "text" else _word(part) for part in content]


def _word(part: Mapping[str, object]) -> JsonObject:
    return {"type": "text", "text": f"[{part.get('type') or 'part'}]"}


def sent_anthropic(message: Message) -> tuple[str, list[JsonObject]]:
    """Return the role and the content blocks that represent a message in a request. An empty message has no blocks."""
    if message.role in INSTRUCTIONS:
        return "user", [{"type": "text", "text": SYSTEM_NOTE}, {"type": "text", "text": message.text}]
    converted = to_anthropic(message)
    content = converted.get("content", "")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = [block for block in map(_block, content or ()) if not _is_blank(block)]
    refusal = message.extra.get("refusal")
    if isinstance(refusal, str) and refusal.strip() and not blocks:
        blocks = [{"type": "text", "text": refusal}]
    return converted["role"], blocks


def _block(block: object) -> JsonObject:
    """Return a typed block without its cache_control, because a request sets its own cache markers."""
    if not isinstance(block, Mapping):
        return {"type": "text", "text": str(block)}
    plain_block = {name: value for name, value in block.items() if name != "cache_control"}
    kind = plain_block.get("type")
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": plain_block.get("text", "")}
    if kind in (None, "input_audio", "file"):
        return _word(plain_block)
    if kind == "tool_result" and isinstance(plain_block.get("content"), _LISTED):
        inner = [part for part in map(_block, plain_block["content"]) if not _is_blank(part)]
        if inner:
            plain_block["content"] = inner
        else:
            del plain_block["content"]
    return plain_block


def _is_blank(block: Mapping[str, object]) -> bool:
    if block["type"] == "compaction":
        return block.get("content") == ""  # a failed compaction, which Anthropic accepts only as null
    return block["type"] == "text" and not str(block.get("text") or "").strip()


# From Anthropic to OpenAI


def _assistant_to_openai(message: Message) -> JsonObject:
    texts: list[JsonObject] = []
    calls: list[JsonObject] = []
    thoughts: list[str] = []
    for block in message.content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "text":
            texts.append({"type": "text", "text": block.get("text", "")})
        elif kind == "tool_use":
            calls.append(_tool_use_to_call(block))
        elif kind == "thinking":
            thoughts.append(str(block.get("thinking", "")))
    content: object = texts[0]["text"] if len(texts) == 1 else (texts or None)
    out: JsonObject = {"role": "assistant", "content": content}
    if message.name is not None:
        out["name"] = message.name
    if calls:
        out["tool_calls"] = calls
    if any(thoughts):
        # The field OpenAI-compatible servers use for reasoning; plain OpenAI ignores it in history.
        out["reasoning_content"] = "\n".join(thoughts)
    out.update(message.extra)
    return out


def _tool_use_to_call(block: Mapping[str, object]) -> JsonObject:
    function = {"name": block.get("name", ""), "arguments": compact_json(block.get("input", {}))}
    return {"id": block.get("id", ""), "type": "function", "function": function}


def _user_to_openai(message: Message) -> list[JsonObject]:
    out: list[JsonObject] = []
    parts: list[JsonObject] = []
    for block in message.content:
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            written = _result_text(block.get("content"))
            out.append({"role": "tool", "tool_call_id": block.get("tool_use_id", ""), "content": written})
        else:
            parts.append(_part_to_openai(block))
    parts = [part for part in parts if not _is_blank(part)] if out else parts
    if parts or not out:
        content = parts[0]["text"] if len(parts) == 1 and parts[0].get("type") == "text" else parts
        plain: JsonObject = {"role": message.role, "content": content}
        if message.name is not None:
            plain["name"] = message.name
        plain.update(message.extra)
        out.append(plain)
    return out


def _result_text(content: Any) -> str:
    """Return a tool result as text.

    Other parts are replaced by their type in brackets, because a tool message accepts only text.
    """
    if not isinstance(content, _LISTED):
        return content or ""
    return "\n".join(text_of([part]) or f"[{_kind(part)}]" for part in content)


def _kind(part: object) -> str:
    return str(part.get("type", "part")) if isinstance(part, Mapping) else "part"


def _part_to_openai(block: object) -> JsonObject:
    if not isinstance(block, Mapping):
        return {"type": "text", "text": str(block)}
    kind, source = block.get("type"), block.get("source")
    if kind in ("text", "input_text", "output_text"):
        return {"type": "text", "text": block.get("text", "")}
    if kind == "image" and isinstance(source, Mapping):
        return {"type": "image_url", "image_url": {"url": _url_of(source, "image/png")}}
    if kind == "document" and isinstance(source, Mapping):
        return _document_to_openai(block, source)
    return dict(block)


def _document_to_openai(block: Mapping[str, object], source: Mapping[str, object]) -> JsonObject:
    """Return a document in the chat format, as text or as an attached file. A document at a URL is only mentioned."""
    name = str(block.get("title") or "document")
    if source.get("type") == "text":
        return {"type": "text", "text": f"[document: {name}]\n{source.get('data', '')}"}
    if source.get("type") == "content":
        return {"type": "text", "text": f"[document: {name}]\n{text_of(source.get('content'))}"}
    if source.get("type") == "base64":
        return {"type": "file", "file": {"filename": name, "file_data": _url_of(source, "application/pdf")}}
    return {"type": "text", "text": f"[document: {name}, left out: {source.get('url') or source.get('type')}]"}


def _url_of(source: Mapping[str, object], media: str) -> str:
    if source.get("type") == "base64":
        return f"data:{source.get('media_type', media)};base64,{source.get('data', '')}"
    return str(source.get("url", ""))


# From OpenAI to Anthropic


def _tool_to_anthropic(message: Message) -> JsonObject:
    call_id = message.extra.get("tool_call_id", message.name or "")
    block = {"type": "tool_result", "tool_use_id": call_id, "content": _parts_to_anthropic(message.content)}
    return {"role": "user", "content": [block]}


def _assistant_to_anthropic(message: Message) -> JsonObject:
    calls = message.extra.get("tool_calls")
    if not calls:
        return {"role": "assistant", "content": _parts_to_anthropic(message.content)}
    content = _parts_to_anthropic(message.content)
    blocks: list[object] = [{"type": "text", "text": content}] if isinstance(content, str) and content else []
    if isinstance(content, list):
        blocks.extend(content)
    blocks.extend(_call_to_tool_use(call) for call in calls)
    return {"role": "assistant", "content": blocks}


def _call_to_tool_use(call: JsonMapping) -> JsonObject:
    inner = call.get("function") or call.get("custom") or {}
    arguments = parse_arguments(inner.get("arguments") or inner.get("input") or "{}")
    if not isinstance(arguments, dict):
        arguments = {"arguments": arguments}
    return {"type": "tool_use", "id": call.get("id") or "", "name": inner.get("name", ""), "input": arguments}


def _parts_to_anthropic(content: Any) -> object:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return [_part_to_anthropic(part) for part in content]


def _part_to_anthropic(part: object) -> JsonObject:
    if not isinstance(part, Mapping):
        return {"type": "text", "text": str(part)}
    if part.get("type") == "refusal":
        return {"type": "text", "text": str(part.get("refusal", ""))}
    file = part.get("file")
    if part.get("type") == "file" and isinstance(file, Mapping) and isinstance(file.get("file_data"), str):
        return _file_to_anthropic(file)
    image = part.get("image_url")
    if isinstance(image, str):
        image = {"url": image}
    if part.get("type") != "image_url" or not isinstance(image, Mapping):
        return dict(part)
    return {"type": "image", "source": _source(str(image.get("url", "")))}


def _file_to_anthropic(file: JsonMapping) -> JsonObject:
    document: JsonObject = {"type": "document", "source": _source(file["file_data"])}
    return {**document, "title": file["filename"]} if file.get("filename") else document


def _source(url: str) -> JsonObject:
    head, mark, data = url.partition(";base64,")
    if mark and head.startswith("data:"):
        return {"type": "base64", "media_type": head[5:], "data": data}
    return {"type": "url", "url": url}


# Tool definitions


def openai_tools(tools: Sequence[object]) -> list[object]:
    """Return tool definitions in OpenAI's format."""
    return [_openai_tool(tool) for tool in tools]


def _openai_tool(tool: object) -> object:
    if not isinstance(tool, Mapping) or "input_schema" not in tool:
        return nested_tool(tool)
    function = {"name": tool.get("name", "")}
    if tool.get("description"):
        function["description"] = tool["description"]
    return {"type": "function", "function": {**function, "parameters": tool["input_schema"]}}


def anthropic_tools(tools: Sequence[object]) -> list[object]:
    """Return tool definitions in Anthropic's format."""
    return [_anthropic_tool(tool) for tool in tools]


def _anthropic_tool(tool: object) -> object:
    tool = nested_tool(tool)
    inner = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(inner, Mapping):
        return tool
    definition: JsonObject = {"name": inner.get("name", "")}
    if inner.get("description"):
        definition["description"] = inner["description"]
    definition["input_schema"] = inner.get("parameters") or {"type": "object", "properties": {}}
    return definition
