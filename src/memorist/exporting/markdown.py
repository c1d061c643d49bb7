"""Writes a folder of Markdown files: one per thread and document, and one with the facts of each namespace."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import msgspec

from ..errors import UsageError
from ..messages.message import Message
from ..records import Document, Fact, Thread
from ..values import compact_json

_UNSAFE = re.compile(r"[^\w.-]+")


def made_folder(target: Path) -> None:
    """Create the folder. Raises UsageError if it exists and is not empty."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError("an export as Markdown needs a new or an empty folder")
    target.mkdir(parents=True, exist_ok=True, mode=0o700)


def file_name(id: str) -> str:
    """Return a safe file name. If characters had to be replaced, it contains a digest of the id, so that names stay
    unique."""
    safe = _UNSAFE.sub("-", id).strip(".-")[:80]
    if safe == id:
        return safe
    return f"{safe or 'item'}-{hashlib.blake2b(id.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def folder_of(root: Path, ns: str, kind: str) -> Path:
    """Return the folder for one kind of record in a namespace, and create it if needed."""
    folder = root / file_name(ns.replace(":", "-", 1)) / kind
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def heading(thread: Thread) -> str:
    """Return the front matter and title of a thread's file."""
    title = thread.title or thread.id
    return f"{front(id=thread.id, title=title, created=thread.created_at)}\n# {_line(title)}\n"


def spoken(message: Message) -> str:
    """Return a message as a heading with its speaker and time, followed by its text and tool calls."""
    who = message.name or message.role
    at = f" · {message.created_at:%Y-%m-%d %H:%M:%S}" if message.created_at is not None else ""
    calls = "".join(f"\n\n> called `{call.name}` with `{compact_json(call.arguments)}`" for call in message.tool_calls)
    return f"\n## {_line(who)}{at}\n\n{message.text}{calls}\n"


def written(document: Document) -> str:
    """Return a document with front matter. A document that already has front matter is left unchanged."""
    if document.text.startswith("---"):
        return document.text
    fields = {"id": document.id, "title": document.title, "source": document.source, "created": document.created_at}
    return f"{front(**fields)}\n{document.text}"


def fact_lines(facts: list[Fact]) -> str:
    """Return facts as a list of key, value and date."""
    return "".join(f"- **{_line(fact.key)}**: {_value(fact.value)} ({fact.updated_at:%Y-%m-%d})\n" for fact in facts)


def front(**fields: object) -> str:
    """Return YAML front matter. Values are written as JSON, which is valid YAML."""
    lines = [f"{name}: {msgspec.json.encode(value).decode()}" for name, value in fields.items() if value is not None]
    return "\n".join(("---", *lines, "---", ""))


def _value(value: object) -> str:
    return _line(value) if isinstance(value, str) else f"`{compact_json(value)}`"


def _line(text: str) -> str:
    return " ".join(text.split())
