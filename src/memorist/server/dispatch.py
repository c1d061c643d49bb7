"""Dispatches a request to its operation with one dict lookup by path and method, before Starlette's routing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ..engine.idempotency import IdempotencyKey
from ..engine.noun import core_of
from ..errors import Conflict, TooLarge
from ..protocol.keys import ApiKey
from ..protocol.narrowing import NARROWED
from ..protocol.nouns.analyses import installed_analyzer
from ..protocol.nouns.caller import Caller
from ..protocol.operations import OPERATIONS, Operation, owner_of, takes_key, takes_request
from . import replay
from .answers import JSON, Unsuited, WrongMethod
from .calls import Call, read_call, written
from .headers import headers_of
from .lane import LARGE_BODY_BYTES
from .nouns import noun_of

if TYPE_CHECKING:
    from .app import Server

MAX_BODY_BYTES = 8 * 1024 * 1024
Endpoint = Callable[[Request], Awaitable[ASGIApp]]


class Dispatch:
    """Provides ASGI middleware that answers API operations and forwards requests for all other paths."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._paths: dict[str, dict[str, tuple[str, Endpoint]]] = {}
        for operation in served_operations():
            methods = self._paths.setdefault(operation.path, {})
            methods[operation.method] = (operation.name, _endpoint(server, operation))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        methods = self._paths.get(_path(scope)) if scope["type"] == "http" else None
        if methods is None:
            await self._app(scope, receive, send)
            return
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if method not in methods:
            raise WrongMethod(f"this path accepts {', '.join(methods)}", allow=tuple(methods))
        scope["memorist.operation"], answer = methods[method]
        response = await answer(Request(scope, receive))
        await response(scope, receive, send)


def served_operations() -> list[Operation]:
    """Return the operations that this installation answers.

    The analyser's operations are included only if its package is installed.
    """
    has_analyzer = installed_analyzer() is not None
    return [operation for operation in OPERATIONS if operation.noun != "analyses" or has_analyzer]


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _endpoint(server: Server, operation: Operation) -> Endpoint:
    with_request, once = takes_request(operation), takes_key(operation)

    async def answer(request: Request) -> ASGIApp:
        headers = headers_of(request.scope)
        key = await _allowed(server, request, operation)
        caller = Caller(server, key, server.handle(key, headers.get(NARROWED)))
        query, body = request.scope["query_string"], await read_body(request) if operation.has_body else b""
        if not (with_request or operation.streamed or operation.waits):
            if operation.heavy or len(body) > LARGE_BODY_BYTES:
                return await server.beside(lambda: _once(caller, operation, query, body, headers, once=once))
            async with server.room:
                return await _once(caller, operation, query, body, headers, once=once)
        call = read_call(operation, query, body, headers)
        if operation.upload:
            _check_type(request, operation.upload)
        if with_request:
            call.options["request"] = request
        if operation.streamed:
            # A stream mostly waits, so it does not count against the limit on concurrent requests.
            parts = await _called(caller, operation, call)
            return StreamingResponse(parts, media_type=operation.streamed)
        if operation.waits:
            return _answered(operation, call, await _called(caller, operation, call))
        async with server.room:
            return _answered(operation, call, await _called(caller, operation, call))

    return answer


async def _once(
    caller: Caller, operation: Operation, query: bytes, body: bytes, headers: Mapping[str, str], *, once: bool
) -> JsonAnswer:
    """Read a request and answer it. If it has an idempotency key that the operation accepts, run the operation only
    once."""
    call = read_call(operation, query, body, headers)
    idempotency = headers.get("idempotency-key") if once else None
    if idempotency is None:
        result = await _called(caller, operation, call)
    else:
        digest = replay.digest(operation, query, body)
        result = await _done_once(caller, operation, call, replay.checked(idempotency), digest)
    return _answered(operation, call, result)


def _answered(operation: Operation, call: Call, result: object) -> JsonAnswer:
    return JsonAnswer(*written(operation, call, result))


class JsonAnswer:
    """Represents the response to most requests: status 200 with a JSON body. It does not use the general `Response`,
    which takes three times as long."""

    def __init__(self, content: bytes, version: int) -> None:
        self._content = content
        self._headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
        if version > 0:
            self._headers.append((b"etag", b'"%d"' % version))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        await send({"type": "http.response.body", "body": self._content})


async def _allowed(server: Server, request: Request, operation: Operation) -> ApiKey:
    key = await server.admit(request, heavy=operation.heavy)
    if not operation.admits:
        key.check(operation.role)
    return key


def _check_type(request: Request, expected: str) -> None:
    if headers_of(request.scope).get("content-type", expected).partition(";")[0].strip().lower() != expected:
        raise Unsuited(f"send {expected}")


async def read_body(request: Request) -> bytes:
    """Read the body of a request as bytes. Raises an error if its media type is not JSON or it is too long."""
    _check_type(request, JSON)
    # Count the bytes while reading, so that a body that is too long is refused before all of it is in memory.
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY_BYTES:
            raise TooLarge(f"a body may have at most {MAX_BODY_BYTES} bytes")
        more = message.get("more_body", False)
    return b"".join(parts)


async def _done_once(caller: Caller, operation: Operation, call: Call, idempotency: str, digest: str) -> object:
    """Run a write at most once per idempotency key. A row with the key is committed together with the change."""
    name = f"{caller.key.id}:{idempotency}"
    replay.prepare(operation, call, name)
    # The key's row is stored under the org, where a user's key cannot write.
    space = caller.server.handle_of(caller.key.org)
    rows = IdempotencyKey(core_of(space), name, digest)
    if await rows.seen():
        return await _again(caller, operation, call, rows)
    # A handle of its own, because the row must be committed with the next write of this request and of no other.
    fresh = Caller(caller.server, caller.key, caller.memory.scope())
    rows.commit_with(core_of(fresh.memory))
    try:
        result = await _called(fresh, operation, call)
    except Conflict:
        # Two requests raced with the same key. The loser answers with what the winner committed.
        if await rows.seen():
            return await _again(caller, operation, call, rows)
        raise
    if replay.counts(operation) and result is not True:
        await rows.keep(result)
    return result


async def _again(caller: Caller, operation: Operation, call: Call, rows: IdempotencyKey) -> object:
    """Answer a repeated request. Idempotent operations are called again."""
    if operation.name in replay.NATIVE | replay.NAMED:
        return await _called(caller, operation, call)
    if operation.of_server:
        noun = owner_of(operation.noun)(caller)
        return await noun.again(operation.call, **call.options)
    return await replay.answer(operation, call, caller.memory, rows.outcome)


async def _called(caller: Caller, operation: Operation, call: Call) -> Any:
    noun = owner_of(operation.noun)(caller) if operation.of_server else noun_of(caller.memory, operation.noun)
    return await getattr(noun, operation.call)(*call.args, **call.options)
