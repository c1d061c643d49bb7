"""Reads a ChatGPT data export: `conversations.json`, alone, in its folder or in its ZIP.

A conversation is a tree, because messages can be edited and answers regenerated. The reader imports the path from its
root to `current_node`, which is the one that ChatGPT shows. Text attachments contained in the export become documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ..values import JsonMapping, JsonObject
from .files import JsonStream, Part, SourceFiles
from .items import DocumentItem, Item, MessageItem, Problem, ThreadItem, moment, moment_or_none

FILES = "conversations*.json"
ROLES = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
TEXTS = (".txt", ".md", ".csv", ".json", ".py", ".html", ".xml", ".yaml", ".toml")
MAX_TEXT_CHARACTERS = 4 * 1024 * 1024


def recognises(source: SourceFiles) -> bool:
    """Return whether the conversations in the source are trees."""
    return any(b'"mapping"' in head and b'"chat_messages"' not in head for head in heads(source))


def heads(source: SourceFiles) -> Iterator[bytes]:
    """Yield the first bytes of the first file of conversations."""
    if source.is_file and not source.head().lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return
    for part in source.parts(FILES)[:1]:
        with part.open() as file:
            yield file.read(65_536)


def read(source: SourceFiles) -> Iterator[Item]:
    """Yield the threads, messages and attachments of an export."""
    files = {} if source.is_file else {PurePosixPath(part.name).name: part for part in source.parts()}
    for part in source.parts(FILES):
        with part.open() as file:
            stream = JsonStream(file, part.name)
            for number, conversation in enumerate(stream.elements(), 1):
                yield from _conversation(conversation, f"conversation {number}", files)
            stream.done()


def _conversation(conversation: Any, position: str, files: Mapping[str, Part]) -> Iterator[Item]:
    id = conversation.get("conversation_id") or conversation.get("id") if isinstance(conversation, Mapping) else None
    mapping = conversation.get("mapping") if isinstance(conversation, Mapping) else None
    if not isinstance(id, str) or not isinstance(mapping, Mapping):
        yield Problem(position, "it is not a conversation with an id and a mapping")
        return
    title = conversation.get("title")
    at = moment_or_none(conversation.get("create_time"))
    metadata = {
        name: conversation[name]
        for name in ("gizmo_id", "default_model_slug")
        if isinstance(conversation.get(name), str)
    }
    yield ThreadItem(id, title if isinstance(title, str) else None, None, metadata, at, position)
    for number, node in enumerate(_path(mapping, conversation.get("current_node")), 1):
        yield from _message(id, node, f"{position}, message {number}", files)


def _path(mapping: Mapping[str, object], current: object) -> list[JsonMapping]:
    """Return the messages from the root to the current node. In a damaged file, a cycle of parents ends the path."""
    path: list[JsonMapping] = []
    seen: set[str] = set()
    at = current if isinstance(current, str) and current in mapping else _newest_leaf(mapping)
    while isinstance(at, str) and at not in seen and isinstance(node := mapping.get(at), Mapping):
        seen.add(at)
        message = node.get("message")
        if isinstance(message, Mapping):
            path.append({"id": at, **message})
        at = node.get("parent")
    return path[::-1]


def _newest_leaf(mapping: Mapping[str, object]) -> str | None:
    """Return the newest node without children, for files without a current node."""
    leaves = [
        (_node_time(node), id) for id, node in mapping.items() if isinstance(node, Mapping) and not node.get("children")
    ]
    return max(leaves)[1] if leaves else None


def _node_time(node: Mapping[str, object]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, Mapping) else None
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) else 0.0


def _message(thread: str, node: Mapping[str, object], position: str, files: Mapping[str, Part]) -> Iterator[Item]:
    author = node.get("author")
    role = ROLES.get(str(author.get("role"))) if isinstance(author, Mapping) else None
    if role is None:
        yield Problem(position, "the role of its author is unknown")
        return
    try:
        at, content = moment(node.get("create_time")), _content(node.get("content"))
    except ValueError as problem:
        yield Problem(position, str(problem))
        return
    id = str(node["id"])
    attached = [*_attachments(thread, id, node, at, position, files)]
    if not content and not attached:
        return  # an empty node of the tree, such as its root
    fields: JsonObject = {"role": role, "content": content}
    name = author.get("name") if isinstance(author, Mapping) else None
    if isinstance(name, str) and name:
        fields["name"] = name
    metadata: JsonObject = {"id": id}
    about = node.get("metadata")
    if isinstance(about, Mapping) and isinstance(about.get("model_slug"), str):
        metadata["model"] = about["model_slug"]
    raw = None if isinstance(content, str) and _is_text(node.get("content")) else node.get("content")
    yield MessageItem(thread, id, fields, at, metadata, position, raw)
    yield from attached


def _content(content: object) -> object:
    """Return the content of a message: a string if it contains only text, otherwise a list of parts."""
    if content is None:
        return ""
    if not isinstance(content, Mapping):
        raise ValueError("its content is not an object")
    parts = content.get("parts")
    if isinstance(parts, list):
        if all(isinstance(part, str) for part in parts):
            return "\n".join(part for part in parts if part)
        return [_part(part) for part in parts if part]
    for name in ("text", "result", "content"):
        if isinstance(content.get(name), str):
            return content[name]
    if isinstance(content.get("thoughts"), list):
        thoughts = [thought for thought in content["thoughts"] if isinstance(thought, Mapping)]
        return "\n".join(str(thought.get("content") or thought.get("summary") or "") for thought in thoughts)
    texts = [value for name, value in content.items() if name != "content_type" and isinstance(value, str) and value]
    return "\n".join(texts)


def _is_text(content: object) -> bool:
    return isinstance(content, Mapping) and set(content) == {"content_type", "parts"} and len(content["parts"]) == 1


def _part(part: object) -> JsonObject:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, Mapping):
        raise ValueError("a part of its content is neither text nor an object")
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    return {"type": str(part.get("content_type") or "part"), **{name: part[name] for name in part if name != "type"}}


def _attachments(
    thread: str, message: str, node: JsonMapping, at: Any, position: str, files: Mapping[str, Part]
) -> Iterator[Item]:
    """Yield a message's text attachments as documents, if the export contains them."""
    about = node.get("metadata")
    listed = about.get("attachments") if isinstance(about, Mapping) else None
    for attachment in listed if isinstance(listed, list) else ():
        name, id = (attachment.get("name"), attachment.get("id")) if isinstance(attachment, Mapping) else (None, None)
        if not isinstance(name, str) or not isinstance(id, str):
            continue
        part = next((files[key] for key in files if key == name or key.startswith(id)), None)
        if part is None or not name.casefold().endswith(TEXTS):
            continue
        text = _text(part)
        if text is None:
            yield Problem(f"{position}, attachment", "it is not text, or is too long")
        elif text.strip():
            metadata = {"thread": thread, "message": message}
            yield DocumentItem(f"{thread}/{id}", text, name, None, metadata, at, position)


def _text(part: Part) -> str | None:
    if part.size > MAX_TEXT_CHARACTERS:
        return None
    with part.open() as file:
        data = file.read(MAX_TEXT_CHARACTERS + 1)
    try:
        return None if len(data) > MAX_TEXT_CHARACTERS else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
