"""Mounts other ASGI applications, such as MCP, next to the API, behind the server's authentication.

A part is created by a function that accepts the `Server`. It consists of a mount path, an ASGI application, and a
context manager in which the application runs. Before each request the server checks the host, the key or cookie and the
rate limit, and puts into the ASGI scope:

- `scope["memorist.caller"]`: the `ApiKey` (org, user, actor, roles, grants), whose `caller.check("writer")` may refuse;
- `scope["memorist.memory"]`: an `AsyncMemory` narrowed to exactly what that key may access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ..protocol.narrowing import NARROWED

if TYPE_CHECKING:
    from .app import Server


class Gated:
    """Provides ASGI middleware that authenticates a request before the application receives it."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            key = await self._server.admit(Request(scope, receive))
            scope["memorist.caller"] = key
            scope["memorist.memory"] = self._server.handle(key, Request(scope).headers.get(NARROWED))
        await self._app(scope, receive, send)
