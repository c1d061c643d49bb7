"""Builds the profile block: a few lines about the user that every request contains, in a fixed order for prompt
caches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from ..messages.message import Message
from ..records import as_dict
from .fence import PREFERENCES_NOTE, PROFILE_NOTE, SAFETY_NOTE, fence
from .measure import text_message
from .tokens import Counter

LANES = ("safety", "identity", "wishes", "corrections", "facts", "now")
"""Groups of lines, in the order in which the block lists them."""
LANE_TITLES = {
    "safety": "Safety",
    "identity": "About the user",
    "wishes": "Preferences",
    "corrections": "Corrections",
    "facts": "Facts",
    "now": "Right now",
}
LANE_LIMITS = {"safety": 20, "identity": 12, "wishes": 12, "corrections": 6, "facts": 12}
"""The maximum number of lines in a lane; the newest are shown."""
ROOM_ORDER = ("safety", "wishes", "corrections", "identity", "now", "facts")
"""The same groups by priority, used if not all lines fit."""
_LINES = str.maketrans("\r\n\u2028\u2029\x85", "     ")


class ProfileLine(msgspec.Struct, frozen=True):
    """Represents a line about a user and its source."""

    to_dict = as_dict

    text: str
    lane: str
    source: str = ""
    """This is the id of the fact or learning, or `working memory` for the current page and plan."""
    trust: str = "user"


def within_limits(lines: Sequence[tuple[datetime, ProfileLine]]) -> list[ProfileLine]:
    """Return the newest lines of each lane in order, without duplicates. Each line has the time of its last change."""
    words: set[str] = set()
    lanes: dict[str, list[tuple[datetime, int]]] = {}
    for position, (changed_at, line) in enumerate(lines):
        plain = " ".join(line.text.casefold().rstrip(".!").split())
        if plain not in words:
            words.add(plain)
            lanes.setdefault(line.lane, []).append((changed_at, position))
    shown = {
        position
        for lane, positions in lanes.items()
        for _, position in sorted(positions, reverse=True)[: LANE_LIMITS.get(lane)]
    }
    return [line for position, (_, line) in enumerate(lines) if position in shown]


def fit_profile(
    lines: Sequence[ProfileLine], max_tokens: int, counter: Counter
) -> tuple[Message | None, tuple[ProfileLine, ...]]:
    """Return the block with as many lines as fit, most important lanes first."""
    if not lines or max_tokens <= 0:
        return None, ()
    lines = sorted(lines, key=_lane_order)
    left = max_tokens - counter.count(_fence_lines("", lines))
    chosen: set[int] = set()
    for lane in ROOM_ORDER:
        title_tokens = counter.count(f"{LANE_TITLES[lane]}:\n") + 1
        positions = [position for position, line in enumerate(lines) if line.lane == lane]
        # Preferences are in the order in which they were stated, and the newest count most.
        for position in reversed(positions) if lane in ("wishes", "corrections") else positions:
            cost = counter.count(_write_lines(lines[position])) + 1 + title_tokens
            if cost <= left:
                left, title_tokens = left - cost, 0
                chosen.add(position)
    while chosen:
        shown = tuple(line for position, line in enumerate(lines) if position in chosen)
        message = text_message("user", render_profile(shown), counter)
        if (message.tokens or 0) <= max_tokens:
            return message, shown
        chosen.remove(max(chosen))
    return None, ()


def render_profile(lines: Sequence[ProfileLine]) -> str:
    """Return the block in its fence, lane by lane."""
    parts = []
    for lane in LANES:
        listed = [_write_lines(line) for line in lines if line.lane == lane]
        if listed:
            parts.append("\n".join([f"{LANE_TITLES[lane]}:", *listed]))
    return _fence_lines("\n".join(parts), lines)


def _lane_order(line: ProfileLine) -> int:
    return LANES.index(line.lane) if line.lane in LANES else len(LANES)


def _fence_lines(body: str, lines: Sequence[ProfileLine]) -> str:
    """Put the lines between tags, below a note that mentions only the kinds of lines present."""
    lanes = {line.lane for line in lines}
    notes = [PREFERENCES_NOTE] if lanes & {"wishes", "corrections"} else []
    notes += [SAFETY_NOTE] if "safety" in lanes else []
    return fence("user_profile", " ".join(notes) or PROFILE_NOTE, body, attributes=' trust="user"')


def _write_lines(line: ProfileLine) -> str:
    return line.text.translate(_LINES)
