"""Finds the messages behind each line of a summary: those that share its rarest words, names and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

import msgspec

from ...messages.message import Message
from ...records import as_dict

MAX_SOURCES = 3
"""How many messages to name for one line."""
MIN_SHARED_FRACTION = 0.6
"""Further messages are named if their score is at least this fraction of the best one's."""


class SummaryLine(msgspec.Struct, frozen=True, kw_only=True):
    """Represents a line of a summary, and the ids of the messages it is about, the most closely related first."""

    to_dict = as_dict

    text: str
    messages: tuple[str, ...] = ()


def attribute_lines(text: str, messages: Sequence[Message]) -> list[SummaryLine]:
    """Return the lines of a summary, each with the messages behind it, or with none if no message shares a distinctive
    word.
    """
    from ...recall.analyze import tokens

    terms = [frozenset(tokens(message.text)) for message in messages]
    spread = Counter(term for own in terms for term in own)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    names = []
    for line in lines:
        line_terms = frozenset(tokens(line))
        scores = [
            sum(
                log(1 + len(messages) / spread[term]) * (2 if any(map(str.isdigit, term)) else 1)
                for term in line_terms & own
            )
            for own in terms
        ]
        best = max(scores, default=0.0)
        ranked = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
        chosen = [index for index in ranked if best and scores[index] >= MIN_SHARED_FRACTION * best][:MAX_SOURCES]
        names.append(SummaryLine(text=line, messages=tuple(messages[index].id for index in chosen)))
    return names
