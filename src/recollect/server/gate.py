"""The gate before every route: host, origin, room, request id; then problems for errors, safe headers, a log line."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ..errors import RecollectError, StoreError
from ..problems import Problem
from .answers import forbidden, problem_response, send_problem
from .browser import host_name
from .logs import log, log_request, operation_name

if TYPE_CHECKING:
    from .app import Server

_CSP = (
    "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; form-action 'self'; img-src 'self' data:"
)
_SAFE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", _CSP.encode()),
]


class Gate:
    """Every request passes here, also those of mounted parts."""

    def __init__(self, app: Callable[..., Awaitable[None]], server: Server) -> None:
        self.app = app
        self.server = server

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = scope["recollect.request"] = secrets.token_hex(8)
        start = time.perf_counter()
        status = 500

        async def sent(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"], *_SAFE_HEADERS, *scope.get("recollect.limits", ()),
                    (b"x-request-id", request_id.encode()),
                ]  # fmt: skip
            await send(message)

        self.server.metrics.in_flight += 1
        try:
            with self.server.traced(scope) as span:
                try:
                    await self._answered(scope, receive, sent, request_id)
                finally:
                    span.done(operation_name(scope), status)
        finally:
            self.server.metrics.in_flight -= 1
            took = time.perf_counter() - start
            self.server.metrics.done(operation_name(scope), status, took)
            log_request(scope, status, took)

    async def _answered(self, scope: Any, receive: Any, send: Any, request_id: str) -> None:
        refused = self._refusal(Request(scope, receive))
        if refused is not None:
            await refused(scope, receive, send)
        else:
            await self._inside(scope, receive, send, request_id)

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
            log.error("%s in %s request=%s", type(error).__name__, operation_name(scope), request_id)
            if started:
                raise
            detail = f"the server failed; its log has the request {request_id}"
            await send_problem(Problem(type="urn:recollect:internal", title="Internal", status=500, detail=detail))(
                scope, receive, send
            )

    def _refusal(self, request: Request) -> Response | None:
        if host_name(request) not in self.server.options.hosts and "*" not in self.server.options.hosts:
            return forbidden("this server does not answer to that host name")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
            return forbidden("requests of other origins are refused")
        return None
