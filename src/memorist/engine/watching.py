"""Notifies other processes of changes. A notice says which kind of record changed in which namespace, and nothing else.

A process that watches an org writes a watermark with a lease. Writers look for it every quarter of a second. While
there is one, each commit also raises, in the same transaction, the version of one row per kind and namespace that it
changes. Watchers therefore notice all committed changes and no others, and nothing is written while nobody is watching.
A watch polls these rows and compares versions. `start` returns only when every writer must have seen the watermark, so
that no later change is missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic
from types import TracebackType
from typing import Self

import msgspec

from ..errors import UsageError
from ..kinds import kind_of
from ..messages.message import Message
from ..ports import to_datetime
from ..records import ChangeNotice, Entry, Job, Key, Record, Summary, Thread, Watermark, WorkingDocument, as_dict
from ..scope import Ns
from ..stores.base import Append, Change, Delete, DeleteRange, Increment, Load, Put
from .core import LOOK_SECONDS, Core

LEASE_SECONDS = 60
POLL_SECONDS = 0.2
Seen = dict[str, int]
"""The versions of notices by kind and namespace, as in `fact user:ada`."""


class Notice(msgspec.Struct, frozen=True):
    """Reports that a record of a given kind changed in a namespace."""

    to_dict = as_dict

    kind: str
    """This is `message`, `thread`, `summary`, `fact`, `learning`, `document`, `record`, `state`, `working`, `task`,
    …"""
    namespace: str


class AsyncWatch:
    """Waits for changes by this and other processes. You can iterate over its notices indefinitely."""

    def __init__(self, core: Core, namespaces: Sequence[Ns] | None, kinds: Sequence[str] | None) -> None:
        if core.batch is not None:
            raise UsageError("a batch cannot watch changes; call watch on the memory itself")
        self._core = core
        self._spaces = None if namespaces is None else {core.scope.readable(ns) for ns in namespaces}
        self._kinds = None if kinds is None else frozenset(kinds)
        self._seen: Seen | None = None
        self._waiting: list[Notice] = []
        self._renewed = 0.0
        self._closed = False

    async def start(self) -> Self:
        """Start watching. No change after this call is missed; `next` and iteration call it too.

        Returns:
            The watch itself.
        """
        if self._seen is None:
            await self._renew()
            # Every process that writes looks for the mark at least this often.
            await self._core.runtime.sleep(LOOK_SECONDS)
            self._seen = await self._versions()
        return self

    async def next(self, timeout: float | None = None) -> list[Notice]:
        """Return the changes since the last call, at most one per kind and namespace, or nothing after `timeout`
        seconds.

        Args:
            timeout: How many seconds to wait for a change. None means to wait forever.

        Returns:
            The notices, or an empty list.
        """
        await self.start()
        ends = None if timeout is None else monotonic() + timeout
        while not self._closed:
            notices, self._waiting = [*self._waiting, *await self._changes()], []
            if notices:
                return notices
            left = POLL_SECONDS if ends is None else min(POLL_SECONDS, ends - monotonic())
            if left <= 0:
                break
            await self._core.runtime.sleep(left)
        return []

    async def close(self) -> None:
        """Stop watching, which ends a loop over the notices."""
        self._closed = True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Notice:
        notice = await self.next()
        if not notice:
            raise StopAsyncIteration
        self._waiting = notice[1:]
        return notice[0]

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _changes(self) -> list[Notice]:
        if monotonic() >= self._renewed:
            await self._renew()
        assert self._seen is not None
        before, self._seen = self._seen, await self._versions()
        # A missing row was deleted by forgetting its namespace, which is a change too.
        new = [item for item in {**before, **self._seen} if before.get(item) != self._seen.get(item)]
        notices = [Notice(*item.split(" ", 1)) for item in new]
        return [notice for notice in notices if self._is_wanted(notice)]

    async def _versions(self) -> Seen:
        return {f"{row.kind} {row.ns}": row.version for row in await self._core.scan(ChangeNotice)}

    def _is_wanted(self, notice: Notice) -> bool:
        if not self._core.scope.may_read(notice.namespace):
            return False
        named = self._spaces is None or notice.namespace in self._spaces
        return named and (self._kinds is None or notice.kind in self._kinds)

    async def _renew(self) -> None:
        core, now = self._core, self._core.now()
        until = now + LEASE_SECONDS * 1_000_000
        # Long before the lease ends, so that a reader that polls slowly does not lose it.
        self._renewed = monotonic() + LEASE_SECONDS / 3
        await core.apply(Put(Watermark(org=core.org, name="watched", position=until, updated_at=to_datetime(now))))
        # The writers of this process look at once, instead of trusting their cached answer.
        core.shared.watched.pop(core.org, None)


class ResumableWatch(AsyncWatch):
    """Represents a watch that another watch can continue, for callers that poll."""

    def cursor(self) -> Seen:
        """Return the versions that this watch has seen and may read, so that another watch can resume from them."""
        positions = self._seen or {}
        return {
            item: version for item, version in positions.items() if self._core.scope.may_read(item.split(" ", 1)[1])
        }

    def resume(self, cursor: Seen) -> None:
        """Continue after the versions that another watch has seen."""
        self._seen = dict(cursor)


def notices(core: Core, changes: Sequence[Change]) -> list[Change]:
    """Return the changes that notify watchers of these changes."""
    changed = dict.fromkeys(_about(core, changes))
    at = core.at()
    # Sorted, because commits that lock the same rows in different orders may wait for each other.
    return [Put(ChangeNotice(org=core.org, kind=kind, ns=ns, updated_at=at)) for kind, ns in sorted(changed)]


def _about(core: Core, changes: Sequence[Change]) -> Iterable[tuple[str, str]]:
    """Return the kind and the namespace of everything that changes."""
    beside = next((ns for ns in map(_find_namespace, changes) if ns), None)
    for change in changes:
        if isinstance(change, Append):
            yield "message", change.ns or core.shared.threads.get((change.org, change.thread)) or beside or "global"
        elif isinstance(change, Put | Load | Increment):
            kind = kind_of(change.record)
            if not kind.silent:
                yield kind.name, _ns_of(change.record) or beside or "global"
        elif isinstance(change, Delete | DeleteRange):
            kind = kind_of(change.kind)
            if not kind.silent:
                yield kind.name, _ns_at(core, change) or beside or "global"


def _ns_of(record: Record) -> str | None:
    namespace = getattr(record, "ns", None)
    return namespace if isinstance(namespace, str) else _ns_in(type(record), record.row_key)


def _ns_in(record_type: type[Record], key: Key) -> str | None:
    """Return the namespace that is part of a row's key. The key of a range may end before it."""
    columns = dict(zip(record_type.table.key, key, strict=False))
    if record_type is WorkingDocument:
        return f"user:{columns['user']}" if "user" in columns else None
    return str(columns["ns"]) if "ns" in columns else None


def _ns_at(core: Core, change: Delete | DeleteRange) -> str | None:
    """Return the namespace of deleted rows, which for rows of a thread is known only if this process has used it."""
    key = _key_of(change)
    if change.kind in (Message, Thread, Summary) and len(key) > 1:
        return core.shared.threads.get((core.org, str(key[1])))
    return _ns_in(change.kind, key)


def _find_namespace(change: Change) -> str | None:
    """Return the namespace that a change names, if it concerns a thread's own row, its index entries or its jobs.

    Rows of a thread do not name their namespace, but they change together with one of these.
    """
    if isinstance(change, Put | Load) and isinstance(change.record, Thread | Job):
        return change.record.ns
    if isinstance(change, Delete | DeleteRange) and change.kind in (Entry, Job):
        return _ns_in(change.kind, _key_of(change))
    return None


def _key_of(change: Delete | DeleteRange) -> Key:
    return change.key if isinstance(change, Delete) else change.prefix
