"""Implements `memorist.wrap`, which adds memory to the calls of an OpenAI or Anthropic client.

The client is copied with an HTTP client that adds memory to requests and reads the answers as they pass. The SDK itself
does everything else, so its types, errors, streams and helpers stay exactly as they are.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from ..adapters.handles import Handles
from ..errors import UsageError
from ..runtime import run_blocking
from .turns import DEFAULT_BUDGET_TOKENS, Turn, Turns

if TYPE_CHECKING:
    import httpx

    from ..blocking.memory import Memory
    from ..memory import AsyncMemory


Client = TypeVar("Client")
SDKS = ("openai", "anthropic")


def wrap(
    client: Client,
    memory: Memory | AsyncMemory,
    *,
    user: str | None = None,
    thread: str | None = None,
    budget: int = DEFAULT_BUDGET_TOKENS,
    http_client: httpx.Client | httpx.AsyncClient | None = None,
) -> Client:
    """Give an OpenAI or Anthropic client a memory. Relevant memories are added to each call, and the turn is stored
    afterwards.

    This works with blocking and async clients, and with Chat Completions, Responses and Messages, streams and tools.
    Everything else passes through unchanged. If the memory fails, the call continues without it and a warning is
    logged.

    Args:
        client: An `OpenAI`, `AsyncOpenAI`, `Anthropic` or `AsyncAnthropic` client, or a subclass; it is not changed.
        memory: A `Memory` or an `AsyncMemory`.
        user: The user whose memory it is. Defaults to the user of the handle.
        thread: The thread that the turns are stored in. By default, each conversation has its own thread, and is
            recognised by its first message.
        budget: The maximum number of tokens of memory to add to a request.
        http_client: The HTTP client that you passed to the SDK, if you did.

    Returns:
        A client of the same type.

    Raises:
        UsageError: The client belongs to another library, or no user is named.
    """
    module = _sdk_of(client)
    owner = user or memory.user
    if not owner:
        raise UsageError("name the user: wrap(client, memory, user='ada')")
    # By name, because Anthropic's clients for Bedrock and Vertex are not subclasses of `AsyncAnthropic`, and by type,
    # because users' subclasses may have any name.
    is_async = type(client).__name__.startswith("Async") or _is_async(client, module)
    handles = Handles(memory)
    handle = handles.awaited if is_async else handles.stepped
    turns = Turns(handle, user=owner, thread=thread, budget_tokens=budget)
    base = module.DefaultAsyncHttpxClient if is_async else module.DefaultHttpxClient
    # At the HTTP layer, because there streams, retries and helpers of the SDK all end in the same request.
    remembering = _async_client(base, turns, http_client) if is_async else _blocking_client(base, turns, http_client)
    copied: Client = client.copy(http_client=remembering)  # type: ignore[attr-defined]
    return copied


def _sdk_of(client: object) -> ModuleType:
    for parent in type(client).__mro__:
        name = parent.__module__.partition(".")[0]
        if name in SDKS:
            return import_module(name)
    raise UsageError(
        f"wrap accepts a client of openai or anthropic, not {type(client).__module__}.{type(client).__name__}"
    )


def _is_async(client: object, module: ModuleType) -> bool:
    return any(
        isinstance(client, getattr(module, name)) for name in ("AsyncOpenAI", "AsyncAnthropic") if hasattr(module, name)
    )


def _http_of(base: type) -> ModuleType:
    """Return the HTTP library that an SDK uses (`httpx` or its successor)."""
    names = (parent.__module__.partition(".")[0] for parent in base.__mro__)
    return sys.modules[next(name for name in names if name not in SDKS)]


def _with_content(library: ModuleType, request: httpx.Request, content: bytes) -> httpx.Request:
    """Return a copy of a request with another body."""
    # The new body has another length, which the library computes again.
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
    copied: httpx.Request = library.Request(
        request.method, request.url, headers=headers, content=content, extensions=request.extensions
    )
    return copied


class _Passing:
    """Passes the answer's bytes on unchanged. The turn is stored when they end or the stream is closed."""

    def __init__(self, turns: Turns, response: httpx.Response, turn: Turn) -> None:
        self._stream: Any = response.stream
        self._turns, self._response, self._turn = turns, response, turn
        self._content = bytearray()
        self._stored = False

    async def _store(self) -> None:
        if not self._stored:
            self._stored = True
            await self._turns.store(self._turn, *_status(self._response), bytes(self._content))


async def _send(
    turns: Turns,
    request: httpx.Request,
    forward: Callable[[httpx.Request], Awaitable[httpx.Response]],
    library: ModuleType,
    passing: Callable[[Turns, httpx.Response, Turn], Any] | None,
) -> httpx.Response:
    """Send a request with memory added to it, and store its turn. `passing` wraps the answer of a stream.

    For a blocking client, `forward` blocks and the coroutine never suspends.
    """
    turn = turns.begin(request.url.path, _content(request)) if request.method == "POST" else None
    if turn is None:
        return await forward(request)
    content = await turns.prepare(turn)
    request = request if content is None else _with_content(library, request, content)
    if passing is not None:
        # The answer is read as it passes through, so it must not be compressed.
        request.headers["accept-encoding"] = "identity"
    response = await forward(request)
    if passing is not None:
        response.stream = passing(turns, response, turn)
    else:
        await turns.store(turn, *_status(response), response.content)
    return response


def _blocking_client(base: type, turns: Turns, inner: Any) -> object:
    library = _http_of(base)

    class Passing(_Passing, library.SyncByteStream):  # type: ignore[misc,name-defined]
        def __iter__(self) -> Iterator[bytes]:
            for chunk in self._stream:
                self._content += chunk
                yield chunk
            run_blocking(self._store())

        def close(self) -> None:
            self._stream.close()
            run_blocking(self._store())

    class RememberingClient(base):  # type: ignore[misc]
        """Wraps the SDK's own HTTP client, and adds memory to requests for an answer."""

        def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> object:
            send = inner.send if inner is not None else super().send

            async def forward(request: httpx.Request) -> httpx.Response:
                response: httpx.Response = send(request, stream=stream, **options)
                return response

            return run_blocking(_send(turns, request, forward, library, Passing if stream else None))

    return RememberingClient()


def _async_client(base: type, turns: Turns, inner: Any) -> object:
    library = _http_of(base)

    class Passing(_Passing, library.AsyncByteStream):  # type: ignore[misc,name-defined]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._stream:
                self._content += chunk
                yield chunk
            await self._store()

        async def aclose(self) -> None:
            await self._stream.aclose()
            await self._store()

    class RememberingClient(base):  # type: ignore[misc]
        """Wraps the SDK's own HTTP client, and adds memory to requests for an answer."""

        async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> object:
            send = inner.send if inner is not None else super().send
            forward = partial(send, stream=stream, **options)
            return await _send(turns, request, forward, library, Passing if stream else None)

    return RememberingClient()


def _content(request: httpx.Request) -> bytes:
    """Return the JSON body of a request, or nothing for other requests, such as a streamed upload."""
    kind = request.headers.get("content-type", "")
    # A streamed upload can be read only once, and the SDK has to send it.
    return bytes(request.read()) if kind.startswith("application/json") else b""


def _status(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.headers.get("content-type", "")
