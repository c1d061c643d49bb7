"""Presents a memory as it was at a given time, for `as_of`. Reads use the history, and nothing is written.

Facts, events and learnings have versions, so old values and deleted items come back. Messages, threads and summaries
never change, so the ones that existed at that time are shown. Documents
and working memory have no versions and are shown if they have not been replaced since. Forgotten items are not in any
history, and expired items stay gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

import msgspec

from ..errors import Unsupported
from ..kinds import MEMORIES, RECORDS, index_end, key_in_namespace
from ..ports import to_micros
from ..records import SUPERSEDED, Entry, Fact, FactVersion, Key, Learning, Record
from ..stores.base import Change, ChangeResult, EntryFilter, R, Scan, Store
from ..values import fingerprint_json
from .core import Core
from .derive.indexing import Draft, draft_of
from .learnings import learning_at
from .versions import DELETED

_HISTORIES: dict[str, type[Record]] = {
    kind.table.name: next(record for record in RECORDS if record.table.name == kind.table.history)
    for kind in RECORDS
    if kind.table.history
}
"""The records of old versions, by table name."""
_BEGINS = {
    "messages": "created_at", "threads": "created_at", "summaries": "created_at", "learnings": "created_at",
    "documents": "updated_at", "working": "updated_at",
    **dict.fromkeys((record.table.name for record in _HISTORIES.values()), "updated_at"),
}  # fmt: skip
"""By table: the column that says since when a row has had its current values."""
PAGE_ROWS = 500


class Past:
    """Presents a store as it was at a given time."""

    def __init__(self, below: Store, moment: datetime, now: int) -> None:
        self.below = below
        self.name = below.name
        self.moment = moment
        self._now = now
        """The time of the question, which determines what has expired."""
        self._micros = to_micros(moment)

    def __getattr__(self, name: str) -> object:
        return getattr(self.below, name)

    async def get(self, record_type: type[R], key: Key, *, now: int) -> R | None:
        """Return the row under a key as it was at that time."""
        return (await self.get_many(record_type, [key], now=now))[0]

    async def get_many(self, record_type: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        """Return the rows under several keys as they were at that time, in the order of the keys."""
        rows = await self.below.get_many(record_type, keys, now=self._now)
        history = _HISTORIES.get(record_type.table.name)
        if history is None:
            return [self._then(row) if row is not None and self._has_existed(row) else None for row in rows]
        return [
            row if row is not None and self._is_unchanged(row) else await self._version(record_type, history, key)
            for key, row in zip(keys, rows, strict=True)
        ]

    async def scan(self, scan: Scan[R], *, now: int) -> list[R]:
        """Return the rows that matched a scan at that time."""
        history = _HISTORIES.get(scan.kind.table.name)
        if history is not None:
            return await self._scan_replayed(scan, history)
        if scan.kind.table.name not in _BEGINS:
            return await self.below.scan(scan, now=self._now)
        if scan.index is not None or scan.limit is None:
            rows = await self.below.scan(msgspec.structs.replace(scan, limit=None), now=self._now)
            return [self._then(row) for row in rows if self._has_existed(row)][: scan.limit]
        return await self._pages(scan, scan.limit)

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[ChangeResult]:
        """Refuse to write, because the past cannot be changed."""
        raise Unsupported("a memory opened with as_of= is read-only")

    def _is_unchanged(self, row: Record) -> bool:
        return to_micros(cast(Any, row).updated_at) <= self._micros

    def _has_existed(self, row: Record) -> bool:
        begins = _BEGINS.get(type(row).table.name)
        moment: datetime | None = None if begins is None else getattr(row, begins)
        return moment is None or to_micros(moment) <= self._micros

    def _then(self, row: R) -> R:
        """Return a learning as it was at that time, and as active if it has been rejected since."""
        if isinstance(row, Learning) and not self._is_unchanged(row):
            return cast(R, msgspec.structs.replace(learning_at(row, self.moment), status="active"))
        return row

    async def _version(self, record_type: type[R], history: type[Record], key: Key) -> R | None:
        """Return the version of a row at that time, or None if there was none or it has since expired."""
        # now=0 returns expired versions too: first find the version that held, then check its expiry.
        versions = await self.below.scan(Scan(history, key, reverse=True), now=0)
        version_then = next((version for version in versions if self._is_unchanged(version)), None)
        return None if version_then is None or not self._lives(version_then) else _as_record(record_type, version_then)

    def _lives(self, version: Record) -> bool:
        expires: datetime | None = getattr(version, "expires_at", None)
        status = getattr(version, "status", None)
        # A fact that is not active has ended. Versions of other kinds end only by being deleted.
        ended = status == DELETED or (isinstance(version, FactVersion) and status != "active")
        return not ended and (expires is None or to_micros(expires) > self._now)

    async def _scan_replayed(self, scan: Scan[R], history: type[Record]) -> list[R]:
        """Scan rows that have a history. Their old versions are loaded into a store in RAM, which answers the scan."""
        from ..stores.memory import Replayed

        size = len(scan.kind.table.key)
        everything = Scan(scan.kind, scan.prefix, starts=scan.starts) if scan.index is None else Scan(
            scan.kind, scan.prefix[:2]
        )  # fmt: skip
        held: dict[Key, Record] = {}
        old = Scan(history, everything.prefix, starts=everything.starts)
        for version in await self.below.scan(old, now=0):  # ascending, so that the last one that held stays
            if self._is_unchanged(version):
                held[version.row_key[:size]] = version
        for row in await self.below.scan(everything, now=self._now):
            if self._is_unchanged(row):
                held[row.row_key] = row
        store = Replayed()
        for key, record in held.items():
            if not isinstance(record, history) or self._lives(record):
                store.seed(scan.kind, key, _as_record(scan.kind, record))
        return await store.scan(scan, now=self._now)

    async def _pages(self, scan: Scan[R], limit: int) -> list[R]:
        rows: list[R] = []
        size = len(scan.prefix)
        while len(rows) < limit:
            page = await self.below.scan(msgspec.structs.replace(scan, limit=max(limit, PAGE_ROWS)), now=self._now)
            rows += [self._then(row) for row in page if self._has_existed(row)]
            if len(page) < max(limit, PAGE_ROWS):
                break
            last = page[-1].row_key[size:]
            scan = msgspec.structs.replace(scan, **{"before" if scan.reverse else "after": last})
        return rows[:limit]


def _as_record(record_type: type[R], row: Record) -> R:
    """Return a version of a record as the record itself."""
    if isinstance(row, record_type) and type(row).table.name == record_type.table.name:
        return row
    return record_type(**{name: getattr(row, name) for name in record_type.__struct_fields__})


def core_at(core: Core, moment: datetime) -> Core:
    """Return a handle that reads the memory as of a given time."""
    past = Core(core.shared, core.scope)
    past.store = cast(Store, Past(core.shared.store, moment, core.now()))
    past.now, past.at, past.moment = lambda: to_micros(moment), lambda: moment, moment
    return past


async def changed_drafts(past: Core, ns: str, only: EntryFilter) -> list[Draft]:
    """Return a namespace's records that were different at that time, as index entries without terms."""
    present = Core(past.shared, past.scope)
    drafts: list[Draft] = []
    # Only memories have earlier versions, which their index entries do not cover.
    for kind in MEMORIES:
        if only.kinds is not None and kind.name not in only.kinds:
            continue
        rows = await past.scan(kind.record, ns)
        current = await present.get_many(kind.record, [row.row_key[1:] for row in rows])
        for row, now in zip(rows, current, strict=True):
            unchanged = now is not None and to_micros(cast(Any, now).updated_at) <= past.now()
            if unchanged and not _has_left(row, present.at()):
                continue  # its entry is still as it was
            draft = draft_of(kind, row)
            if draft is not None and not _has_left(row, past.at()):
                begins = min(draft.entry.created_at, past.at())
                drafts.append(Draft(msgspec.structs.replace(draft.entry, created_at=begins), draft.text))
    return drafts


def _has_left(row: Record, moment: datetime) -> bool:
    """Return whether a fact or a learning no longer held at a given time, so that the index had no entry for it."""
    end = index_end(row) if isinstance(row, Fact | Learning) else None
    return end is not None and end <= moment


async def mark_as_then(past: Core, entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries, with the marks they had at that time. A statement was current until its fact was changed."""
    out: list[Entry] = []
    states: dict[str, list[Fact]] = {}
    for entry in entries:
        fact = entry.metadata.get(SUPERSEDED)
        if fact is not None:
            if fact not in states:
                # A fact marks only the statements in its own namespace.
                key = key_in_namespace(entry.ns, fact)
                current = await past.get(Fact, entry.ns, key)
                states[fact] = [
                    *await past.scan(FactVersion, entry.ns, key), *([] if current is None else [current])
                ]  # fmt: skip
            if not _is_superseded(states[fact], entry.id):
                metadata = {name: value for name, value in entry.metadata.items() if name != SUPERSEDED}
                entry = msgspec.structs.replace(entry, metadata=metadata)
        out.append(entry)
    return out


def _is_superseded(versions: Sequence[Fact], message: str) -> bool:
    """Return whether the last of these versions differs from the message's statement or retracts it."""
    if not versions or not any(message in version.sources for version in versions):
        return False
    last = versions[-1]
    if last.status != "active":
        return last.status == "retracted"
    same = fingerprint_json(last.value)
    return not any(message in row.sources for row in versions if fingerprint_json(row.value) == same)
