"""Defines the outermost ASGI layer, which checks Host and Origin, assigns request ids, turns errors into problem+json,
adds security headers, and counts and logs requests."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from ..errors import MemoristError, StoreError
from ..protocol.problems import Problem
from .answers import forbidden, problem_response, send_problem
from .browser import host_name
from .headers import headers_of
from .logs import log, log_request, operation_name

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

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


class Answering:
    """Wraps the ASGI `send` of one request. It adds our headers to the response and records its status."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.id = scope["memorist.request"] = secrets.token_hex(8)
        self.status = 500
        self.started = False
        self._scope = scope
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            limits = self._scope.get("memorist.limits", ())
            own = (b"x-request-id", self.id.encode())
            message["headers"] = [*message["headers"], *_SAFE_HEADERS, *limits, own]
        await self._send(message)


class Gate:
    """Wraps every request, including those to mounted parts."""

    def __init__(self, app: Callable[..., Awaitable[None]], server: Server) -> None:
        self.app = app
        self.server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answering, start = Answering(scope, send), time.perf_counter()
        self.server.metrics.in_flight += 1
        try:
            with self.server.traced(scope) as span:
                try:
                    await self._answered(scope, receive, answering)
                finally:
                    span.done(operation_name(scope), answering.status)
        finally:
            self.server.metrics.in_flight -= 1
            took = time.perf_counter() - start
            self.server.metrics.done(operation_name(scope), answering.status, took)
            log_request(scope, answering.status, took)

    async def _answered(self, scope: Scope, receive: Receive, send: Answering) -> None:
        try:
            refused = self._refusal(headers_of(scope), scope)
            await (refused or self.app)(scope, receive, send)
        except ClientDisconnect:
            return
        except MemoristError as error:
            # The status has already been sent, so the only way to report the error is to break off the connection.
            if send.started:
                raise
            if isinstance(error, StoreError):
                self.server.metrics.failed(type(error).__name__)
            await problem_response(error, send.id, scope)(scope, receive, send)
        except Exception as error:
            # This is a bug. Log the exception's type and the request id, but never content.
            log.error("%s in %s request=%s", type(error).__name__, operation_name(scope), send.id)
            if send.started:
                raise
            detail = f"the server failed; look for request {send.id} in its log"
            await send_problem(Problem(type="urn:memorist:internal", title="Internal", status=500, detail=detail))(
                scope, receive, send
            )

    def _refusal(self, headers: Mapping[str, str], scope: Scope) -> Response | None:
        hosts = self.server.options.hosts
        names = [name for name, _ in scope["headers"]]
        # A proxy might check one of two values, and this server the other.
        if names.count(b"host") > 1:
            return forbidden("a request must have only one Host header")
        if names.count(b"origin") > 1:
            return forbidden("a request may have at most one Origin header")
        if host_name(headers) not in hosts and "*" not in hosts:
            return forbidden("this server does not answer to that host name")
        origin = headers.get("origin")
        # Behind a proxy that terminates TLS, pages use https, although the request to us does not.
        ours = [f"{scheme}://{headers.get('host')}" for scheme in (scope["scheme"], "https")]
        if origin is not None and origin not in ours:
            return forbidden("requests from other origins are refused")
        return None
