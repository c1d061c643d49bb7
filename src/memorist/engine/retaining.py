"""Deletes rows older than an org's retention rules allow. The collector runs this."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ..gate.passing import classes_of
from ..gate.policy import Retention
from ..kinds import LINKED, MemoryRecord, reference
from ..messages.message import Message
from ..ports import to_datetime
from ..records import Candidate, Document, Thread, as_dict
from ..stores.base import Delete
from .audit import audit
from .core import Core
from .gating import policy_of

PAGE_ROWS = 500


class RetentionState(msgspec.Struct, frozen=True):
    """Represents a retention rule, and the number of rows that the collector will delete in its next run."""

    to_dict = as_dict

    rule: str
    due: int


async def apply_retention(core: Core) -> dict[str, int]:
    """Delete rows that the org's rules no longer allow, and return how many were deleted, by kind."""
    counts: dict[str, int] = {}
    for rule in (await policy_of(core)).retention:
        rows = [row async for row in _due_rows(core, rule)]
        deleted = await _delete(core, rows)
        if deleted:
            counts[rule.kind] = counts.get(rule.kind, 0) + deleted
    return counts


async def retention_states(core: Core) -> list[RetentionState]:
    """Return the org's rules, each with the number of rows that are due for deletion."""
    rules = (await policy_of(core)).retention
    return [RetentionState(rule.label, len([row async for row in _due_rows(core, rule)])) for rule in rules]


async def _due_rows(core: Core, rule: Retention) -> AsyncIterator[object]:
    limit, spaces = to_datetime(core.now() - rule.micros), dict[str, str]()
    if rule.kind == "message":
        spaces = {thread.id: thread.ns for thread in await core.scan(Thread)}
    after = None
    while rows := await core.scan(LINKED[rule.kind].record, after=after, limit=PAGE_ROWS):
        for row in rows:
            ns = spaces.get(row.thread, "") if isinstance(row, Message) else getattr(row, "ns", "")
            if _changed_at(row) < limit and rule.covers(ns) and _matches(rule, row):
                yield row
        after = rows[-1].row_key[1:]


def _changed_at(row: Any) -> datetime:
    changed: datetime | None = getattr(row, "updated_at", None) or row.created_at
    assert changed is not None  # stores give every message a time
    return changed


def _matches(rule: Retention, row: Any) -> bool:
    if rule.tag is not None:
        tags = getattr(row, "tags", None) or (getattr(row, "metadata", None) or {}).get("tags") or ()
        if rule.tag not in (tags if isinstance(tags, list | tuple) else (tags,)):
            return False
    return rule.personal is None or rule.personal in classes_of(row)


async def _delete(core: Core, rows: Sequence[object]) -> int:
    """Delete rows as their nouns do, along with their history, index entries and links."""
    from .documents.documents import Documents
    from .memories import noun_of
    from .threads.threads import Threads

    deleted = 0
    by_thread: dict[str, list[str]] = {}
    for row in rows:
        if isinstance(row, Message):
            by_thread.setdefault(row.thread, []).append(row.id)
        elif isinstance(row, MemoryRecord):
            ref = reference(row)
            deleted += await noun_of(core, ref.kind)._delete(ref.ns, ref.key, history=False)
        elif isinstance(row, Document):
            deleted += await Documents(core).delete(row.ns, row.id)
        elif isinstance(row, Candidate):
            deletion = Delete(Candidate, row.row_key)
            event = audit(core, "expire", "candidate", f"{row.ns}/{row.id}")
            deleted += (await core.apply(deletion, event)).existed(deletion)
    for thread, ids in by_thread.items():
        deleted += await Threads(core).delete_messages(thread, ids=ids)
    return deleted
