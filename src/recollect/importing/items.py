"""What readers give: the things of a file in our words, each with its original id, time and owner, and its place."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from ..errors import InvalidValue


class ThreadItem(msgspec.Struct, frozen=True):
    """A conversation; its messages follow, not necessarily at once."""

    id: str
    title: str | None = None
    owner: str | None = None
    """Whose it is, in the words of the source: a user's id, or a namespace; the mapping says what that is here."""
    metadata: dict[str, Any] = {}
    created_at: datetime | None = None
    place: str = ""
    space: str | None = None
    """The namespace it goes to here unless its owner is mapped or a namespace is given."""


class MessageItem(msgspec.Struct, frozen=True):
    """One message of a thread that was given before."""

    thread: str
    key: str
    """What it is known by in its thread, so that it is imported once: its original id, or its number and a digest."""
    message: dict[str, Any]
    """Role, content and the other fields of the OpenAI or Anthropic shape."""
    created_at: datetime | None = None
    metadata: dict[str, Any] = {}
    place: str = ""
    raw: Any = None
    """The original, where the message does not say all of it."""


class Version(msgspec.Struct, frozen=True):
    """What a fact said from a moment on; `ended` where it was taken back then."""

    value: Any
    at: datetime | None = None
    ended: bool = False


class FactItem(msgspec.Struct, frozen=True):
    """A fact with what it said before, oldest first."""

    key: str
    versions: tuple[Version, ...]
    owner: str | None = None
    confidence: float = 1.0
    expires_at: datetime | None = None
    place: str = ""
    space: str | None = None


class DocumentItem(msgspec.Struct, frozen=True):
    """Long text: a note, a file, an attachment."""

    id: str
    text: str
    title: str | None = None
    owner: str | None = None
    metadata: dict[str, Any] = {}
    created_at: datetime | None = None
    place: str = ""
    space: str | None = None


class Problem(msgspec.Struct, frozen=True):
    """Something that could not come in: where it is in the source, and why."""

    place: str
    reason: str


Item = ThreadItem | MessageItem | FactItem | DocumentItem | Problem

_LATEST = 253_402_300_799.0
"""The last second of the year 9999."""


def named(fields: Mapping[str, Any], *names: str) -> str | None:
    """The first of some fields that holds a name: text that is not empty, or a whole number."""
    for name in names:
        value = fields.get(name)
        if value is None or value == "" or type(value) is bool:
            continue
        if isinstance(value, str | int):
            return str(value)
    return None


def listed(fields: Mapping[str, Any], name: str) -> list[Any]:
    """The list under a name; an empty one where there is none."""
    value = fields.get(name)
    return list(value) if isinstance(value, list) else []


def moment_or_none(given: Any) -> datetime | None:
    """A time, or None where it cannot be read: for things whose parts have times of their own."""
    try:
        return moment(given)
    except InvalidValue:
        return None


def moment(given: Any) -> datetime | None:
    """A time as other tools write it: ISO text, or seconds, milliseconds or microseconds since 1970; None for none."""
    if type(given) in (int, float) and abs(given) < _LATEST:
        return datetime.fromtimestamp(given, UTC)  # the common case, on the way of every message
    if given is None or given == "":
        return None
    if isinstance(given, datetime):
        return given if given.tzinfo is not None else given.replace(tzinfo=UTC)
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise InvalidValue(f"a time is text or a number, not {type(given).__name__}")
    try:
        if isinstance(given, str):
            return _from_text(given)
        seconds = float(given)
        while abs(seconds) > _LATEST:
            seconds /= 1000
            if abs(given) > _LATEST * 1e9:
                raise ValueError
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as cause:
        raise InvalidValue("its time cannot be read") from cause


def _from_text(given: str) -> datetime:
    made = datetime.fromisoformat(given.strip().replace(" UTC", "+00:00"))
    # Databases write UTC without saying so.
    return made.replace(tzinfo=UTC) if made.tzinfo is None else made.astimezone(UTC)
