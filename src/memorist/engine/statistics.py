"""The statistics of a namespace that ranking needs: how many entries it has, of which kinds, and how long they are.

The indexer adds what it writes and subtracts what that replaces. Other writers delete entries without reading them;
`Core.apply` then adds a job of the `count` queue, and a worker counts the namespace again within a minute or so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from ..ports import to_micros
from ..records import Entry, Job, Mark, view_of
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


def statistics(detail: Any, entries: Sequence[Entry], replaced: Sequence[Entry] = ()) -> dict[str, Any]:
    """The statistics of a namespace with these entries added, and those that they replace subtracted."""
    from ..recall.features import is_assistant

    old: dict[str, Any] = detail or {}
    speakers = dict.fromkeys(old.get("speakers", ()))
    gone = {(entry.kind, entry.parent, entry.id) for entry in replaced}
    standing = {tuple(item) for item in old.get("standing", ()) if tuple(item[1:]) not in gone}
    counts = {name: old.get(name, 0) for name in ("entries", "terms", "assistant", "messages", "documents")}
    for entry, sign in [*((entry, 1) for entry in entries), *((entry, -1) for entry in replaced)]:
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
    kept = [list(item) for item in sorted(standing, reverse=True)[:STANDING]]
    return {**counts, "speakers": list(speakers), "standing": kept}


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
    marks = [change.record for change in changes if isinstance(change, Put) and isinstance(change.record, Mark)]
    counted = {mark.item for mark in marks if mark.name == "scope"}
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
    scope = await core.get(Mark, "scope", ns)
    if scope is None:
        return []
    detail: dict[str, Any] | None = None
    after = None
    while page := await core.scan(COUNTED, ns, after=after, limit=PAGE):
        detail, after = statistics(detail, page), page[-1].row_key[2:]
    expected = Expect(Mark, scope.row_key, scope.version)
    if detail is None:
        # Nothing can be found in the namespace any more.
        return [expected, *(Delete(Mark, (core.org, name, ns)) for name in ("scope", "embedded", "dedup"))]
    languages = (scope.detail or {}).get("languages")
    detail |= {} if languages is None else {"languages": languages}
    fresh = msgspec.structs.replace(scope, position=scope.position + 1, detail=detail, updated_at=core.at())
    # A Delete of a row that cannot exist makes this batch count as a deletion, which succeeds on a full disk.
    return [expected, Delete(Mark, (core.org, "scope", "")), Put(fresh)]
