"""An assembled list of messages as an OpenAI request, an Anthropic request, or text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ..messages import Message, text_of
from .measure import compact_json
from .units import INSTRUCTIONS, SYSTEM_NOTE

_ID_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")
_PLACEHOLDER = re.compile(r"\{(system|memory|context|tools|history|input|user|scratchpad)\}")
_ALIASES = {"context": "memory", "user": "input"}
DEFAULT_TEMPLATE = "{system}\n\n{memory}\n\n{tools}\n\n{history}\n\n{input}\n\n{scratchpad}"


def openai_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The OpenAI chat shape, each message as it was given where a provider takes it."""
    out: list[dict[str, Any]] = []
    for message in messages:
        if type(message.content) is str and not message.extra and message.name is None and message.shape is None:
            out.append({"role": message.role, "content": message.content})
        else:
            out.extend(_openai(message))
    return out


def _openai(message: Message) -> list[dict[str, Any]]:
    made = _readable_results(message).openai_messages()
    for one in made:
        if one.get("role") != "assistant" or not one.get("tool_calls"):
            one.pop("tool_calls", None)
        if one.get("role") == "tool" and not isinstance(one.get("content"), str | list):
            one["content"] = "" if one.get("content") is None else str(one["content"])
    return made


def _readable_results(message: Message) -> Message:
    """Results made of images alone have no place in an OpenAI tool message: they become a word."""
    if message.shape != "anthropic" or message.role != "user":
        return message
    content = [_readable(block) for block in message.content]
    return msgspec.structs.replace(message, content=content)


def _readable(block: Any) -> Any:
    if not isinstance(block, Mapping) or block.get("type") != "tool_result":
        return block
    inner = block.get("content")
    if not isinstance(inner, list | tuple) or text_of(inner):
        return block
    kinds = [str(part.get("type", "part")) if isinstance(part, Mapping) else "part" for part in inner]
    return {**block, "content": " ".join(f"[{kind}]" for kind in kinds)}


def anthropic_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The Anthropic shape: content as blocks, neighbours of one role merged, results first, ids unique."""
    out: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    seen: set[str] = set()
    for message in messages:
        role, blocks = _blocks(message)
        blocks = _renamed(blocks, names, seen)
        if not blocks:
            continue
        if out and out[-1]["role"] == role:
            out[-1]["content"].extend(blocks)
        else:
            out.append({"role": role, "content": blocks})
    for merged in out:
        merged["content"] = _results_first(merged["content"])
    if out and out[-1]["role"] == "assistant":
        _trim_prefill(out[-1]["content"])
    return out


def _blocks(message: Message) -> tuple[str, list[Any]]:
    if message.role in INSTRUCTIONS:
        return "user", [{"type": "text", "text": SYSTEM_NOTE}, {"type": "text", "text": message.text}]
    made = _functions(message).anthropic()
    content = made.get("content", "")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = [_plain(block) for block in content or ()]
    blocks = [block for block in blocks if block["type"] != "text" or str(block.get("text", "")).strip()]
    refusal = message.extra.get("refusal")
    if isinstance(refusal, str) and refusal.strip() and not blocks:
        blocks = [{"type": "text", "text": refusal}]
    return made["role"], blocks


def _functions(message: Message) -> Message:
    """Custom tool calls as function calls, which is all the other shape knows."""
    calls = message.extra.get("tool_calls")
    if not isinstance(calls, list) or not any("custom" in call for call in calls):
        return message
    made = []
    for call in calls:
        inner = call.get("custom") or {}
        given = {"name": inner.get("name", ""), "arguments": compact_json({"input": inner.get("input", "")})}
        made.append({"id": call.get("id"), "type": "function", "function": given} if "custom" in call else call)
    return msgspec.structs.replace(message, extra={**message.extra, "tool_calls": made})


def _plain(block: Any) -> dict[str, Any]:
    """A typed block without the cache marker it may have come with: markers are placed anew."""
    if not isinstance(block, Mapping):
        return {"type": "text", "text": str(block)}
    made = {name: value for name, value in block.items() if name != "cache_control"}
    if made.get("type") in ("input_text", "output_text"):
        made["type"] = "text"
    if made.get("type") in (None, "input_audio", "file"):
        return {"type": "text", "text": f"[{made.get('type') or 'part'}]"}
    return made


def _renamed(blocks: list[dict[str, Any]], names: dict[str, str], seen: set[str]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] == "tool_use":
            new = _ID_CHARACTERS.sub("_", str(block.get("id", "")))
            number = len(seen)
            while new in seen or new != block.get("id"):
                new, number = f"t{number}", number + 1
                if new not in seen:
                    break
            seen.add(new)
            names[str(block.get("id", ""))] = new
            block = block if block.get("id") == new else {**block, "id": new}
        elif block["type"] == "tool_result":
            old = str(block.get("tool_use_id", ""))
            new = names.get(old, old)
            block = block if new == old else {**block, "tool_use_id": new}
        out.append(block)
    return out


def _results_first(blocks: list[Any]) -> list[Any]:
    results = [block for block in blocks if block["type"] == "tool_result"]
    if not results or len(results) == len(blocks):
        return blocks
    return results + [block for block in blocks if block["type"] != "tool_result"]


def _trim_prefill(blocks: list[Any]) -> None:
    """A last assistant text may not end in white space."""
    last = blocks[-1]
    if last["type"] == "text" and last["text"] != last["text"].rstrip():
        blocks[-1] = {**last, "text": last["text"].rstrip()}


def openai_tools(tools: Sequence[Any]) -> list[Any]:
    """Tool definitions in the OpenAI shape."""
    return [_openai_tool(tool) for tool in tools]


def _openai_tool(tool: Any) -> Any:
    if not isinstance(tool, Mapping) or "input_schema" not in tool:
        return tool
    function = {"name": tool.get("name", "")}
    if tool.get("description"):
        function["description"] = tool["description"]
    return {"type": "function", "function": {**function, "parameters": tool["input_schema"]}}


def anthropic_tools(tools: Sequence[Any]) -> list[Any]:
    """Tool definitions in the Anthropic shape."""
    return [_anthropic_tool(tool) for tool in tools]


def _anthropic_tool(tool: Any) -> Any:
    inner = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(inner, Mapping):
        return tool
    made: dict[str, Any] = {"name": inner.get("name", "")}
    if inner.get("description"):
        made["description"] = inner["description"]
    made["input_schema"] = inner.get("parameters") or {"type": "object", "properties": {}}
    return made


def fill(template: str, sections: Mapping[str, str]) -> str:
    """A template with its sections filled in; other braces stay as they are, as do those in what is filled in."""

    def section(match: re.Match[str]) -> str:
        name = match.group(1)
        return sections[_ALIASES.get(name, name)]

    return _PLACEHOLDER.sub(section, template)


def transcript(messages: Iterable[Message]) -> str:
    """Messages as lines of text, who speaks first."""
    return "\n\n".join(line for message in messages for line in _lines(message))


def _lines(message: Message) -> list[str]:
    lines: list[str] = []
    results = message.tool_results
    speaker = message.name or message.role.capitalize()
    if results and message.role == "tool":
        return [f"Tool: {message.text}"]
    for result in results:
        lines.append(f"Tool: {text_of(result.content)}")
    text = (
        text_of([block for block in message.content if block.get("type") != "tool_result"]) if results else message.text
    )
    if text:
        lines.append(f"{speaker}: {text}")
    lines += [f"{speaker} calls {call.name}({_arguments(call.arguments)})" for call in message.tool_calls]
    return lines


def _arguments(given: Any) -> str:
    return given if isinstance(given, str) else compact_json(given)
