"""Defines parts, which are ASGI applications (such as MCP) that a server mounts next to its API."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from .keys import ApiKey, Unauthorized

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..memory import AsyncMemory


T = TypeVar("T")


class Host(Protocol):
    """Declares the server methods that a mounted part may use."""

    memory: AsyncMemory
    metrics: Any

    async def admit(self, request: Request) -> ApiKey:
        """Check the key of a request, count it against its limits and return it. Raises Unauthorized."""
        ...

    def limited(self, request: Request, key: ApiKey, *, heavy: bool = False) -> ApiKey:
        """Return the key after counting the request against its limits."""
        ...

    async def beside(self, work: Callable[[], Coroutine[object, None, T]]) -> T:
        """Run potentially long work outside the loop that answers connections, and return its result."""
        ...

    def count_bad(self, request: Request, wrong: Unauthorized) -> None:
        """Count a failed authentication."""
        ...

    def handle(self, key: ApiKey, narrowed: str | None = None) -> AsyncMemory:
        """Return a memory narrowed to the access rights of a key."""
        ...


class Part(msgspec.Struct, frozen=True):
    """Represents one mounted application."""

    path: str
    app: Any
    running: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    """This context manager is entered when the server starts and exited when it stops."""
    gated: bool = True
    """This is False for an application that authenticates callers itself (with `host.admit`) or is public."""


MakePart = Callable[[Host], Part]
