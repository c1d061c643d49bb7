"""Accepts messages in OpenAI's chat format, as Responses items, in Anthropic's format or as `Message`, and returns them
in any of these formats.

A message is stored in its original format, including unknown fields, so that it comes back unchanged. It is converted
only if you ask for another format, and fields without an equivalent in that format are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from ..errors import InvalidValue, UsageError
from ..ports import as_datetime
from ..records import Record, Table, as_dict
from ..values import JsonMapping, JsonObject, check_metadata, check_name
from .responses import SHAPE as RESPONSES
from .responses import as_chat, is_item, item_fields, output_text
from .shapes import mended

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
INSTRUCTIONS = ("system", "developer")
"""The roles whose text instructs the model."""
TRUSTS = ("user", "assistant", "system", "tool", "web", "document")
ATTACHED = "memorist.context"
"""The metadata key of the memory recalled for a message, exactly as it was sent."""
ORIGIN = "memorist.origin"
"""The metadata key under which a copied message keeps the id that requests use for the original."""
PASSING = "memorist.passing"
"""The metadata key of a message that nothing may be derived from."""
MAX_SEQ_DIGITS = 18
"""The number of digits up to which every sequence number fits into the 64 bits of a database's integer."""
_OWN = ("role", "content", "name", "metadata", "created_at", "importance", "pinned", "trust", "raw")
_ANTHROPIC_BLOCKS = frozenset(
    [
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "image",
        "document",
        "search_result",
        "server_tool_use",
        "web_search_tool_result",
        "mcp_tool_use",
        "mcp_tool_result",
        "container_upload",
        "code_execution_tool_result",
        "compaction",
    ]
)
_OWN_PARTS = ("text", "input_text")
"""The parts of a user's message that the user wrote. All other parts with text come from a tool or a file."""
_RESULT_FIELDS = frozenset({"output", "tool_use_id", "tool_call_id", "call_id"})
"""The fields that mark a part or a message as the answer to a tool call, whatever type or role it names."""
_ROLE_TRUST = {"user": "user", "assistant": "assistant", "tool": "tool", "function": "tool"}


class ToolCall(msgspec.Struct, frozen=True):
    """Represents a tool call by the assistant. `arguments` is the parsed JSON, or the raw text if it is not valid
    JSON."""

    to_dict = as_dict

    id: str
    name: str
    arguments: Any


class ToolResult(msgspec.Struct, frozen=True):
    """Represents the result of a tool call."""

    to_dict = as_dict

    id: str
    content: Any
    is_error: bool = False


class Message(Record, frozen=True, kw_only=True):
    """Represents one message in a thread. You set the role and the content. The thread, the sequence number and the
    token count are set when it is appended."""

    table = Table("messages", ("org", "thread", "seq"), checksum=True)
    thread: str = ""
    seq: int = 0
    role: str
    content: Any = ""
    name: str | None = None
    extra: JsonObject = {}
    """This contains the other fields of the original format: tool_calls, tool_call_id, refusal and unknown fields."""
    shape: str | None = None
    """This is `anthropic` if the content blocks are Anthropic's, `responses` for an item of the Responses API, and
    `bare` if there was no content field at all; otherwise the format is OpenAI's chat format."""
    metadata: JsonObject = {}
    importance: float | None = None
    pinned: bool = False
    trust: str | None = None
    """This is the origin of the text, if the role does not show it: `web`, `document` or `tool`."""
    tokens: int | None = None
    counter: str | None = None
    """This is the counter that computed `tokens`, or None for the default one."""
    raw: Any = None
    """This is the original message as JSON. It is not counted, indexed or sent, and is returned unchanged."""
    created_at: datetime | None = None
    expires_at: datetime | None = None

    @property
    def id(self) -> str:
        """This is `thread#seq`, which is the same on every store. It is empty until the message has a number."""
        return f"{self.thread}#{self.seq}" if self.seq else ""

    @property
    def shown_id(self) -> str:
        """This is the id that requests show for the message. It is the message's own id, or the original's id if its
        thread shares a prefix."""
        origin = self.metadata.get(ORIGIN)
        return origin if isinstance(origin, str) else self.id

    @property
    def text(self) -> str:
        """This is the readable text, which consists of all text parts."""
        return text_of(self.content)

    @property
    def author_trust(self) -> str:
        """This is how much its author's own words are trusted: the explicit trust, or the trust that its role
        implies."""
        if self.trust is not None:
            return self.trust
        if self.role == "user" and self.extra and not _RESULT_FIELDS.isdisjoint(self.extra):
            return "tool"
        return _ROLE_TRUST.get(self.role, "system")

    @property
    def trust_level(self) -> str:
        """This is how much the text as a whole is trusted. A user's message that contains a tool result or a file has
        the trust `tool`, because the user did not write all of it."""
        if self.role == "user" and self.trust is None and type(self.content) is not str:
            return "user" if all(own for _, own in text_parts(self.content)) else "tool"
        return self.author_trust

    @property
    def tool_calls(self) -> list[ToolCall]:
        """These are the tool calls in the message, in either format."""
        return _tool_calls(self)

    @property
    def tool_results(self) -> list[ToolResult]:
        """These are the tool results in the message, in either format."""
        return _tool_results(self)

    def openai(self) -> list[JsonObject]:
        """Return the message in OpenAI's chat format. An Anthropic message with several tool results becomes several
        messages."""
        from .wire import to_openai

        return to_openai(self)

    def anthropic(self) -> JsonObject:
        """Return the message in Anthropic's format."""
        from .wire import to_anthropic

        return to_anthropic(self)

    def responses(self) -> list[JsonObject]:
        """Return the message as Responses API items. A message with text and calls becomes several items."""
        from .responses import to_items

        return to_items(self)


def message_id(text: str) -> tuple[str, int]:
    """Return the thread and the sequence number in a message id. Raises UsageError if it is not one."""
    if not isinstance(text, str):
        raise UsageError(f"a message id is text such as 'thread#12', not {type(text).__name__}")
    parts = split_message_id(text)
    if parts is None:
        raise UsageError(f"not a message id ({len(text)} characters); one looks like 'thread#12'")
    return parts


def split_message_id(id: str) -> tuple[str, int] | None:
    """Return the thread and the sequence number in the id of a message, or None for any other id."""
    # From the right, because the id of a thread may contain a # itself.
    thread, _, seq = id.rpartition("#")
    if not thread or not seq.isdecimal() or not seq.isascii() or len(seq) > MAX_SEQ_DIGITS:
        return None
    return thread, int(seq)


def text_of(content: Any) -> str:
    """Return the readable text of content in either format."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, Mapping):
        content = [content]
    return "\n".join(part for part in (_part_text(block) for block in content) if part)


def text_parts(content: object) -> Iterator[tuple[str, bool]]:
    """Yield each text that makes up `message.text`, and whether the author of the message wrote it."""
    if isinstance(content, str):
        yield content, True
        return
    for block in content if isinstance(content, list | tuple) else ():
        text = text_of([block])
        if text:
            is_typed = isinstance(block, Mapping) and block.get("type") in _OWN_PARTS
            yield text, isinstance(block, str) or (is_typed and _RESULT_FIELDS.isdisjoint(block))


def _part_text(block: object) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping):
        return ""
    if block.get("type") == "tool_result":
        return text_of(block.get("content"))
    if "output" in block:
        return text_of(output_text(block))
    text = block.get("text")
    return text if isinstance(text, str) else ""


Given = Message | JsonMapping | str
"""A message as users pass it: a `Message`, a dict in the format of OpenAI (chat or Responses) or Anthropic, or text (a
user's message)."""


def as_message(value: Given) -> Message:
    """Return a checked Message from any accepted format. Plain text becomes a user's message."""
    if type(value) is dict and len(value) == 2 and type(value.get("content")) is str and value.get("role") in ROLES:
        # A fast path for the common case, which needs no further checks.
        return Message(role=value["role"], content=value["content"])
    if isinstance(value, Message):
        _check(value)
        if isinstance(value.created_at, str):
            value = msgspec.structs.replace(value, created_at=as_datetime(value.created_at))
        # Trust a token count only in a message that came out of a store; anyone can write a number beside a text.
        return value if value.tokens is None or value.thread else msgspec.structs.replace(value, tokens=None)
    if isinstance(value, str):
        return Message(role="user", content=value)
    if not isinstance(value, Mapping):
        raise InvalidValue(f"a message is a dict, a Message or text, not {type(value).__name__}")
    fields = item_fields(value) if "role" not in value and is_item(value) else _fields(value)
    if fields.get("metadata") is None:
        fields.pop("metadata", None)
    elif isinstance(fields["metadata"], dict):
        # A `Message` made by `Context.attach` may have reserved keys; a dict may come from anywhere and is checked.
        check_metadata(fields["metadata"], "message metadata")
    if isinstance(fields.get("created_at"), str):
        fields["created_at"] = as_datetime(fields["created_at"], "created_at")
    message = Message(**fields)
    _check(message)
    return message


def _fields(message: JsonMapping) -> JsonObject:
    """Return the fields of a message from a dict with a role. Unknown fields are kept in `extra`."""
    fields = {name: message[name] for name in _OWN if name in message}
    if "role" not in fields:
        raise InvalidValue("a message needs a role")
    extra = {name: value for name, value in message.items() if name not in _OWN}
    shape = "bare" if "content" not in fields else _shape_of(fields["content"], extra)
    return {**fields, "content": fields.get("content"), "extra": extra, "shape": shape}


def _shape_of(content: object, extra: Mapping[str, object]) -> str | None:
    if extra.get("type") == "message":
        return RESPONSES
    if not isinstance(content, list) or "tool_calls" in extra or "tool_call_id" in extra:
        return None
    kinds = {
        block.get("type") for block in content if isinstance(block, Mapping) and isinstance(block.get("type"), str)
    }
    cached = any(isinstance(block, Mapping) and "cache_control" in block for block in content)
    return "anthropic" if kinds & _ANTHROPIC_BLOCKS or cached else None


def _check(message: Message) -> None:
    if message.role not in ROLES:
        raise InvalidValue(f"role must be one of {', '.join(ROLES)}")
    content = message.content
    if content is not None and not isinstance(content, str | list | tuple):
        raise InvalidValue(f"content must be text, a list of parts or None, not {type(content).__name__}")
    if message.name is not None:
        check_name(message.name, "message name")
    if message.trust is not None and message.trust not in TRUSTS:
        raise InvalidValue(f"trust must be one of {', '.join(TRUSTS)}")
    if not isinstance(message.pinned, bool):
        raise InvalidValue("pinned must be true or false")
    importance = message.importance
    if importance is not None and (isinstance(importance, bool) or not isinstance(importance, int | float)):
        raise InvalidValue("importance must be a number")
    if not isinstance(message.metadata, dict):
        raise InvalidValue("metadata must be a dict")
    if type(content) is not str or message.extra:
        _, flaws = mended(message)
        if flaws:
            raise InvalidValue(f"no provider would accept this message: {flaws[0]}")
    if message.created_at is not None:
        as_datetime(message.created_at, "created_at")


def _tool_calls(message: Message) -> list[ToolCall]:
    message = as_chat(message)
    calls = message.extra.get("tool_calls")
    if isinstance(calls, list):
        return [_openai_call(call) for call in calls if isinstance(call, Mapping)]
    if message.role != "assistant" or not isinstance(message.content, list):
        return []
    return [
        ToolCall(str(block.get("id", "")), str(block.get("name", "")), block.get("input"))
        for block in message.content
        if isinstance(block, Mapping) and block.get("type") == "tool_use"
    ]


def _openai_call(call: Mapping[str, object]) -> ToolCall:
    inner = call.get("function") or call.get("custom") or {}
    raw = inner.get("arguments", inner.get("input", "")) if isinstance(inner, Mapping) else ""
    name = inner.get("name", "") if isinstance(inner, Mapping) else ""
    return ToolCall(str(call.get("id", "")), str(name), parse_arguments(raw))


def parse_arguments(raw: object) -> object:
    """Return arguments parsed as JSON, or the text unchanged if it is not valid, because models sometimes write invalid
    JSON."""
    if not isinstance(raw, str):
        return raw
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return raw


def _tool_results(message: Message) -> list[ToolResult]:
    message = as_chat(message)
    if message.role == "tool":
        return [ToolResult(str(message.extra.get("tool_call_id", "")), message.content)]
    if message.role != "user" or not isinstance(message.content, list):
        return []
    return [
        ToolResult(str(block.get("tool_use_id", "")), block.get("content"), bool(block.get("is_error")))
        for block in message.content
        if isinstance(block, Mapping) and block.get("type") == "tool_result"
    ]
