"""Serves MCP over HTTP. It is mounted in the server at `/mcp`, with the same authentication and limits as the API.

It is stateless. Each request is answered separately, as JSON, so any worker can answer any request, and a restart does
not break sessions. The caller is identified by an API key, or by an OAuth token if an issuer is configured.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from ..engine.noun import core_of
from ..protocol.keys import ApiKey, Unauthorized
from ..protocol.parts import MakePart, Part
from .callers import LOCAL_USER, Caller, Work
from .notices import Notices
from .server import Context, Options, make_server
from .tokens import Resource, Tokens
from .use import Use

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server as McpServer

    from ..server.app import Server

PATH = "/mcp"
_CALLER = "memorist.mcp"


def mcp_parts(
    options: Options | None = None, resource: Resource | None = None, *, sessions: bool = False, json: bool = True
) -> list[MakePart]:
    """Return the parts for `make_app`: MCP itself and, with an issuer, the OAuth resource metadata.

    With `sessions`, clients of older protocol versions keep a session and can get notifications between requests.
    `json=False` answers as an event stream. Both need a single worker.
    """
    chosen = options or Options()

    def make(server: Server) -> Part:
        notices = Notices()
        counted = msgspec.structs.replace(chosen, used=lambda use: _count(server, use))
        mcp_server = make_server(caller_of, counted, notices)
        return mounted(server, mcp_server, notices, resource, sessions=sessions, json=json)

    def describe(server: Server) -> Part:
        assert resource is not None
        return Part(resource.metadata_path, JSONResponse(resource.metadata()), gated=False)

    return [make] if resource is None else [make, describe]


def mounted(
    server: Server,
    mcp_server: McpServer[Any],
    notices: Notices,
    resource: Resource | None = None,
    *,
    sessions: bool = False,
    json: bool = True,
) -> Part:
    """Yield an MCP server as a part to mount."""
    # Without sessions, any worker can answer any request, so the server can run in several processes.
    manager = StreamableHTTPSessionManager(app=mcp_server, json_response=json, stateless=not sessions)
    tokens = None if resource is None else Tokens(resource)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            key = await _key(server, request, tokens)
        except Unauthorized:
            if resource is None:
                raise
            refused = JSONResponse({"error": "invalid_token"}, 401, {"www-authenticate": resource.challenge})
            await refused(scope, receive, send)
            return
        # The SDK calls the tools in tasks of its own, so the caller travels in the scope, which they share.
        scope[_CALLER] = Caller(
            server.handle(key), key.user or LOCAL_USER, frozenset(key.roles), id=key.id, org=key.org,
            run=_limited(server, request, key),
        )  # fmt: skip
        await manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        # Notices start first and end last: a session of the manager may subscribe as long as it runs.
        async with notices.running(core_of(server.memory).shared.events), manager.run():
            yield

    return Part(PATH, Endpoint(app), running, gated=False)


class Endpoint:
    """Wraps an ASGI function in an object, because Starlette would call a plain function with a request."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _limited(server: Server, request: Request, key: ApiKey) -> Callable[[Work, bool], Coroutine[object, None, object]]:
    """Run a request under the limits of the API: the rate limit of its key, and the number of concurrent requests."""

    async def run(work: Work, heavy: bool) -> object:
        if heavy:
            server.limited(request, key, heavy=True)
        return await server.beside(work)

    return run


async def _key(server: Server, request: Request, tokens: Tokens | None) -> ApiKey:
    """Return the API key of a request, or one created from its OAuth token."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    # An API key has a prefix that no JSON Web Token has, so keys keep working beside an OAuth issuer.
    if tokens is None or scheme.lower() != "bearer" or token.startswith("rk_"):
        return await server.admit(request)
    try:
        key = await tokens.check(token.strip())
    except Unauthorized as wrong:
        # Wrong tokens count against the same limit as wrong keys, or guessing would just use the other door.
        server.count_bad(request, wrong)
        raise
    return server.limited(request, key)


async def caller_of(ctx: Context) -> Caller:
    """Return the caller of the current request."""
    assert ctx.request is not None
    caller: Caller = ctx.request.scope[_CALLER]
    return caller


def _count(server: Server, use: Use) -> None:
    server.metrics.done(f"mcp.{use.tool}", 200 if use.outcome == "ok" else 400, use.milliseconds / 1000)
