"""The HTTP application: one route per operation, one gate before them all.

The gate checks the host, the key, the role and the rate, in this order, for API, MCP and inspector alike. A request
then becomes one call of a noun through a handle that the key alone determines.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from ..engine.replays import Replays
from ..errors import Conflict, TooLarge
from . import replay
from .answers import JSON, Limited, Unsuited
from .api.asked import Asked
from .api.events import Feed
from .auth import ApiKey, Keys, Unauthorized
from .browser import LOOPBACK, Sessions, browser_routes, check_same_site, cookie_of
from .calls import Call, read_call, written
from .gate import Gate
from .health import Health
from .inspect import inspect_routes
from .limits import BAD_KEYS, HEAVY, USUAL, Buckets, Rate, Refused
from .metrics import Metrics
from .narrowing import NARROWED, narrow
from .openapi import document
from .operations import OPERATIONS, Operation, owner_of, takes_key, takes_request
from .parts import Gated, MakePart, Part
from .room import Room
from .static import FOLDER, inspector_route

if TYPE_CHECKING:
    from ..memory import AsyncMemory

MAX_BODY = 8 * 1024 * 1024
MAX_HANDLES = 10_000


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a server was asked to behave."""

    hosts: tuple[str, ...] = LOOPBACK
    """Names it answers to; others are refused, so that no foreign page reaches it through DNS."""
    inspector: Path = FOLDER
    """Where the files of the inspector are."""
    root_path: str = ""
    analyze: tuple[Path, ...] = ()
    """Folders that operators may have analysed."""
    usual: Rate = USUAL
    heavy: Rate = HEAVY
    bad_keys: Rate = BAD_KEYS


class Server:
    """What all requests share."""

    def __init__(self, memory: AsyncMemory, options: Options | None = None) -> None:
        self.memory = memory
        self.options = options or Options()
        self.keys = Keys(memory)
        self.sessions = Sessions(memory, self.keys)
        self.metrics = Metrics()
        self.buckets = Buckets()
        self.health = Health(memory, self.metrics)
        self.feed = Feed(memory)
        self.room = Room()
        self.streams = 0
        self.draining = False
        self._orgs: dict[str, AsyncMemory] = {}
        self._handles: dict[tuple[ApiKey, str | None], AsyncMemory] = {}

    def handle(self, key: ApiKey, narrowed: str | None = None) -> AsyncMemory:
        """The memory as a key sees it; the key's word is final. What a request says can only make it see less."""
        found = self._handles.get((key, narrowed))
        if found is None:
            if len(self._handles) >= MAX_HANDLES:
                self._handles.clear()
            grants = {"read": key.read, "write": key.write} if key.user is not None else {}
            found = self.memory.scope(org=key.org, user=key.user, actor=key.actor, **grants)
            if narrowed is not None:
                found = narrow(found, key, narrowed)
            self._handles[(key, narrowed)] = found
        return found

    def handle_of(self, org: str) -> AsyncMemory:
        """The whole of an org, for what the server itself keeps there."""
        found = self._orgs.get(org)
        if found is None:
            if len(self._orgs) >= MAX_HANDLES:
                self._orgs.clear()
            found = self._orgs[org] = self.memory.scope(org=org)
        return found

    async def who(self, request: Request) -> ApiKey:
        """Who sent a request: the key of its Authorization header, else of its cookie."""
        header = request.headers.get("authorization")
        cookie = cookie_of(request) if header is None else None
        if cookie is None:
            return await self.key_of(request, header)
        check_same_site(request)
        try:
            return await self.sessions.check(cookie)
        except Unauthorized as wrong:
            self.count_bad(request, wrong)
            raise

    async def key_of(self, request: Request, header: str | None) -> ApiKey:
        """The key of an Authorization header; wrong ones are counted by address."""
        try:
            return await self.keys.check(header)
        except Unauthorized as wrong:
            self.count_bad(request, wrong)
            raise

    def count_bad(self, request: Request, wrong: Unauthorized) -> None:
        """Refuse an address that tries key after key."""
        address = request.client.host if request.client else "?"
        if isinstance(self.buckets.take(f"bad:{address}", self.options.bad_keys), Refused):
            raise Limited("too many requests with a wrong key; wait a minute") from wrong

    async def admit(self, request: Request, *, heavy: bool = False) -> ApiKey:
        """Who sent a request, unless that key asks too often."""
        key = await self.who(request)
        request.scope["recollect.key"] = key.id
        return self.limited(key, heavy=heavy)

    def limited(self, key: ApiKey, *, heavy: bool = False) -> ApiKey:
        """The key, unless it asks too often."""
        rate = self.options.heavy if heavy else self.options.usual
        left = self.buckets.take(f"{key.id}:{heavy}", rate)
        if isinstance(left, Refused):
            raise Limited("this key asks too often", retry_after=left.retry_after)
        return key


def make_app(memory: AsyncMemory, options: Options | None = None, parts: Iterable[MakePart] = ()) -> Starlette:
    """The application over a memory opened with `all_orgs=True`; `parts` stand beside the API (see `parts.py`)."""
    server = Server(memory, options)
    made = [make(server) for make in parts]

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        async with memory, AsyncExitStack() as stack:
            for part in made:
                await stack.enter_async_context(part.running())
            yield
            server.draining = True

    app = Starlette(routes=_routes(server, made), lifespan=running)
    app.state.server = server
    app.add_middleware(Gate, server=server)
    return app


def _routes(server: Server, parts: list[Part]) -> list[BaseRoute]:
    operations = [
        Route(operation.path, _endpoint(server, operation), methods=[operation.method], name=operation.name)
        for operation in OPERATIONS
    ]
    # A part takes its path alone and what lies under it; a Mount would answer its bare path with a redirect.
    mounted = [
        Route(path, Gated(part.app, server) if part.gated else part.app, methods=None, name=part.path.strip("/"))
        for part in parts
        for path in (part.path, f"{part.path}/{{rest:path}}")
    ]
    return [
        *operations, *_plain_routes(server), *browser_routes(server), *inspect_routes(server, _body), *mounted,
        inspector_route(server.options.inspector),
    ]  # fmt: skip


def _endpoint(server: Server, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        key = await _allowed(server, request, operation)
        asked = Asked(server, key, server.handle(key, request.headers.get(NARROWED)))
        query, body = request.scope["query_string"], await _body(request) if operation.has_body else b""
        call = read_call(operation, query, body, request.headers)
        if operation.upload:
            _check_type(request, operation.upload)
        if takes_request(operation):
            call.options["request"] = request
        if operation.streamed:
            parts = await _called(asked, operation, call)
            return StreamingResponse(_counted(server, parts), media_type=operation.streamed)
        async with server.room:
            done, result = await _done(asked, operation, call, request, query, body)
        content, headers = written(done, call, result)
        return Response(content, media_type=JSON, headers=headers)

    return answer


async def _counted(server: Server, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A stream takes no room from requests: it mostly waits."""
    server.streams += 1
    try:
        async for part in parts:
            yield part
    finally:
        server.streams -= 1


async def _allowed(server: Server, request: Request, operation: Operation) -> ApiKey:
    key = await server.admit(request, heavy=operation.heavy)
    if not operation.admits:
        key.check(operation.role)
    return key


def _check_type(request: Request, wanted: str) -> None:
    if request.headers.get("content-type", wanted).partition(";")[0].strip().lower() != wanted:
        raise Unsuited(f"send {wanted}")


async def _body(request: Request) -> bytes:
    _check_type(request, JSON)
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            raise TooLarge(f"a body may have {MAX_BODY} bytes")
        parts.append(part)
    return b"".join(parts)


async def _done(
    asked: Asked, operation: Operation, call: Call, request: Request, query: bytes, body: bytes
) -> tuple[Operation, Any]:
    idempotency = request.headers.get("idempotency-key")
    if idempotency is None or not takes_key(operation):
        return operation, await _called(asked, operation, call)
    name = f"{asked.key.id}:{replay.checked(idempotency)}"
    replay.prepare(operation, call, name)
    # The row lies with the org, out of reach of its users.
    space = asked.server.handle_of(asked.key.org)
    rows = Replays(space._core, name, replay.digest(operation, query, body))
    if await rows.seen():
        return await _again(asked, operation, call)
    fresh = Asked(asked.server, asked.key, asked.memory.scope())
    rows.commit_with(fresh.core)
    try:
        return operation, await _called(fresh, operation, call)
    except Conflict:
        # Two at once under one key: the second finds what the first one committed.
        if await rows.seen():
            return await _again(asked, operation, call)
        raise


async def _again(asked: Asked, operation: Operation, call: Call) -> tuple[Operation, Any]:
    """The answer to a request that was done before: what knows its own key is simply asked again."""
    if operation.name in replay.NATIVE | replay.NAMED:
        return operation, await _called(asked, operation, call)
    if operation.of_server:
        noun: Any = owner_of(operation.noun)(asked)
        return operation, await noun.again(operation.call, **call.options)
    return await replay.answer(operation, call, asked.memory)


async def _called(asked: Asked, operation: Operation, call: Call) -> Any:
    if operation.of_server:
        noun: Any = owner_of(operation.noun)(asked)
    else:
        noun = getattr(asked.memory, operation.noun) if operation.noun else asked.memory
    return await getattr(noun, operation.call)(*call.args, **call.options)


# Beside the operations


def _plain_routes(server: Server) -> list[Route]:
    async def alive(request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type=JSON)

    async def ready(request: Request) -> Response:
        report = await server.health.ready(draining=server.draining)
        return Response(msgspec.json.encode(report), 200 if report.ready else 503, media_type=JSON)

    async def metrics(request: Request) -> Response:
        return Response(server.metrics.text(), media_type="text/plain; version=0.0.4")

    async def openapi(request: Request) -> Response:
        return Response(msgspec.json.encode(document()), media_type=JSON)

    return [
        Route("/healthz", alive),
        Route("/readyz", ready),
        Route("/metrics", metrics),
        Route("/openapi.json", openapi),
    ]
