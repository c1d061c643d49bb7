"""Registers the readers for all formats that can be imported, and how each format is recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..errors import UsageError
from . import chatgpt, claude, graphiti, langgraph, letta, mcp_memory, mem0, notes
from . import message_lines as lines
from . import openai_agents as agents
from .files import SourceFiles
from .items import Item


class Reader(NamedTuple):
    """Reads one format."""

    kind: str
    says: str
    """This is a short description, for `--help` and error messages."""
    recognises: Callable[[SourceFiles], bool]
    read: Callable[[SourceFiles], Iterator[Item]]


_ALL = (
    Reader("chatgpt", "a ChatGPT data export: conversations.json, its ZIP or folder", chatgpt.recognises, chatgpt.read),
    Reader("claude", "a Claude data export: conversations.json, its ZIP or folder", claude.recognises, claude.read),
    Reader("openai-agents", "sessions of the OpenAI Agents SDK: SQLite or Postgres", agents.recognises, agents.read),
    Reader("langgraph", "LangGraph's savers and stores: SQLite or Postgres", langgraph.recognises, langgraph.read),
    Reader("mem0", "mem0: an export, its history.db, or the folder of its store", mem0.recognises, mem0.read),
    Reader("letta", "Letta's agent files (.af)", letta.recognises, letta.read),
    Reader("mcp", "the JSON lines of the MCP memory server", mcp_memory.recognises, mcp_memory.read),
    Reader("graphiti", "Graphiti or Zep: episodes and edges as JSON", graphiti.recognises, graphiti.read),
    Reader("messages", "JSON or JSON lines of messages, OpenAI's or Anthropic's shape", lines.recognises, lines.read),
    Reader("obsidian", "an Obsidian vault", notes.recognises_vault, notes.read_vault),
    Reader("markdown", "a Markdown or text file, or a folder or ZIP of them", notes.recognises, notes.read),
)
READERS: dict[str, Reader] = {reader.kind: reader for reader in _ALL}
"""Readers by name, in the order in which they are tried: the most specific first."""


def reader_for(kind: str, source: SourceFiles) -> Reader:
    """Return the reader for a format. With `auto`, return the first reader that recognises the source."""
    if kind == "auto":
        reader = next((reader for reader in READERS.values() if reader.recognises(source)), None)
        if reader is None:
            formats = "; ".join(f"{reader.kind}: {reader.says}" for reader in READERS.values())
            raise UsageError(f"the format of {source.name!r} was not recognised; name its kind, one of: {formats}")
        return reader
    if kind not in READERS:
        raise UsageError(f"the kind to import must be one of auto, {', '.join(READERS)}; not {kind[:64]!r}")
    return READERS[kind]
