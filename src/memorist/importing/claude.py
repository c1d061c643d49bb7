"""Reads a Claude data export: `conversations.json`, alone, in its folder or in its ZIP.

Attachments, whose text is in the export, become documents. Messages keep the names of their attachments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..values import JsonMapping, JsonObject
from .chatgpt import FILES, heads
from .files import JsonStream, SourceFiles
from .items import DocumentItem, Item, MessageItem, Problem, ThreadItem, listed, moment, moment_or_none

ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
ROOT = "00000000-0000-4000-8000-000000000000"
"""The parent id of a first message."""


def recognises(source: SourceFiles) -> bool:
    """Return whether the conversations in the source have `chat_messages`."""
    return any(b'"chat_messages"' in head for head in heads(source))


def read(source: SourceFiles) -> Iterator[Item]:
    """Yield the threads, messages and attachments of an export."""
    for part in source.parts(FILES):
        with part.open() as file:
            stream = JsonStream(file, part.name)
            for number, conversation in enumerate(stream.elements(), 1):
                yield from _conversation(conversation, f"conversation {number}")
            stream.done()


def _conversation(conversation: Any, position: str) -> Iterator[Item]:
    id = conversation.get("uuid") if isinstance(conversation, Mapping) else None
    messages = conversation.get("chat_messages") if isinstance(conversation, Mapping) else None
    if not isinstance(id, str) or not id or not isinstance(messages, list):
        yield Problem(position, "it is not a conversation with a uuid and chat_messages")
        return
    name, account = conversation.get("name"), conversation.get("account")
    owner = account.get("uuid") if isinstance(account, Mapping) else None
    owner = owner if isinstance(owner, str) else None
    at = moment_or_none(conversation.get("created_at"))
    yield ThreadItem(id, name if isinstance(name, str) else None, owner, {}, at, position)
    for number, message in enumerate(_path(messages, conversation.get("current_leaf_message_uuid")), 1):
        yield from _message(id, owner, message, number, f"{position}, message {number}")


def _path(messages: Sequence[object], leaf: object) -> Sequence[object]:
    """Return the messages of the current branch: from the root to `leaf` if the export names one, otherwise all of
    them."""
    by_id = {
        message["uuid"]: message
        for message in messages
        if isinstance(message, Mapping) and isinstance(message.get("uuid"), str)
    }
    if not isinstance(leaf, str) or leaf not in by_id:
        return messages
    branch: list[object] = []
    while isinstance(leaf, str) and leaf in by_id:
        message = by_id.pop(leaf)
        branch.append(message)
        leaf = message.get("parent_message_uuid")
    return branch[::-1]


def _message(thread: str, owner: str | None, message: Any, number: int, position: str) -> Iterator[Item]:
    role = ROLES.get(str(message.get("sender"))) if isinstance(message, Mapping) else None
    if role is None:
        yield Problem(position, "it is not a message with a known sender")
        return
    try:
        at, content = moment(message.get("created_at")), _content(message)
    except ValueError as problem:
        yield Problem(position, str(problem))
        return
    id = str(message.get("uuid") or number)
    attached = [*_attachments(thread, owner, id, message, at, position)]
    names = [name for name in map(_name, [*listed(message, "attachments"), *listed(message, "files")]) if name]
    if not content and not names:
        return
    metadata: JsonObject = {"id": id, **({"attachments": names} if names else {})}
    blocks = listed(message, "content")
    raw = None if len(blocks) < 2 and all(_is_text(block) for block in blocks) else blocks
    yield MessageItem(thread, id, {"role": role, "content": content}, at, metadata, position, raw)
    yield from attached


def _content(message: JsonMapping) -> str:
    """Return the text of a message. In newer exports it is in blocks, next to tool calls and reasoning."""
    blocks = message.get("content")
    if isinstance(blocks, list):
        texts = [block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
        if any(texts):
            return "\n\n".join(text for text in texts if text)
    text = message.get("text")
    if text is not None and not isinstance(text, str):
        raise ValueError("its text is not a string")
    return text or ""


def _is_text(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text"


def _name(attachment: object) -> str | None:
    name = attachment.get("file_name") if isinstance(attachment, Mapping) else None
    return name if isinstance(name, str) and name else None


def _attachments(
    thread: str, owner: str | None, message: str, fields: JsonMapping, at: Any, position: str
) -> Iterator[DocumentItem]:
    for number, attachment in enumerate(listed(fields, "attachments"), 1):
        text = attachment.get("extracted_content") if isinstance(attachment, Mapping) else None
        if isinstance(text, str) and text.strip():
            metadata = {"thread": thread, "message": message}
            id = f"{thread}/{message}/{number}"
            yield DocumentItem(id, text, _name(attachment), owner, metadata, at, f"{position}, attachment {number}")
