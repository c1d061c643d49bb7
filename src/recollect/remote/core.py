"""A handle on a server: the place of the engine's core, with a client instead of a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..engine.assembling import Assembling
from ..engine.core import Core
from ..engine.forgetting.forget import Forgetting
from ..engine.forgetting.provenance import Provenance
from ..engine.health import Health
from ..engine.recall.recalling import Recalling
from ..errors import Unsupported, UsageError
from ..runtime import Runtime
from ..scope import Scope
from ..server.operations import OPERATIONS, owner_of
from .clients import Client
from .nouns import noun_class

T = TypeVar("T")
_OF_MEMORY: Mapping[Any, str] = dict.fromkeys((Recalling, Assembling, Forgetting, Provenance, Health), "")
"""Parts of the engine that the memory itself speaks for."""


class RemoteShared:
    """What handles on one server share: the client, opened with the first request."""

    def __init__(self, client: Client, runtime: Runtime) -> None:
        self.client = client
        self.runtime = runtime
        self.closed = False

    async def open(self) -> None:
        """Nothing to open: connections are made when they are needed."""
        if self.closed:
            raise UsageError("this memory is closed; open another one")

    async def close(self) -> None:
        """Let go of the connections."""
        if not self.closed:
            self.closed = True
            await self.client.close()


class RemoteCore:
    """One handle on a server. Who it is for is decided by its key, on the server."""

    batch = None

    def __init__(self, client: Client, runtime: Runtime, scope: Scope) -> None:
        self.shared = RemoteShared(client, runtime)
        self.runtime = runtime
        self.scope = scope
        self.org = scope.org

    def part(self, kind: Callable[[Core], T]) -> T:
        """The part as requests."""
        noun = _OF_MEMORY.get(kind)
        if noun is None:
            noun = next((one.noun for one in OPERATIONS if one.noun and owner_of(one.noun) is kind), None)
        if noun is None:
            made: Any = _NotOffered(getattr(kind, "__name__", "this"))
            return made  # type: ignore[no-any-return]  # refuses every call
        found: T = noun_class(noun)(self.shared.client)
        return found

    def narrowed(self, scope: Scope) -> RemoteCore:
        raise Unsupported("a handle on a server is as wide as its key; make a key for the narrower one")

    def batched(self) -> RemoteCore:
        raise Unsupported("batches are not offered over HTTP by this version")

    def beside(self, *, blocking: bool) -> RemoteCore:
        raise Unsupported("open an AsyncMemory with the same URL and key instead")


class _NotOffered:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise Unsupported(f"{self._name}.{name} is not offered over HTTP; call it where the store is")


def open_remote(url: str, runtime: Runtime, api_key: str | None, scope: Scope) -> RemoteCore:
    """A handle on the server at a URL."""
    return RemoteCore(Client(url, runtime, api_key), runtime, scope)
