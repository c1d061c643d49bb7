"""Defines parts, which are ASGI applications (such as MCP) that a server mounts next to its API."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from ..server.app import Server


class Part(msgspec.Struct, frozen=True):
    """Represents one mounted application."""

    path: str
    app: Any
    running: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    """This context manager is entered when the server starts and exited when it stops."""
    gated: bool = True
    """This is False for an application that authenticates callers itself (with `server.admit`) or is public."""


MakePart = Callable[["Server"], Part]
