"""Implements the HTTP client of a remote memory, with the same coroutine methods over httpx's blocking and async
clients, of which every process and every event loop has its own, because a connection belongs to the loop that opened
it.

Every write has an idempotency key, so a request whose answer was lost can be retried without being carried out twice.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..backoff import pause
from ..errors import Forbidden, MemoristError, StoreTimeout, StoreUnavailable, UnknownOutcome, UsageError
from ..extras import install_command
from ..protocol.problems import Problem, error_of
from ..runtime import Runtime
from ..stores.homes import Homes
from ..values import JsonObject

try:
    import httpx
except ModuleNotFoundError as cause:
    raise UsageError(f"a memory behind a URL needs an HTTP client; run: {install_command('remote')}") from cause

MAX_ATTEMPTS = 3
TIMEOUT_SECONDS = 30.0
CLOSE_SECONDS = 10.0
"""The time that `close` waits for requests from other threads or tasks."""
STREAM_SECONDS = 60.0
"""The read timeout of a stream; a server sends a heartbeat every 15 seconds."""
MAX_WAIT_SECONDS = 5.0
"""The longest `Retry-After` that the client waits for automatically. If the server asks for a longer wait, the error is
raised."""
_BUSY = (429, 502, 503, 504)
_problem = msgspec.json.Decoder(Problem).decode


class Answer(msgspec.Struct):
    """Holds the body and headers of a response."""

    body: bytes
    headers: Mapping[str, str]


class Client:
    """Sends requests, retries those that are safe to repeat, and raises the library's errors."""

    def __init__(self, url: str, runtime: Runtime, api_key: str | None) -> None:
        key = api_key or os.environ.get("MEMORIST_API_KEY") or ""
        if "\n" in key or not key.isascii():
            raise UsageError("an API key is one line of ASCII; check api_key=… or MEMORIST_API_KEY")
        parts = urlsplit(url)
        if parts.username or parts.password:
            raise UsageError("pass the key as api_key=… or in MEMORIST_API_KEY, not in the URL")
        headers = {"accept": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
        self.place = f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
        self._runtime = runtime
        self._streams: list[httpx.Response] = []
        self._guard = threading.Lock()
        self._requests = 0
        self._closed = False
        self._settings: JsonObject = {
            "base_url": url.rstrip("/"), "headers": headers, "timeout": TIMEOUT_SECONDS,
            # Shared, because it takes httpx longer to load the certificates than to send a request.
            "verify": httpx.create_ssl_context(),
        }  # fmt: skip
        self._homes = Homes[Any](runtime, self._open_http, self._close_http)

    async def send(
        self, method: str, path: str, *, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str],
        writes: bool, repeatable: bool,
    ) -> Answer:  # fmt: skip
        """Send one request, and retry it with back-off if it is `repeatable`."""
        for tries in range(MAX_ATTEMPTS):
            last, wait = tries == MAX_ATTEMPTS - 1 or not repeatable, 0.0
            try:
                status, answer = await self._once(method, path, query, body, headers)
            except httpx.TimeoutException as cause:
                if last:
                    raise self._lost(writes, StoreTimeout, "did not answer in time") from cause
            except httpx.ConnectError as cause:
                # Nothing was sent, so a write that fails here was certainly not carried out.
                if last:
                    raise StoreUnavailable(f"the server at {self.place} cannot be reached; is it running?") from cause
            except httpx.HTTPError as cause:
                if last:
                    raise self._lost(writes, StoreUnavailable, "broke the connection") from cause
            except UsageError as closed:
                # An earlier attempt of this write may have arrived, so its outcome is unknown rather than refused.
                if not (writes and tries):
                    raise
                raise self._lost(writes, StoreUnavailable, "had not answered before close()") from closed
            else:
                wait = _seconds(answer.headers.get("retry-after"))
                if status < 400:
                    return answer
                if last or status not in _BUSY or wait > MAX_WAIT_SECONDS:
                    raise error_from(status, answer)
            # A write is repeated with the same idempotency key, or is one that is safe to repeat without a key.
            await self._runtime.sleep(max(wait, pause(2 * tries + 1, first=0.075, longest=5.0)))
        raise AssertionError("unreachable")

    async def _once(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, Answer]:
        more = {"params": dict(query), "content": body, "headers": dict(headers)}
        with self._request():
            reply = await self._on_client(lambda http: http.request(method, path, **more))
            return reply.status_code, Answer(reply.content, reply.headers)

    async def _on_client(self, request: Callable[[Any], Any]) -> httpx.Response:
        """Send a request with the client of this process and event loop."""
        reply: httpx.Response = await self._homes.use(lambda http: self._runtime.resolve(request(http)))
        return reply

    async def _open_http(self) -> Any:
        client_type = httpx.Client if self._runtime.blocking else httpx.AsyncClient
        return client_type(**self._settings)

    async def _close_http(self, http: Any) -> None:
        await self._runtime.resolve(http.close() if self._runtime.blocking else http.aclose())

    @contextmanager
    def _request(self) -> Iterator[None]:
        """Count a request, so that `close` waits for it. Raises UsageError once closed."""
        with self._guard:
            if self._closed:
                raise UsageError("this memory was closed in the meantime; open another one")
            self._requests += 1
        try:
            yield
        finally:
            with self._guard:
                self._requests -= 1

    async def lines(self, method: str, path: str, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Stream a response line by line."""
        rest = b""
        async for part in self._parts(method, path, headers):
            *whole, rest = (rest + part).split(b"\n")
            for line in whole:
                yield line
        if rest:
            yield rest

    async def events(self, last: str, headers: Mapping[str, str]) -> AsyncIterator[tuple[str, str, str]]:
        """Stream server-sent events as (name, id, data).

        Lines that begin with a colon are heartbeats and are skipped.
        """
        stream_headers = {**headers, "accept": "text/event-stream", **({"last-event-id": last} if last else {})}
        fields: dict[str, str] = {}
        async for line in self.lines("GET", "/v1/events", stream_headers):
            name, _, value = line.decode().partition(": ")
            if line:
                fields[name] = value
            elif "data" in fields:
                yield fields.get("event", ""), fields.get("id", ""), fields["data"]
            if not line:
                fields = {}

    async def upload(
        self, path: str, pieces: Iterator[bytes], headers: Mapping[str, str], query: Mapping[str, str] | None = None
    ) -> Answer:
        """Stream a long body to the server. It is not retried."""
        more: Any = {"headers": dict(headers), "params": dict(query or {}), "timeout": None}
        try:
            content = pieces if self._runtime.blocking else _asynchronous(pieces)
            reply = await self._on_client(lambda http: http.post(path, content=content, **more))
        except httpx.HTTPError as cause:
            raise self._lost(True, StoreUnavailable, "broke the connection") from cause
        answer = Answer(reply.content, reply.headers)
        if reply.status_code >= 400:
            raise error_from(reply.status_code, answer)
        return answer

    async def _parts(self, method: str, path: str, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        more: Any = {"headers": dict(headers), "timeout": httpx.Timeout(TIMEOUT_SECONDS, read=STREAM_SECONDS)}
        try:
            http = await self._homes.clients()
            if self._runtime.blocking:
                with http.stream(method, path, **more) as reply, self._open(reply):
                    if reply.status_code >= 400:
                        raise error_from(reply.status_code, Answer(reply.read(), reply.headers))
                    for part in reply.iter_bytes():
                        yield part
                return
            async with http.stream(method, path, **more) as reply:
                with self._open(reply):
                    if reply.status_code >= 400:
                        raise error_from(reply.status_code, Answer(await reply.aread(), reply.headers))
                    async for part in reply.aiter_bytes():
                        yield part
        except httpx.HTTPError as cause:
            raise StoreUnavailable(f"the connection to {self.place} was lost during a stream; try again") from cause

    @contextmanager
    def _open(self, reply: httpx.Response) -> Iterator[None]:
        """Register a stream for `stop_streams` while it is read."""
        self._streams.append(reply)
        try:
            yield
        finally:
            self._streams.remove(reply)

    def stop_streams(self) -> None:
        """Shut down the sockets of open streams, which wakes the threads or tasks blocked on them."""
        for reply in tuple(self._streams):
            stream = reply.extensions.get("network_stream")
            sock = stream.get_extra_info("socket") if stream is not None else None
            if sock is not None:
                # Closing a socket does not wake a thread that is blocked in recv; shutting it down does.
                with suppress(OSError):  # it may be closed already
                    sock.shutdown(socket.SHUT_RDWR)

    def _lost(self, writes: bool, error_type: type[MemoristError], what: str) -> MemoristError:
        """Return the error for a lost answer: `error_type` for a read, and UnknownOutcome for a write, which may have
        been carried out."""
        if not writes:
            return error_type(f"the server at {self.place} {what}")
        return UnknownOutcome(f"the server at {self.place} {what}; the write may or may not have been done")

    async def close(self) -> None:
        """Close the connections once no request uses them, because httpx would leave connections in use open and raise
        errors in them.
        """
        with self._guard:
            self._closed = True
        until = time.monotonic() + CLOSE_SECONDS
        while self._requests and time.monotonic() < until:
            await self._runtime.sleep(0.005)
        await self._homes.close()


def _seconds(header: str | None) -> float:
    return float(header) if header is not None and header.isdecimal() else 0.0


async def _asynchronous(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def error_from(status: int, answer: Answer) -> MemoristError:
    """Return the library's error for an HTTP error response."""
    try:
        problem = _problem(answer.body)
    except msgspec.DecodeError:
        return StoreUnavailable(f"the server answered with status {status} and no reason")
    if status in (401, 403):
        return Forbidden(problem.detail or problem.title, request_id=problem.request_id)
    return error_of(problem)
