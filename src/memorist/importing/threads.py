"""Tracks the threads of an import: the id that each has here, and the messages imported before.

For each imported message, six bytes of a digest of its original id are stored, 512 per row. This makes imports
idempotent, and a message that was deleted here does not come back.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from ..engine.core import Core
from ..engine.threads.numbering import fresh
from ..kinds import thread_ref
from ..records import ImportedDigests, Link, Ref, Thread
from ..stores.base import Change, Expect, Put
from ..values import MAX_NAME_BYTES
from .items import ThreadItem

BLOCK_MESSAGES = 512
BLOCK_DIGITS = 6
MAX_CACHED_DIGESTS = 40_000
"""The maximum number of digests cached in RAM. Beyond that, the least recently used threads are evicted, and read again
if needed."""


class State:
    """Holds the import state of one thread of the source."""

    def __init__(self, id: str, ns: str, title: ThreadItem | None) -> None:
        self.id = id
        self.ns = ns
        self.new = title
        """The thread to create, if there is none yet."""
        self.seen: set[bytes] = set()
        self.tail: list[bytes] = []
        self.block = 0
        self.version = 0
        """The version of the last block's row, or 0 if it has not been written yet."""

    def add(self, digest: bytes) -> bool:
        """Record a message. Return False if it was imported before."""
        if digest in self.seen:
            return False
        self.seen.add(digest)
        self.tail.append(digest)
        return True


class KnownThreads:
    """Caches the threads of one import (LRU)."""

    def __init__(self, core: Core, source: str) -> None:
        self._core = core
        self._source = source
        self._kept: dict[str, State] = {}

    def get(self, name: str) -> State | None:
        """Return the cached state of a thread, by its id in the source."""
        state = self._kept.pop(name, None)
        if state is not None:
            self._kept[name] = state
        return state

    def forget(self) -> None:
        """Drop the cache after a conflict, because another process changed the rows."""
        self._kept.clear()

    def trim(self) -> None:
        """Evict the least recently used threads while the cache is too large. Call this only between batches."""
        total = sum(len(state.seen) + 8 for state in self._kept.values())
        while total > MAX_CACHED_DIGESTS and len(self._kept) > 1:
            removed = self._kept.pop(next(iter(self._kept)))
            total -= len(removed.seen) + 8

    async def load(self, items: dict[str, tuple[ThreadItem | None, str]]) -> None:
        """Load the state of threads by their ids in the source. `items` contains the item, if any, and the
        namespace."""
        names = [name for name in items if name not in self._kept]
        ids = {name: (name, self._other(name)) for name in names}
        flat = list(dict.fromkeys(id for pair in ids.values() for id in pair))
        rows = dict(zip(flat, await self._core.get_many(Thread, [(id,) for id in flat]), strict=True))
        existing = [id for id, row in rows.items() if row is not None]
        linked = await self._linked(existing)
        for name in names:
            item, ns = items[name]
            own_id = next((id for id in ids[name] if id in linked), None)
            row = rows[own_id] if own_id is not None else None
            if own_id is not None and row is not None:
                self._kept[name] = await self._read(State(own_id, row.ns, None))
                continue
            free = next((id for id in ids[name] if rows[id] is None), None)
            if free is not None and item is not None:
                self._kept[name] = State(free, ns, item)

    async def _linked(self, ids: list[str]) -> set[str]:
        links = await self._core.get_many(Link, [self._link(id).row_key[1:] for id in ids]) if ids else []
        return {link.target_key for link in links if link is not None}

    def _link(self, id: str) -> Link:
        """Return the link from the source to a thread imported from it."""
        return Link.of(self._core.org, Ref("source", key=self._source), thread_ref(id), self._core.at(), "imported")

    async def _read(self, state: State) -> State:
        """Load the digests of the messages previously imported into a thread."""
        for row in await self._core.scan(ImportedDigests, state.id):
            state.tail = [row.digests[at : at + BLOCK_DIGITS] for at in range(0, len(row.digests), BLOCK_DIGITS)]
            state.seen.update(state.tail)
            state.block, state.version = row.block, row.version
        return state

    def _other(self, name: str) -> str:
        """Return the alternative id of a thread whose original id belongs to another thread here."""
        thread_id = f"{self._source}/{name}"
        if len(thread_id.encode("utf-8", "replace")) <= MAX_NAME_BYTES:
            return thread_id
        return f"imported-{hashlib.blake2b(thread_id.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"

    async def making(self, state: State, at: datetime) -> list[Change]:
        """Return the changes that create a thread."""
        org, id, item = self._core.org, state.id, state.new
        assert item is not None
        created_at = item.created_at or at
        thread = Thread(
            org=org, id=id, ns=state.ns, title=item.title, metadata={**item.metadata, "source": self._source},
            created_at=created_at, updated_at=created_at,
        )  # fmt: skip
        state.new = None
        _, changes = await fresh(self._core, thread)
        return [*changes, Put(self._link(id))]

    def marking(self, state: State) -> list[Change]:
        """Return the changes that store the digests of the messages added since the last call, by compare-and-set."""
        changes: list[Change] = []
        while state.tail:
            digests = state.tail[:BLOCK_MESSAGES]
            row = ImportedDigests(
                org=self._core.org, thread=state.id, block=state.block, digests=b"".join(digests),
                updated_at=self._core.at(),
            )  # fmt: skip
            changes += [Expect(ImportedDigests, row.row_key, state.version), Put(row)]
            if len(state.tail) < BLOCK_MESSAGES:
                state.version += 1
                break
            state.tail, state.block, state.version = state.tail[BLOCK_MESSAGES:], state.block + 1, 0
        return changes


def digest(key: str) -> bytes:
    """Return the digest that identifies an imported message."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=BLOCK_DIGITS).digest()
