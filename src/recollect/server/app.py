"""The HTTP application: one route per operation, one gate before them all.

The gate checks the host, the key, the role and the rate, in this order, for API, MCP and inspector alike. A request
then becomes one call of a noun through a handle that the key alone determines.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from .. import __version__
from ..errors import Conflict, Forbidden, NotFound, RecollectError, StoreError, StoreUnavailable, TooLarge, UsageError
from ..problems import Problem, problem_of
from ..scope import Actor
from . import replay
from .auth import ApiKey, Keys, Unauthorized
from .calls import Call, Malformed, read_call, written
from .health import Health
from .limits import BAD_KEYS, HEAVY, USUAL, Buckets, Rate, Refused
from .metrics import Metrics
from .openapi import document
from .operations import OPERATIONS, Operation

if TYPE_CHECKING:
    from ..memory import AsyncMemory

MAX_BODY = 8 * 1024 * 1024
MAX_HANDLES = 10_000
AT_ONCE = 64
WAITING = 256
log = logging.getLogger("recollect.server")
_JSON = "application/json"
_SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
}


class Limited(RecollectError):
    """Too many requests of one key."""

    retryable = True


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a server was asked to behave."""

    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """Names it answers to; others are refused, so that no foreign page reaches it through DNS."""
    open_to: ApiKey | None = None
    """Who a request without a key is: only on loopback, while no key exists."""
    root_path: str = ""
    usual: Rate = USUAL
    heavy: Rate = HEAVY
    bad_keys: Rate = BAD_KEYS


class Server:
    """What all requests share."""

    def __init__(self, memory: AsyncMemory, options: Options | None = None) -> None:
        self.memory = memory
        self.options = options or Options()
        self.keys = Keys(memory)
        self.metrics = Metrics()
        self.buckets = Buckets()
        self.health = Health(memory, self.metrics)
        self.draining = False
        self._handles: dict[ApiKey, AsyncMemory] = {}

    def handle(self, key: ApiKey) -> AsyncMemory:
        """The memory as a key sees it; the key's word is final, whatever a request says."""
        found = self._handles.get(key)
        if found is None:
            if len(self._handles) >= MAX_HANDLES:
                self._handles.clear()
            grants = {"read": key.read, "write": key.write} if key.user is not None else {}
            found = self.memory.scope(org=key.org, user=key.user, actor=key.actor, **grants)
            self._handles[key] = found
        return found

    async def who(self, request: Request) -> ApiKey:
        """The key of a request."""
        header = request.headers.get("authorization")
        if header is None and self.options.open_to is not None:
            return self.options.open_to
        try:
            return await self.keys.check(header)
        except Unauthorized:
            address = request.client.host if request.client else "?"
            if isinstance(self.buckets.take(f"bad:{address}", self.options.bad_keys), Refused):
                raise Limited("too many requests with a wrong key; wait a minute") from None
            raise


def make_app(memory: AsyncMemory, options: Options | None = None) -> Starlette:
    """The application over a memory opened with `all_orgs=True`."""
    server = Server(memory, options)

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        async with memory:
            yield
            server.draining = True

    routes = [
        Route(operation.path, _endpoint(server, operation), methods=[operation.method], name=operation.name)
        for operation in OPERATIONS
    ]
    app = Starlette(routes=[*routes, *_plain_routes(server)], lifespan=running)
    app.state.server = server
    app.add_middleware(Gate, server=server)
    return app


def _endpoint(server: Server, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        key = await _allowed(server, request, operation)
        query, body = request.scope["query_string"], await _body(request) if operation.has_body else b""
        call = read_call(operation, query, body, request.headers)
        done, result = await _done(server, operation, call, key, request, query, body)
        content, headers = written(done, call, result)
        return Response(content, media_type=_JSON, headers=headers)

    return answer


async def _allowed(server: Server, request: Request, operation: Operation) -> ApiKey:
    key = await server.who(request)
    request.scope["recollect.key"] = key.id
    rate = server.options.heavy if operation.heavy else server.options.usual
    left = server.buckets.take(f"{key.id}:{operation.heavy}", rate)
    if isinstance(left, Refused):
        raise Limited("this key asks too often", retry_after=left.retry_after)
    key.check(operation.role)
    return key


async def _body(request: Request) -> bytes:
    if request.headers.get("content-type", _JSON).partition(";")[0].strip().lower() != _JSON:
        raise Unsuited("send application/json")
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            raise TooLarge(f"a body may have {MAX_BODY} bytes")
        parts.append(part)
    return b"".join(parts)


class Unsuited(UsageError):
    """A body of another type."""


async def _done(
    server: Server, operation: Operation, call: Call, key: ApiKey, request: Request, query: bytes, body: bytes
) -> tuple[Operation, Any]:
    handle = server.handle(key)
    idempotency = request.headers.get("idempotency-key")
    if idempotency is None or not operation.writes:
        return operation, await _called(handle, operation, call)
    name = replay.checked(idempotency)
    replay.prepare(operation, call, name)
    # The row lies with the org, out of reach of its users.
    rows = replay.Replays(server.memory.scope(org=key.org), f"{key.id}:{name}", replay.digest(operation, query, body))
    if await rows.seen():
        return await _again(rows, operation, call, handle)
    fresh = handle.scope()
    rows.commit_with(fresh)
    try:
        return operation, await _called(fresh, operation, call)
    except Conflict:
        # Two at once under one key: the second finds what the first one committed.
        if await rows.seen():
            return await _again(rows, operation, call, handle)
        raise


async def _again(rows: replay.Replays, operation: Operation, call: Call, handle: AsyncMemory) -> tuple[Operation, Any]:
    """The answer to a request that was done before: what knows its own key is simply asked again."""
    if operation.name in replay.NATIVE | replay.NAMED:
        return operation, await _called(handle, operation, call)
    return await rows.answer(operation, call, handle)


async def _called(handle: AsyncMemory, operation: Operation, call: Call) -> Any:
    noun = getattr(handle, operation.noun) if operation.noun else handle
    return await getattr(noun, operation.call)(*call.args, **call.options)


# Beside the operations


def _plain_routes(server: Server) -> list[Route]:
    async def alive(request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type=_JSON)

    async def ready(request: Request) -> Response:
        report = await server.health.ready(draining=server.draining)
        return Response(msgspec.json.encode(report), 200 if report.ready else 503, media_type=_JSON)

    async def metrics(request: Request) -> Response:
        return Response(server.metrics.text(), media_type="text/plain; version=0.0.4")

    async def openapi(request: Request) -> Response:
        return Response(msgspec.json.encode(document()), media_type=_JSON)

    async def me(request: Request) -> Response:
        key = await server.who(request)
        seen = {"org": key.org, "user": key.user, "actor": key.actor, "roles": key.roles, "version": __version__}
        return Response(msgspec.json.encode(seen), media_type=_JSON)

    async def keys(request: Request) -> Response:
        return await _keys(server, request)

    return [
        Route("/healthz", alive),
        Route("/readyz", ready),
        Route("/metrics", metrics),
        Route("/openapi.json", openapi),
        Route("/v1/me", me),
        Route("/v1/keys", keys, methods=["GET", "POST", "DELETE"]),
    ]


class NewKeyRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a key shall be; its org is the asking key's."""

    user: str | None = None
    actor: Actor = "user"
    roles: tuple[str, ...] = ("reader", "writer")
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    note: str = ""
    ttl: float | None = None


async def _keys(server: Server, request: Request) -> Response:
    """Keys of one's own org: an admin makes, lists and revokes them."""
    key = await server.who(request)
    key.check("admin")
    if request.method == "POST":
        try:
            asked = msgspec.json.decode(await _body(request) or b"{}", type=NewKeyRequest)
        except msgspec.DecodeError as wrong:
            raise UsageError(f"not a key: {wrong}") from None
        made = await server.keys.create(org=key.org, **msgspec.structs.asdict(asked))
        return Response(msgspec.json.encode(made), 201, media_type=_JSON)
    own = [one for one in await server.keys.list() if one.org == key.org]
    if request.method == "GET":
        listed = [{**msgspec.structs.asdict(one), "digest": None} for one in own]
        return Response(msgspec.json.encode({"items": listed, "next": None}), media_type=_JSON)
    id = request.query_params.get("id", "")
    if id not in {one.id for one in own}:
        raise NotFound("there is no such key")
    return Response(msgspec.json.encode({"result": await server.keys.revoke(id)}), media_type=_JSON)


# The gate

_OURS = {Unauthorized: 401, Forbidden: 403, Limited: 429, Malformed: 400, Unsuited: 415}


class Gate:
    """Before every route: host, room, request id, log line; after it: problems for errors, headers for all."""

    def __init__(self, app: Callable[..., Awaitable[None]], server: Server) -> None:
        self.app = app
        self.server = server

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        request_id = secrets.token_hex(8)
        scope["recollect.request"] = request_id
        start = time.perf_counter()
        status = 500

        async def sent(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = {**_SAFE_HEADERS, "x-request-id": request_id}
                message["headers"] = [
                    *message["headers"], *((name.encode(), value.encode()) for name, value in extra.items())
                ]  # fmt: skip
            await send(message)

        self.server.metrics.in_flight += 1
        try:
            refused = self._refusal(request)
            if refused is not None:
                await refused(scope, receive, sent)
            else:
                await self._inside(scope, receive, sent, request_id)
        finally:
            self.server.metrics.in_flight -= 1
            name = _operation_name(scope)
            took = time.perf_counter() - start
            self.server.metrics.done(name, status, took)
            log.info(
                "%s %s %d %.1f ms key=%s request=%s",
                scope["method"], name, status, took * 1000, scope.get("recollect.key", "-"), request_id,
            )  # fmt: skip

    async def _inside(self, scope: Any, receive: Any, send: Any, request_id: str) -> None:
        started = False

        async def watched(message: Any) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except ClientDisconnect:
            return
        except RecollectError as error:
            if started:
                raise
            if isinstance(error, StoreError):
                self.server.metrics.failed(type(error).__name__)
            await problem_response(error, request_id, scope)(scope, receive, send)
        except Exception as error:
            # A bug of ours: the kind and the request id are logged, what was sent is not.
            log.error("%s in %s request=%s", type(error).__name__, _operation_name(scope), request_id)
            if started:
                raise
            detail = f"the server failed; its log has the request {request_id}"
            await _problem(Problem(type="urn:recollect:internal", title="Internal", status=500, detail=detail))(
                scope, receive, send
            )

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "").rpartition(":")[0] or request.headers.get("host", "")
        if host not in self.server.options.hosts and "*" not in self.server.options.hosts:
            return _forbidden("this server does not answer to that host name")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
            return _forbidden("requests of other origins are refused")
        if self.server.metrics.in_flight > AT_ONCE + WAITING and request.url.path.startswith("/v1/"):
            return problem_response(StoreUnavailable("the server is busy; try again"), "", request.scope)
        return None


def _forbidden(detail: str) -> Response:
    return _problem(Problem(type="urn:recollect:forbidden", title="Forbidden", status=403, detail=detail))


def _operation_name(scope: Mapping[str, Any]) -> str:
    """The name of the operation, never the path: a path may hold what a user wrote."""
    route = scope.get("route")
    return getattr(route, "name", None) or "unknown"


def problem_response(error: RecollectError, request_id: str, scope: Mapping[str, Any]) -> Response:
    """An error as problem+json, with the headers that go with its status."""
    problem = problem_of(error, request_id=request_id)
    status = next((_OURS[kind] for kind in type(error).__mro__ if kind in _OURS), problem.status)
    if status == 409 and any(name in (b"if-match", b"if-none-match") for name, _ in scope["headers"]):
        status = 412
    headers: dict[str, str] = {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status in (429, 503):
        headers["retry-after"] = str(max(1, round(getattr(error, "retry_after", 1))))
    return _problem(msgspec.structs.replace(problem, status=status), headers)


def _problem(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    body = msgspec.json.encode(problem)
    return Response(body, problem.status, media_type="application/problem+json", headers=dict(headers or {}))
