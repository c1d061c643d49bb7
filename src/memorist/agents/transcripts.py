"""Reads the agent's last answer from a host's transcript, for hosts that do not repeat it in the payload of their stop
hook (Copilot, and older versions of others)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..values import Json, JsonObject

MAX_READ_BYTES = 262_144
"""Only the end of a transcript is read. Some grow to many megabytes."""


def last_answer(path: str) -> str:
    """Return the text of the agent's last message in a transcript of JSON lines, or an empty text if there is none."""
    if not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - MAX_READ_BYTES))
        lines = file.read().splitlines()
    for line in reversed(lines):
        if b"assistant" in line and (text := _answer_in(line)):
            return text
    return ""


def _answer_in(line: bytes) -> str:
    try:
        event = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return ""  # the first line is cut, and the host may still be writing the last one
    if not isinstance(event, Mapping):
        return ""
    # Claude Code and Cursor call it `message`, Codex `payload`, Copilot `data`.
    names = ("message", "payload", "data")
    inner: JsonObject = next((event[name] for name in names if isinstance(event.get(name), Mapping)), {})
    if "assistant" not in (event.get("role"), inner.get("role"), str(event.get("type")).removesuffix(".message")):
        return ""
    return _text_of(inner)


def _text_of(message: JsonObject) -> str:
    content: Json = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("text"))
