"""Defines what every noun builds on: `Shared` (store, runtime, clock and plugged-in parts) and `Core` (a handle with a
scope)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, cast

import msgspec

from ..backoff import pause
from ..errors import Conflict, MemoristError, StoreError, UsageError
from ..gate.passing import GATED
from ..messages.message import Message
from ..messages.parts import PARTS
from ..ports import Clock, EmbedderSpec, Model, RerankerSpec, Ttl, to_datetime, to_micros, ttl_micros
from ..records import AuditEvent, Entry, Key, Record, Thread, Watermark
from ..runtime import Runtime
from ..scope import Scope
from ..stores.base import (
    Append,
    Appended,
    Change,
    ChangeResult,
    Delete,
    DeleteRange,
    Expect,
    Increment,
    Load,
    Put,
    RowId,
    Scan,
    Store,
    Stored,
    refused_row,
    replica_reads,
)
from .hooks import Events, warn
from .limits import NO_LIMITS
from .locks import KeyedLocks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..context.tokens import Counter
    from ..filters import Filter
    from ..gate.policy import Gate
    from ..opening import Twin
    from ..recall.candidates import Scoped
    from ..recall.embedding import Earlier, Embedding
    from ..recall.reranking import Reranking
    from .derive.outbox import InProcess
    from .entities import EntityCache
    from .overlay import Overlay

R = TypeVar("R", bound=Record)
T = TypeVar("T")
RETRY_SECONDS = 60.0
"""How long to keep retrying a read-then-write while other writers get there first. A fixed number of attempts would not
work: if eight processes edit one thread, most attempts fail, and out of thousands of edits, some fail forty times in a
row."""
MAX_CACHED_VECTORS = 3_000_000
"""The maximum number of vectors in all cached recall scopes together. When it is exceeded, the oldest scope is
dropped."""
LOOK_SECONDS = 0.5
"""The time within which every writing process notices that someone is watching an org."""
_UNKNOWN = (0.0, False)
_METADATA = attrgetter("metadata")
_NO_POLICY: tuple[float, Gate | None] = (0.0, None)


class Bounds(TypedDict, total=False):
    """Holds the arguments for scanning one org, except the prefix. They are the other fields of `Scan`."""

    index: str | None
    after: Key | None
    before: Key | None
    starts: str | None
    reverse: bool
    limit: int | None
    where: Filter | None


class Parts(msgspec.Struct):
    """Holds the parts plugged into a memory when it was opened. Each is created on first use."""

    embedder: object = "default"
    """None if recall uses only words."""
    reranker: object = None
    model: object = None
    """None if only local rules are used."""
    counter: object = None
    extract: object = None
    """This is `auto`, `rules`, an `Extraction`, or None to extract no facts from messages."""
    record_bytes: int | None = None
    """This is the maximum size of each org's records, in bytes."""
    gate: Gate | None = None
    """This is the policy for orgs that do not have their own. None means the default policy."""


class Shared:
    """Holds the parts that all handles on one memory share."""

    def __init__(self, store: Store, runtime: Runtime, clock: Clock | None = None, parts: Parts | None = None) -> None:
        self.store = store
        self.runtime = runtime
        self.clock = clock
        self.now: Callable[[], int] = _micros if clock is None else lambda: to_micros(clock())
        """Returns the time in microseconds."""
        self.at: Callable[[], datetime] = partial(datetime.now, UTC) if clock is None else lambda: _in_utc(clock())
        """Returns the time as a datetime, the form used in records."""
        self.parts = parts or Parts()
        self.derives = self.parts.extract is not None
        """Whether facts and learnings are derived from users' messages."""
        self.threads: dict[tuple[str, str], str] = {}
        """A cache of the threads' namespaces, which never change."""
        self.request_settings: dict[tuple[str, str], tuple[float, object, object]] = {}
        """By thread: when this process last stored the settings of a request, and the settings themselves."""
        self.message_tokens: dict[tuple[str, str], int] = {}
        """By thread: the average number of tokens per message in the last page read, which determines the size of the
        next page."""
        self.jobs: dict[tuple[str, str, str], tuple[datetime, datetime, Put]] = {}
        """A cache of the outbox rows that appends create: when each was created, how long it may be reused, and the
        row."""
        self.appended: dict[tuple[str, str], int] = {}
        """By thread: the number of the last message that this process has appended to it."""
        self.busy_threads: dict[tuple[str, str], tuple[float, bool]] = {}
        """For each thread that others keep writing to: the time (on the monotonic clock) until which recalls leave it
        alone, and whether it grew while it was being indexed."""
        self.wrote: Callable[[], None] = _nothing
        """Called after each append to wake the in-process worker, if there is one."""
        self.record_bytes: dict[str, tuple[int, int]] = {}
        """By org: the size of its records in bytes (the last count plus the bytes added since), and when they were
        counted."""
        self.problems: dict[str, str] = {}
        """The last failure of each plugged-in part, for `doctor`."""
        self.watched: dict[str, tuple[float, bool]] = {}
        """By org: whether any process is watching it, and how long this answer is cached."""
        self.policies: dict[str, tuple[float, Gate]] = {}
        """By org: its gate policy, and how long the policy is cached."""
        self.tool_vectors: dict[tuple[str, str], NDArray[np.float32]] = {}
        """Vectors of tool descriptions, by the embedder's name and the text."""
        self.limits = NO_LIMITS
        """The upper bounds for a single call; a server sets them."""
        self.events = Events()
        self.scopes = Scopes()
        self.recall_lock = runtime.lock()
        self.entity_locks = KeyedLocks(runtime)
        self.entity_cache: EntityCache | None = None
        """The loaders and running loads of entities, created on first use and shared by blocking and async callers."""
        self.working_locks = KeyedLocks(runtime)
        self.twin: Twin | None = None
        """Returns the shared parts of the other variant (blocking or async) over the same store; see `opening.Twin`."""
        self.closed = False
        self.closing = False
        """Whether the memory is being closed. Long jobs then stop after their current batch and stay in the outbox."""
        self.worker: InProcess | None = None
        """The in-process worker, if there is one."""
        self._counter: Counter | None = None
        self._model: Model | None = None
        self._embedder: Embedding | None = None
        self._reranker: Reranking | None = None
        self._earlier: Earlier | None = None
        self._opened = False
        self._open_lock = runtime.lock()

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

            self._embedder = Embedding(cast(EmbedderSpec, spec), self.runtime)
        return self._embedder

    @property
    def earlier(self) -> Earlier:
        """These are the embedders that computed older vectors, by the name stored with each vector."""
        if self._earlier is None:
            from ..recall.embedding import Earlier

            self._earlier = Earlier(self.runtime)
        return self._earlier

    @property
    def reranker(self) -> Reranking | None:
        """The reranker, which is created on first use, or None if there is none."""
        spec = self.parts.reranker
        if self._reranker is None and spec is not None:
            from ..recall.reranking import Reranking

            self._reranker = Reranking(cast(RerankerSpec, spec), self.runtime, self.model if spec == "model" else None)
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
        kind = type(problem).__name__
        self.problems[part] = f"{kind}: {problem}" if isinstance(problem, MemoristError) else kind

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
        other = None if self.twin is None else self.twin.beside(self)
        return max(shared.appended.get((org, thread), 0) for shared in (self, other) if shared is not None)

    def drop_cached(self, org: str) -> None:
        """Drop the org's data cached in this process for blocking and async callers, because part of it was
        forgotten.
        """
        other = None if self.twin is None else self.twin.beside(self)
        # The keys are copied before they are dropped, because other threads may add to these dicts meanwhile.
        for shared in (self, other):
            if shared is not None:
                shared.scopes.drop(org)
                for thread in [key for key in list(shared.threads) if key[0] == org]:
                    shared.threads.pop(thread, None)
                for thread in [key for key in list(shared.appended) if key[0] == org]:
                    shared.appended.pop(thread, None)
                for thread in [key for key in list(shared.request_settings) if key[0] == org]:
                    shared.request_settings.pop(thread, None)
                for job in [key for key in list(shared.jobs) if key[0] == org]:
                    shared.jobs.pop(job, None)

    async def open(self) -> None:
        """Open the store on first use."""
        if self._opened:
            return
        # Checked again below: the caller that held the lock before this one may have opened the store.
        async with self._open_lock:
            self._refuse_if_closed()
            if not self._opened:
                await self.store.open()
                if self.closed:
                    # Closed while it was being opened: `close` found nothing to close yet.
                    await self.store.close()
                    self._refuse_if_closed()
                self._opened = True

    def _refuse_if_closed(self) -> None:
        if self.closed:
            raise UsageError("this memory is closed; open another one")

    async def close(self) -> None:
        """Finish work in progress, then close the store for blocking and async callers. You can close it twice."""
        other = None if self.twin is None else self.twin.beside(self)
        if other is not None and not other.closed:
            await self.runtime.run_other(other.close_own)
        await self.close_own()

    async def close_own(self) -> None:
        """Close everything that this variant (blocking or async) opened. Every later call raises an error."""
        self.closed = True
        # The worker goes first, because its last jobs still need the model and the store.
        if self._opened and self.worker is not None:
            await self.worker.close()
        # A model object that the caller passed is theirs to close; they may use it elsewhere.
        if self._model is not None and self._model is not self.parts.model:
            await self._model.close()
        self._model = None
        if self._opened:
            # Reset before the store closes, so that calls that arrive meanwhile are refused and a second close does
            # nothing.
            self._opened = False
            await self.store.close()
        await self.runtime.close()


class Scopes:
    """Implements an LRU cache of namespaces' in-process recall indexes, limited by the number of vectors."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Scoped] = {}
        # A thread lock, because `drop_cached` also drops the twin's scopes, from whichever thread forgets something.
        self._lock = threading.Lock()

    def get(self, key: tuple[str, str]) -> Scoped | None:
        """Return the cached index of a namespace, marked as recently used."""
        with self._lock:
            # Dicts keep the order of insertion, so inserting the key again makes it the newest.
            scoped = self._kept.pop(key, None)
            if scoped is not None:
                self._kept[key] = scoped
            return scoped

    def put(self, key: tuple[str, str], scoped: Scoped) -> None:
        """Cache an index, and evict the least recently used ones for as long as there are too many vectors."""
        with self._lock:
            scopes = self._kept
            scopes[key] = scoped
            # The last scope always stays, even if it alone is over the limit. Each counts for at least 64, or any
            # number of scopes without vectors would fit.
            while (
                len(scopes) > 1 and sum(len(scope.vectors or ()) + 64 for scope in scopes.values()) > MAX_CACHED_VECTORS
            ):
                del scopes[next(iter(scopes))]

    def drop(self, org: str) -> None:
        """Evict all indexes of an org, because something in it was forgotten."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == org]:
                del self._kept[key]


class Results:
    """Holds the results of a commit, by change or by written record.

    They are not looked up by position, because guards would shift the positions.
    """

    def __init__(
        self, changes: Sequence[Change], results: Sequence[ChangeResult], passed: Sequence[Change] | None = None
    ) -> None:
        self._changes = changes
        self._results = results
        self._passed = changes if passed is None else passed
        self._places: dict[int, int] | None = None

    def _index_of(self, wanted: object) -> int:
        first = self._changes[0]
        if first is wanted or (type(first) is Put and first.record is wanted):
            return 0  # as in most commits, which need no index
        if self._places is None:
            # By identity: many records contain dicts, so they cannot be hashed, and equal changes may occur twice in
            # one commit.
            self._places = {id(change): position for position, change in enumerate(self._changes)}
            self._places |= {
                id(change.record): position for position, change in enumerate(self._changes) if isinstance(change, Put)
            }
        return self._places[id(wanted)]

    def _of(self, wanted: object) -> ChangeResult:
        return self._results[self._index_of(wanted)]

    def stored(self, record: Record) -> Stored:
        """Return the result of the Put of this record."""
        stored = self._of(record)
        assert isinstance(stored, Stored)
        return stored

    def written(self, record: R) -> R:
        """Return a record as it was written (masked if the gate masked it), including the version and time from its
        Put.
        """
        change, stored = self._passed[self._index_of(record)], self.stored(record)
        passed = cast("Any", change).record
        written: R = msgspec.structs.replace(
            passed, version=stored.version, created_at=stored.created_at or passed.created_at
        )
        return written

    def stored_if_absent(self, record: Record) -> Stored | None:
        """Return the result of a Put of this record with `absent`, or None if the row already existed."""
        stored = self._of(record)
        return stored if isinstance(stored, Stored) else None

    def appended(self, change: Append) -> Appended:
        """Return the sequence numbers that an Append assigned."""
        appended = self._of(change)
        assert isinstance(appended, Appended)
        return appended

    def existed(self, change: Delete) -> bool:
        """Return whether the row of a Delete existed."""
        return bool(self._of(change))

    def total(self, change: Delete | DeleteRange | Increment) -> int:
        """Return how many rows a deletion removed, or the total after an Increment."""
        total = self._of(change)
        return int(total) if isinstance(total, int) else 0


_facades: dict[bool, Callable[[object], object]] = {}
"""Functions that create a facade over a core for blocking and async callers."""


def register_facades(*, blocking: Callable[[Any], object], awaited: Callable[[Any], object]) -> None:
    """Let the engine create memories (for processors, and for `task.batch()`) without importing upwards."""
    _facades.update({True: blocking, False: awaited})


def facade_of(core: Any) -> object:
    """Return a `Memory` over a handle if its callers block, or otherwise an `AsyncMemory`."""
    return _facades[core.runtime.blocking](core)


class Core:
    """Represents a handle: the shared parts together with a scope.

    A batch is a core whose store is an overlay, which collects changes and shows them to the batch's own reads.
    """

    def __init__(
        self,
        shared: Shared,
        scope: Scope,
        batch: Overlay | None = None,
        watched: dict[str, str] | None = None,
    ) -> None:
        self.shared = shared
        self.scope = scope
        self.batch = batch
        self.watched: dict[str, str] = {} if watched is None else watched
        """The threads that an open batch relies on, and the namespace that each must be in when the batch is
        committed."""
        self.org = scope.org
        # What an overlay does not do itself, it passes on to the store below it.
        self.store: Store = shared.store if batch is None else cast("Store", batch)
        self.runtime = shared.runtime
        self.now = shared.now
        self.at = shared.at
        self.moment: datetime | None = None
        """The time as of which this handle reads the memory, or None for the present. See `past.core_at`."""
        self.counts_deletions = True
        """Whether a job counts deleted entries. It is False if the caller counts them itself."""
        self.companions: list[Change] = []
        """Changes to commit in the same transaction as the next write."""

    def part(self, kind: Callable[[Core], T]) -> T:
        """Return one of the engine's nouns for this handle. For a remote handle, return one that sends requests."""
        return kind(self)

    def kind(self, wanted: type[T]) -> type[T]:
        """Return the class to instantiate, for example for a session. For a remote handle, return a remote class."""
        return wanted

    def expiry(self, ttl: Ttl | None, now: int) -> datetime | None:
        """Return the time at which a row with this TTL expires."""
        micros = ttl_micros(ttl)
        return None if micros is None else to_datetime(now + micros)

    def get(self, record_type: type[R], *key: str | int) -> Coroutine[object, None, R | None]:
        """Return the live row under a key of this org."""
        if record_type is Message:
            return self._get_message(key)
        if self.shared._opened:  # return the store's own coroutine, which saves a step on this hot path
            return self.store.get(record_type, (self.org, *key), now=self.now())
        return self._get_opening(record_type, key)

    async def _get_message(self, key: Key) -> Any:
        message: Any = await self._get_opening(Message, key)
        return (await self._whole([message]))[0]

    async def _whole(self, rows: list[Any]) -> list[Any]:
        """Return messages together with their separately stored binary parts."""
        for message in rows:
            if message is not None and message.metadata and PARTS in message.metadata:
                from .threads.parts import whole_messages

                return await whole_messages(self.store, rows, self.now())
        return rows

    async def _get_opening(self, record_type: type[R], key: Key) -> R | None:
        await self.shared.open()
        return await self.store.get(record_type, (self.org, *key), now=self.now())

    async def get_many(self, record_type: type[R], keys: Sequence[Key]) -> list[R | None]:
        """Return the live rows under keys of this org."""
        await self.shared.open()
        rows = await self.store.get_many(record_type, [(self.org, *key) for key in keys], now=self.now())
        return await self._whole(rows) if record_type is Message else rows

    def scan(
        self, record_type: type[R], *prefix: str | int, **bounds: Unpack[Bounds]
    ) -> Coroutine[object, None, list[R]]:
        """Return the live rows of this org under a key prefix."""
        scan = Scan(record_type, (self.org, *prefix), **bounds)
        if record_type is Message:
            return self._scan_messages(scan)
        return self.store.scan(scan, now=self.now()) if self.shared._opened else self._scan_opening(scan)

    async def _scan_messages(self, scan: Scan[Any]) -> list[Any]:
        rows = await self._scan_opening(scan)
        return await self._whole(rows) if any(map(_METADATA, rows)) else rows

    async def _scan_opening(self, scan: Scan[R]) -> list[R]:
        await self.shared.open()
        return await self.store.scan(scan, now=self.now())

    async def listed(self, record_type: type[R], *prefix: str | int, **bounds: Unpack[Bounds]) -> list[R]:
        """Return the same as `scan`. The rows are only shown to the caller, so a replica may answer."""
        with replica_reads():
            return await self.scan(record_type, *prefix, **bounds)

    async def apply(self, *changes: Change) -> Results:
        """Commit the changes in one transaction, or collect them if this is a batch.

        Everything written to the store passes through here, so this is where the gate runs.
        """
        apart = await self._with_parts_apart(changes)
        if not self._is_gated(apart):
            return Results(changes, (await self._apply_in_order(apart))[: len(changes)])
        from .gating import pass_changes

        passed = await pass_changes(self, apart)
        # The gate and the separate parts append their own changes at the end, so the first results are those of the
        # caller's changes.
        return Results(changes, (await self._apply_in_order(passed))[: len(changes)], passed)

    async def _with_parts_apart(self, changes: Sequence[Change]) -> Sequence[Change]:
        """Return the changes with the binary parts of messages moved into separate rows at the end."""
        if not _may_have_parts(changes):
            return changes
        from .threads.parts import changes_apart

        await self.shared.open()
        return await changes_apart(self.store, changes, self.now(), self.at())

    def _is_gated(self, changes: Sequence[Change]) -> bool:
        """Return whether the gate must check these changes."""
        for change in changes:
            if type(change) is Put or type(change) is Load:
                if type(change.record) in GATED:
                    return True
            elif type(change) is Append:
                until, policy = self.shared.policies.get(self.org, _NO_POLICY)
                # Another process may have changed the policy, so a cached one is only trusted for a short time.
                if policy is None or policy.messages != "keep" or time.monotonic() > until:
                    return True
        return False

    def _apply_in_order(self, changes: Sequence[Change]) -> Coroutine[object, None, list[ChangeResult]]:
        shared = self.shared
        if shared._opened and self.batch is None and not self.companions and not shared.events.listening:
            looked, watched = shared.watched.get(self.org, _UNKNOWN)
            # Nobody to notify and nothing to count: the store's own coroutine saves a step.
            if not watched and time.monotonic() < looked and not self._deletes_entries(changes):
                return self.store.apply(changes, now=self.now())
        return self._apply(changes)

    async def _apply(self, changes: Sequence[Change]) -> list[ChangeResult]:
        if not self.shared._opened:
            await self.shared.open()
        if self.batch is not None:
            return await self.batch.apply(changes, now=self.now())
        # Notices and companions belong to the same transaction as the changes: a watcher never hears of a write that
        # was rolled back, and a request key never outlives the write that it stands for.
        notices, companions = await self._noticed(changes), self.companions
        together = [*changes, *companions, *notices] if companions or notices else changes
        if self._deletes_entries(changes):
            done = (await self._apply_counted(together))[: len(changes)]
        else:
            done = (await self.store.apply(together, now=self.now()))[: len(changes)]
        if companions:  # if the commit fails, they stay for the next attempt
            self.companions = []
        if self.shared.events.listening:
            # Hooks run after the commit and outside of it: a hook that fails or reads must not affect the write.
            self._tell(changes, done)
        return done

    async def _apply_counted(self, changes: Sequence[Change]) -> list[ChangeResult]:
        """Commit changes that delete entries, and subtract those entries from the statistics of their namespaces."""
        from .statistics import counted_rows, recount_jobs, subtract_deleted

        together = [*changes, *recount_jobs(changes, self.at())]

        async def attempt() -> list[ChangeResult]:
            # Statistics come first, as in a batch of the indexer: transactions that lock rows in two orders may wait
            # for each other.
            sums = await subtract_deleted(self, changes)
            return (await self.store.apply([*sums, *together], now=self.now()))[len(sums) :]

        return await self.retry(attempt, rows=counted_rows(changes))

    def _deletes_entries(self, changes: Sequence[Change]) -> bool:
        """Return whether the statistics of a namespace must be recounted after these changes."""
        if self.counts_deletions:
            for change in changes:
                if (type(change) is Delete or type(change) is DeleteRange) and change.kind is Entry:
                    return True
        return False

    async def _noticed(self, changes: Sequence[Change]) -> list[Change]:
        """Return rows that notify watchers of these changes.

        Return none if nobody is watching. This is checked every LOOK_SECONDS/2.
        """
        looked, watched = self.shared.watched.get(self.org, _UNKNOWN)
        if time.monotonic() >= looked:
            now = self.now()
            lease = await self.store.get(Watermark, (self.org, "watched", ""), now=now)
            watched = lease is not None and lease.position > now
            # Half of the time that a starting watch waits, so that every writer notices it in time.
            self.shared.watched[self.org] = time.monotonic() + LOOK_SECONDS / 2, watched
        if not watched:
            return []
        from .watching import notices

        return notices(self, changes)

    def _tell(self, changes: Sequence[Change], done: Sequence[ChangeResult]) -> None:
        """Call hooks after the commit, for appended messages and for every change that wrote an audit event."""
        for change, result in zip(changes, done, strict=True):
            if isinstance(change, Append) and isinstance(result, Appended) and not result.replayed:
                sizes = sum(len(message.text) for message in change.messages)
                self.shared.emit(
                    "message", org=change.org, thread=change.thread, first=result.first, count=result.count,
                    characters=sizes,
                )  # fmt: skip
            elif isinstance(change, Put) and isinstance(change.record, AuditEvent):
                self._tell_of(change.record)

    def _tell_of(self, event: AuditEvent) -> None:
        if event.action == "forget":
            rows = sum((event.detail or {}).get("counts", {}).values())
            self.shared.emit("forget", org=event.org, kind=event.kind, fingerprint=event.subject, rows=rows)
        elif event.kind in ("fact", "learning"):
            self.shared.emit(event.kind, org=event.org, id=event.subject, action=event.action)

    async def commit(self, batch: Core) -> None:
        """Apply the changes that a batch has collected."""
        changes = [] if batch.batch is None else batch.batch.changes
        # From here on the handle of the batch writes to the store, so that it cannot collect changes that nobody
        # commits.
        batch.batch, batch.store = None, self.store
        _check_keys(changes)
        if not changes or not batch.watched:
            if changes:
                await self.apply(*changes)
            return

        async def attempt() -> None:
            await self.apply(*await self.guarded(changes, batch.watched))

        await self.retry(attempt, rows=self.guards(changes, batch.watched))

    def watch_thread(self, id: str, ns: str) -> None:
        """Make the open batch fail on commit if the thread is in another namespace by then."""
        if self.batch is not None:
            self.watched.setdefault(id, ns)

    def guards(self, changes: Sequence[Change], watched: Iterable[str]) -> set[RowId]:
        """Return the threads whose versions are checked only by `guarded`. If the changes themselves expect a version,
        the caller checks it.
        """
        expected = {change.key for change in changes if isinstance(change, Expect) and change.kind is Thread}
        threads: set[Key] = {(self.org, id) for id in watched}
        return {(Thread.table.name, key) for key in threads - expected}

    async def guarded(self, changes: Sequence[Change], watched: Mapping[str, str]) -> list[Change]:
        """Return the changes, preceded by guards on the versions of the threads they rely on.

        Raises Conflict if one of them has changed.

        Changes that create a thread are left out if it already exists in the same namespace.
        """
        rows = await self.get_many(Thread, [(id,) for id in watched])
        expected: list[Change] = []
        there: set[str] = set()
        for (id, ns), row in zip(watched.items(), rows, strict=True):
            if row is not None and row.ns != ns:
                raise Conflict(f"thread {id!r} exists in another namespace; choose another id", thread=id, final=True)
            if row is not None:
                there.add(id)
            # Version 0 expects that the thread which the batch creates still does not exist.
            expected.append(Expect(Thread, (self.org, id), 0 if row is None else row.version))
        remaining = [change for change in changes if _created(change) not in there]
        return [*expected, *remaining]

    async def retry(
        self, attempt: Callable[[], Coroutine[object, None, T]], *, rows: Collection[RowId] | None = None
    ) -> T:
        """Repeat a read-then-write, with back-off, for as long as its Expect fails with Conflict (optimistic retry).
        With `rows`, retry only if the failed Expect was on one of these rows, because any other would fail every time.
        """
        until, tries = time.monotonic() + RETRY_SECONDS, 0
        while True:
            try:
                return await attempt()
            except Conflict as conflict:
                callers = rows is not None and refused_row(conflict) not in rows
                # A final conflict, such as an id that is taken, would recur with every attempt.
                if callers or conflict.facts.get("final") or time.monotonic() > until:
                    raise
                tries += 1
                await self.runtime.sleep(pause(tries, first=0.001, longest=0.05))

    def narrowed(self, scope: Scope) -> Core:
        """Return a core over the same parts with a smaller scope."""
        return Core(self.shared, scope, self.batch, self.watched)

    def beside(self, *, blocking: bool) -> Core:
        """Return this handle for blocking or async callers."""
        if self.batch is not None:
            raise UsageError("a batch has no async or blocking twin; use the twin of the memory instead")
        if self.shared.runtime.blocking == blocking:
            return self
        assert self.shared.twin is not None  # set where a memory is opened
        return Core(self.shared.twin.of(blocking=blocking), self.scope)

    def facade(self) -> Any:
        """Return the public facade of this handle: `Memory` if its callers block, or otherwise `AsyncMemory`."""
        return facade_of(self)

    def awaitable(self) -> Any:
        """Return an `AsyncMemory` over this handle; if its parts block, `run_blocking` runs its coroutines."""
        return _facades[False](self)

    def uncounted(self) -> Core:
        """Return this handle for a caller that counts deleted entries itself."""
        core = Core(self.shared, self.scope, self.batch, self.watched)
        core.counts_deletions = False
        return core

    def committed(self) -> Core:
        """Return this handle without its open batch, for code that searches or caches only committed rows."""
        return self if self.batch is None else Core(self.shared, self.scope)

    def batched(self) -> Core:
        """Return a core that collects its changes into a new batch."""
        if self.batch is not None:
            raise UsageError("batches cannot be nested; put all changes into one")
        from .overlay import Overlay

        return Core(self.shared, self.scope, Overlay(self.shared.store))


def _created(change: Change) -> str | None:
    """Return the id of the thread that a change creates if it does not exist yet, or None for other changes."""
    record = change.record if isinstance(change, Put) and change.absent else None
    return record.id if isinstance(record, Thread) else None


def _may_have_parts(changes: Sequence[Change]) -> bool:
    """Return whether a message in these changes is more than text. Every write passes here."""
    for change in changes:
        if type(change) is Append:
            for message in change.messages:
                if type(message.content) is not str or message.raw:
                    return True
        elif (type(change) is Load or type(change) is Put) and type(change.record) is Message:
            return True
    return False


def _check_keys(changes: Sequence[Change]) -> None:
    """Raise an error if two appends in one batch have the same idempotency key, because the second would be mistaken
    for a replay.
    """
    keyed = [(change.thread, change.key) for change in changes if isinstance(change, Append) and change.key is not None]
    if len(keyed) != len(set(keyed)):
        raise UsageError("an idempotency key occurs twice in a batch; the second append would be mistaken for a replay")


def _micros() -> int:
    return time.time_ns() // 1000


def _in_utc(moment: datetime) -> datetime:
    return to_datetime(to_micros(moment))


def _nothing() -> None:
    """Do nothing, because there is no worker to wake."""
