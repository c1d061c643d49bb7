"""Implements a write-through cache: copies of durable rows in a hot store, and the protocol that keeps them up to date.

A copy is a state entry of the hot store. A writer first marks the copy as being written, then writes to the durable
store, and then replaces the mark by compare-and-set. If nobody touched the copy in between, it receives the new value;
otherwise, it becomes empty. A reader that misses notes the copy's version, reads the durable store, and fills the copy
only if it still has that version. Therefore, once a write has returned, no older copy is left. Each org has a
generation, which is a random number that every fill and mark expects to be unchanged. It changes when the hot store is
flushed or restarted, so all fills and marks in progress fail. An org whose marks could not be written is wiped before
it is served hot again.

There is one limitation. A wipe also deletes the marks of writes that have not returned yet. Until such a write returns,
a reader may see its value in the durable store, and then the old one in a copy that was filled in the meantime.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from ...backoff import pause
from ...errors import Conflict, StoreError, StoreUnavailable, UsageError
from ...ports import to_datetime
from ...records import Key, StateEntry
from ..base import Change, Claims, DeleteRange, Expect, Load, Put, Scan, Store

T = TypeVar("T")
FIRST_PAUSE_SECONDS = 0.1
MAX_PAUSE_SECONDS = 5.0
WRITING_MICROS = 10_000_000
# After this many changes of the generation during one mark or read, the hot store counts as failed.
GENERATION_TRIES = 8
MARKS_PER_TIDYING = 64
_random = random.SystemRandom()


class HotDown(Exception):
    """Raised if the hot store is currently unusable, so that the durable store must answer."""


class Copy:
    """Represents a copy as it was read: its body, if any, and the version needed to fill it by compare-and-set."""

    __slots__ = ("body", "fillable", "version")

    def __init__(self, entry: StateEntry | None, now: int) -> None:
        self.version = 0 if entry is None else entry.version
        self.body: Any = None
        self.fillable = True
        if entry is not None:
            state = entry.value
            self.body = state.get("b")
            self.fillable = state.get("w", 0) <= now


class HotSide:
    """Wraps the hot store in a circuit breaker. After a failure, the hot store is not used again until a back-off has
    passed."""

    def __init__(self, store: Store, max_age: float) -> None:
        self.store = store
        self._max_age = int(max_age * 1_000_000)
        self._prefix = ""
        self._until = 0.0
        self._failures = 0
        self._opened = False
        self._generations: dict[str, int] = {}
        self._dirty: set[str] = set()
        self._incarnation: str | None = None
        self._connections = -1
        self._marks = 0

    @property
    def up(self) -> bool:
        """This is True if the circuit breaker currently allows requests to the hot store."""
        return bool(self._prefix) and time.monotonic() >= self._until

    def serve(self, durable_id: str) -> None:
        """Prefix all copies with the id of their durable store, because several stores may share a hot store."""
        self._prefix = f"hot:{durable_id}"

    async def close(self) -> None:
        """Close the hot store, even if it is unreachable."""
        try:
            await self.store.close()
        except StoreError:
            self._failed()
        self._opened = False

    async def guarded(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run an operation on the hot store. Raises HotDown if it fails or the circuit breaker is open."""
        if not self.up:
            raise HotDown
        try:
            await self._recover()
            result = await work()
        except StoreError as cause:
            # One call has waited for a timeout. The next ones go straight to the durable store until the back-off is
            # over, so that a hot store that is down slows down one call in a while.
            self._failed()
            raise HotDown from cause
        self._failures = 0
        return result

    def copy_key(self, org: str, table: str, key: Sequence[str | int]) -> Key:
        """Return the key of a row's copy. Rows of one partition share a namespace."""
        *partition, last = key
        return (org, self.partition(table, partition), str(last))

    def partition(self, table: str, columns: Sequence[str | int]) -> str:
        """Return the namespace of the copies of a partition."""
        return ":".join(
            [self._prefix, table, *[str(column).replace("%", "%25").replace(":", "%3A") for column in columns]]
        )

    def entry(self, copy_key: Key, state: Mapping[str, object], now: int, ends: int | None = None) -> StateEntry:
        """Return a copy in the form in which it is kept in the hot store. It expires with its row, and after `max_age`
        at the latest."""
        at, limit = to_datetime(now), now + self._max_age
        return StateEntry(
            org=str(copy_key[0]),
            ns=str(copy_key[1]),
            key=str(copy_key[2]),
            value=state,
            created_at=at,
            updated_at=at,
            expires_at=to_datetime(limit if ends is None else min(limit, ends)),
        )

    def emptying_put(self, copy_key: Key, now: int) -> Put:
        """Return the change that empties a copy, so that a reader may fill it."""
        return Put(self.entry(copy_key, {}, now))

    def marking_put(self, copy_key: Key, now: int) -> Put:
        """Return the change that marks a copy as being written. The copy is then not served and, for a while, not
        filled."""
        return Put(self.entry(copy_key, {"w": now + WRITING_MICROS}, now))

    async def read(self, org: str, copy_keys: Sequence[Key], now: int) -> tuple[int, list[Copy]]:
        """Return the generation of an org, and the copies under several keys."""
        generation, entries = await self._read_trusted(org, lambda: self.store.get_many(StateEntry, copy_keys, now=now))
        return generation, [Copy(entry, now) for entry in entries]

    async def scan(self, org: str, partition: str, limit: int, now: int) -> tuple[int, list[StateEntry]]:
        """Return the generation of an org, and the copies of a partition, last first."""
        scan = Scan(StateEntry, (org, partition), reverse=True, limit=limit)
        return await self._read_trusted(org, lambda: self.store.scan(scan, now=now))

    async def fill(
        self, org: str, generation: int | None, versions: dict[Key, int], changes: Sequence[Change], now: int
    ) -> bool:
        """Write copies if the generation and the versions of these copies are unchanged, and return whether they were
        written."""
        if generation is None:
            return False
        expects = [Expect(StateEntry, self._generation_key(org), generation)]
        # A writer first marks its copies, which raises their versions. A row that was read before that write and
        # arrives here after it therefore cannot replace the mark.
        expects += [Expect(StateEntry, copy_key, version) for copy_key, version in versions.items()]
        try:
            await self.guarded(lambda: self.store.apply([*expects, *changes], now=now))
        except Conflict as conflict:
            # The hot store was flushed or wiped. Read the new generation before the next fill.
            if conflict.facts.get("key", self._generation_key(org)) == self._generation_key(org):
                self._generations.pop(org, None)
            return False
        except UsageError:
            # The hot store refuses the copy, for example because it is too large. The durable store serves the row.
            return False
        return True

    async def mark(self, org: str, changes: Sequence[Change], now: int) -> tuple[int | None, list[Any]]:
        """Write marks over any copies, expecting the current generation.

        Without a generation, the next reader would start one and delete the mark. An org that could not
        be marked is wiped before it is served again.
        """

        async def work() -> tuple[int | None, list[Any]]:
            for _ in range(GENERATION_TRIES):
                await self._prepare(org)
                generation = self._generations[org]
                try:
                    _, *results = await self.store.apply(
                        [Expect(StateEntry, self._generation_key(org), generation), *changes], now=now
                    )
                except Conflict:
                    self._generations.pop(org, None)
                    continue
                await self._tidy(org, now)
                return generation, results
            raise StoreUnavailable("the generation of the hot copies changed each time they were marked")

        try:
            return await self.guarded(work)
        except HotDown:
            self.distrust(org)
            raise

    def distrust(self, org: str) -> None:
        """Record that an org must be wiped before it is served hot again."""
        # In memory only: other processes trust these copies until they expire, `max_age` after they were written.
        self._dirty.add(org)
        self._generations.pop(org, None)

    async def wipe(self, org: str) -> None:
        """Delete every copy of an org, and make all fills in progress fail."""
        try:
            await self.guarded(lambda: self._rotate(org))
        except HotDown:
            self.distrust(org)

    async def erase(self) -> None:
        """Delete every copy of every org, even while the circuit breaker is open. Raises an error if the hot store is
        unavailable."""
        try:
            await self._recover()
            for org in await self.store.orgs() if isinstance(self.store, Claims) else ():
                await self._rotate(org)
        except StoreError:
            self._failed()
            raise

    async def _tidy(self, org: str, now: int) -> None:
        """Remove expired copies from the hot store's indexes after every few marks."""
        # Marks are counted instead of time, because only writes leave expired copies behind.
        self._marks += 1
        tidy = getattr(self.store, "tidy", None)
        if tidy is not None and self._marks % MARKS_PER_TIDYING == 0:
            await tidy(org, now=now)

    # -- trust

    async def _recover(self) -> None:
        if not self._opened:
            await self.store.open()
            self._opened = True
        await self._same_server()
        for org in list(self._dirty):
            await self._rotate(org)

    async def _same_server(self) -> None:
        """Check after a new connection whether the server has been restarted, perhaps with old data. If so, distrust
        all copies."""
        count = getattr(self.store, "connections_made", 0)
        if count == self._connections:
            return
        ask = getattr(self.store, "incarnation", None)
        incarnation = "" if ask is None else await ask()
        if incarnation != self._incarnation:
            # A restarted server may have loaded an old snapshot, with copies that were replaced since. An org's copies
            # are deleted when its generation is next read, and then fill up again one miss at a time.
            self._generations.clear()
        self._incarnation = incarnation
        # Store the count from before the question. A connection that another call has opened since then may reach a
        # server that restarted after it answered.
        self._connections = count

    async def _read_trusted(self, org: str, read: Callable[[], Awaitable[T]]) -> tuple[int, T]:
        """Return the result of a read with its generation.

        Raises HotDown if the server or the generation changed during the read.
        """

        async def work() -> tuple[int, T]:
            await self._prepare(org)
            generation = self._generations.get(org)
            result = await read()
            # A server that restarted during the read may have answered with old data.
            await self._same_server()
            if generation is None or self._generations.get(org) != generation:
                raise HotDown
            return generation, result

        return await self.guarded(work)

    async def _prepare(self, org: str) -> None:
        """Read the generation of an org. If there is none, or it belongs to a dead server, start one by
        compare-and-set."""
        for _ in range(GENERATION_TRIES):
            if org in self._generations:
                return
            key = self._generation_key(org)
            row = await self.store.get(StateEntry, key, now=0)
            if row is not None and row.value == self._incarnation:
                self._generations[org] = row.version
                return
            # Of all processes that find no generation, one starts the next. If each started its own, the last one would
            # delete the marks that the others have written in the meantime.
            try:
                await self._rotate(org, Expect(StateEntry, key, 0 if row is None else row.version))
            except Conflict:
                continue
        if org not in self._generations:
            raise StoreUnavailable("the generation of the hot copies changed each time it was read")

    async def _rotate(self, org: str, *conditions: Change) -> None:
        """Start a new generation and delete all copies if the conditions hold."""
        # Random, because a counter that starts again in a flushed store could reach an earlier number, and old fills
        # would pass.
        generation = _random.getrandbits(52) + 1
        at = to_datetime(0)
        _, ns, key = self._generation_key(org)
        row = StateEntry(
            org=org, ns=str(ns), key=str(key), value=self._incarnation, created_at=at, updated_at=at, version=generation
        )
        # `;` follows `:` in ASCII, so the range covers all namespaces of copies, but not the generation's own (the bare
        # prefix).
        copies = DeleteRange(StateEntry, (org,), after=(f"{self._prefix}:",), before=(f"{self._prefix};",))
        # Load, because Put would assign the version itself.
        await self.store.apply([*conditions, copies, Load(row)], now=0)
        # Only now: until the copies are deleted, an org that could not be marked must not be served.
        self._generations[org] = generation
        self._dirty.discard(org)

    def _generation_key(self, org: str) -> Key:
        return (org, self._prefix, "generation")

    def _failed(self) -> None:
        self._failures += 1
        self._until = time.monotonic() + pause(self._failures, first=FIRST_PAUSE_SECONDS, longest=MAX_PAUSE_SECONDS)
        # Whoever answers next may be a restarted server, so ask for its run id and read all generations again.
        self._generations.clear()
        self._connections = -1
