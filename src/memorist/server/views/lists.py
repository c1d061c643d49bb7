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
from .people import learning_row
from .shared import EventRow, Row, event_row, fact_row

if TYPE_CHECKING:
    from ...memory import AsyncMemory

PAGE_ROWS = 100
ANALYSES = ("analysis",)
"""The key prefix of the analyser's reports in `global`, which `memorist analyze --keep` and the server write."""


class Listing(msgspec.Struct, forbid_unknown_fields=True):
    """Describes a page of one kind, in one namespace or in all namespaces that the key may read."""

    kind: str
    ns: str | None = None
    after: list[str | int] | None = None
    limit: int = PAGE_ROWS
    reverse: bool = False


class DocumentAsked(msgspec.Struct, forbid_unknown_fields=True):
    """Represents one document."""

    ns: str
    id: str


class AuditAsked(msgspec.Struct, forbid_unknown_fields=True):
    """Represents a page of the audit trail of the org or of one user."""

    user: str | None = None
    subject: str | None = None
    kind: str | None = None
    after: str | None = None
    limit: int = PAGE_ROWS


class TimelineAsked(msgspec.Struct, forbid_unknown_fields=True):
    """Represents a page of the timeline of the org or of one user."""

    user: str | None = None
    after: str | None = None
    limit: int = PAGE_ROWS


class PlansAsked(msgspec.Struct, forbid_unknown_fields=True):
    """Holds the namespace whose applied tidy-ups are listed."""

    ns: str


class Analyses(msgspec.Struct, forbid_unknown_fields=True):
    """Requests the list of the analyser's reports, or one report by name."""

    name: str | None = None


def _working(row: WorkingDocument) -> Row:
    return {
        "user": row.user, "session": row.session, "doc": row.doc, "at": row.updated_at, "expires": row.expires_at,
        "ns": f"user:{row.user}",
    }  # fmt: skip


def _document(row: Document) -> Row:
    return {
        "ns": row.ns, "id": row.id, "title": row.title, "source": row.source, "chunks": row.chunks,
        "characters": len(row.text), "trust": row.trust, "at": row.updated_at, "expires": row.expires_at,
    }  # fmt: skip


def _state(row: StateEntry) -> Row:
    return {
        "ns": row.ns, "key": row.key, "value": row.value, "version": row.version, "at": row.updated_at,
        "expires": row.expires_at,
    }  # fmt: skip


def _record(row: StoredRecord) -> Row:
    from ...ordered_keys import decode_record_key

    return {
        "ns": row.ns, "key": list(decode_record_key(row.key)), "size": row.size, "form": row.form,
        "metadata": row.metadata, "value": _value(row), "version": row.version, "at": row.updated_at,
        "expires": row.expires_at,
    }  # fmt: skip


def _value(row: StoredRecord) -> object:
    """Return the value of a JSON record stored in its row, or None for bytes and large records."""
    return msgspec.json.decode(row.data) if row.form == "json" and row.data is not None else None


def _task(row: Task) -> Row:
    return {
        "id": row.task_id, "ns": row.ns, "step": row.step, "status": row.status, "completed": row.completed,
        "size": row.size, "owner": row.owner, "leased": row.leased_until, "at": row.updated_at,
        "created": row.created_at, "fence": row.fence, "expires": row.expires_at,
    }  # fmt: skip


def _thread(row: Thread) -> Row:
    return {
        "id": row.id, "ns": row.ns, "title": row.title, "length": row.length, "tokens": row.tokens,
        "at": row.updated_at,
    }  # fmt: skip


def _event(row: Event) -> Row:
    return {
        "id": row.id, "ns": row.ns, "text": row.text, "starts": row.starts_at, "ends": row.ends_at,
        "status": row.status, "people": list(row.people), "location": row.location, "sources": list(row.sources),
        "actor": row.actor, "at": row.updated_at,
    }  # fmt: skip


def _candidate(row: Candidate) -> Row:
    return {
        "id": row.id, "ns": row.ns, "kind": row.kind, "operation": row.operation, "target": row.target,
        "text": row.text, "quote": row.quote, "reason": row.reason, "confidence": row.confidence,
        "sources": list(row.sources), "actor": row.actor, "trust": row.trust, "at": row.created_at,
        "key": row.proposal.get("key"), "value": row.proposal.get("value"), "subject": row.proposal.get("subject"),
    }  # fmt: skip


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


async def listing(handle: AsyncMemory, asked: Listing) -> Row:
    """Return rows of a kind in key order, and the cursor of the next page."""
    if asked.kind not in KINDS:
        raise UsageError(f"kind must be one of {', '.join(KINDS)}")
    record, shown, index = KINDS[asked.kind]
    core = core_of(handle)
    limit = max(1, min(asked.limit, 500))
    prefix: tuple[str, ...] = ()
    if asked.ns is not None:
        space = core.scope.readable(asked.ns)
        prefix = (space.removeprefix("user:"),) if record is WorkingDocument else (space,)
    columns = (record.table.indexes[index] if index else record.table.key)[1 + len(prefix) :]
    cursor = None if asked.after is None else tuple(asked.after)
    after, before = (None, cursor) if asked.reverse else (cursor, None)
    rows = await core.scan(
        record, *prefix, index=index, limit=limit, reverse=asked.reverse, after=after, before=before,
        where=LISTED.get(record),
    )  # fmt: skip
    items = [row for row in map(shown, rows) if core.scope.may_read(str(row["ns"]))]
    following = [getattr(rows[-1], column) for column in columns] if len(rows) == limit else None
    return {"items": items, "next": following}


async def document(handle: AsyncMemory, asked: DocumentAsked) -> Row:
    """Return a document and its chunks, in text order."""
    record = await handle.documents.get(asked.ns, asked.id)
    if record is None:
        raise NotFound("there is no such document")
    chunks = await handle.documents.chunks(asked.ns, asked.id)
    return {
        **_document(record),
        "metadata": record.metadata,
        "parts": [
            {
                "id": chunk.id,
                "heading": chunk.heading,
                "page": chunk.page,
                "text": chunk.text,
                "tokens": chunk.tokens,
                "start": chunk.start,
            }
            for chunk in sorted(chunks, key=lambda chunk: chunk.position)
        ],
    }


async def audit(handle: AsyncMemory, asked: AuditAsked) -> Row:
    """Return the audit trail of the org or of one user, newest first."""
    items, after = await _changes(handle, asked, subject=asked.subject, kind=asked.kind)
    return {"items": items, "next": after}


async def timeline(handle: AsyncMemory, asked: TimelineAsked) -> Row:
    """Return audit events, newest first.

    The first page also contains the threads, at the time of their last message.
    """
    items, after = await _changes(handle, asked)
    if asked.after is None:
        items += await _thread_events(handle, _space_of(handle, asked))
        items.sort(key=lambda item: item["at"], reverse=True)
    return {"items": items, "next": after}


async def _changes(
    handle: AsyncMemory, asked: AuditAsked | TimelineAsked, **filters: str | None
) -> tuple[list[EventRow], str | None]:
    """Return a page of audit events, newest first, and the position at which the next page begins."""
    limit = max(1, min(asked.limit, 500))
    own = handle if asked.user is None else handle.scope(user=asked.user)
    events = await own.audit.list(after=asked.after, limit=limit, reverse=True, **filters)
    rows = [await event_row(handle, event) for event in events]
    return rows, events[-1].id if len(events) == limit else None


def _space_of(handle: AsyncMemory, asked: AuditAsked | TimelineAsked) -> str | None:
    return None if asked.user is None else core_of(handle).scope.readable(f"user:{asked.user}")


async def _thread_events(handle: AsyncMemory, space: str | None) -> list[EventRow]:
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


async def plans(handle: AsyncMemory, asked: PlansAsked) -> Row:
    """Return the applied tidy-ups of a namespace that can be undone, newest first."""
    rows = await handle.records.scan(asked.ns, (PLANS,), limit=PAGE_ROWS)
    items = [{**row.data["plan"], "at": row.updated_at} for row in rows if isinstance(row.data, dict)]
    return {"items": sorted(items, key=lambda item: item["at"], reverse=True)}


async def analyses(handle: AsyncMemory, asked: Analyses) -> Row:
    """Return the analyser's reports stored in this memory."""
    if asked.name is not None:
        record = await handle.records.get("global", (*ANALYSES, asked.name))
        if record is None:
            raise NotFound("there is no such report")
        return {"name": asked.name, "at": record.updated_at, "report": record.data}
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
