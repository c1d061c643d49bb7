"""MCP servers for tests: in this process over a memory, and as the command that clients start."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from mcp import Client, StdioServerParameters

from memorist import AsyncMemory
from memorist.mcp.callers import Caller, local_caller
from memorist.mcp.notices import Notices
from memorist.mcp.server import Options, make_server
from memorist.mcp.tools import SETS, ToolSet

PLAIN: dict[str, Any] = {"embedder": None, "extract": None, "worker": False}
"""A memory that derives nothing, so that tests see only what they wrote."""


@asynccontextmanager
async def connected(
    memory: AsyncMemory,
    *sets: ToolSet,
    caller: Caller | None = None,
    mode: Any = "auto",
    keep_open: bool = False,
    message_handler: Any = None,
    **options: Any,
) -> AsyncIterator[Client]:
    """A client of a server over a memory, in this process; the memory is closed at the end, unless it is kept open."""
    asking = caller or local_caller(memory)

    async def who(ctx: Any) -> Caller:
        return asking

    notices = Notices()
    server = make_server(who, Options(sets=frozenset(sets or SETS), **options), notices)
    async with (
        nullcontext() if keep_open else memory,
        notices.running(memory._core.shared.events),
        Client(server, mode=mode, message_handler=message_handler) as client,
    ):
        yield client


def command(*args: str, before: Sequence[str] = (), **env: str) -> StdioServerParameters:
    """`memorist mcp` as a client would start it."""
    source = os.path.join(os.path.dirname(__file__), "..", "..", "src")
    path = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "memorist", *before, "mcp", *args],
        env={**os.environ, "PYTHONPATH": path, **env},
    )


async def call_tool(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers, as data; an error fails the test."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool says is wrong."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    return text_of(result)


def text_of(result: Any) -> str:
    """The text of an answer."""
    return "".join(part.text for part in result.content)
