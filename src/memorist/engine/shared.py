"""Defines what all handles on one memory share: its store, runtime, clock and plugged-in parts, and what this process
caches about its orgs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ..errors import MemoristError, StoreError, UsageError
from ..messages.message import Message
from ..ports import Clock, CounterSpec, EmbedderSpec, Model, ModelSpec, RerankerSpec, to_datetime, to_micros
from ..recall.index_cache import IndexCache
from ..runtime import Runtime
from ..stores.base import Put, Store
from .hooks import Events, warn
from .limits import NO_LIMITS
from .locks import KeyedLocks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..context.tokens import Counter
    from ..extract.extraction import Extraction
    from ..gate.policy import Gate
    from ..opening import Twin
    from ..recall.embedding import Embedding
    from ..recall.reranking import Reranking
    from .derive.outbox import InProcess
    from .entities import EntityCache


class Parts(msgspec.Struct):
    """Holds the parts plugged into a memory when it was opened. Each is created on first use."""

    embedder: EmbedderSpec = "default"
    """None if recall uses only words."""
    reranker: RerankerSpec = None
    model: ModelSpec = None
    """None if only local rules are used."""
    counter: CounterSpec = None
    extract: Literal["auto", "rules"] | Extraction | None = None
    """None if no facts are extracted from messages."""
    record_bytes: int | None = None
    """This is the maximum size of each org's records, in bytes."""
    gate: Gate | None = None
    """This is the policy for orgs that do not have their own. None means the default policy."""


class Shared:
    """Holds the parts that all handles on one memory share.

    A memory has one of these for blocking and one for async callers; `other` is the second one, if it was opened. Many
    threads use it without a lock: each cache below is changed by single dict operations, and a lost entry only costs
    another read.
    """

    def __init__(self, store: Store, runtime: Runtime, clock: Clock | None = None, parts: Parts | None = None) -> None:
        self.store = store
        self.runtime = runtime
        self.clock = clock
        self.now: Callable[[], int] = _micros if clock is None else lambda: to_micros(clock())
        """Returns the time in microseconds."""
        self.at: Callable[[], datetime] = partial(datetime.now, UTC) if clock is None else lambda: _in_utc(clock())
        """Returns the time as a datetime, the form used in records."""
        self.parts = parts or Parts()
        self.limits = NO_LIMITS
        """The upper bounds for a single call; a server sets them."""
        self.events = Events()
        self.problems: dict[str, str] = {}
        """The last failure of each plugged-in part, for `doctor`."""
        self.twin: Twin | None = None
        """Creates the shared parts of the other variant (blocking or async) over the same store."""
        self.worker: InProcess | None = None
        """The in-process worker, if there is one."""
        self.wrote: Callable[[], None] = _do_nothing
        """Called after each append to wake the in-process worker, if there is one."""
        self.is_open = False
        self.closed = False
        self.closing = False
        """Whether the memory is being closed. Long jobs then stop after their current batch and stay in the outbox."""
        self._open_lock = runtime.lock()

        # Created on first use, because each one imports a library or loads a model.
        self._counter: Counter | None = None
        self._model: Model | None = None
        self._embedder: Embedding | None = None
        self._reranker: Reranking | None = None
        self._earlier: dict[str, Embedding | None] = {}

        # Caches by org and thread. `drop_cached` removes an org from all of them.
        self.threads: dict[tuple[str, str], str] = {}
        """The threads' namespaces, which never change."""
        self.jobs: dict[tuple[str, str, str], tuple[datetime, datetime, Put]] = {}
        """The outbox rows that appends create: when each was created, how long it may be reused, and the row."""
        self.appended: dict[tuple[str, str], int] = {}
        """The number of the last message that this process has appended to each thread."""
        self.request_settings: dict[tuple[str, str], tuple[float, object, object]] = {}
        """When this process last stored the settings of a request in each thread, and the settings themselves."""
        self.message_tokens: dict[tuple[str, str], int] = {}
        """The average number of tokens per message in the last page read of each thread, which determines the size of
        the next page."""
        self.busy_threads: dict[tuple[str, str], tuple[float, bool]] = {}
        """For each thread that others keep writing to: the time (on the monotonic clock) until which recalls leave it
        alone, and whether it grew while it was being indexed."""

        # Caches by org, each with the time at which it was read or until which it may be used.
        self.record_bytes: dict[str, tuple[int, int]] = {}
        """The size of an org's records in bytes (the last count plus the bytes added since), and when they were
        counted."""
        self.watched: dict[str, tuple[float, bool]] = {}
        """Whether any process is watching an org, and how long this answer is cached."""
        self.policies: dict[str, tuple[float, Gate]] = {}
        """An org's gate policy, and how long the policy is cached."""

        self.indexes = IndexCache()
        self.recall_lock = runtime.lock()
        self.tool_vectors: dict[tuple[str, str], NDArray[np.float32]] = {}
        """Vectors of tool descriptions, by the embedder's name and the text."""
        self.working_locks = KeyedLocks(runtime)
        self.entity_locks = KeyedLocks(runtime)
        self.entity_cache: EntityCache | None = None
        """The loaders and running loads of entities, created on first use and shared by blocking and async callers."""

    @property
    def other(self) -> Shared | None:
        """The shared parts for the other kind of caller (async instead of blocking, or vice versa), if they exist."""
        return None if self.twin is None else self.twin.beside(self)

    @property
    def counter(self) -> Counter:
        """The token counter, created on first use."""
        if self._counter is None:
            from ..context.tokens import open_counter

            self._counter = open_counter(self.parts.counter)
        return self._counter

    @property
    def counting(self) -> tuple[Callable[[Message], int], str | None]:
        """This is a function that counts a message's tokens, and the counter's name, or None for the default
        counter."""
        from ..context.measure import counting
        from ..context.tokens import DEFAULT_COUNTER

        counter = self.counter
        return counting(counter), None if counter.name == DEFAULT_COUNTER else counter.name

    @property
    def embedder(self) -> Embedding | None:
        """The embedder, which is created on first use, or None if recall uses only words."""
        spec = self.parts.embedder
        if self._embedder is None and spec is not None:
            from ..recall.embedding import Embedding

            self._embedder = Embedding(spec, self.runtime)
        return self._embedder

    def earlier_embedder(self, name: str) -> Embedding | None:
        """Return the embedder with a name that is stored with vectors, for vectors that have not been replaced yet.

        Until `VectorIndexer` has finished, a namespace contains vectors from two embedders. A question is then embedded
        by both, and each searches its own vectors. An embedder that cannot be reopened by name (such as a function) is
        None, and its entries are found only by words.
        """
        if name not in self._earlier:
            from ..embed.opening import reopened
            from ..recall.embedding import Embedding

            embedder = reopened(name)
            # Failures are remembered as well, because opening a model that is not there may take seconds each time.
            self._earlier[name] = None if embedder is None else Embedding(embedder, self.runtime)
        return self._earlier[name]

    @property
    def reranker(self) -> Reranking | None:
        """The reranker, which is created on first use, or None if there is none."""
        spec = self.parts.reranker
        if self._reranker is None and spec is not None:
            from ..recall.reranking import Reranking

            self._reranker = Reranking(spec, self.runtime, self.model if spec == "model" else None)
        return self._reranker

    @property
    def model(self) -> Model | None:
        """The language model, which is created on first use, or None if only local rules are used."""
        spec = self.parts.model
        if self._model is None and spec is not None:
            from ..models import open_model

            self._model = open_model(spec, blocking=self.runtime.blocking, call=self.runtime.offload)
        return self._model

    @property
    def derives(self) -> bool:
        """Whether facts and learnings are derived from users' messages."""
        return self.parts.extract is not None

    @property
    def extraction_model(self) -> Model | None:
        """This is the model that extracts facts from messages, or None if extract="rules"."""
        return None if self.parts.extract == "rules" else self.model

    @property
    def reads_by_rules(self) -> bool:
        """Whether only the local rules, which take less than a millisecond, extract facts from messages."""
        return self.derives and (self.parts.model is None or self.parts.extract == "rules")

    def emit(self, name: str, **data: object) -> None:
        """Call the hooks for an event. They receive only ids and sizes."""
        self.events.emit(name, str(data.pop("org", "")), data)

    def note(self, part: str, problem: Exception) -> None:
        """Record a part's failure for `doctor`. Only the type of a foreign error is stored, because its text may
        contain content.
        """
        error_type = type(problem).__name__
        self.problems[part] = f"{error_type}: {problem}" if isinstance(problem, MemoristError) else error_type

    @contextmanager
    def reading_on(self, part: str) -> Iterator[None]:
        """Let a read continue even if the store refuses the writes that the read makes along the way."""
        try:
            yield
        except StoreError as problem:
            self.unwritten(part, problem)
        else:
            self.problems.pop(part, None)

    def unwritten(self, part: str, problem: StoreError) -> None:
        """Log a write that failed during a read (for example because the disk is full) and report it to `doctor`.
        Errors that also prevent reading are raised.
        """
        if not problem.refuses_writes:
            raise problem
        # Warn once per outage, not once per read.
        if part not in self.problems:
            warn("reading continues without writing %s: %s", part, problem)
        self.note(part, problem)

    def appended_length(self, org: str, thread: str) -> int:
        """Return the number of the last message that this process has appended to a thread.

        Return 0 if it has appended none.
        """
        # A program may append through one variant and recall through the other, so both count.
        return max(shared.appended.get((org, thread), 0) for shared in self._variants())

    def drop_cached(self, org: str) -> None:
        """Drop the org's data cached in this process for blocking and async callers, because part of it was
        forgotten.
        """
        for shared in self._variants():
            shared.indexes.drop(org)
            caches: list[dict[Any, Any]] = [
                shared.threads, shared.jobs, shared.appended, shared.request_settings, shared.message_tokens,
                shared.busy_threads,
            ]  # fmt: skip
            for cache in caches:
                # The keys are copied, and a missing key is no error, because other threads use these dicts meanwhile.
                for key in [key for key in list(cache) if key[0] == org]:
                    cache.pop(key, None)

    def _variants(self) -> list[Shared]:
        """Return the shared parts for this kind of caller, and those for the other kind if they exist."""
        return [self] if self.other is None else [self, self.other]

    async def open(self) -> None:
        """Open the store on first use."""
        if self.is_open:
            return
        # Checked again below: the caller that held the lock before this one may have opened the store.
        async with self._open_lock:
            self._refuse_if_closed()
            if not self.is_open:
                await self.store.open()
                if self.closed:
                    # Closed while it was being opened: `close` found nothing to close yet.
                    await self.store.close()
                    self._refuse_if_closed()
                self.is_open = True

    def _refuse_if_closed(self) -> None:
        if self.closed:
            raise UsageError("this memory is closed; open another one")

    async def close(self) -> None:
        """Finish work in progress, then close the store for blocking and async callers. You can close it twice."""
        if self.other is not None and not self.other.closed:
            # In the other's own runtime, because its worker and its connections belong to another loop or thread.
            await self.runtime.run_other(self.other.close_own)
        await self.close_own()

    async def close_own(self) -> None:
        """Close everything that this variant (blocking or async) opened. Every later call raises an error."""
        self.closed = True
        # The worker goes first, because its last jobs still need the model and the store.
        if self.is_open and self.worker is not None:
            await self.worker.close()
        # A model object that the caller passed is theirs to close; they may use it elsewhere.
        if self._model is not None and self._model is not self.parts.model:
            await self._model.close()
        self._model = None
        if self.is_open:
            # Reset before the store closes, so that calls that arrive meanwhile are refused and a second close does
            # nothing.
            self.is_open = False
            await self.store.close()
        await self.runtime.close()


def _micros() -> int:
    return time.time_ns() // 1000


def _in_utc(moment: datetime) -> datetime:
    return to_datetime(to_micros(moment))


def _do_nothing() -> None:
    """Do nothing, because there is no worker to wake."""
