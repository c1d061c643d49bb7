"""Formats answers for a model: stored text is fenced as data, and an answer is cut to its token limit.

Stored text is written as JSON inside a fence. Every invisible character, and every character that could close the
fence, is written as a JSON escape. So the text cannot close the fence, and still decodes to exactly what is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..context.fence import MEMORY_NOTE, fence, is_hidden_or_opening
from ..context.tokens import open_counter
from ..values import JsonObject

MAX_TOKENS = 4_000
"""The maximum number of tokens in an answer."""
CUT = "… [cut]"
_MAX_CHARACTERS = 16_000


class Answer(msgspec.Struct, frozen=True):
    """Holds the result of a tool, before it is cut to its limit."""

    data: msgspec.Struct
    stored: bool = False
    """This is True if it contains stored text, which must be fenced."""
    listed: str = ""
    """This is the list field whose last items are dropped first if the answer is too long."""
    cursor: Callable[[JsonObject], str] | None = None
    """This function creates the cursor for the next page from the last item that was kept."""


class Fitted(msgspec.Struct, frozen=True):
    """Holds an answer within its limit, as structured content and as text."""

    data: JsonObject
    text: str
    tokens: int


def fitted(answer: Answer, max_tokens: int = MAX_TOKENS) -> Fitted:
    """Return the answer as structured content and as text, in at most `max_tokens` tokens.

    The answer says how many items were dropped.
    """
    data: JsonObject = msgspec.to_builtins(answer.data)
    if answer.stored:
        data["note"] = MEMORY_NOTE
    whole = _sent(data, answer.stored)
    if whole.tokens <= max_tokens:
        return whole
    if data.get(answer.listed):
        data = _fewer(data, answer, max_tokens)
    return _shorter(data, answer.stored, max_tokens)


def _fewer(data: JsonObject, answer: Answer, max_tokens: int) -> JsonObject:
    """Return the answer with as many items as fit, at least one, found by binary search."""
    items = data[answer.listed]
    fits, over = 1, len(items)
    while over - fits > 1:
        middle = (fits + over) // 2
        if _sent(_first(data, answer, middle), answer.stored).tokens <= max_tokens:
            fits = middle
        else:
            over = middle
    return _first(data, answer, fits)


def _first(data: JsonObject, answer: Answer, count: int) -> JsonObject:
    items = data[answer.listed]
    if len(items) <= count:
        return data
    shortened = {**data, answer.listed: items[:count]}
    if answer.cursor is not None:
        return {**shortened, "next": answer.cursor(items[count - 1])}
    return {**shortened, "left_out": data.get("left_out", 0) + len(items) - count}


def _shorter(data: JsonObject, stored: bool, max_tokens: int) -> Fitted:
    """Return the answer after shortening its texts and lists step by step until it fits."""
    longest = _MAX_CHARACTERS
    fitted = _sent(data, stored)
    while fitted.tokens > max_tokens and longest > 1:
        fitted = _sent(_cut(data, longest), stored)
        longest //= 2
    return fitted


def _cut(value: object, longest: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest or value == MEMORY_NOTE else value[:longest] + CUT
    many = max(1, longest // 40)
    if isinstance(value, list):
        return [_cut(item, longest) for item in value[:many]]
    if isinstance(value, dict):
        # Fields of the answer itself are all kept; of a stored object with many fields the first ones.
        fields = value if "note" in value or len(value) <= max(many, 12) else dict(list(value.items())[:many])
        return {name: _cut(item, longest) for name, item in fields.items()}
    return value


def _sent(data: JsonObject, stored: bool) -> Fitted:
    text = fenced(data) if stored else msgspec.json.encode(data).decode()
    return Fitted(data, text, tokens_of(text))


def fenced(data: JsonObject) -> str:
    """Return stored data as escaped JSON inside a fence."""
    memory = {name: value for name, value in data.items() if name != "note"}
    return fence("recalled_memory", MEMORY_NOTE, escaped(msgspec.json.encode(memory).decode()))


def escaped(text: str) -> str:
    """Return JSON with invisible characters, and those that could close a fence, written as escapes."""
    if text.isascii() and "<" not in text:
        return text
    return "".join(_escape(character) if is_hidden_or_opening(character) else character for character in text)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def tokens_of(text: str) -> int:
    """Return the number of tokens in a text, in the default encoding."""
    return open_counter().count(text)
