"""Maintains the namespace statistics that ranking needs: how many entries there are, their kinds, and their lengths.

The indexer adds the entries it writes and subtracts those it replaces. `Core.apply` subtracts the entries that other
writers delete, in the same transaction. Speakers' names cannot be subtracted, because others may have the same name.
Instead, a job in the `count` queue makes a worker recount the namespace within about a minute. Nobody deletes entries
that expire, so the indexer leaves such a job for each hour in which some do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from ..ports import to_micros
from ..records import Entry, Job, Key, NamespaceStats, Sweep, view_of
from ..stores.base import Change, Delete, DeleteRange, Expect, Put, RowId, Scan
from .core import Core, R

COUNT_QUEUE = "count"
"""The queue of namespaces that must be recounted."""
RECOUNT_DELAY = timedelta(seconds=60)
"""The minimum time between two counts of a namespace; each count reads all its entries."""
EXPIRY_SECONDS = 3600
"""Entries that expire within the same period of this length are subtracted together, at its end."""
MAX_SPEAKERS = 64
MAX_STANDING_ENTRIES = 64
"""How many of a namespace's newest standing instructions are candidates for every request."""
PAGE_ROWS = 1000
COUNTED_COLUMNS = view_of(Entry, "terms", "role", "speaker", "signals", "created_at")
"""The columns of an entry needed for counting, without its vector."""


def count_entries(stats: NamespaceStats, entries: Sequence[Entry], removed: Sequence[Entry] = ()) -> NamespaceStats:
    """Return the statistics after adding these entries and subtracting those that were replaced or deleted."""
    from ..recall.features import is_assistant

    speakers = dict.fromkeys(stats.speakers)
    removed_keys = {(entry.kind, entry.parent, entry.id) for entry in removed}
    standing = {item for item in stats.standing if item[1:] not in removed_keys}
    counts = {name: getattr(stats, name) for name in ("entries", "terms", "assistant", "messages", "documents")}
    for entry, sign in [*((entry, 1) for entry in entries), *((entry, -1) for entry in removed)]:
        counts["entries"] += sign
        counts["terms"] += sign * (entry.terms.count(" ") + 1)
        counts["assistant"] += sign * is_assistant(entry.role or "", entry.speaker or "")
        counts["messages"] += sign * (entry.kind == "message")
        counts["documents"] += sign * (entry.kind == "document")
    for entry in entries:
        if entry.speaker and len(speakers) < MAX_SPEAKERS and not is_assistant(entry.role or "", entry.speaker):
            speakers[entry.speaker] = None
        if _is_standing(entry):
            standing.add((to_micros(entry.created_at), entry.kind, entry.parent, entry.id))
    newest = tuple(sorted(standing, reverse=True)[:MAX_STANDING_ENTRIES])
    return msgspec.structs.replace(stats, **counts, speakers=tuple(speakers), standing=newest)


def _is_standing(entry: Entry) -> bool:
    """Return whether an entry is a learning or a message that contains a person's instruction."""
    from ..recall.analyze import SIGNALS
    from ..recall.features import is_assistant

    if entry.kind != "message":
        return entry.kind == "learning"
    return bool(entry.signals[SIGNALS.index("instructs")]) and not is_assistant(entry.role or "", entry.speaker or "")


async def replaced_entries(core: Core, ns: str, entries: Sequence[Entry], changes: Iterable[Change]) -> list[Entry]:
    """Return the stored entries that an indexer batch overwrites or deletes."""
    keys = dict.fromkeys(
        [
            *(entry.row_key for entry in entries),
            *(change.key for change in changes if isinstance(change, Delete) and change.kind is Entry),
        ]
    )
    rows = await core.get_many(COUNTED_COLUMNS, [key[1:] for key in keys if key[1] == ns]) if keys else []
    return [row for row in rows if row is not None]


def _entry_deletions(changes: Sequence[Change]) -> list[Delete | DeleteRange]:
    return [change for change in changes if isinstance(change, Delete | DeleteRange) and change.kind is Entry]


def counted_rows(changes: Sequence[Change]) -> set[RowId]:
    """Return the statistics that change when entries are deleted, unless the changes already write them."""
    keys = [change.prefix if isinstance(change, DeleteRange) else change.key for change in _entry_deletions(changes)]
    written = {
        change.record.row_key
        for change in changes
        if isinstance(change, Put) and isinstance(change.record, NamespaceStats)
    }
    return {(NamespaceStats.table.name, key[:2]) for key in keys if len(key) > 1 and key[:2] not in written}


async def deleted_rows(core: Core, change: Delete | DeleteRange, view: type[R], limit: int | None = None) -> list[R]:
    """Return the rows that a change deletes, including expired ones, with the columns of `view`."""
    if isinstance(change, DeleteRange):
        scan = Scan(view, change.prefix, after=change.after, before=change.before, limit=limit)
        return await core.store.scan(scan, now=0)
    row = await core.store.get(view, change.key, now=0)
    return [] if row is None else [row]


async def subtract_deleted(core: Core, changes: Sequence[Change]) -> list[Change]:
    """Return changes that subtract the entries deleted by `changes`.

    They fail if their namespace is indexed in the meantime.
    """
    # Sorted, because commits that lock the same rows in different orders may wait for each other.
    removed: dict[Key, dict[Key, Entry]] = {key: {} for _, key in sorted(counted_rows(changes))}
    for change in _entry_deletions(changes):
        stats_key = (change.prefix if isinstance(change, DeleteRange) else change.key)[:2]
        if stats_key in removed:
            removed[stats_key] |= {row.row_key: row for row in await deleted_rows(core, change, COUNTED_COLUMNS)}
    out: list[Change] = []
    for key, entries in removed.items():
        stats = await core.store.get(NamespaceStats, key, now=core.now()) if entries else None
        if stats is not None:
            counted = count_entries(stats, (), list(entries.values()))
            out += [Expect(NamespaceStats, key, stats.version), Put(counted)]
    return out


def recount_jobs(changes: Sequence[Change], at: datetime) -> list[Change]:
    """Return jobs that recount the namespaces whose entries these changes delete. Return none if the changes themselves
    write the statistics.
    """
    return [
        Put(
            Job(
                org=str(org), queue=COUNT_QUEUE, ns=str(ns), item=str(ns), run_at=at + RECOUNT_DELAY, created_at=at,
                updated_at=at,
            ),
            absent=True,
        )
        for _, (org, ns) in sorted(counted_rows(changes))
    ]  # fmt: skip


def expiry_jobs(org: str, ns: str, entries: Sequence[Entry], at: datetime) -> list[Change]:
    """Return jobs that recount a namespace once these entries have expired."""
    times = {int(entry.expires_at.timestamp()) // EXPIRY_SECONDS for entry in entries if entry.expires_at is not None}
    return [
        Put(
            Job(
                org=org, queue=COUNT_QUEUE, ns=ns, item=f"expired:{time}",
                run_at=datetime.fromtimestamp((time + 1) * EXPIRY_SECONDS, UTC), created_at=at, updated_at=at,
            ),
            absent=True,
        )
        for time in sorted(times)
    ]  # fmt: skip


async def recount(core: Core, ns: str, also: Sequence[Change] = ()) -> None:
    """Recount a namespace, and commit `also` together with the result. Raises Conflict if it is indexed in the
    meantime.
    """
    changes = [*await recount_changes(core, ns), *also]
    if changes:
        await core.apply(*changes)


async def recount_changes(core: Core, ns: str) -> list[Change]:
    """Return the changes that write the recounted statistics of a namespace.

    They fail if it is indexed in the meantime.
    """
    stats = await core.get(NamespaceStats, ns)
    if stats is None:
        return []
    counted = NamespaceStats(
        org=core.org, ns=ns, stamp=stats.stamp + 1, languages=stats.languages, analysis=stats.analysis,
        updated_at=core.at(),
    )  # fmt: skip
    after = None
    while page := await core.scan(COUNTED_COLUMNS, ns, after=after, limit=PAGE_ROWS):
        counted, after = count_entries(counted, page), page[-1].row_key[2:]
    expected = Expect(NamespaceStats, stats.row_key, stats.version)
    if not counted.entries:
        # Nothing can be found in the namespace any more.
        return [expected, Delete(NamespaceStats, stats.row_key), DeleteRange(Sweep, (core.org, ns))]
    # A Delete of a row that cannot exist makes this batch count as a deletion, which succeeds on a full disk.
    return [expected, Delete(NamespaceStats, (core.org, "")), Put(counted)]
