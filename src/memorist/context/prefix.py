"""Measures the common prefix of two requests, which a provider's prompt cache would serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .report import COMPACTION, pieces_of, shared_length
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
    pieces = pieces_of(after, counter)
    length = shared_length(() if before is None else pieces_of(before, counter), pieces)
    tokens = sum(piece.tokens for piece in pieces[:length])
    section = pieces[length - 1].section if length else ""
    messages = after.view[: max(0, length - len(after.tools) - len(after.system_messages))]
    return Prefix(
        tokens,
        tokens / after.tokens if after.tokens else 0.0,
        "history" if section in ("summary", COMPACTION) else section,
        next((message.seq for message in reversed(messages) if message.seq), 0),
        bool(pieces) and length == len(pieces),
    )
