"""Applications that stand beside the API in one server, such as MCP: they get the caller, not the credentials.

A part is made by a function that takes the `Server`. It names the path it is mounted at, an ASGI application, and a
context to run it in. Before each request the server checks the host, the key or cookie and the rate, and leaves in
the ASGI scope:

- `scope["recollect.caller"]`: the `ApiKey` (org, user, actor, roles, grants); `caller.check("writer")` refuses;
- `scope["recollect.memory"]`: an `AsyncMemory` narrowed to exactly what that key may reach.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Send

from .narrowing import NARROWED

if TYPE_CHECKING:
    from .app import Server


class Part(msgspec.Struct, frozen=True):
    """One mounted application."""

    path: str
    app: Any
    running: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext
    """Entered when the server starts, left when it stops."""
    gated: bool = True
    """False for one that checks its callers itself, with `server.admit`, or that anyone may read."""


MakePart = Callable[["Server"], Part]


class Gated:
    """An application behind the server's own checks."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            key = await self._server.admit(Request(scope, receive))
            scope["recollect.caller"] = key
            scope["recollect.memory"] = self._server.handle(key, Request(scope).headers.get(NARROWED))
        await self._app(scope, receive, send)
