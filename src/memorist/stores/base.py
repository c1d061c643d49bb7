"""Defines the Store protocol, the changes it applies, and optional protocols (jobs, search, scrub and more).

A change is data. `apply` accepts a sequence of changes and applies them atomically, as one transaction in SQL and as
one script in Redis. Reads accept `now` (microseconds), because an expired row counts as deleted even if no collector
has run.

These words mean the same in every store:

- connection: one connection of the driver to its server or file, which belongs to the process and loop that opened it
- pool: the driver's own pool of connections, one per process and event loop
- client: the driver behind coroutine methods, once over its blocking and once over its async classes
- session: runs a store's units of work. It chooses the pool, repeats work that is safe to repeat, and translates the
  driver's errors
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Generic, Protocol, TypeVar, runtime_checkable

import msgspec

from ..errors import Conflict, Unsupported
from ..filters import Filter, matches
from ..messages.message import Message
from ..ports import to_datetime, to_micros
from ..records import Entry, Job, Key, Record, StateEntry, as_dict
from ..values import JsonObject

R = TypeVar("R", bound=Record)


class Put(msgspec.Struct, frozen=True):
    """Write a whole row.

    The store keeps the `created_at` of the row it replaces, and assigns the next version on tables that have one. On
    tables with a history, the replaced row is kept there. With `absent`, an existing row is not changed.
    """

    record: Record
    absent: bool = False


class Load(msgspec.Struct, frozen=True):
    """Write a row unchanged, including its version, sequence number and times. It replaces any existing row, which is
    not kept in the history. It is used for imports, which restore exported rows byte for byte, and for rows that are
    recreated with a new time.
    """

    record: Record


class Append(msgspec.Struct, frozen=True):
    """Add messages at the end of a thread.

    The store assigns the sequence numbers under its lock. If this thread has seen the idempotency key before, nothing
    is added and the earlier numbers are returned. The other changes in the `apply` are still made.
    """

    org: str
    thread: str
    messages: tuple[Message, ...]
    at: datetime
    key: str | None = None
    ns: str | None = None
    """If set, a thread in another namespace counts as not found. The store checks this inside the write, so that a
    grant cannot become stale between the check and the write."""


class Delete(msgspec.Struct, frozen=True):
    """Remove one row if it exists. Its history remains unless it is deleted too."""

    kind: type[Record]
    key: Key


class DeleteRange(msgspec.Struct, frozen=True):
    """Remove every row whose key starts with `prefix` and whose next columns are between `after` and `before`."""

    kind: type[Record]
    prefix: Key
    after: Key | None = None
    before: Key | None = None


class Increment(msgspec.Struct, frozen=True):
    """Add `record.value` to an integer entry. A missing entry is created with the record's expiry."""

    record: StateEntry


class Expect(msgspec.Struct, frozen=True):
    """Refuse the whole `apply` with Conflict unless the live row has this version. Version 0 means that there is no
    row."""

    kind: type[Record]
    key: Key
    version: int


RowId = tuple[str, Key]
"""Identifies a row of any kind by the name of its table and its key."""


def refused_row(conflict: Conflict) -> tuple[object, object]:
    """Return the table and key of the row whose Expect failed. This is a `RowId` unless the conflict had another
    cause."""
    return conflict.facts.get("table"), conflict.facts.get("key")


class Scan(msgspec.Struct, Generic[R], frozen=True):
    """Requests rows whose key (or index) starts with `prefix`, in key (or index) order."""

    kind: type[R]
    prefix: Key = ()
    index: str | None = None
    """This is the index to follow, or None for the key."""
    after: Key | None = None
    """This is the exclusive lower bound; it is compared with as many of the columns after the prefix as it has
    values."""
    before: Key | None = None
    """This is the exclusive upper bound, compared in the same way."""
    starts: str | None = None
    """Match only rows whose first column after the prefix is a string that starts with this value."""
    reverse: bool = False
    limit: int | None = None
    """The maximum number of rows to return, counted after `where`."""
    where: Filter | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """These are the columns that determine the scan order: those of the key or of the index."""
        return self.kind.table.order(self.index)

    @property
    def starts_bounds(self) -> tuple[str, ...]:
        """These are the bounds for `starts`: an inclusive lower bound and, if there is one, an exclusive upper
        bound."""
        if not self.starts:
            return ()
        # A range of texts instead of LIKE: every store sorts by code point, but each has its own rules for patterns and
        # case.
        top = _successor(self.starts)
        return (self.starts,) if top is None else (self.starts, top)


def _successor(text: str) -> str | None:
    """Return the smallest string greater than every string that starts with this one, or None if there is none."""
    while text:
        last = ord(text[-1])
        if last < 0x10FFFF:
            # Surrogates cannot be stored: step over them.
            return text[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
        text = text[:-1]
    return None


Change = Put | Load | Append | Delete | DeleteRange | Increment | Expect


class Stored(msgspec.Struct, frozen=True):
    """Holds the result of a Put: the assigned version, and the time at which the row was first created. A result of
    `None` means that the Put was `absent` and the row existed.
    """

    version: int
    created_at: datetime | None


class Appended(msgspec.Struct, frozen=True):
    """Holds the sequence numbers that an Append assigned (first..first+count-1), and the thread's expiry, which also
    applies to its messages."""

    first: int
    count: int
    replayed: bool = False
    expires_at: datetime | None = None


ChangeResult = Stored | Appended | int | None
"""The result of a change: Stored for a Put, Appended for an Append, whether the row existed for a Delete, the number of
rows for a DeleteRange, the total for an Increment, and None for a Load or an Expect."""


class Store(Protocol):
    """Stores records in a database. In a store for a blocking runtime, coroutines never suspend."""

    name: str

    async def open(self) -> None:
        """Connect to the database, check it and migrate its schema.

        This is called once before anything else, and is cheap to call again.
        """
        ...

    async def close(self) -> None:
        """Release all resources that this store opened itself."""
        ...

    async def get(self, record_type: type[R], key: Key, *, now: int) -> R | None:
        """Return the live row under a key."""
        ...

    async def get_many(self, record_type: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        """Return the live rows under several keys, in the order of the keys."""
        ...

    async def scan(self, scan: Scan[R], *, now: int) -> list[R]:
        """Return the live rows that match a scan, in its order."""
        ...

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[ChangeResult]:
        """Apply the changes atomically, and return one result per change, in order."""
        ...

    async def purge(self, *, now: int, limit: int = 1000) -> dict[str, int]:
        """Remove up to `limit` expired rows per table permanently, and return counts by table."""
        ...


@runtime_checkable
class Claims(Protocol):
    """Leases each job to only one worker at a time."""

    async def claim(
        self, queue: str, *, owner: str, now: int, lease: int, limit: int = 1, org: str | None = None
    ) -> list[Job]:
        """Lease up to `limit` ready (or lease-expired) jobs to `owner` for `lease` microseconds, count the attempt, and
        return them.
        """
        ...

    async def orgs(self) -> list[str]:
        """Return every org that has rows."""
        ...


class EntryFilter(msgspec.Struct, frozen=True):
    """Describes which entries a search returns. By default, it returns all of them."""

    kinds: tuple[str, ...] | None = None
    after: int | None = None
    """Match only entries newer than this time (microseconds)."""
    before: int | None = None
    where: Filter | None = None
    """This is a filter on the entry's FILTERED fields and its metadata, which takes precedence."""

    @property
    def beyond_kinds(self) -> bool:
        """This is True if the filter tests more than the kind."""
        return self.after is not None or self.before is not None or self.where is not None

    def allows(self, entry: Entry) -> bool:
        """Return whether an entry passes. This defines the meaning of a filter, and stores that translate it must
        agree."""
        if self.kinds is not None and entry.kind not in self.kinds:
            return False
        if self.after is not None or self.before is not None:
            created = to_micros(entry.created_at)
            # Both bounds exclude the time itself, like those of a scan.
            if (self.after is not None and created <= self.after) or (
                self.before is not None and created >= self.before
            ):
                return False
        return self.where is None or matches(self.where, _filtered(entry))


FILTERED = {
    name: name
    for name in ("kind", "id", "ns", "parent", "role", "speaker", "trust", "confidence", "created_at", "source")
} | {"metadata": "metadata", "value": "metadata"}
"""The fields of an entry that a recall filter can use, by name. `value` is a fact's value, which its entry stores as
metadata."""
ALL_ENTRIES = EntryFilter()


def _filtered(entry: Entry) -> dict[str, object]:
    return {**{name: getattr(entry, field) for name, field in FILTERED.items()}, **entry.metadata}


@runtime_checkable
class SearchesText(Protocol):
    """Represents a store with a text index over the terms of entries. The engine analyses the terms, which are never
    interpreted as query syntax.

    For a store without a text index, the engine keeps an in-process index, filled by `scan(Entry, index="by_stamp")`.
    """

    async def search_text(
        self, org: str, ns: str, terms: Sequence[str], *, limit: int, now: int, only: EntryFilter = ALL_ENTRIES
    ) -> list[Entry]:
        """Return live entries of a namespace that contain any of the terms (own or context), best first by the engine's
        ranking.

        `only` is applied before `limit`, so the result is the same as searching its kinds without a limit, filtering
        the result and then truncating it."""
        ...

    async def term_counts(self, org: str, ns: str, terms: Sequence[str]) -> dict[str, int]:
        """Return the document frequency of each term: the number of entries that contain it in their own text (not in
        their context).
        """
        ...


@runtime_checkable
class SearchesVectors(Protocol):
    """Represents a store that can search for the nearest vectors.

    For other stores, the engine keeps an in-process matrix of vectors.
    """

    async def search_vector(
        self,
        org: str,
        ns: str,
        embedder: str,
        vector: Sequence[float],
        *,
        limit: int,
        now: int,
        only: EntryFilter = ALL_ENTRIES,
    ) -> list[tuple[Entry, float]]:
        """Return a namespace's live entries from this embedder, nearest first, with their cosine similarity. `only` is
        applied before `limit`.
        """
        ...


class Scrubbed(msgspec.Struct, frozen=True):
    """Holds the report on a scrub, which contains names of files, tables and servers, but never content."""

    to_dict = as_dict

    done: list[str] = []
    """These are the files and tables that were rewritten without deleted bytes."""
    left: list[str] = []
    """These are the places that may still contain deleted bytes, each with the reason why it was not rewritten."""

    def __add__(self, other: Scrubbed) -> Scrubbed:
        return Scrubbed(self.done + other.done, self.left + other.left)

    def under(self, name: str) -> Scrubbed:
        """Return the report with the store's name prefixed to each place."""
        return Scrubbed(
            [f"{name}: {location}" for location in self.done], [f"{name}: {location}" for location in self.left]
        )


@runtime_checkable
class Scrubs(Protocol):
    """Represents a store that can rewrite its files without the bytes of deleted rows."""

    @property
    def owns_files(self) -> bool:
        """This is True if its files belong only to this memory, and False on a server, where a scrub locks out or slows
        down other tenants.
        """
        ...

    async def scrub(self) -> Scrubbed:
        """Rewrite every file of the store without deleted content, and report which were rewritten and which were
        not."""
        ...


class Absence(msgspec.Struct, frozen=True):
    """Reports the result of searching a store for bytes that should no longer exist. It contains only names of places,
    never content."""

    found: list[str] = []
    """These are the files and tables that still contain a piece."""
    checked: list[str] = []
    """These are the files and tables that were searched."""
    unchecked: list[str] = []
    """These are the places that could not be searched, each with the reason."""

    @property
    def verified(self) -> bool | None:
        """This is False if a piece was found, True if everything was searched and no piece was found, and None if the
        search was incomplete."""
        if self.found:
            return False
        return True if self.checked and not self.unchecked else None


@runtime_checkable
class Verifies(Protocol):
    """Represents a store that can search all its contents for certain bytes after a scrub."""

    async def verify_absent(self, needles: Sequence[bytes], *, org: str) -> Absence:
        """Search the live rows of an org and the store's files for any of these bytes."""
        ...


@runtime_checkable
class Partitions(Protocol):
    """Represents a store that can create tables split by org."""

    async def create_partitioned(self, partitions: int) -> None:
        """Create the schema with this many partitions per table, and open the store.

        Raises UsageError if the tables already exist.
        """
        ...


@runtime_checkable
class Diagnoses(Protocol):
    """Represents a store that can report on its database, for `memorist doctor`."""

    async def diagnose(self, *, deep: bool = False) -> JsonObject:
        """Return versions, settings, sizes, and a list of findings under `problems`, which is empty if there are
        none.
        """
        ...


def repeatable(changes: Sequence[Change]) -> bool:
    """Return whether an `apply` whose answer was lost may be sent again, because its changes are idempotent."""
    # A keyed Append is answered from its receipt the second time, and a Put with `absent` then finds its own row. A
    # batch without an Append has no receipt that shows whether the first attempt was committed.
    keyed = any(isinstance(change, Append) for change in changes)
    return keyed and all(
        change.key is not None if isinstance(change, Append) else isinstance(change, Put) and change.absent
        for change in changes
    )


def org_of(change: Change) -> str:
    """Return the org whose rows a change affects."""
    if isinstance(change, Put | Load | Increment):
        return change.record.org
    if isinstance(change, Append):
        return change.org
    key = change.prefix if isinstance(change, DeleteRange) else change.key
    # Stores route a change by its org (to a partition of Postgres, a slot of Redis), and none may reach all tenants.
    if not key:
        raise Unsupported("a DeleteRange must name its org first")
    return str(key[0])


def leased(job: Job, owner: str, now: int, lease: int) -> Job:
    """Return a job after it has been leased to a worker for `lease` microseconds."""
    return msgspec.structs.replace(
        job,
        status="running",
        attempts=job.attempts + 1,
        owner=owner,
        leased_until=to_datetime(now + lease),
        updated_at=to_datetime(now),
        version=job.version + 1,
    )


# A context variable and not an argument, because the stores in between (tiers, encryption, overlays) need not know
# about it. Each task has its own value.
_FROM_REPLICAS: ContextVar[bool] = ContextVar("memorist_from_replicas", default=False)


@contextmanager
def replica_reads() -> Iterator[None]:
    """Allow a read-only replica to answer the reads in this block if it has replayed everything that this process has
    seen.

    Use it for reads whose result is only shown to a caller. A read that a write depends on must come from the
    primary."""
    token = _FROM_REPLICAS.set(True)
    try:
        yield
    finally:
        _FROM_REPLICAS.reset(token)


def may_read_replicas() -> bool:
    """Return whether the caller is inside a `replica_reads` block."""
    return _FROM_REPLICAS.get()


def live(expires_at: int | None, now: int) -> bool:
    """Return whether a row with this expiry (microseconds) still exists."""
    return expires_at is None or expires_at > now
