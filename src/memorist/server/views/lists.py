"""Implements paginated lists of facts, events, learnings, memories waiting for review, documents, threads, audit events
and more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from ...engine.noun import core_of
from ...engine.review import WAITING
from ...engine.tidying import PLANS
from ...engine.versions import DELETED
from ...errors import NotFound, UsageError
from ...filters import Filter, parse_filter
from ...records import (
    Candidate,
    Document,
    Event,
    Fact,
    Learning,
    Record,
    StateEntry,
    StoredRecord,
    Task,
    Thread,
    WorkingDocument,
)
from .people import learning_row, working_row
from .shared import Row, event_row, fact_row, picked

if TYPE_CHECKING:
    from ...memory import AsyncMemory

PAGE_ROWS = 100
ANALYSES = ("analysis",)
"""The key prefix of the analyser's reports in `global`, which `memorist analyze --keep` and the server write."""


def _working(row: WorkingDocument) -> Row:
    return {**working_row(row), "ns": f"user:{row.user}"}


def _document(row: Document) -> Row:
    names = "ns id title source chunks trust"
    return {**picked(row, names, at="updated_at", expires="expires_at"), "characters": len(row.text)}


def _state(row: StateEntry) -> Row:
    return picked(row, "ns key value version", at="updated_at", expires="expires_at")


def _record(row: StoredRecord) -> Row:
    from ...ordered_keys import decode_record_key

    shown = picked(row, "ns size form metadata version", at="updated_at", expires="expires_at")
    return {**shown, "key": list(decode_record_key(row.key)), "value": _value(row)}


def _value(row: StoredRecord) -> object:
    """Return the value of a JSON record stored in its row, or None for bytes and large records."""
    return msgspec.json.decode(row.data) if row.form == "json" and row.data is not None else None


def _task(row: Task) -> Row:
    times = {"leased": "leased_until", "at": "updated_at", "created": "created_at", "expires": "expires_at"}
    return picked(row, "ns step status completed size owner fence", id="task_id", **times)


def _thread(row: Thread) -> Row:
    return picked(row, "id ns title length tokens", at="updated_at")


def _event(row: Event) -> Row:
    names = "id ns text status people location sources actor"
    return picked(row, names, starts="starts_at", ends="ends_at", at="updated_at")


def _candidate(row: Candidate) -> Row:
    names = "id ns kind operation target text quote reason confidence sources actor trust"
    proposal = {name: row.proposal.get(name) for name in ("key", "value", "subject")}
    return {**picked(row, names, at="created_at"), **proposal}


KINDS: dict[str, tuple[type[Record], Callable[[Any], Row], str | None]] = {
    "learnings": (Learning, learning_row, None),
    "working": (WorkingDocument, _working, None),
    "documents": (Document, _document, None),
    "state": (StateEntry, _state, None),
    "records": (StoredRecord, _record, None),
    "tasks": (Task, _task, "by_ns"),
    "threads": (Thread, _thread, "by_ns"),
    "facts": (Fact, fact_row, None),
    "events": (Event, _event, None),
    "candidates": (Candidate, _candidate, None),
}
"""The record of each kind, the function that builds its row, and its namespace index if its key contains no
namespace."""


LISTED: dict[type[Record], Filter | None] = {Candidate: WAITING, Learning: parse_filter({"status": {"$ne": DELETED}})}
"""Which rows of a record are listed, if not all of them are."""


async def listing(
    handle: AsyncMemory,
    *,
    kind: str,
    ns: str | None = None,
    after: list[str | int] | None = None,
    limit: int = PAGE_ROWS,
    reverse: bool = False,
) -> Row:
    """Return rows of a kind in key order, and the cursor of the next page. Without a namespace, return those of all
    namespaces that the key may read."""
    if kind not in KINDS:
        raise UsageError(f"kind must be one of {', '.join(KINDS)}")
    record, shown, index = KINDS[kind]
    core = core_of(handle)
    limit = max(1, min(limit, 500))
    prefix: tuple[str, ...] = ()
    if ns is not None:
        space = core.scope.readable(ns)
        prefix = (space.removeprefix("user:"),) if record is WorkingDocument else (space,)
    columns = (record.table.indexes[index] if index else record.table.key)[1 + len(prefix) :]
    cursor = None if after is None else tuple(after)
    rows = await core.scan(
        record, *prefix, index=index, limit=limit, reverse=reverse, where=LISTED.get(record),
        after=None if reverse else cursor, before=cursor if reverse else None,
    )  # fmt: skip
    items = [row for row in map(shown, rows) if core.scope.may_read(str(row["ns"]))]
    following = [getattr(rows[-1], column) for column in columns] if len(rows) == limit else None
    return {"items": items, "next": following}


async def document(handle: AsyncMemory, *, ns: str, id: str) -> Row:
    """Return a document and its chunks, in text order."""
    record = await handle.documents.get(ns, id)
    if record is None:
        raise NotFound("there is no such document")
    chunks = await handle.documents.chunks(ns, id)
    return {
        **_document(record),
        "metadata": record.metadata,
        "parts": [
            picked(chunk, "id heading page text tokens start")
            for chunk in sorted(chunks, key=lambda chunk: chunk.position)
        ],
    }


async def audit(
    handle: AsyncMemory,
    *,
    user: str | None = None,
    subject: str | None = None,
    kind: str | None = None,
    after: str | None = None,
    limit: int = PAGE_ROWS,
) -> Row:
    """Return the audit trail of the org or of one user, newest first."""
    items, following = await _changes(handle, user, after, limit, subject=subject, kind=kind)
    return {"items": items, "next": following}


async def timeline(
    handle: AsyncMemory, *, user: str | None = None, after: str | None = None, limit: int = PAGE_ROWS
) -> Row:
    """Return audit events of the org or of one user, newest first.

    The first page also contains the threads, at the time of their last message.
    """
    items, following = await _changes(handle, user, after, limit)
    if after is None:
        space = None if user is None else core_of(handle).scope.readable(f"user:{user}")
        items += await _thread_events(handle, space)
        items.sort(key=lambda item: item["at"], reverse=True)
    return {"items": items, "next": following}


async def _changes(
    handle: AsyncMemory, user: str | None, after: str | None, limit: int, **filters: str | None
) -> tuple[list[Row], str | None]:
    """Return a page of audit events, newest first, and the position at which the next page begins."""
    limit = max(1, min(limit, 500))
    own = handle if user is None else handle.scope(user=user)
    events = await own.audit.list(after=after, limit=limit, reverse=True, **filters)
    rows = [await event_row(handle, event) for event in events]
    return rows, events[-1].id if len(events) == limit else None


async def _thread_events(handle: AsyncMemory, space: str | None) -> list[Row]:
    """Return one timeline row for each thread that has messages, at the time of its last message."""
    core = core_of(handle)
    threads = await core.scan(Thread, *(() if space is None else (space,)), index="by_ns", limit=500)
    return [
        {
            "id": f"said:{thread.id}", "at": thread.updated_at, "actor": thread.ns.removeprefix("user:"),
            "action": "said",
            "kind": "thread", "subject": thread.id, "thread": thread.id, "title": thread.title, "count": thread.length,
            "source": None, "detail": None, "rows": None, "user": None, "of": thread.ns,
        }
        for thread in threads if thread.length and core.scope.may_read(thread.ns)
    ]  # fmt: skip


async def plans(handle: AsyncMemory, *, ns: str) -> Row:
    """Return the applied tidy-ups of a namespace that can be undone, newest first."""
    rows = await handle.records.scan(ns, (PLANS,), limit=PAGE_ROWS)
    items = [{**row.data["plan"], "at": row.updated_at} for row in rows if isinstance(row.data, dict)]
    return {"items": sorted(items, key=lambda item: item["at"], reverse=True)}


async def analyses(handle: AsyncMemory, *, name: str | None = None) -> Row:
    """Return one of the analyser's reports stored in this memory or, without a name, a list of them."""
    if name is not None:
        record = await handle.records.get("global", (*ANALYSES, name))
        if record is None:
            raise NotFound("there is no such report")
        return {"name": name, "at": record.updated_at, "report": record.data}
    rows = await handle.records.scan("global", ANALYSES, limit=PAGE_ROWS)
    return {"items": [{"name": row.key[-1], "at": row.updated_at, **_summary(row.data)} for row in rows]}


def _summary(report: object) -> Row:
    checks = report.get("checks", ()) if isinstance(report, dict) else ()
    return {
        "files": report.get("files") if isinstance(report, dict) else None,
        "languages": report.get("languages") if isinstance(report, dict) else None,
        "passed": sum(check.get("status") == "holds" for check in checks),
        "checks": len(checks),
    }
