"""Implements the remote counterpart of the engine's `Core`, which sends operations to a server instead of using a
store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import msgspec

from ..engine.core import Core
from ..engine.derive.outbox import Waiting
from ..engine.entities import Entities, EntityCache
from ..engine.forgetting.forget import Forgetting
from ..engine.health import Health
from ..engine.limits import NO_LIMITS
from ..engine.locks import KeyedLocks
from ..engine.namespaces import Namespaces
from ..engine.noun import facade_of
from ..engine.portable import Portable
from ..engine.processors import Processing
from ..engine.provenance import Provenance
from ..engine.recalling import Recalling
from ..engine.remembering import Remembering
from ..engine.scrubbing import Scrubbing
from ..engine.sessions.assembling import Assembling
from ..engine.sessions.inject import Injection
from ..engine.sessions.session import AsyncSession
from ..engine.sessions.tools import ToolRecall
from ..engine.watching import AsyncWatch
from ..errors import Forbidden, UsageError
from ..exporting.exporting import Exporting
from ..importing.importing import Importing
from ..protocol.narrowing import Narrowed
from ..protocol.operations import BY_NAME, OPERATIONS, owner_of
from ..runtime import Runtime, runtime_for
from ..scope import Ns, Scope
from .clients import Client
from .entities import RemoteEntities
from .erasing import RemoteForgetting
from .events import RemoteEvents, RemoteWatch
from .injection import RemoteInjection
from .nouns import noun_class, request
from .session import RemoteSession
from .transfers import RemoteExporting, RemotePortable
from .waiting import RemoteWaiting

P = ParamSpec("P")
T = TypeVar("T")
_OF_MEMORY: Mapping[Callable[..., object], str] = dict.fromkeys(
    (Recalling, Assembling, ToolRecall, Provenance, Health, Namespaces, Processing, Remembering, Scrubbing), ""
)
"""Parts of the engine whose methods are methods of the memory itself, not of a noun."""
_OWN: Mapping[Callable[..., object], Callable[..., object]] = {
    AsyncSession: RemoteSession, AsyncWatch: RemoteWatch, Entities: RemoteEntities, Exporting: RemoteExporting,
    Forgetting: RemoteForgetting, Importing: RemotePortable, Injection: RemoteInjection, Portable: RemotePortable,
    Waiting: RemoteWaiting,
}  # fmt: skip
"""Parts that have their own remote implementation because they need several requests or run code on the client."""


class RemoteShared:
    """Holds the parts that all handles on one server share: the HTTP client, the event stream and the entity
    loaders."""

    def __init__(self, url: str, api_key: str | None, runtime: Runtime, org: str) -> None:
        self.url, self.api_key, self.org = url, api_key, org
        self.runtime = runtime
        self.client = Client(url, runtime, api_key)
        self.events = RemoteEvents(self)
        self.entity_locks = KeyedLocks(runtime)
        self.entity_cache = EntityCache()
        self.limits = NO_LIMITS
        """The server has its own limits, and refuses requests that exceed them."""
        self.closed = False
        self.twin: RemoteShared | None = None

    def beside(self, *, blocking: bool) -> RemoteShared:
        """Return the blocking or async twin of this object, created on first use."""
        if self.runtime.blocking == blocking:
            return self
        if self.twin is None:
            self.twin = RemoteShared(self.url, self.api_key, runtime_for(blocking), self.org)
            # Both twins count the same loads, and an entity registered on one can be loaded through the other.
            self.twin.twin, self.twin.entity_cache = self, self.entity_cache
        return self.twin

    def check_open(self) -> None:
        """Raise UsageError once closed."""
        if self.closed or (self.twin is not None and self.twin.closed):
            raise UsageError("this memory is closed; open another one")

    async def open(self) -> None:
        """Check that the client is not closed. The first request opens the connections."""
        self.check_open()

    async def close(self) -> None:
        """Stop the event streams and close the connections of both clients, blocking and async."""
        if self.twin is not None and not self.twin.closed:
            # Connections of the twin belong to its own runtime, so it has to close them there.
            await self.runtime.run_other(self.twin.close_own)
        await self.close_own()

    async def close_own(self) -> None:
        """Close the connections of this client only."""
        if not self.closed:
            self.closed = True
            await self.events.close()
            await self.client.close()
            await self.runtime.close()


class RemoteScope(Scope, frozen=True):
    """Represents a scope on a server, where the key may have a user and grants that are unknown here.

    An empty list therefore has an effect only if it was passed explicitly. In that case, the key's grants are dropped.
    """

    named: tuple[str, ...] = ()
    """These are the arguments (`read`, `write`) that the caller passed."""

    def narrow(
        self,
        org: str | None = None,
        user: str | None = None,
        actor: str | None = None,
        read: Sequence[Ns] | None = None,
        write: Sequence[Ns] | None = None,
    ) -> RemoteScope:
        """Return the same or a smaller scope. The server refuses grants that the key does not have."""
        narrowed = super().narrow(org, user, actor, read, write)
        for name, asked, wanted in (("read", read, narrowed.read), ("write", write, narrowed.write)):
            if asked is not None and wanted and self.user is None and name in self.named:
                raise Forbidden(f"a handle cannot grant more than it has: its grants to {name} were dropped")
        names = [name for name, asked in (("read", read), ("write", write)) if asked is not None]
        return RemoteScope(**msgspec.structs.asdict(narrowed), named=tuple(dict.fromkeys((*self.named, *names))))

    def narrowed(self) -> Narrowed:
        """Return what a request says of this scope."""
        return Narrowed(
            org=None if self.org == "default" else self.org, user=self.user,
            actor=None if self.actor == "user" else self.actor,
            read=list(self.read) if self.read or "read" in self.named else None,
            write=list(self.write) if self.write or "write" in self.named else None,
        )  # fmt: skip


class RemoteCore:
    """Represents one handle on a server. Its rights are those of its API key, and it can only be narrowed further."""

    def __init__(
        self,
        shared: RemoteShared,
        scope: RemoteScope,
        batch: list[object] | None = None,
        batch_scope: RemoteScope | None = None,
    ) -> None:
        self.shared = shared
        self.runtime = shared.runtime
        self.scope = scope
        self.org = scope.org
        self.batch = batch
        """The operations collected for one commit, or None outside a batch."""
        self.batch_scope = batch_scope or scope
        """The scope of the request that commits the batch. An operation of a narrower handle names its own."""

    def at(self) -> datetime:
        """Return the current time on this machine."""
        return datetime.now(UTC)

    def headers(self) -> dict[str, str]:
        """Return the request headers, which contain the narrowed scope and the trace context."""
        return {**self.scope.narrowed().header(), **self.shared.events.headers()}

    async def call(self, name: str, template: type | None = None, /, **arguments: object) -> Any:
        """Call one operation by its name, such as `facts.set`. A working document is returned as its `template`."""
        return await request(self, BY_NAME[name], arguments, template)

    def part(self, part_type: Callable[Concatenate[Core, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Return the remote implementation of a part of the engine."""
        if part_type in _OWN:
            return cast(T, _OWN[part_type](self, *args, **options))
        noun = _OF_MEMORY.get(part_type)
        if noun is None:
            noun = next(
                operation.noun for operation in OPERATIONS if operation.noun and owner_of(operation.noun) is part_type
            )
        remote_noun: T = noun_class(noun)(self)
        return remote_noun

    def narrowed(self, scope: RemoteScope) -> RemoteCore:
        """Return a handle with a narrower scope."""
        return RemoteCore(self.shared, scope, self.batch, self.batch_scope)

    def committed(self) -> RemoteCore:
        """Return this handle without its open batch."""
        return self if self.batch is None else RemoteCore(self.shared, self.scope)

    def batched(self) -> RemoteCore:
        """Return a handle that collects its writes for one commit."""
        if self.batch is not None:
            raise UsageError("batches cannot be nested; put all changes into one")
        return RemoteCore(self.shared, self.scope, [])

    async def commit(self, batch: RemoteCore) -> list[object]:
        """Send the operations collected by a batch, as one request."""
        # From here on, calls on the handle are sent, so that it cannot collect operations that nobody commits.
        steps, batch.batch = batch.batch or [], None
        if not steps:
            return []
        done = await self.call("batches.commit", operations=steps)
        return list(done.results)

    def beside(self, *, blocking: bool) -> RemoteCore:
        """Return the blocking or async twin of this handle."""
        if self.batch is not None:
            raise UsageError("a batch has no async or blocking twin; use the twin of the memory instead")
        return RemoteCore(self.shared.beside(blocking=blocking), self.scope)

    def facade(self) -> Any:
        """Return the public facade of this handle: `Memory` if its callers block, else `AsyncMemory`."""
        return facade_of(self)


def open_remote(url: str, runtime: Runtime, api_key: str | None, scope: Scope) -> RemoteCore:
    """Return a handle on the server at a URL."""
    return RemoteCore(RemoteShared(url, api_key, runtime, scope.org), RemoteScope(**msgspec.structs.asdict(scope)))
