"""Builds the request to the model. The fixed rules come first and are the same for everyone, byte for byte. Known
memories and new messages follow.

The order suits the provider's prompt cache: the rules, the application's instructions and schemas, people, known
memories, context and the new messages. Anything that contains a date comes at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ...ids import digest

MAX_MESSAGES = 10
"""The maximum number of new messages in one call."""
MAX_NEW_CHARACTERS = 8_000
MAX_CONTEXT_TURNS = 6
BRIEF_CONTEXT_TURNS = 1
MAX_CONTEXT_CHARACTERS = 600
"""The maximum number of characters in one context turn."""
MAX_MESSAGE_CHARACTERS = 6_000
"""Longer messages are cut in the middle, because a long pasted text is not conversation."""
MAX_KNOWN = 30


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """Holds a message as the model sees it."""

    text: str
    role: str
    at: datetime
    speaker: str
    """This is `user` for the owner of the memory, `assistant`, or the name of another person."""
    citable: bool = True
    """This is True if memories may be extracted from the message."""
    own: str | None = None
    """This is the text without quoted or pasted parts, or None if all of it is the speaker's own."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """Holds an existing memory."""

    id: str
    """This is its id in the memory (`fact:city`)."""
    kind: str
    text: str
    subject: str | None = None
    key: str | None = None
    value: Any = None
    since: datetime | None = None
    stated_at: datetime | None = None
    status: str | None = None
    sensitive: bool = False
    """This is True if ending or weakening the memory needs a person's approval."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the request to the model and the data that its answer is checked against."""

    system: str
    content: str
    turns: tuple[Turn, ...]
    context: tuple[Turn, ...] = ()
    memories: tuple[Known, ...] = ()
    people: tuple[str, ...] = ()
    brief: bool = False

    def target(self, id: str | None) -> Known | None:
        """Return the known memory that the model calls k1, k2, …"""
        digits = (id or "").lstrip("kK")
        number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 5 else 0
        return self.memories[number - 1] if 1 <= number <= len(self.memories) else None


@cache
def rules(brief: bool = False) -> str:
    """Return the fixed part of the prompt, or the one for small models."""
    return (Path(__file__).parent / ("brief.md" if brief else "prompt.md")).read_text("utf-8").strip()


def make_request(
    turns: Sequence[Turn],
    *,
    context: Sequence[Turn] = (),
    memories: Sequence[Known] = (),
    people: Sequence[str] = (),
    instructions: str = "",
    schemas: str = "",
    brief: bool = False,
) -> Request:
    """Build a request. With `brief`, for a small model, it contains no known memories and only the last turn as
    context."""
    # After the fixed rules, so that providers cache the rules once for all applications of an org.
    tail = [
        f"# INSTRUCTIONS\n{instructions.strip()}" if instructions.strip() else "",
        f"# SCHEMAS\n{schemas.strip()}" if schemas.strip() else "",
    ]
    system = "\n\n".join([rules(brief), *filter(None, tail)])
    context = context[-(BRIEF_CONTEXT_TURNS if brief else MAX_CONTEXT_TURNS) :]
    memories = memories[:MAX_KNOWN]
    # A marker made of the content itself cannot be written by anyone into the content.
    marker = digest("\0".join(turn.text for turn in (*context, *turns)).encode("utf-8", "replace"), 6)
    parts = ["# PEOPLE", *(people or ("user",))]
    if not brief:
        parts += ["", "# KNOWN", *(known_line(number, item) for number, item in enumerate(memories, start=1))]
        parts += [] if memories else ["(nothing yet)"]
    if context:
        parts += ["", "# CONTEXT", f"<<{marker}"]
        parts += [_turn_line(turn, "", MAX_CONTEXT_CHARACTERS) for turn in context]
        parts.append(f"{marker}>>")
    parts += ["", "# NEW", f"<<{marker}"]
    parts += [_turn_line(turn, f"m{number} ", MAX_MESSAGE_CHARACTERS) for number, turn in enumerate(turns, start=1)]
    parts += [f"{marker}>>", "", "Answer with the operations on memory for NEW, as JSON."]
    return Request(
        system=system, content="\n".join(parts), turns=tuple(turns), context=tuple(context), memories=tuple(memories),
        people=tuple(people), brief=brief,
    )  # fmt: skip


def known_line(number: int, item: Known) -> str:
    """Return a known memory as the model sees it."""
    notes = [
        item.subject or "user",
        *([f"{item.key} = {_shown(item.value)}"] if item.key else []),
        *([item.status] if item.status else []),
        *([f"since {item.since.date().isoformat()}"] if item.since else []),
        *([f"said {item.stated_at.date().isoformat()}"] if item.stated_at else []),
    ]
    return f"k{number} [{item.kind}; {'; '.join(notes)}] {_one_line(item.text, 300)}"


def _turn_line(turn: Turn, label: str, limit: int) -> str:
    at = turn.at.astimezone(UTC)
    return f"{label}({at:%A %Y-%m-%d %H:%M} UTC) {turn.speaker}: {shorten(turn.text, limit)}"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _one_line(text: str, limit: int) -> str:
    return shorten(" ".join(text.split()), limit)


def shorten(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, consisting of its beginning and its end."""
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3]} […] {text[-limit // 3 + 5 :]}"
