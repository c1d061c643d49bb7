"""How far one request begins as another did: what a provider's prompt cache serves, and where that ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from ..messages import Message
from ..values import compact_json
from .measure import count_tools, stored_tokens
from .tokens import Counter

if TYPE_CHECKING:
    from .context import Context


class Prefix(msgspec.Struct, frozen=True):
    """The beginning that two requests have in common."""

    tokens: int
    share: float
    """Of the tokens of the later request."""
    section: str
    """The last section that is the same to its end, or in which the two part; empty where nothing is the same."""
    seq: int
    """The last message of the history that is the same; 0 where none is."""
    whole: bool
    """Whether all of the later request is the same."""


def shared_prefix(before: Context | None, after: Context, counter: Counter) -> Prefix:
    """What of `after` a provider that served `before` still has, byte for byte: tools first, then each message."""
    known = [piece for _, _, piece, _ in _pieces(before, counter)] if before is not None else []
    tokens, section, seq, place = 0, "", 0, 0
    pieces = list(_pieces(after, counter))
    for place, (name, number, piece, cost) in enumerate(pieces):
        if place >= len(known) or known[place] != piece:
            break
        tokens, section = tokens + cost, name
        seq = number or seq
    else:
        place = len(pieces)
    share = tokens / after.tokens if after.tokens else 0.0
    return Prefix(tokens, share, section, seq, bool(pieces) and place == len(pieces))


def _pieces(context: Context, counter: Counter) -> Iterator[tuple[str, int, str, int]]:
    """Section, place in the thread, bytes and tokens of each part of a request, in the order it is sent."""
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
    return "input" if any(message is one for one in context.input) else "history"


def _piece(section: str, message: Message, counter: Counter) -> tuple[str, int, str, int]:
    return section, message.seq, compact_json(message.openai()), stored_tokens(message, counter)
