"""Defines the HTTP application, which has one route per operation and one gate in front of all of them.

The gate checks the host, the key, the role and the rate, in this order, for the API, MCP and the inspector alike. A
request then becomes one method call on a noun, with a handle that is determined by the key alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Scope

from ..engine.limits import CallLimits
from ..engine.noun import core_of
from ..protocol.keys import ApiKey, Limited, Unauthorized
from ..protocol.operations import Operation
from ..protocol.parts import MakePart, Part
from ..protocol.server_nouns import Step
from ..telemetry import NO_REQUEST_SPAN, RequestSpan, Telemetry
from .answers import JSON
from .api.events import Feed, stream
from .auth import Keys
from .browser import LOOPBACK, Sessions, browser_routes, check_same_site, cookie_of
from .calls import answer_data, call_from
from .dispatch import Dispatch, read_body
from .gate import Gate
from .headers import headers_of
from .health import Health
from .inspect import inspect_routes
from .lane import Lane
from .limits import BAD_KEYS, HEAVY, USUAL, Buckets, Rate, Refused, rate_headers
from .metrics import Metrics
from .narrowing import narrow, narrow_to
from .nouns import noun_of
from .openapi import document
from .parts import Gated
from .room import Room
from .static import FOLDER, inspector_route

if TYPE_CHECKING:
    from ..memory import AsyncMemory

T = TypeVar("T")
MAX_HANDLES = 10_000
MAX_BUDGET_TOKENS = 400_000
MAX_HITS = 5_000
_NOT_TRACED = nullcontext(NO_REQUEST_SPAN)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the settings of a server."""

    hosts: tuple[str, ...] = LOOPBACK
    """These Host headers are accepted. Others are refused, which prevents DNS rebinding."""
    inspector: Path = FOLDER
    """This is the folder that contains the inspector's files."""
    root_path: str = ""
    analyze: tuple[Path, ...] = ()
    """These are the folders on which an operator may run the analyser."""
    usual: Rate = USUAL
    heavy: Rate = HEAVY
    bad_keys: Rate = BAD_KEYS
    limits: CallLimits = CallLimits(budget_tokens=MAX_BUDGET_TOKENS, hits=MAX_HITS)
    """These are the limits for a single request to the API, /mcp or the inspector."""
    trace: bool = False
    """This is True if requests and units of work are recorded as OpenTelemetry spans."""


class Server:
    """Holds the state that all requests share: the memory, keys, sessions, rate limits, metrics and handles."""

    def __init__(self, memory: AsyncMemory, options: Options | None = None) -> None:
        self.memory = memory
        self.options = options or Options()
        core_of(memory).shared.limits = self.options.limits
        self.keys = Keys(memory)
        self.sessions = Sessions(memory, self.keys)
        self.metrics = Metrics()
        self.buckets = Buckets()
        self.health = Health(memory, self.metrics)
        self.feed = Feed(memory)
        self.room = Room()
        self.lane = Lane()
        self.draining = False
        self._telemetry = Telemetry() if self.options.trace else None
        self._orgs: dict[str, AsyncMemory] = {}
        self._handles: dict[tuple[ApiKey, str | None], AsyncMemory] = {}

    def handle(self, key: ApiKey, narrowed: str | None = None) -> AsyncMemory:
        """Return the memory narrowed to the grants of a key. The result is cached. A request can narrow it further, but
        never widen it.
        """
        # The cache key is the whole API key, not its id, so that a key whose grants were changed gets a new handle.
        handle = self._handles.get((key, narrowed))
        if handle is None:
            if len(self._handles) >= MAX_HANDLES:
                self._handles.clear()
            grants = {"read": key.read, "write": key.write} if key.user is not None else {}
            handle = self.memory.scope(org=key.org, user=key.user, actor=key.actor, **grants)
            if "admin" in key.roles and key.user is None:
                handle = _over_files(handle)
            if narrowed is not None:
                handle = narrow(handle, key, narrowed)
            self._handles[(key, narrowed)] = handle
        return handle

    async def beside(self, work: Callable[[], Coroutine[object, None, T]]) -> T:
        """Run potentially long work on the lane, within the limit on concurrent requests."""
        async with self.room:
            return await self.lane.run(work)

    def handle_of(self, org: str) -> AsyncMemory:
        """Return a handle on a whole org, for rows that the server itself stores there."""
        handle = self._orgs.get(org)
        if handle is None:
            if len(self._orgs) >= MAX_HANDLES:
                self._orgs.clear()
            handle = self._orgs[org] = self.memory.scope(org=org)
        return handle

    async def call_step(self, batch: Any, operation: Operation, step: Step, key: ApiKey) -> object:
        """Run one operation in an open batch with its own rights, and return its result as JSON data."""
        if step.scope is not None:
            batch = narrow_to(batch, key, step.scope)
        call = call_from(operation, step.arguments)
        noun = batch.entities if operation.noun == "entity_cache" else noun_of(batch, operation.noun)
        return answer_data(operation, await getattr(noun, operation.call)(*call.args, **call.options))

    def stream_events(
        self, org: str, names: Sequence[str], last: str, is_allowed: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        """Stream the events of an org after the event `last`, for as long as the listener is allowed to."""
        self.feed.listen()
        return stream(self, self.feed, org, names, last, is_allowed)

    def traced(self, scope: Scope) -> AbstractContextManager[RequestSpan]:
        """Return a tracing span around a request. It has no effect unless tracing is enabled."""
        if self._telemetry is None:
            return _NOT_TRACED
        return self._telemetry.request(Headers(scope=scope))

    async def who(self, request: Request) -> ApiKey:
        """Authenticate a request by its Authorization header or, if there is none, by its cookie."""
        header = headers_of(request.scope).get("authorization")
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
        """Authenticate by an Authorization header. Failures are counted per address."""
        try:
            return await self.keys.check(header)
        except Unauthorized as wrong:
            self.count_bad(request, wrong)
            raise

    def count_bad(self, request: Request, wrong: Unauthorized) -> None:
        """Limit the rate of failed authentication attempts per address to prevent guessing."""
        address = request.client.host if request.client else "?"
        if isinstance(self.buckets.take(f"bad:{address}", self.options.bad_keys), Refused):
            raise Limited("too many requests with a wrong key; wait a minute") from wrong

    async def admit(self, request: Request, *, heavy: bool = False) -> ApiKey:
        """Authenticate a request and apply the rate limit of its key."""
        key = await self.who(request)
        return self.limited(request, key, heavy=heavy)

    def limited(self, request: Request, key: ApiKey, *, heavy: bool = False) -> ApiKey:
        """Apply the rate limit of a key. The response headers show how many tokens are left."""
        rate, name = (self.options.heavy, "heavy") if heavy else (self.options.usual, "usual")
        remaining = self.buckets.take(f"{name}:{key.id}", rate)
        request.scope["memorist.key"] = key.id
        request.scope["memorist.limits"] = rate_headers(name, rate, remaining)
        if isinstance(remaining, Refused):
            raise Limited("this key sends too many requests", retry_after=remaining.retry_after)
        return key


def _over_files(handle: AsyncMemory) -> AsyncMemory:
    """Return the handle of an admin's key.

    An admin manages the keys of every org, so the handle may also maintain the store's files.
    """
    core = core_of(handle)
    wide: AsyncMemory = core.narrowed(msgspec.structs.replace(core.scope, tenant=False)).facade()
    return wide


def make_app(memory: AsyncMemory, options: Options | None = None, parts: Iterable[MakePart] = ()) -> Starlette:
    """Build the application for a memory opened with `all_orgs=True`. The `parts` are mounted next to the API."""
    server = Server(memory, options)
    mounted = [make(server) for make in parts]

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        # The memory is opened on the lane, because its worker starts with it and runs on the same event loop.
        await server.lane.run(core_of(memory).shared.open)
        async with memory, AsyncExitStack() as stack:
            for part in mounted:
                await stack.enter_async_context(part.running())
            yield
            server.draining = True
        # The lane ends last: closing the memory schedules tasks there that close the connections of the lane's loop.
        await server.lane.close()

    app = Application(routes=_routes(server, mounted), lifespan=running)
    app.state.server = server
    return app


class Application(Starlette):
    """Extends Starlette, but replaces its outer layers with our gate, which answers every error itself."""

    def build_middleware_stack(self) -> ASGIApp:
        """Return the gate, then the operations, then all other routes."""
        server: Server = self.state.server
        return Gate(Dispatch(ExceptionMiddleware(self.router), server), server)


def _routes(server: Server, parts: list[Part]) -> list[BaseRoute]:
    # A part serves its own path and everything below it. A Mount would redirect the bare path.
    mounted = [
        Route(path, Gated(part.app, server) if part.gated else part.app, methods=None, name=part.path.strip("/"))
        for part in parts
        for path in (part.path, f"{part.path}/{{rest:path}}")
    ]
    return [
        *_plain_routes(server), *browser_routes(server), *inspect_routes(server, read_body), *mounted,
        inspector_route(server.options.inspector),
    ]  # fmt: skip


# Routes that are not operations: health, metrics and the document


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
