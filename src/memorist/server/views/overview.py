"""Implements the overview page, which shows counts, problems that need attention, and the newest events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...engine.facts.corrections import replaced_corrections
from ...engine.noun import core_of
from ...protocol.nouns.analyses import installed_analyzer
from ...records import AuditEvent, Job, Thread
from .shared import Row, event_row

if TYPE_CHECKING:
    from ...memory import AsyncMemory

SHOWN_EVENTS = 12


async def overview(handle: AsyncMemory) -> Row:
    """Return counts, the doctor's findings, the newest events and details about the store."""
    core = core_of(handle)
    stats = await handle.stats()
    users = sum(ns.startswith("user:") for ns in stats.namespaces)
    whole = core.scope.user is None
    doctor = await handle.doctor() if whole else None
    replaced = await replaced_corrections(core) if whole else []
    dead = await handle.jobs.dead() if whole else []
    queues = await handle.jobs.backlog() if whole else []
    return {
        "stats": {**msgspec.to_builtins(stats), "namespaces": None},
        "users": users,
        "others": len(stats.namespaces) - users,
        "lag": max((queue.lag_seconds for queue in queues if queue.waiting), default=0.0),
        "problems": doctor.problems if doctor else [],
        "dead": [{"queue": job.queue, "item": job.item, "error": job.error} for job in dead],
        "replaced": [{"ns": change.fact.ns, "key": change.fact.key} for change in replaced],
        "store": {
            "kind": doctor.store if doctor else core.store.name,
            "details": {name: value for name, value in (doctor.details if doctor else {}).items() if _plain(value)},
            "embedder": doctor.embedder if doctor else None,
            "indexed": stats.indexed,
            "waiting": sum(stats.waiting.values()),
        },
        "recent": await recent(handle),
    }


def _plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


async def recent(handle: AsyncMemory) -> list[Row]:
    """Return the newest events of the audit trail. Consecutive events with the same source are merged into one row."""
    events = await handle.audit.list(limit=4 * SHOWN_EVENTS, reverse=True)
    return [await event_row(handle, event, count) for event, count in _gathered(events)][:SHOWN_EVENTS]


def _gathered(events: list[AuditEvent]) -> list[tuple[AuditEvent, int]]:
    rows: list[tuple[AuditEvent, int]] = []
    for event in events:
        last = rows[-1][0] if rows else None
        same = last is not None and (last.action, last.kind, last.source) == (event.action, event.kind, event.source)
        if same and event.source is not None:
            rows[-1] = (rows[-1][0], rows[-1][1] + 1)
        else:
            rows.append((event, 1))
    return rows


async def pulse(handle: AsyncMemory) -> Row:
    """Return a fingerprint (`mark`) that changes when the memory does, the number of dead letters, and whether the
    analyser is installed.
    """
    core = core_of(handle)
    events = await handle.audit.list(limit=1, reverse=True)
    threads = await core.scan(Thread, reverse=True, limit=20)
    newest = max((thread.updated_at for thread in threads), default=None)
    dead = 0
    if core.scope.user is None:
        queues = [await core.scan(Job, queue, limit=500) for queue in ("index", "derive", "reread")]
        dead = sum(_letters(job) for jobs in queues for job in jobs if job.status == "dead")
    mark = f"{events[0].id if events else ''}/{newest}/{len(threads)}"
    return {"mark": mark, "dead": dead, "analyser": installed_analyzer() is not None}


def _letters(job: Job) -> int:
    return len((job.payload or {}).get("seqs", ())) or 1
