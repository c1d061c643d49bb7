"""The profile block: a few lines about the user in every request of theirs, in a fixed order so caches serve it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..messages.message import Message
from .fence import PROFILE_NOTE, clean, fence
from .measure import text_message
from .tokens import Counter

LANES = ("identity", "safety", "wishes", "corrections", "facts", "now")
"""Groups of lines, in the order in which the block lists them."""
KEEP_FIRST = ("safety", "wishes", "corrections", "identity", "now", "facts")
"""The same groups by priority, for when not all lines fit."""
_LINES = str.maketrans("\r\n\u2028\u2029\x85", "     ")


class ProfileLine(msgspec.Struct, frozen=True):
    """One line about a user, and where it comes from."""

    text: str
    lane: str
    source: str = ""
    """The id of the fact or learning; `working memory` for the current page and plan."""
    trust: str = "user"


def fit_profile(
    lines: Sequence[ProfileLine], max_tokens: int, counter: Counter
) -> tuple[Message | None, tuple[ProfileLine, ...]]:
    """The block with as many lines as fit, the most important lanes first."""
    if not lines or max_tokens <= 0:
        return None, ()
    left = max_tokens - counter.count(_fenced(""))
    chosen: set[int] = set()
    opened: set[str] = set()
    for lane in KEEP_FIRST:
        for place, line in enumerate(lines):
            if line.lane != lane:
                continue
            cost = counter.count(_written(line)) + 1 + (0 if lane in opened else counter.count(f"{lane}:\n") + 1)
            if cost <= left:
                left -= cost
                opened.add(lane)
                chosen.add(place)
    while chosen:
        kept = tuple(line for place, line in enumerate(lines) if place in chosen)
        message = text_message("user", render_profile(kept), counter)
        if (message.tokens or 0) <= max_tokens:
            return message, kept
        chosen.remove(max(chosen))
    return None, ()


def render_profile(lines: Sequence[ProfileLine]) -> str:
    """The block in its fence, lane by lane."""
    parts = []
    for lane in LANES:
        mine = [_written(line) for line in lines if line.lane == lane]
        if mine:
            parts.append("\n".join([f"{lane}:", *mine]))
    return _fenced("\n".join(parts))


def _fenced(body: str) -> str:
    return fence("user_profile", PROFILE_NOTE, body).replace("<user_profile>", '<user_profile trust="user">', 1)


def _written(line: ProfileLine) -> str:
    return f"- {clean(line.text).translate(_LINES)}"
