"""Drops reasoning that a provider would reject or ignore because earlier messages were edited.

Providers tie a model's reasoning to the request it was written for. As long as later requests repeat that request
unchanged, they must contain its reasoning, whole and in order. Once older messages are folded, dropped or shortened,
the reasoning after them is invalid. Anthropic rejects or drops it, and OpenAI ignores it and rejects calls whose ids
refer to missing reasoning. So an edited request keeps only the reasoning that was written after the edit, and the
reasoning of an open tool loop, which older models require. Other reasoning is left out, along with the ids that OpenAI
pairs with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from ..messages.message import Message
from ..messages.responses import SHAPE as RESPONSES

THINKING = ("thinking", "redacted_thinking")
_PAIRED = ("function_call", "custom_tool_call", "message")
"""Items that OpenAI pairs by id with the reasoning before them."""


def has_reasoning(message: Message) -> bool:
    """Return whether a message contains thinking blocks or reasoning items."""
    if message.role != "assistant" or (type(message.content) is str and not message.extra):
        return False
    return any(_is_thought(part) for part in (*_listed(message.content), *_listed(message.extra.get("items"))))


def open_loop(messages: Sequence[Message]) -> int:
    """Return where the open tool loop begins, which is after the user's last message. If there is none, return the
    end."""
    if not messages or not messages[-1].tool_results:
        return len(messages)
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role in ("user", "system", "developer") and not message.tool_results:
            return index + 1
    return 0


def with_valid_reasoning(
    history: Sequence[Message], current: Sequence[Message], *, is_edited: bool, folded_at: datetime | None
) -> tuple[Message, ...]:
    """Return the history without reasoning that is no longer valid.

    Args:
        history: The messages before the current input.
        current: The current input, which shows whether a tool loop is open.
        is_edited: Whether this request leaves out or shortens messages beyond a stored summary.
        folded_at: When the stored summary was written, if there is one.
    """
    if not is_edited and folded_at is None:
        return tuple(history)
    loop = open_loop([*history, *current])
    return tuple(
        message if index >= loop or _is_after(message, is_edited, folded_at) else without_reasoning(message)
        for index, message in enumerate(history)
    )


def _is_after(message: Message, is_edited: bool, folded_at: datetime | None) -> bool:
    """Return whether a message was written for a request that was already folded."""
    return not is_edited and folded_at is not None and message.created_at is not None and message.created_at > folded_at


def without_reasoning(message: Message) -> Message:
    """Return the message without its reasoning and without the ids paired with it."""
    if not has_reasoning(message):
        return message
    content, extra = message.content, message.extra
    if isinstance(content, list):
        content = _unpaired(content) if message.shape == RESPONSES else _spoken(content)
    if "items" in extra:
        extra = {**extra, "items": _unpaired(extra["items"])}
    return msgspec.structs.replace(message, content=content, extra=extra, tokens=None)


def _spoken(parts: Sequence[object]) -> list[object]:
    return [part for part in parts if not _is_thought(part)]


def _unpaired(items: Sequence[object]) -> list[object]:
    return [_without_id(item) for item in _spoken(items)]


def _without_id(item: object) -> object:
    if not isinstance(item, Mapping) or (item.get("type") not in _PAIRED and item.get("role") != "assistant"):
        return item
    return {name: value for name, value in item.items() if name != "id"}


def _is_thought(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") in (*THINKING, "reasoning")


def _listed(content: object) -> Sequence[object]:
    return content if isinstance(content, list | tuple) else ()
