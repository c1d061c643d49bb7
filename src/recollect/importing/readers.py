"""The registry of readers: what can be imported, and how it is recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..errors import UsageError
from . import chatgpt, claude, mcp_memory
from . import message_lines as lines
from .files import Given
from .items import Item


class Reader(NamedTuple):
    """Reads one format."""

    kind: str
    says: str
    """What it reads, in a few words, for `--help` and error messages."""
    recognises: Callable[[Given], bool]
    read: Callable[[Given], Iterator[Item]]


_ALL = (
    Reader("chatgpt", "a ChatGPT data export: conversations.json, its ZIP or folder", chatgpt.recognises, chatgpt.read),
    Reader("claude", "a Claude data export: conversations.json, its ZIP or folder", claude.recognises, claude.read),
    Reader("mcp", "the JSON lines of the MCP memory server", mcp_memory.recognises, mcp_memory.read),
    Reader("messages", "JSON or JSON lines of messages, OpenAI's or Anthropic's shape", lines.recognises, lines.read),
)
READERS: dict[str, Reader] = {one.kind: one for one in _ALL}
"""By name; the order is that in which they are tried, the most particular first."""


def reader_for(kind: str, given: Given) -> Reader:
    """The reader of a kind; with `auto`, the first that knows what was given."""
    if kind == "auto":
        found = next((one for one in READERS.values() if one.recognises(given)), None)
        if found is None:
            known = "; ".join(f"{one.kind}: {one.says}" for one in READERS.values())
            raise UsageError(f"{given.name!r} was not recognised; name its kind. There are: {known}")
        return found
    if kind not in READERS:
        raise UsageError(f"what is imported is one of auto, {', '.join(READERS)}; not {kind[:64]!r}")
    return READERS[kind]
