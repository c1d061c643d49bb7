"""Defines the items that readers yield: threads, messages, facts and documents, with their original id, time and
owner."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from ..errors import InvalidValue
from ..records import as_dict
from ..values import JsonMapping, JsonObject


class ThreadItem(msgspec.Struct, frozen=True):
    """Represents a conversation. Its messages come after it, but not necessarily directly."""

    id: str
    title: str | None = None
    owner: str | None = None
    """This is the owner in the source (a user's id or a namespace), which the mapping translates."""
    metadata: JsonObject = {}
    created_at: datetime | None = None
    position: str = ""
    """This is the position in the source, for error reports, such as `line 12`."""
    space: str | None = None
    """This is the target namespace, unless the owner is mapped or the whole import has a namespace."""


class MessageItem(msgspec.Struct, frozen=True):
    """Represents one message of a thread that was yielded before."""

    thread: str
    key: str
    """This identifies the message in the thread, so that it is imported once. It is the original id, or its number and
    a digest."""
    message: JsonObject
    """This contains the role, the content and the other fields in OpenAI's or Anthropic's format."""
    created_at: datetime | None = None
    metadata: JsonObject = {}
    position: str = ""
    raw: Any = None
    """This is the original message, if `message` does not contain all of it."""


class Version(msgspec.Struct, frozen=True):
    """Holds the value of a fact since a certain time. `ended` means that the fact ended at that time."""

    value: Any
    at: datetime | None = None
    ended: bool = False


class FactItem(msgspec.Struct, frozen=True):
    """Represents a fact with its versions, oldest first."""

    key: str
    versions: tuple[Version, ...]
    owner: str | None = None
    confidence: float = 1.0
    expires_at: datetime | None = None
    position: str = ""
    space: str | None = None


class DocumentItem(msgspec.Struct, frozen=True):
    """Represents a long text, such as a note, a file or an attachment."""

    id: str
    text: str
    title: str | None = None
    owner: str | None = None
    metadata: JsonObject = {}
    created_at: datetime | None = None
    position: str = ""
    space: str | None = None


class Problem(msgspec.Struct, frozen=True):
    """Describes something that cannot be imported, with its position in the source and the reason."""

    to_dict = as_dict

    place: str
    reason: str


Item = ThreadItem | MessageItem | FactItem | DocumentItem | Problem

_LATEST_SECONDS = 253_402_300_799.0
"""The last second of the year 9999."""


def named(fields: Mapping[str, object], *names: str) -> str | None:
    """Return the first of the given fields that is a non-empty text or an integer, as text."""
    for name in names:
        value = fields.get(name)
        if value is None or value == "" or type(value) is bool:
            continue
        if isinstance(value, str | int):
            return str(value)
    return None


def listed(fields: JsonMapping, name: str) -> list[Any]:
    """Return the list in a field, or an empty list if there is none."""
    value = fields.get(name)
    return list(value) if isinstance(value, list) else []


def moment_or_none(value: object) -> datetime | None:
    """Do the same as `moment`, but return None for a time that cannot be parsed."""
    try:
        return moment(value)
    except InvalidValue:
        return None


def moment(value: Any) -> datetime | None:
    """Parse a time, which is ISO text or seconds, milliseconds or microseconds since 1970. Return None if it is
    empty."""
    if type(value) in (int, float) and abs(value) < _LATEST_SECONDS:
        return datetime.fromtimestamp(value, UTC)  # fast path
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidValue(f"a time is text or a number, not {type(value).__name__}")
    try:
        if isinstance(value, str):
            return _from_text(value)
        seconds = float(value)
        while abs(seconds) > _LATEST_SECONDS:
            seconds /= 1000
            if abs(value) > _LATEST_SECONDS * 1e9:
                raise ValueError
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as cause:
        raise InvalidValue("its time cannot be read") from cause


def _from_text(text: str) -> datetime:
    parsed = datetime.fromisoformat(text.strip().replace(" UTC", "+00:00"))
    # Databases write UTC times without an offset.
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
