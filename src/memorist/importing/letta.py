"""Reads Letta's agent files (`.af`) in both forms: a single agent, and several with shared blocks and files.

An agent's messages become a thread, its memory blocks become facts of the agent, and its files become documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..values import JsonMapping, JsonObject, compact_json
from .files import MAX_ITEM_BYTES, SourceFiles, damaged, decoded
from .items import (
    DocumentItem,
    FactItem,
    Item,
    MessageItem,
    Problem,
    ThreadItem,
    Version,
    listed,
    moment,
    moment_or_none,
    named,
)

ROLES = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool", "approval": "user"}


def recognises(source: SourceFiles) -> bool:
    """Return whether the source's name ends in `.af`, or its content begins like an agent file."""
    if not source.is_file:
        return False
    head = source.head()
    if not head.lstrip().startswith(b"{"):
        return False
    is_agent_file = b'"core_memory"' in head and b'"agent_type"' in head
    return source.path.suffix == ".af" or is_agent_file or (b'"agents"' in head and b'"in_context_message_ids"' in head)


def read(source: SourceFiles) -> Iterator[Item]:
    """Yield the agents of a file. The whole file is read in one go, because agent files are at most a few megabytes in
    size."""
    for part in source.parts():
        if part.size > MAX_ITEM_BYTES:
            damaged("the file", f"an agent file has at most {MAX_ITEM_BYTES // 1024 // 1024} MB")
        with part.open() as file:
            try:
                agent = decoded(file.read(MAX_ITEM_BYTES + 1))
            except ValueError as cause:
                damaged("the file", "it is not JSON", cause)
        if not isinstance(agent, Mapping):
            damaged("the file", "it is not an agent file")
        yield from _file(agent, source.stem)


def _file(export: JsonMapping, stem: str) -> Iterator[Item]:
    if not isinstance(export.get("agents"), list):
        yield from _agent(export, named(export, "name", "id") or stem, listed(export, "core_memory"), "the agent")
        return
    blocks = {named(block, "id"): block for block in listed(export, "blocks") if isinstance(block, Mapping)}
    for number, agent in enumerate(export["agents"], 1):
        position = f"agent {number}"
        if not isinstance(agent, Mapping):
            yield Problem(position, "it is not an object")
            continue
        agent_blocks = [blocks[id] for id in listed(agent, "block_ids") if isinstance(id, str) and id in blocks]
        agent_blocks += listed(agent, "memory_blocks")
        yield from _agent(agent, named(agent, "name", "id") or f"{stem}-{number}", agent_blocks, position)
    yield from _files(export, stem)


def _agent(agent: Mapping[str, object], name: str, blocks: list[Any], position: str) -> Iterator[Item]:
    space = f"agent:{name}"
    for number, block in enumerate(blocks, 1):
        label, value = (block.get("label"), block.get("value")) if isinstance(block, Mapping) else (None, None)
        if not isinstance(label, str) or not label or not isinstance(value, str):
            yield Problem(f"{position}, block {number}", "it is not a block with a label and a value")
        elif value:
            at = moment_or_none(block.get("updated_at") or block.get("created_at"))
            yield FactItem(
                f"block/{label}", (Version(value, at),), name, position=f"{position}, block {number}", space=space
            )
    messages = listed(agent, "messages")
    if not messages:
        return
    thread = named(agent, "id") or name
    at = moment_or_none(agent.get("created_at"))
    yield ThreadItem(thread, name, name, {"agent": name}, at, position, space)
    for number, message in enumerate(messages, 1):
        yield _message(thread, message, number, f"{position}, message {number}")


def _message(thread: str, message: Any, number: int, position: str) -> Item:
    role = ROLES.get(str(message.get("role"))) if isinstance(message, Mapping) else None
    if role is None:
        return Problem(position, "it is not a message with a known role")
    id = named(message, "id") or str(number)
    try:
        fields = _fields(message, role)
        at = moment(message.get("created_at") or message.get("date"))
    except ValueError as problem:
        return Problem(position, str(problem))
    return MessageItem(thread, id, fields, at, {"id": id}, position, dict(message))


def _fields(message: JsonMapping, role: str) -> JsonObject:
    parts = message.get("content")
    parts = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
    if parts is None and isinstance(message.get("text"), str):
        parts = [{"type": "text", "text": message["text"]}]
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        parts = [] if parts is None else _refused()
    fields: JsonObject = {"role": role, "content": "\n".join(_texts(parts))}
    calls = [
        *_calls(parts),
        *(tool_call for tool_call in listed(message, "tool_calls") if isinstance(tool_call, Mapping)),
    ]
    if role == "assistant" and calls:
        fields["tool_calls"] = calls
    if role == "tool":
        returned = next((part.get("tool_call_id") for part in parts if part.get("type") == "tool_return"), None)
        fields["tool_call_id"] = str(message.get("tool_call_id") or returned or "")
    name = message.get("name")
    return {**fields, "name": name} if isinstance(name, str) and name and role == "user" else fields


def _refused() -> Any:
    raise ValueError("its content is neither text nor parts")


def _texts(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        value = part.get("content") if part.get("type") == "tool_return" else part.get("text")
        if isinstance(value, str) and value:
            yield value


def _calls(parts: list[Any]) -> Iterator[JsonObject]:
    for part in parts:
        if part.get("type") == "tool_call":
            function = {"name": str(part.get("name") or ""), "arguments": compact_json(part.get("input") or {})}
            yield {"id": str(part.get("id") or ""), "type": "function", "function": function}


def _files(export: Mapping[str, object], stem: str) -> Iterator[Item]:
    for number, file in enumerate(listed(export, "files"), 1):
        text = file.get("content") if isinstance(file, Mapping) else None
        if isinstance(text, str) and text.strip():
            name = named(file, "file_name", "original_file_name", "name")
            id, at = named(file, "id") or f"{stem}/{number}", moment_or_none(file.get("created_at"))
            yield DocumentItem(id, text, name, None, {}, at, f"file {number}")
