"""Represents an open batch: the changes it has collected, and the store as it will be after the commit.

A batch reads its own writes. The changes are replayed on a store in RAM that contains the rows they touch, so their
effect is defined only once, in `stores/memory.py`. `Put`, `Load` and `Expect` are replayed only when their table is
read, because most batches only write. The results of other changes depend on the rows, so these changes are replayed
immediately.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec

from ..kinds import RECORDS
from ..messages.message import Message
from ..records import Key, Receipt, Record, StateEntry, Thread, view_of
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
    R,
    Scan,
    Store,
    Stored,
)
from ..stores.memory import Replayed

_FAMILY = {Message.table.name: Thread.table.name, Receipt.table.name: Thread.table.name} | {
    kind.table.history: kind.table.name for kind in RECORDS if kind.table.history
}
"""Tables that are also written to by a change to another table. Both are replayed together, in order."""


class Overlay:
    """Presents a store as if the changes of a batch were applied. `apply` collects changes instead of writing them."""

    def __init__(self, below: Store) -> None:
        self.below = below
        self.name = below.name
        self.changes: list[Change] = []
        """The changes that the commit will apply, in order."""
        self.relied_on: dict[str, str] = {}
        """The threads that the batch relies on, and the namespace that each must be in when the batch is committed."""
        self._above = Replayed()
        self._waiting: dict[str, list[Change]] = {}
        """Changes that are still to be replayed, by the table that represents their family."""
        self._cleared: dict[str, list[DeleteRange]] = {}
        """Ranges in the underlying store that the batch deletes, by table."""

    def __getattr__(self, name: str) -> object:
        # Searches, claims and the like are answered by the store itself: they know only what is committed.
        return getattr(self.below, name)

    async def get(self, record_type: type[R], key: Key, *, now: int) -> R | None:
        """Return the live row under a key."""
        return (await self.get_many(record_type, [key], now=now))[0]

    async def get_many(self, record_type: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        """Return the live rows under several keys, in the order of the keys."""
        await self._replay(record_type, now)
        below = [key for key in keys if not self._is_hidden(record_type, key)]
        rows = dict(zip(below, await self.below.get_many(record_type, below, now=now) if below else [], strict=True))
        return [rows[key] if key in rows else await self._above.get(record_type, key, now=now) for key in keys]

    async def scan(self, scan: Scan[R], *, now: int) -> list[R]:
        """Return the live rows that match a scan, in its order."""
        await self._replay(scan.kind, now)
        table = scan.kind.table.name
        touched = self._above.touched.get(table, ())
        if not touched and table not in self._cleared:
            return await self.below.scan(scan, now=now)
        # Each touched row may hide one below. A cleared range may hide any number, so there the limit is counted here.
        most = None if scan.limit is None or table in self._cleared else scan.limit + len(touched)
        rows = await self.below.scan(msgspec.structs.replace(scan, limit=most), now=now)
        visible = [row for row in rows if not self._is_hidden(scan.kind, row.row_key)]
        own = await self._above.scan(msgspec.structs.replace(scan, limit=None), now=now)
        columns = scan.columns
        merged = sorted(
            [*visible, *own], key=lambda row: [getattr(row, name) for name in columns], reverse=scan.reverse
        )
        return merged[: scan.limit]

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[ChangeResult]:
        """Collect the changes.

        The results are what a commit would return now, except for versions and sequence numbers, which only the commit
        can assign.
        """
        results = [await self._collect(change, now) for change in changes]
        self.changes.extend(changes)
        return results

    async def _collect(self, change: Change, now: int) -> ChangeResult:
        if isinstance(change, Expect):  # the commit checks it
            return None
        if isinstance(change, Put | Load):
            # Not replayed yet: a batch that only writes never reads the rows that it replaces.
            self._waiting.setdefault(_family(type(change.record)), []).append(change)
            return Stored(0, None) if isinstance(change, Put) else None
        await self._replay(_kind_of(change), now)
        result = await self._replay_change(change, now)
        if isinstance(result, Appended):
            return Appended(0, result.count, result.replayed, result.expires_at)
        return result

    # -- replaying

    async def _replay(self, record_type: type[Record], now: int) -> None:
        """Replay the waiting changes of a kind's family, reading their rows from the underlying store in as few calls
        as possible."""
        waiting = self._waiting.pop(_family(record_type), [])
        puts = [change.record for change in waiting if isinstance(change, Put)]
        for table in dict.fromkeys(type(record) for record in puts):
            await self._fetch(table, [record.row_key for record in puts if type(record) is table])
        for change in waiting:
            await self._replay_change(change, now)

    async def _replay_change(self, change: Change, now: int) -> ChangeResult:
        if isinstance(change, Append):
            await self._fetch(Thread, [(change.org, change.thread)])
            if change.key is not None:
                await self._fetch(Receipt, [(change.org, change.thread, change.key)])
        elif isinstance(change, Delete):
            await self._fetch(change.kind, [change.key])
        elif isinstance(change, Increment):
            await self._fetch(StateEntry, [change.record.row_key])
        elif isinstance(change, DeleteRange):
            return await self._clear(change, now)
        # The rows that the change depends on are above by now, so the reference store can apply it alone.
        results: list[ChangeResult] = await self._above.apply([change], now=now)
        return results[0]

    async def _fetch(self, record_type: type[Record], keys: Sequence[Key]) -> None:
        """Copy rows from the underlying store, including expired ones, because a Put replaces those as well."""
        keys_to_read = [key for key in dict.fromkeys(keys) if not self._is_hidden(record_type, key)]
        for key, row in zip(
            keys_to_read,
            await self.below.get_many(record_type, keys_to_read, now=0) if keys_to_read else [],
            strict=True,
        ):
            self._above.seed(record_type, key, row)
            if row is None and record_type.table.history:
                await self._fetch_last_version(record_type, key)

    async def _fetch_last_version(self, record_type: type[Record], key: Key) -> None:
        """Fetch the newest row in the history of a deleted row, from which version numbers continue."""
        history = next(record for record in RECORDS if record.table.name == record_type.table.history)
        for past in await self.below.scan(Scan(history, key, reverse=True, limit=1), now=0):
            if not self._is_hidden(history, past.row_key):
                self._above.seed(history, past.row_key, past)

    async def _clear(self, change: DeleteRange, now: int) -> int:
        """Delete a range, in the batch and in the underlying store, and return how many rows were deleted."""
        (own,) = await self._above.apply([change], now=now)
        scan = Scan(view_of(change.kind), change.prefix, after=change.after, before=change.before)
        below = await self.below.scan(scan, now=now)
        # Rows that the batch has touched are counted in `own` instead.
        hidden = sum(self._is_hidden(change.kind, row.row_key) for row in below)
        self._cleared.setdefault(change.kind.table.name, []).append(change)
        return cast(int, own) + len(below) - hidden

    def _is_hidden(self, record_type: type[Record], key: Key) -> bool:
        """Return whether the batch determines a row, because the row was copied or written in the batch or is in a
        cleared range."""
        name = record_type.table.name
        return key in self._above.touched.get(name, ()) or any(
            _is_in(key, cleared) for cleared in self._cleared.get(name, ())
        )


def _family(record_type: type[Record]) -> str:
    return _FAMILY.get(record_type.table.name, record_type.table.name)


def _kind_of(change: Append | Delete | DeleteRange | Increment) -> type[Record]:
    if isinstance(change, Append):
        return Thread
    return StateEntry if isinstance(change, Increment) else change.kind


def _is_in(key: Key, cleared: DeleteRange) -> bool:
    size = len(cleared.prefix)
    rest = key[size:]
    return (
        key[:size] == cleared.prefix
        and (cleared.after is None or rest[: len(cleared.after)] > cleared.after)
        and (cleared.before is None or rest[: len(cleared.before)] < cleared.before)
    )
