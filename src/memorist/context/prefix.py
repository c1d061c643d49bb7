"""Measures the common prefix of two requests, which a provider's prompt cache would serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from ..messages.message import Message
from ..values import compact_json
from .measure import count_tools, stored_tokens
from .tokens import Counter

if TYPE_CHECKING:
    from .context import Context


class Prefix(msgspec.Struct, frozen=True):
    """Holds the common prefix of two requests."""

    tokens: int
    share: float
    """This is the prefix's share of the later request's tokens."""
    section: str
    """This is the section of the last common part, or an empty string."""
    seq: int
    """This is the sequence number of the last common history message, or 0."""
    whole: bool
    """This is True if the prefix is the whole later request."""


def shared_prefix(before: Context | None, after: Context, counter: Counter) -> Prefix:
    """Return the prefix of `after` that a provider has cached from `before`. Tools are compared first and then
    messages, byte for byte."""
    earlier_pieces = [piece for _, _, piece, _ in _pieces(before, counter)] if before is not None else []
    tokens, section, seq, index = 0, "", 0, 0
    pieces = list(_pieces(after, counter))
    for index, (name, number, piece, cost) in enumerate(pieces):
        if index >= len(earlier_pieces) or earlier_pieces[index] != piece:
            break
        tokens, section = tokens + cost, name
        seq = number or seq
    else:
        index = len(pieces)
    share = tokens / after.tokens if after.tokens else 0.0
    return Prefix(tokens, share, section, seq, bool(pieces) and index == len(pieces))


def _pieces(context: Context, counter: Counter) -> Iterator[tuple[str, int, str, int]]:
    """Return (section, sequence number, JSON, tokens) for each part of a request, in the order in which they are
    sent."""
    for tool in context.tools:
        yield "tools", 0, compact_json(tool), count_tools([tool], counter)
    for message in context.system_messages:
        yield _piece("system", message, counter)
    for message in context.view:
        yield _piece(_section(context, message), message, counter)


def _section(context: Context, message: Message) -> str:
    if message is context.profile_message:
        return "profile"
    if message is context.memory_message:
        return "memory"
    if message is context.scratchpad_message:
        return "scratchpad"
    return "input" if any(message is prompt_message for prompt_message in context.input) else "history"


def _piece(section: str, message: Message, counter: Counter) -> tuple[str, int, str, int]:
    return section, message.seq, compact_json(message.openai()), stored_tokens(message, counter)
