"""The two ways to a server, with the same coroutine methods: httpx blocking, and httpx awaited.

Every write carries an idempotency key, so a request whose answer was lost is sent again and done once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..backoff import pause
from ..errors import RecollectError, StoreTimeout, StoreUnavailable, UnknownOutcome, UsageError
from ..problems import Problem, error_of
from ..runtime import Runtime

try:
    import httpx
except ModuleNotFoundError as cause:
    raise UsageError('a memory behind a URL needs an HTTP client; run: pip install "recollect[remote]"') from cause

TRIES = 3
TIMEOUT_SECONDS = 30.0
_BUSY = (429, 502, 503, 504)
_problem = msgspec.json.Decoder(Problem).decode


class Answer(msgspec.Struct):
    """What a server said."""

    body: bytes
    headers: Mapping[str, str]


class Client:
    """Sends requests, and says honestly what became of them."""

    def __init__(self, url: str, runtime: Runtime, api_key: str | None) -> None:
        key = api_key or os.environ.get("RECOLLECT_API_KEY") or ""
        if "\n" in key or not key.isascii():
            raise UsageError("an API key is one line of ASCII")
        parts = urlsplit(url)
        if parts.username or parts.password:
            raise UsageError("pass the key as api_key=… or in RECOLLECT_API_KEY, not in the URL")
        headers = {"accept": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
        self.place = f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
        self._runtime = runtime
        settings: dict[str, Any] = {"base_url": url.rstrip("/"), "headers": headers, "timeout": TIMEOUT_SECONDS}
        self._blocking = httpx.Client(**settings) if runtime.blocking else None
        self._awaited = None if runtime.blocking else httpx.AsyncClient(**settings)

    async def send(
        self, method: str, path: str, *, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str],
        repeatable: bool,
    ) -> Answer:  # fmt: skip
        """One request, tried again where that cannot do a thing twice."""
        for tries in range(TRIES):
            last = tries == TRIES - 1 or not repeatable
            try:
                status, answer = await self._once(method, path, query, body, headers)
            except httpx.TimeoutException as cause:
                if last:
                    raise self._lost(method, StoreTimeout, "did not answer in time") from cause
            except httpx.ConnectError as cause:
                if last:
                    raise StoreUnavailable(f"the server at {self.place} cannot be reached") from cause
            except httpx.HTTPError as cause:
                if last:
                    raise self._lost(method, StoreUnavailable, "broke the connection") from cause
            else:
                if status < 400:
                    return answer
                if last or status not in _BUSY:
                    raise _error(status, answer)
            await self._runtime.sleep(pause(2 * tries + 1, first=0.075, longest=5.0))
        raise AssertionError("unreachable")

    async def _once(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, Answer]:
        more = {"params": dict(query), "content": body, "headers": dict(headers)}
        if self._blocking is not None:
            reply = self._blocking.request(method, path, **more)  # type: ignore[arg-type]  # one dict for all options
        else:
            assert self._awaited is not None
            reply = await self._awaited.request(method, path, **more)  # type: ignore[arg-type]  # one dict for all options
        return reply.status_code, Answer(reply.content, reply.headers)

    def _lost(self, method: str, kind: type[RecollectError], what: str) -> RecollectError:
        """A read can be asked again; of a write nobody knows whether it was done."""
        if method == "GET":
            return kind(f"the server at {self.place} {what}")
        return UnknownOutcome(f"the server at {self.place} {what}; whether the write was done is not known")

    async def close(self) -> None:
        """Let go of the connections."""
        if self._blocking is not None:
            self._blocking.close()
        elif self._awaited is not None:
            await self._awaited.aclose()


def _error(status: int, answer: Answer) -> RecollectError:
    try:
        problem = _problem(answer.body)
    except msgspec.DecodeError:
        return StoreUnavailable(f"the server answered with status {status} and no reason")
    if status in (401, 403, 429) and problem.type.rpartition(":")[2] in ("recollect-error", "forbidden"):
        return UsageError(problem.detail or problem.title)
    return error_of(problem)
