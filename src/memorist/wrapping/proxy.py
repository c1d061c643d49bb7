"""An OpenAI-compatible proxy with a memory, for programs that cannot be changed.

It forwards every request to the provider and every answer to the program, byte for byte, streams included. Requests
for an answer get memory, and their turns are stored. The user is named by the header `X-Memorist-User`, by the
request's own `user` field, or on the command line.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ..errors import UsageError
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
    """Yield the proxy as an application; it closes the memory when it stops.

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
        passed_on = {name: value for name, value in answer.headers.items() if name not in _PER_CONNECTION}
        return StreamingResponse(_passed_on(turns, turn, answer), status_code=answer.status_code, headers=passed_on)

    return Starlette(routes=[Route("/{path:path}", forward, methods=METHODS)], lifespan=lifespan)


async def _passed_on(turns: Turns, turn: Turn | None, answer: httpx.Response) -> AsyncIterator[bytes]:
    """Yield the answer's bytes as they come; at their end, or when the program hangs up, the turn is stored."""
    content = bytearray()
    try:
        async for chunk in answer.aiter_raw():
            if turn is not None:
                content += chunk
            yield chunk
    finally:
        await answer.aclose()
        if turn is not None:
            await turns.store(turn, answer.status_code, answer.headers.get("content-type", ""), bytes(content))


def _upstream_path(base: str, path: str) -> str:
    """Return the path after the upstream's own: programs are pointed at `…/v1`, and so may the upstream be."""
    own = urlsplit(base).path.rstrip("/")
    return path.removeprefix(own) if own and path.startswith(f"{own}/") else path


def _named(request: Request, content: bytes) -> dict[str, Any]:
    """Return the user and the thread that a request names, in its headers or in its `user` field."""
    user = request.headers.get(USER_HEADER)
    if user is None and b'"user"' in content:
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        field = body.get("user") if isinstance(body, dict) else None
        user = field if isinstance(field, str) and field else None
    return {"user": user, "thread": request.headers.get(THREAD_HEADER)}
