"""Creates the core of a memory from its options, by checking them, opening the store, and creating the scope."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import msgspec

from .engine.core import Core
from .engine.derive.outbox import InProcess
from .engine.entities import entity_cache
from .engine.shared import Parts, Shared
from .errors import Unsupported, UsageError
from .gate.policy import Gate
from .part_checks import check_counter, check_embedder, check_model, check_reranker
from .ports import Clock, CounterSpec, EmbedderSpec, ModelSpec, RerankerSpec
from .runtime import Runtime, runtime_for
from .scope import Ns, Scope, grants
from .stores.base import Store
from .stores.opening import open_beside, open_store

if TYPE_CHECKING:
    from .extract.extraction import Extraction
    from .gate.encryption import Encryption

Url = str | os.PathLike[str] | Store | None
"""Where a memory is stored: a path, a URL, a store object, or None (MEMORIST_URL, or else RAM)."""

Durability = Literal["full", "normal"]
"""`full` survives power loss, and `normal` survives a killed process."""

Extract: TypeAlias = "Literal['auto', 'rules'] | Extraction"
"""How facts are extracted from messages: by the model if there is one, by local rules, or as defined by an
Extraction."""


def is_extraction(extract: object) -> bool:
    """Return whether `extract=` is an Extraction. Its module is loaded only if the option is neither a name nor
    None."""
    if isinstance(extract, str | None):
        return False
    from .extract.extraction import Extraction

    return isinstance(extract, Extraction)


def _is_server(url: Url) -> bool:
    return isinstance(url, str) and url.startswith(("http://", "https://"))


class Opening(msgspec.Struct, frozen=True):
    """Holds the options that a memory was opened with. See `AsyncMemory`."""

    url: Url
    hot: Url
    read_url: str | None
    api_key: str | None
    org: str
    user: str | None
    read: Sequence[Ns]
    write: Sequence[Ns]
    shared: str | None
    all_orgs: bool
    actor: str
    durability: Durability
    embedder: EmbedderSpec
    reranker: RerankerSpec
    model: ModelSpec
    counter: CounterSpec
    clock: Clock | None
    extract: Extract | None
    worker: bool
    record_bytes: int | None
    gate: Gate | None
    encryption: Encryption | None

    def core(self, *, blocking: bool) -> Core:
        """Check the options, open the store, and create the core of the caller's handle."""
        # The environment is read only here. The memory's twin is opened later, and must use the same store even if the
        # variables have changed by then.
        opening = self if self.url is not None else self._from_environment()
        runtime = runtime_for(blocking)
        if _is_server(opening.url):
            return opening._remote(str(opening.url), runtime)
        opening._check(runtime)
        scope = opening._scope()
        # The warning about a memory in RAM counts the calls from here to the user's line.
        store = open_store(opening.url, opening.hot, runtime, opening.durability, opening.read_url)
        return Core(opening._shared(opening._sealed(store), runtime), scope)

    def _from_environment(self) -> Opening:
        """Return the options of a memory opened without a URL."""
        url = os.environ.get("MEMORIST_URL") or None
        if _is_server(url):  # which has its own hot store and replica
            return msgspec.structs.replace(self, url=url)
        hot = self.hot or os.environ.get("MEMORIST_HOT_URL") or None
        read_url = self.read_url or os.environ.get("MEMORIST_READ_URL") or None
        return msgspec.structs.replace(self, url=url, hot=hot, read_url=read_url)

    def _sealed(self, store: Store) -> Store:
        if self.encryption is None:
            return store
        from .gate.encryption import seal_store

        return seal_store(store, self.encryption)

    def _scope(self) -> Scope:
        read, write = grants(self.read), grants(self.write)
        return Scope(self.org, self.user, self.actor, self.all_orgs, read, write, self.shared)

    def _remote(self, url: str, runtime: Runtime) -> Core:
        """Return a handle on a server, narrowed to `user` if one is named.

        Options that the server decides are refused.
        """
        from .remote.core import open_remote

        usual = {
            "hot": None,
            "embedder": "default",
            "reranker": None,
            "model": None,
            "durability": "full",
            "clock": None,
            "counter": None,
            "extract": "auto",
            "shared": None,
            "read_url": None,
            "record_bytes": None,
            "gate": None,
            "encryption": None,
        }
        chosen = [name for name, value in usual.items() if getattr(self, name) != value]
        if chosen or self.all_orgs:
            name = chosen[0] if chosen else "all_orgs"
            raise UsageError(f"{name}= is decided by the server; leave it out if the URL is a server's")
        # A remote core is not a subclass. It has the same methods, but sends requests to a server instead of a store.
        return cast("Core", open_remote(url, runtime, self.api_key, self._scope()))

    def _check(self, runtime: Runtime) -> None:
        if self.api_key is not None:
            raise Unsupported("api_key= is for the URL of a server; this memory is opened locally")
        if not is_extraction(self.extract) and self.extract not in (None, "auto", "rules"):
            raise UsageError("extract= is 'auto', 'rules', an Extraction, or None to extract no facts from messages")
        if self.clock is not None and not callable(self.clock):
            raise UsageError("clock= is a function without arguments that returns an aware datetime")
        if self.gate is not None and not isinstance(self.gate, Gate):
            raise UsageError("gate= is a Gate, such as Gate(messages='mask')")
        if self.encryption is not None and not hasattr(self.encryption, "unseal"):
            raise UsageError("encryption= is an Encryption, such as Encryption('keys.json')")
        check_counter(self.counter)
        check_embedder(self.embedder, blocking=runtime.blocking)
        check_model(self.model, blocking=runtime.blocking)
        check_reranker(self.reranker, self.model, blocking=runtime.blocking)

    def _shared(self, store: Store, runtime: Runtime) -> Shared:
        parts = Parts(
            self.embedder, self.reranker, self.model, self.counter, self.extract, self.record_bytes, self.gate
        )
        shared = Shared(store, runtime, self.clock, parts)
        if self.worker:
            # A worker of one org must not process another org's messages, which would be sent to this one's model.
            shared.worker = InProcess(shared, None if self.all_orgs else self.org)
            shared.wrote = shared.worker.wake
        shared.twin = Twin(self, shared)
        return shared


class Twin:
    """Creates the shared parts for the other kind of caller (async instead of blocking, or vice versa) over the same
    store, on first use."""

    def __init__(self, opening: Opening, shared: Shared) -> None:
        self._opening = opening
        self._first = shared
        self._other: Shared | None = None
        self._lock = threading.Lock()

    def of(self, *, blocking: bool) -> Shared:
        """Return the shared parts for blocking or for async callers."""
        if self._first.runtime.blocking == blocking:
            return self._first
        # A thread lock, because a blocking and an async caller may ask at the same time.
        with self._lock:
            if self._other is None:
                self._other = self._make_twin(blocking)
            return self._other

    def beside(self, shared: Shared) -> Shared | None:
        """Return the parts for the other kind of caller, if they were created, so that closing one closes both."""
        return self._first if shared is self._other else self._other

    def _make_twin(self, blocking: bool) -> Shared:
        runtime = runtime_for(blocking)
        check_embedder(self._opening.embedder, blocking=blocking)
        check_model(self._opening.model, blocking=blocking)
        check_reranker(self._opening.reranker, self._opening.model, blocking=blocking)
        options, first = self._opening, self._first
        # An encrypted store wraps the one that the URL names, and the twin gets a wrapper of its own.
        below: Store = getattr(first.store, "below", first.store)
        store = options._sealed(
            open_beside(below, options.url, options.hot, runtime, options.durability, options.read_url)
        )
        other = options._shared(store, runtime)
        # A memory that was closed stays closed for both kinds of callers.
        other.twin, other.events, other.closed = self, first.events, first.closed
        other.entity_cache = entity_cache(first)
        return other
