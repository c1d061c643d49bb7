"""Implements an OpenAI-compatible proxy with a memory, for programs that cannot be changed.

It forwards every request to the provider and every answer to the program, byte for byte, including streams. Memory is
added to requests for an answer, and their turns are stored. The user is taken from the header `X-Memorist-User`, from
the request's own `user` field, or from the command line.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..errors import UsageError
from ..values import JsonObject
from .turns import DEFAULT_BUDGET_TOKENS, Turn, Turns

if TYPE_CHECKING:
    from ..memory import AsyncMemory

USER_HEADER, THREAD_HEADER = "x-memorist-user", "x-memorist-thread"
ANSWER_TIMEOUT_SECONDS = 600
_PER_CONNECTION = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
     "upgrade", "host", "content-length", "accept-encoding", USER_HEADER, THREAD_HEADER}
)  # fmt: skip
"""Headers that belong to one connection, or to the proxy itself, and are not forwarded."""
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]


def make_proxy(
    memory: AsyncMemory,
    upstream: str,
    *,
    user: str | None = None,
    budget_tokens: int = DEFAULT_BUDGET_TOKENS,
) -> Starlette:
    """Return the proxy as an application, which closes the memory when it stops.

    Raises:
        UsageError: `upstream` is not an http or https URL.
    """
    parts = urlsplit(upstream)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError("--upstream is the provider's URL, such as https://api.openai.com/v1")
    base = upstream.rstrip("/")
    turns = Turns(memory, user=user, thread=None, budget_tokens=budget_tokens)
    client = httpx.AsyncClient(timeout=httpx.Timeout(ANSWER_TIMEOUT_SECONDS, connect=10))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with memory, client:
            yield

    async def forward(request: Request) -> Response:
        content = await request.body()
        path = _upstream_path(base, request.url.path)
        turn = turns.begin(path, content, **_named(request, content)) if request.method == "POST" else None
        if turn is not None:
            content = await turns.prepare(turn) or content
        headers = [(name, value) for name, value in request.headers.items() if name not in _PER_CONNECTION]
        outgoing = client.build_request(
            request.method, f"{base}{path}", params=str(request.query_params), content=content,
            headers=[*headers, ("accept-encoding", "identity")],
        )  # fmt: skip
        try:
            answer = await client.send(outgoing, stream=True)
        except httpx.HTTPError as error:
            problem = {"error": {"message": f"the upstream did not answer: {type(error).__name__}", "type": "upstream"}}
            return JSONResponse(problem, status_code=502)
        # The length of the answer is left out with them; the server chunks the stream itself.
        passed_on = {name: value for name, value in answer.headers.items() if name not in _PER_CONNECTION}
        return _PassedOn(turns, turn, answer, passed_on)

    return Starlette(routes=[Route("/{path:path}", forward, methods=METHODS)], lifespan=lifespan)


class _PassedOn(StreamingResponse):
    """Passes the provider's answer on, byte for byte, and stores the turn at its end or when the program disconnects.

    A program that disconnects cancels the stream, and some programs do so after the last event. So the turn is stored
    after the stream and not inside it, where every await would be cancelled.
    """

    def __init__(self, turns: Turns, turn: Turn | None, answer: httpx.Response, headers: dict[str, str]) -> None:
        super().__init__(self._chunks(), status_code=answer.status_code, headers=headers)
        self._turns, self._turn, self._answer = turns, turn, answer
        self._content = bytearray()

    async def _chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.aiter_raw():
            if self._turn is not None:
                # Collected beside the stream, so that the program receives each token when it arrives.
                self._content += chunk
            yield chunk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # A disconnect has already cancelled this task. Without the shield, the first await would end it.
            with anyio.CancelScope(shield=True):
                await self._finish()

    async def _finish(self) -> None:
        answer = self._answer
        await answer.aclose()
        if self._turn is not None:
            content_type = answer.headers.get("content-type", "")
            await self._turns.store(self._turn, answer.status_code, content_type, bytes(self._content))


def _upstream_path(base: str, path: str) -> str:
    """Return the path to append to the upstream's own. Programs use `…/v1` as their base URL, and the upstream URL may
    contain it too."""
    own = urlsplit(base).path.rstrip("/")
    return path.removeprefix(own) if own and path.startswith(f"{own}/") else path


def _named(request: Request, content: bytes) -> JsonObject:
    """Return the user and the thread that a request names, in its headers or in its `user` field."""
    user = request.headers.get(USER_HEADER)
    # Decoding a long request takes longer than searching it, and most requests name no user.
    if user is None and b'"user"' in content:
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        field = body.get("user") if isinstance(body, dict) else None
        user = field if isinstance(field, str) and field else None
    return {"user": user, "thread": request.headers.get(THREAD_HEADER)}
