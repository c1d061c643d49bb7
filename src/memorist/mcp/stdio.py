"""Serves MCP on stdio to one client, which is the process that started this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.stdio import stdio_server

from ..engine.noun import core_of
from .callers import Caller, is_remote, local_caller, remote_caller
from .notices import Notices
from .server import Context, Options, make_server

if TYPE_CHECKING:
    from ..memory import AsyncMemory


def serve_stdio(memory: AsyncMemory, options: Options) -> None:
    """Serve until the client closes standard input."""
    anyio.run(_serve, memory, options)


async def _serve(memory: AsyncMemory, options: Options) -> None:
    notices = Notices()
    async with memory:
        project = options.project
        caller = await remote_caller(memory, project) if is_remote(memory) else local_caller(memory, project)

        async def who(ctx: Context) -> Caller:
            return caller

        server = make_server(who, options, notices)
        changes = NotificationOptions(resources_changed=False)
        async with notices.running(core_of(memory).shared.events), stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options(changes))
