"""Defines `Core`, the handle that every noun builds on: the shared parts of a memory (`shared.py`) with a scope.

A noun reads rows with `get`, `get_many` and `scan`, and writes them with one `apply` per unit of work, which is one
transaction. Read this module first, then `facts/facts.py` for a noun, and `stores/base.py` for the changes.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypedDict, TypeVar, Unpack, cast

from ..backoff import pause
from ..errors import Conflict, UsageError
from ..gate.passing import GATED
from ..messages.message import Message
from ..messages.parts import PARTS
from ..ports import Ttl, to_datetime, ttl_micros
from ..records import AuditEvent, Entry, Key, Record, Thread, Watermark
from ..scope import Scope
from ..stores.base import (
    Append,
    Appended,
    Change,
    ChangeResult,
    Delete,
    DeleteRange,
    Expect,
    Load,
    Put,
    RowId,
    Scan,
    Store,
    refused_row,
    replica_reads,
)
from .noun import facade_of
from .results import Results
from .shared import Shared

if TYPE_CHECKING:
    from ..filters import Filter
    from ..gate.policy import Gate
    from .overlay import Overlay

P = ParamSpec("P")
R = TypeVar("R", bound=Record)
T = TypeVar("T")
RETRY_SECONDS = 60.0
"""How long to keep retrying a read-then-write while other writers get there first. A fixed number of attempts would not
work: if eight processes edit one thread, most attempts fail, and out of thousands of edits, some fail forty times in a
row."""
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


class Core:
    """Represents a handle: the shared parts together with a scope.

    A batch is a core whose store is an overlay, which collects changes and shows them to the batch's own reads.
    """

    def __init__(self, shared: Shared, scope: Scope, batch: Overlay | None = None) -> None:
        self.shared = shared
        self.scope = scope
        self.batch = batch
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

    def part(self, part_type: Callable[Concatenate[Core, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Return a noun, session or other part of the engine over this handle. A remote handle returns one that sends
        requests."""
        return part_type(self, *args, **options)

    def expiry(self, ttl: Ttl | None, now: int) -> datetime | None:
        """Return the time at which a row with this TTL expires."""
        micros = ttl_micros(ttl)
        return None if micros is None else to_datetime(now + micros)

    # -- reads
    # `get` and `scan` are plain functions that return the store's own coroutine if they can. They run on every call,
    # and one more coroutine in between would cost more than everything else that they do.

    def get(self, record_type: type[R], *key: str | int) -> Coroutine[object, None, R | None]:
        """Return the live row under a key of this org."""
        if record_type is Message:
            return self._get_message(key)
        if self.shared.is_open:
            return self.store.get(record_type, (self.org, *key), now=self.now())
        return self._get_opening(record_type, key)

    async def _get_message(self, key: Key) -> Any:
        message: object = await self._get_opening(Message, key)
        return (await self._join_parts([message]))[0]

    async def _join_parts(self, rows: list[Any]) -> list[Any]:
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
        return await self._join_parts(rows) if record_type is Message else rows

    def scan(
        self, record_type: type[R], *prefix: str | int, **bounds: Unpack[Bounds]
    ) -> Coroutine[object, None, list[R]]:
        """Return the live rows of this org under a key prefix."""
        scan = Scan(record_type, (self.org, *prefix), **bounds)
        if record_type is Message:
            return self._scan_messages(scan)
        return self.store.scan(scan, now=self.now()) if self.shared.is_open else self._scan_opening(scan)

    async def _scan_messages(self, scan: Scan[Any]) -> list[Any]:
        rows = await self._scan_opening(scan)
        return await self._join_parts(rows) if any(map(_METADATA, rows)) else rows

    async def _scan_opening(self, scan: Scan[R]) -> list[R]:
        await self.shared.open()
        return await self.store.scan(scan, now=self.now())

    async def listed(self, record_type: type[R], *prefix: str | int, **bounds: Unpack[Bounds]) -> list[R]:
        """Return the same as `scan`. The rows are only shown to the caller, so a replica may answer."""
        with replica_reads():
            return await self.scan(record_type, *prefix, **bounds)

    # -- writes

    async def apply(self, *changes: Change) -> Results:
        """Commit the changes in one transaction, or collect them if this is a batch.

        Everything written to the store passes through here, so this is where the gate runs.
        """
        # Every step below adds its own changes at the end only, so `Results` finds those of the caller in front.
        passed = await self._with_parts_apart(changes)
        if self._is_gated(passed):
            from .gating import pass_changes

            passed = await pass_changes(self, passed)
        return Results(changes, await self._write(passed), passed)

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

    async def _write(self, changes: Sequence[Change]) -> Sequence[ChangeResult]:
        """Commit the changes with everything that belongs to them, or collect them if this is a batch."""
        shared = self.shared
        if not shared.is_open:
            await shared.open()
        if self.batch is not None:
            return await self.batch.apply(changes, now=self.now())
        until, is_watched = shared.watched.get(self.org, _UNKNOWN)
        if time.monotonic() >= until:
            is_watched = await self._look_for_watchers()
        # Notices and companions belong to the same transaction as the changes: a watcher never hears of a write that
        # was rolled back, and a request key never outlives the write that it stands for.
        companions, notices = self.companions, self._notices_of(changes) if is_watched else []
        together = [*changes, *companions, *notices] if companions or notices else changes
        if self._deletes_entries(changes):
            results = await self._apply_counted(together)
        else:
            results = await self.store.apply(together, now=self.now())
        if companions:  # if the commit fails, they stay for the next attempt
            self.companions = []
        if shared.events.listening:
            # Hooks run after the commit and outside of it: a hook that fails or reads must not affect the write.
            self._emit_events(changes, results)
        return results

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
        for change in changes:
            if (type(change) is Delete or type(change) is DeleteRange) and change.kind is Entry:
                return self.counts_deletions
        return False

    async def _look_for_watchers(self) -> bool:
        """Return whether any process is watching this org, and cache the answer."""
        now = self.now()
        lease = await self.store.get(Watermark, (self.org, "watched", ""), now=now)
        is_watched = lease is not None and lease.position > now
        # Half of the time that a starting watch waits, so that every writer notices it in time.
        self.shared.watched[self.org] = time.monotonic() + LOOK_SECONDS / 2, is_watched
        return is_watched

    def _notices_of(self, changes: Sequence[Change]) -> list[Change]:
        """Return rows that notify watchers of these changes."""
        from .watching import notices

        return notices(self, changes)

    def _emit_events(self, changes: Sequence[Change], results: Sequence[ChangeResult]) -> None:
        """Call hooks after the commit, for appended messages and for every change that wrote an audit event."""
        for change, result in zip(changes, results, strict=False):  # the results of notices come last
            if isinstance(change, Append) and isinstance(result, Appended) and not result.replayed:
                sizes = sum(len(message.text) for message in change.messages)
                self.shared.emit(
                    "message", org=change.org, thread=change.thread, first=result.first, count=result.count,
                    characters=sizes,
                )  # fmt: skip
            elif isinstance(change, Put) and isinstance(change.record, AuditEvent):
                self._emit_audited(change.record)

    def _emit_audited(self, event: AuditEvent) -> None:
        if event.action == "forget":
            rows = sum((event.detail or {}).get("counts", {}).values())
            self.shared.emit("forget", org=event.org, kind=event.kind, fingerprint=event.subject, rows=rows)
        elif event.kind in ("fact", "learning"):
            self.shared.emit(event.kind, org=event.org, id=event.subject, action=event.action)

    # -- batches and optimistic retries

    async def commit(self, batch: Core) -> None:
        """Apply the changes that a batch has collected."""
        overlay = batch.batch
        if overlay is None:
            return
        # From here on the handle of the batch writes to the store, so that it cannot collect changes that nobody
        # commits.
        batch.batch, batch.store = None, self.store
        _check_keys(overlay.changes)
        if overlay.changes:
            await self.apply_guarded(overlay.changes, overlay.relied_on)

    @property
    def collected(self) -> list[Change]:
        """These are the changes that the open batch has collected so far; outside a batch there are none."""
        return [] if self.batch is None else self.batch.changes

    async def together(self, work: Callable[[Core], Awaitable[T]]) -> T:
        """Commit everything that some work writes at once: with the open batch, or in a batch of its own."""
        if self.batch is not None:
            return await work(self)
        batch = self.batched()
        result = await work(batch)
        await self.commit(batch)
        return result

    def watch_thread(self, id: str, ns: str) -> None:
        """Make the open batch fail on commit if the thread is in another namespace by then."""
        if self.batch is not None:
            self.batch.relied_on.setdefault(id, ns)

    async def apply_guarded(self, changes: Sequence[Change], threads: Mapping[str, str]) -> None:
        """Commit the changes of a batch that relies on threads (by id) being in these namespaces.

        Raises Conflict if one of them is in another namespace by now.
        """
        if not threads:
            await self.apply(*changes)
            return

        async def attempt() -> None:
            await self.apply(*await self._guard_changes(changes, threads))

        # Guards that fail are computed again. If the changes themselves expect a version, only the caller can.
        expected = {change.key for change in changes if isinstance(change, Expect) and change.kind is Thread}
        keys: set[Key] = {(self.org, id) for id in threads}
        await self.retry(attempt, rows={(Thread.table.name, key) for key in keys - expected})

    async def _guard_changes(self, changes: Sequence[Change], threads: Mapping[str, str]) -> list[Change]:
        """Return the changes, preceded by guards on the versions of the threads they rely on.

        Changes that create a thread are left out if it already exists in the same namespace.
        """
        rows = await self.get_many(Thread, [(id,) for id in threads])
        expected: list[Change] = []
        there: set[str] = set()
        for (id, ns), row in zip(threads.items(), rows, strict=True):
            if row is not None and row.ns != ns:
                raise Conflict(f"thread {id!r} exists in another namespace; choose another id", thread=id, final=True)
            if row is not None:
                there.add(id)
            # Version 0 expects that the thread which the batch creates still does not exist.
            expected.append(Expect(Thread, (self.org, id), 0 if row is None else row.version))
        remaining = [change for change in changes if _find_created_thread(change) not in there]
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

    # -- other handles

    def narrowed(self, scope: Scope) -> Core:
        """Return a core over the same parts with a smaller scope."""
        return Core(self.shared, scope, self.batch)

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

    def uncounted(self) -> Core:
        """Return this handle for a caller that counts deleted entries itself."""
        core = Core(self.shared, self.scope, self.batch)
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


def _find_created_thread(change: Change) -> str | None:
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
