"""Reads details that a host's hook payloads leave out from its transcript: the agent's last answer (Copilot, and older
versions of others), and the exit codes of commands (Codex)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..values import Json, JsonObject

MAX_READ_BYTES = 262_144
"""Only the end of a transcript is read. Some grow to many megabytes."""


def last_answer(path: str) -> str:
    """Return the text of the agent's last message in a JSON Lines transcript, or an empty string if there is none."""
    for line in reversed(_last_lines(path)):
        if b"assistant" in line and (text := _answer_in(line)):
            return text
    return ""


def command_reports(path: str) -> dict[str, str]:
    """Return the commands of the last turn in a Codex transcript. The report of a failed command is its output, and
    that of a successful one is empty."""
    commands: dict[str, str] = {}
    reports: dict[str, str] = {}
    for line in _last_lines(path):
        if b'"turn_context"' not in line and b"function_call" not in line:
            continue
        event = _object_in(line)
        if event.get("type") == "turn_context":
            reports.clear()
        item = event.get("payload")
        if not isinstance(item, Mapping):
            continue
        call = str(item.get("call_id"))
        if item.get("type") == "function_call" and item.get("name") == "exec_command":
            commands[call] = str(_object_in(str(item.get("arguments")).encode()).get("cmd") or "")
        elif item.get("type") == "function_call_output" and call in commands:
            output = _text_of({"content": item.get("output")})
            if match := re.search(_EXIT, output):
                reports[commands[call]] = output[match.end() :].strip() or match[0] if match[1] != "0" else ""
    return reports


_EXIT = r"(?m)^Process exited with code (-?\d+)$"


def _last_lines(path: str) -> list[bytes]:
    if not os.path.isfile(path):
        return []
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - MAX_READ_BYTES))
        return file.read().splitlines()


def _object_in(line: bytes) -> JsonObject:
    try:
        event = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}  # the first line is cut, and the host may still be writing the last one
    return event if isinstance(event, dict) else {}


def _answer_in(line: bytes) -> str:
    event = _object_in(line)
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
