"""Calls a model over HTTP through a provider's SDK. Blocking and async clients share their coroutine methods.

The SDK handles addresses, headers and credentials. The SDK's own retries are off. Ours share one deadline, limit the
wait that a server may ask for, and report the number of attempts. Answers are read in chunks with limits on time and
size, so that a server that sends slowly or endlessly cannot block a caller. Each call opens its own connection, so a
client survives a fork and works in a new event loop.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing, contextmanager
from contextvars import ContextVar
from email.utils import parsedate_to_datetime
from time import monotonic, sleep, time
from typing import Any, Protocol, TypedDict, Unpack

import msgspec

from ..errors import ModelError
from ..ports import Completion, Messages
from ..typed import ready
from ..values import JsonObject
from .base import DEFAULT_TIMEOUT_SECONDS, MAX_ANSWER_BYTES
from .retry import Retry, Sleep, retrying

CLOSE = {"Connection": "close"}
NO_TEMPERATURE = "temperature"
RETRY_STATUS = frozenset({408, 409, 425, 429})
_quiet: ContextVar[bool] = ContextVar("memorist_quiet", default=False)


class Limits(TypedDict, total=False):
    """Holds the options that limit the calls to a model."""

    timeout: float | None
    retry: Retry
    sleep: Sleep | None


class Wire(Protocol):
    """Defines a provider's wire format: how to encode requests, and how to decode answers and stream events."""

    model: str
    name: str
    """This is the provider and the model, as in errors."""

    def request(
        self, messages: Messages, system: str | None, max_tokens: int, schema: JsonObject | None, stream: bool
    ) -> JsonObject:
        """Return keyword arguments for the SDK. Only the temperature is in `extra_body`."""
        ...

    def completion(self, body: bytes, schema: JsonObject | None) -> Completion: ...

    def piece(self, event: bytes) -> str: ...


class RemoteModel:
    """Represents a language model that is called through an SDK client. `create` is its streaming-response call."""

    def __init__(
        self, wire: Wire, sdk: Any, client: Any, create: Callable[..., Any], *, blocking: bool, **limits: Unpack[Limits]
    ) -> None:
        self.blocking = blocking
        self.model, self.name = wire.model, wire.name
        self.timeout = limits.get("timeout")
        """The maximum number of seconds for an answer, including retries. A call may set a lower limit."""
        self._wire, self._sdk, self._client, self._create = wire, sdk, client, create
        self._retry = limits.get("retry", Retry())
        self._sleep = limits.get("sleep") or (_sleep_here if blocking else _sleep_async)
        self._takes_temperature = True
        _hush(sdk.__name__)

    async def complete(
        self,
        messages: Messages,
        *,
        system: str | None = None,
        max_tokens: int,
        schema: JsonObject | None = None,
        timeout: float | None = None,
    ) -> Completion:
        """Return one answer. Transient errors are retried until the deadline."""
        request = self._wire.request(messages, system, max_tokens, schema, False)
        if not self._takes_temperature:
            request.pop("extra_body", None)

        async def attempt(left: float) -> Completion:
            try:
                return await complete(left)
            except ModelError as problem:
                if getattr(problem, "reason", None) != NO_TEMPERATURE or request.pop("extra_body", None) is None:
                    raise
            # Some models use a fixed temperature of their own and refuse any other.
            self._takes_temperature = False
            return await complete(left)

        async def complete(left: float) -> Completion:
            body = b"".join([chunk async for chunk in self._chunks(request, left)])
            return self._checked(self._wire.completion(body, schema), schema)

        return await retrying(attempt, policy=self._retry, timeout=self._seconds(timeout), sleep=self._sleep)

    async def stream(
        self, messages: Messages, *, system: str | None = None, max_tokens: int, timeout: float | None = None
    ) -> AsyncIterator[str]:
        """Stream the answer's text. A stream is not retried once it has begun."""
        request = self._wire.request(messages, system, max_tokens, None, True)
        async with aclosing(self._chunks(request, self._seconds(timeout))) as chunks:
            pending = b""
            async for chunk in chunks:
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    piece = self._event(line)
                    if piece:
                        yield piece
        piece = self._event(pending)
        if piece:
            yield piece

    async def close(self) -> None:
        """Close the SDK's client."""
        if self.blocking:
            self._client.close()
        else:
            await self._client.close()

    def _seconds(self, timeout: float | None) -> float:
        limit = self.timeout or timeout or DEFAULT_TIMEOUT_SECONDS
        return min(timeout or limit, limit)

    def _event(self, line: bytes) -> str:
        line = line.strip()
        if not line.startswith(b"data:") or line == b"data: [DONE]":
            return ""
        return self._wire.piece(line[5:].strip())

    def _checked(self, answer: Completion, schema: JsonObject | None) -> Completion:
        if answer.stop == "refusal":
            raise self._error("refused to answer", reason="refusal")
        if schema is not None and answer.stop == "length" and answer.data is None:
            error = self._error("was cut off at max_tokens before its JSON ended", reason="length")
            # An attribute and not one of the facts, because facts are logged and an answer contains content.
            error.cut_answer = answer
            raise error
        if not answer.text.strip() and answer.data is None:
            raise self._error("returned an empty answer", reason="empty", retryable=True)
        return answer

    async def _chunks(self, request: JsonObject, left: float) -> AsyncGenerator[bytes, None]:
        """Yield the raw bytes of an answer, within the limits on time and size."""
        deadline, size = monotonic() + left, 0
        with self._errors():
            async with aclosing(self._read(request, left)) as chunks:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > MAX_ANSWER_BYTES:
                        raise self._error(f"answered more than {MAX_ANSWER_BYTES} bytes", reason="too_long")
                    # The SDK's timeout applies to each read, so a server that sends a byte now and then would never
                    # exceed it.
                    if monotonic() > deadline:
                        raise self._error(f"took longer than {left:.1f} s", reason="timeout", retryable=True)
                    yield chunk

    async def _read(self, request: JsonObject, left: float) -> AsyncGenerator[bytes, None]:
        if self.blocking:
            with ExitStack() as open_now:
                # Only around the request, in which the SDK logs: a generator must not hold a context variable across
                # `yield`.
                with _silence():
                    response = open_now.enter_context(self._create(**request, timeout=left))
                for chunk in response.iter_bytes():
                    yield chunk
        else:
            async with AsyncExitStack() as open_later:
                with _silence():
                    response = await open_later.enter_async_context(self._create(**request, timeout=left))
                async for chunk in response.iter_bytes():
                    yield chunk

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert SDK errors to ModelError, without `__cause__`, because they contain the request, which must not be
        logged.
        """
        try:
            yield
        except self._sdk.APIStatusError as error:
            raise self._status_error(error) from None
        except self._sdk.APITimeoutError:
            raise self._error("did not answer in time", reason="timeout", retryable=True) from None
        except self._sdk.APIConnectionError:
            raise self._error("could not be reached", reason="connection", retryable=True) from None
        except (ModelError, GeneratorExit):
            raise
        except Exception as error:
            # The SDK does not wrap transport errors that occur while a body is read, and raises TypeError for bad
            # credentials.
            kind = type(error).__name__
            lost = any(word in kind for word in ("Timeout", "Read", "Protocol", "Connect", "Stream"))
            raise self._error(f"failed ({kind})", reason=kind, retryable=lost) from None

    def _status_error(self, error: Any) -> ModelError:
        status = int(error.status_code)
        retryable = status in RETRY_STATUS or status >= 500
        hint = _HINTS.get(status, "")
        no_temperature = status == 400 and "temperature" in str(getattr(error, "body", None) or error)
        facts = {
            "reason": NO_TEMPERATURE if no_temperature else f"http_{status}",
            "retryable": retryable,
            "status": status,
        }
        wait = _retry_after(error.response.headers)
        return self._error(f"answered HTTP {status}{hint}", **facts, **({} if wait is None else {"retry_after": wait}))

    def _error(self, what: str, **facts: object) -> ModelError:
        return model_error(self.name, what, **facts)


_HINTS = {
    400: ": the request was refused; check the model id and its limits",
    401: ": check the API key",
    403: ": this key may not use the model",
    404: ": no such model or address",
    413: ": the request is too large",
    429: ": rate limited",
    529: ": overloaded",
}


def model_error(name: str, what: str, **facts: object) -> ModelError:
    """Return a ModelError that names the model, with `reason`, `status` and `retryable`."""
    facts.setdefault("reason", what)
    facts.setdefault("status", None)
    facts.setdefault("retryable", False)
    return ModelError(f"{name} {what}", model=name, **facts)


def decode(name: str, body: bytes, kind: object) -> Any:
    """Decode a provider's JSON into a struct, or raise ModelError."""
    ready(kind)
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise model_error(
            name, "sent an answer that does not follow its protocol", reason="malformed", retryable=True
        ) from None


def _retry_after(headers: Any) -> float | None:
    delay = headers.get("retry-after-ms")
    try:
        if delay is not None:
            return max(0.0, float(delay) / 1000)
        delay = headers.get("retry-after")
        return None if delay is None else max(0.0, float(delay))
    except ValueError:
        return _retry_date(str(delay))


def _retry_date(text: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, TypeError):
        return None


async def _sleep_here(seconds: float) -> None:
    sleep(seconds)  # noqa: ASYNC251  # the blocking flavour has no loop to stall


async def _sleep_async(seconds: float) -> None:
    import anyio  # comes with both SDKs

    await anyio.sleep(seconds)


@contextmanager
def _silence() -> Iterator[None]:
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


class _Quiet(logging.Filter):
    """Drops an SDK's log records during our calls, because at DEBUG it logs whole requests, and content must not be
    logged.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return not _quiet.get()


_QUIET = _Quiet()


def _hush(package: str) -> None:
    for name in (f"{package}._base_client", f"{package}._response", f"{package}._legacy_response", package):
        logger = logging.getLogger(name)
        if _QUIET not in logger.filters:
            logger.addFilter(_QUIET)
