"""The statistics of a namespace that ranking needs: how many entries it has, of which kinds, and how long they are.

The indexer adds what it writes and subtracts what that replaces. Other writers delete entries without reading them;
`Core.apply` then adds a job of the `count` queue, and a worker counts the namespace again within a minute or so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from ..ports import to_micros
from ..records import Entry, Job, NamespaceStats, Sweep, view_of
from ..stores.base import Change, Delete, DeleteRange, Expect, Put
from .core import Core

COUNT = "count"
"""The queue of namespaces that must be counted again."""
RECOUNT_DELAY = timedelta(seconds=60)
"""A namespace is counted at most this often, because a count reads all of its entries."""
SPEAKERS = 64
STANDING = 64
"""How many standing instructions of a namespace are candidates of every request, the newest ones."""
PAGE = 1000
COUNTED = view_of(Entry, "terms", "role", "speaker", "signals", "created_at")
"""The columns of an entry that are counted: not its vector."""


def count_entries(stats: NamespaceStats, entries: Sequence[Entry], removed: Sequence[Entry] = ()) -> NamespaceStats:
    """The statistics with these entries added, and those that they replace, or that were deleted, subtracted."""
    from ..recall.features import is_assistant

    speakers = dict.fromkeys(stats.speakers)
    gone = {(entry.kind, entry.parent, entry.id) for entry in removed}
    standing = {item for item in stats.standing if item[1:] not in gone}
    counts = {name: getattr(stats, name) for name in ("entries", "terms", "assistant", "messages", "documents")}
    for entry, sign in [*((entry, 1) for entry in entries), *((entry, -1) for entry in removed)]:
        counts["entries"] += sign
        counts["terms"] += sign * (entry.terms.count(" ") + 1)
        counts["assistant"] += sign * is_assistant(entry.role or "", entry.speaker or "")
        counts["messages"] += sign * (entry.kind == "message")
        counts["documents"] += sign * (entry.kind == "document")
    for entry in entries:
        if entry.speaker and len(speakers) < SPEAKERS and not is_assistant(entry.role or "", entry.speaker):
            speakers[entry.speaker] = None
        if _is_standing(entry):
            standing.add((to_micros(entry.created_at), entry.kind, entry.parent, entry.id))
    newest = tuple(sorted(standing, reverse=True)[:STANDING])
    return msgspec.structs.replace(stats, **counts, speakers=tuple(speakers), standing=newest)


def _is_standing(entry: Entry) -> bool:
    """Whether an entry is a learning, or a person's message that instructs."""
    from ..recall.features import is_assistant
    from ..recall.signals import NAMES

    if entry.kind != "message":
        return entry.kind == "learning"
    return bool(entry.signals[NAMES.index("instructs")]) and not is_assistant(entry.role or "", entry.speaker or "")


async def replaced_entries(core: Core, ns: str, entries: Sequence[Entry], changes: Iterable[Change]) -> list[Entry]:
    """The stored entries that a batch of the indexer overwrites or deletes."""
    keys = dict.fromkeys(
        [
            *(entry.row_key for entry in entries),
            *(change.key for change in changes if isinstance(change, Delete) and change.kind is Entry),
        ]
    )
    rows = await core.get_many(COUNTED, [key[1:] for key in keys if key[1] == ns]) if keys else []
    return [row for row in rows if row is not None]


def recount_jobs(changes: Sequence[Change], at: datetime) -> list[Change]:
    """Jobs that count again the namespaces whose entries these changes delete; none where they write the statistics."""
    keys = [
        change.prefix if isinstance(change, DeleteRange) else change.key
        for change in changes
        if isinstance(change, Delete | DeleteRange) and change.kind is Entry
    ]
    if not keys:
        return []
    puts = [change.record for change in changes if isinstance(change, Put)]
    counted = {record.ns for record in puts if isinstance(record, NamespaceStats)}
    spaces = dict.fromkeys((str(key[0]), str(key[1])) for key in keys if len(key) > 1 and key[1] not in counted)
    return [
        Put(
            Job(org=org, queue=COUNT, ns=ns, item=ns, run_at=at + RECOUNT_DELAY, created_at=at, updated_at=at),
            absent=True,
        )
        for org, ns in spaces
    ]


async def recount(core: Core, ns: str, also: Sequence[Change] = ()) -> None:
    """Count a namespace anew, and commit `also` with the result; raises Conflict if it is indexed meanwhile."""
    changes = [*await recount_changes(core, ns), *also]
    if changes:
        await core.apply(*changes)


async def recount_changes(core: Core, ns: str) -> list[Change]:
    """The changes that write the statistics of a namespace counted anew; they fail if it is indexed meanwhile."""
    stats = await core.get(NamespaceStats, ns)
    if stats is None:
        return []
    counted = NamespaceStats(
        org=core.org, ns=ns, stamp=stats.stamp + 1, languages=stats.languages, updated_at=core.at()
    )
    after = None
    while page := await core.scan(COUNTED, ns, after=after, limit=PAGE):
        counted, after = count_entries(counted, page), page[-1].row_key[2:]
    expected = Expect(NamespaceStats, stats.row_key, stats.version)
    if not counted.entries:
        # Nothing can be found in the namespace any more.
        return [expected, Delete(NamespaceStats, stats.row_key), DeleteRange(Sweep, (core.org, ns))]
    # A Delete of a row that cannot exist makes this batch count as a deletion, which succeeds on a full disk.
    return [expected, Delete(NamespaceStats, (core.org, "")), Put(counted)]
