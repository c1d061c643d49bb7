"""Copies of durable rows in a hot store, and the rules that keep them true.

A copy is a state entry of the hot store. Whoever writes a row first marks its copy as being written, then writes the
durable store, then replaces the mark: by the new value if nobody touched the copy in between, else by nothing. Whoever
reads a miss remembers the copy's version, reads the durable store, and fills only over that version. So once a write
has returned, no copy older than it is there. A generation per org, a random number, fails every fill and every mark
that was on its way when the hot store was flushed or restarted; an org whose marks could not be written is wiped before
it is served hot again.

What is not promised: a wipe also takes the marks of writes that have not returned yet. Until such a write returns, a
reader may see its value in the durable store, and then the old one in a copy filled meanwhile.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from ...backoff import pause
from ...errors import Conflict, StoreError, StoreUnavailable, UsageError
from ...ports import to_datetime
from ...records import Key, StateEntry
from ..base import Change, Claims, DeleteRange, Expect, Load, Put, Scan, Store

T = TypeVar("T")
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
WRITING_MICROS = 10_000_000
# How often a mark or a reader finds the generation replaced under it before the hot store counts as failed.
GENERATION_TRIES = 8
TIDY_EVERY = 64
_random = random.SystemRandom()


class HotDown(Exception):
    """The hot store cannot be used now; the durable one answers."""


class Copy:
    """What the hot store holds in one place: a version to fill over, and a body where it is valid."""

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
    """The hot store behind a circuit breaker: a failure costs one timeout, then nothing until it is tried again."""

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
        """Whether the hot store may be asked now."""
        return bool(self._prefix) and time.monotonic() >= self._until

    def serve(self, durable_id: str) -> None:
        """Copies belong to one durable store; two of them may share a hot one."""
        self._prefix = f"hot:{durable_id}"

    async def close(self) -> None:
        """Close the hot store, reachable or not."""
        try:
            await self.store.close()
        except StoreError:
            self._failed()
        self._opened = False

    async def guarded(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run something on the hot store; HotDown where it fails or is given a rest."""
        if not self.up:
            raise HotDown
        try:
            await self._recover()
            done = await work()
        except StoreError as cause:
            self._failed()
            raise HotDown from cause
        self._failures = 0
        return done

    def place(self, org: str, table: str, key: Sequence[str | int]) -> Key:
        """Where the copy of a row is: rows of one partition share a namespace."""
        *partition, last = key
        return (org, self.partition(table, partition), str(last))

    def partition(self, table: str, columns: Sequence[str | int]) -> str:
        """The namespace of the copies of a partition."""
        return ":".join(
            [self._prefix, table, *[str(column).replace("%", "%25").replace(":", "%3A") for column in columns]]
        )

    def entry(self, place: Key, state: dict[str, Any], now: int, ends: int | None = None) -> StateEntry:
        """A copy as the hot store keeps it; it ends with its row, and after `max_age` in any case."""
        at, limit = to_datetime(now), now + self._max_age
        return StateEntry(
            org=str(place[0]),
            ns=str(place[1]),
            key=str(place[2]),
            value=state,
            created_at=at,
            updated_at=at,
            expires_at=to_datetime(limit if ends is None else min(limit, ends)),
        )

    def freed(self, place: Key, now: int) -> Put:
        """A copy that holds nothing and may be filled."""
        return Put(self.entry(place, {}, now))

    def marked(self, place: Key, now: int) -> Put:
        """A copy that is being written: nobody serves it, and nobody fills it for a while."""
        return Put(self.entry(place, {"w": now + WRITING_MICROS}, now))

    async def read(self, org: str, places: Sequence[Key], now: int) -> tuple[int, list[Copy]]:
        """The generation of an org, and the copies in several of its places."""
        read = lambda: self.store.get_many(StateEntry, places, now=now)  # noqa: E731  # a thunk for `_trusted`
        generation, entries = await self.guarded(lambda: self._trusted(org, read))
        return generation, [Copy(entry, now) for entry in entries]

    async def scan(self, org: str, partition: str, limit: int, now: int) -> tuple[int, list[StateEntry]]:
        """The generation of an org, and the copies of a partition, last first."""
        read = lambda: self.store.scan(Scan(StateEntry, (org, partition), reverse=True, limit=limit), now=now)  # noqa: E731  # a thunk for `_trusted`
        return await self.guarded(lambda: self._trusted(org, read))

    async def fill(
        self, org: str, generation: int | None, versions: dict[Key, int], changes: Sequence[Change], now: int
    ) -> bool:
        """Write copies if nothing has touched these places or this hot store since; whether it was done."""
        if generation is None:
            return False
        expects = [Expect(StateEntry, self._generation_key(org), generation)]
        expects += [Expect(StateEntry, place, version) for place, version in versions.items()]
        try:
            await self.guarded(lambda: self.store.apply([*expects, *changes], now=now))
        except Conflict as conflict:
            if conflict.facts.get("key", self._generation_key(org)) == self._generation_key(org):
                self._generations.pop(org, None)
            return False
        except UsageError:
            # Too large to copy, say: the durable store goes on serving it.
            return False
        return True

    async def mark(self, org: str, changes: Sequence[Change], now: int) -> tuple[int | None, list[Any]]:
        """Write marks under the generation that is there, whatever the copies hold.

        A mark without its generation would be deleted by the next reader, who starts a new one. An org that could not
        be marked is wiped before it is served again.
        """

        async def work() -> tuple[int | None, list[Any]]:
            for _ in range(GENERATION_TRIES):
                await self._prepare(org)
                generation = self._generations[org]
                try:
                    _, *done = await self.store.apply(
                        [Expect(StateEntry, self._generation_key(org), generation), *changes], now=now
                    )
                except Conflict:
                    self._generations.pop(org, None)
                    continue
                await self._tidy(org, now)
                return generation, done
            raise StoreUnavailable("the generation of the hot copies changed each time they were marked")

        try:
            return await self.guarded(work)
        except HotDown:
            self.distrust(org)
            raise

    def distrust(self, org: str) -> None:
        """Wipe an org before it is served hot again."""
        self._dirty.add(org)
        self._generations.pop(org, None)

    async def wipe(self, org: str) -> None:
        """Drop every copy of an org, and every fill that is on its way."""
        try:
            await self.guarded(lambda: self._rotate(org))
        except HotDown:
            self.distrust(org)

    async def erase(self) -> None:
        """Drop every copy of every org for good, a rest or not; an error where the hot store cannot be reached."""
        try:
            await self._recover()
            for org in await self.store.orgs() if isinstance(self.store, Claims) else ():
                await self._rotate(org)
        except StoreError:
            self._failed()
            raise

    async def _tidy(self, org: str, now: int) -> None:
        """Copies end by themselves; their places in the hot store's indexes are cleared as new ones come."""
        self._marks += 1
        tidy = getattr(self.store, "tidy", None)
        if tidy is not None and self._marks % TIDY_EVERY == 0:
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
        """A new connection may lead to a server that restarted with old data: then no copy is trusted."""
        count = getattr(self.store, "connections_made", 0)
        if count == self._connections:
            return
        known = getattr(self.store, "incarnation", None)
        found = "" if known is None else await known()
        if found != self._incarnation:
            self._generations.clear()
        self._incarnation = found
        self._connections = getattr(self.store, "connections_made", 0)

    async def _trusted(self, org: str, read: Callable[[], Awaitable[T]]) -> tuple[int, T]:
        """What a read gives, if it came from the server that we know the generation of."""
        await self._prepare(org)
        generation = self._generations.get(org)
        found = await read()
        await self._same_server()
        if generation is None or self._generations.get(org) != generation:
            raise HotDown
        return generation, found

    async def _prepare(self, org: str) -> None:
        """Learn the generation of an org; of all who find none or an old one, exactly one starts the next."""
        for _ in range(GENERATION_TRIES):
            if org in self._generations:
                return
            key = self._generation_key(org)
            found = await self.store.get(StateEntry, key, now=0)
            if found is not None and found.value == self._incarnation:
                self._generations[org] = found.version
                return
            try:
                await self._rotate(org, Expect(StateEntry, key, 0 if found is None else found.version))
            except Conflict:
                continue
        if org not in self._generations:
            raise StoreUnavailable("the generation of the hot copies changed each time it was read")

    async def _rotate(self, org: str, *conditions: Change) -> None:
        """Start a new generation without copies, if the conditions hold."""
        generation = _random.getrandbits(52) + 1
        at = to_datetime(0)
        _, ns, key = self._generation_key(org)
        row = StateEntry(
            org=org, ns=str(ns), key=str(key), value=self._incarnation, created_at=at, updated_at=at, version=generation
        )
        copies = DeleteRange(StateEntry, (org,), after=(f"{self._prefix}:",), before=(f"{self._prefix};",))
        await self.store.apply([*conditions, copies, Load(row)], now=0)
        self._generations[org] = generation
        self._dirty.discard(org)

    def _generation_key(self, org: str) -> Key:
        return (org, self._prefix, "generation")

    def _failed(self) -> None:
        self._failures += 1
        self._until = time.monotonic() + pause(self._failures, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
        self._generations.clear()
        self._connections = -1
