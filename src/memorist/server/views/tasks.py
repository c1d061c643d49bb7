"""Implements the task and job pages, which show each step as a diff of the state, and the jobs in the outbox with
their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...engine.derive.outbox import QUEUES
from ...engine.noun import core_of
from ...errors import NotFound
from ...messages.message import Message
from ...records import Job, Task
from .shared import Row, picked

if TYPE_CHECKING:
    from ...memory import AsyncMemory

MAX_STEPS = 50
MAX_JOBS = 500


async def jobs(handle: AsyncMemory) -> Row:
    """Return the backlog of each queue, and its jobs with their messages, dead letters first."""
    core = core_of(handle)
    rows = [
        job for queue in QUEUES for job in await core.scan(Job, queue, limit=MAX_JOBS) if core.scope.may_write(job.ns)
    ]
    queues = await handle.jobs.backlog()
    job_rows = [await _job(handle, job) for job in sorted(rows, key=lambda job: (job.status != "dead", job.run_at))]
    return {"queues": [msgspec.to_builtins(queue) for queue in queues], "jobs": job_rows}


async def _job(handle: AsyncMemory, job: Job) -> Row:
    kind, _, id = job.item.partition(":")
    thread = await handle.threads.get(id) if kind == "thread" else None
    seqs = list((job.payload or {}).get("seqs", ()))[:5]
    if thread is not None and not seqs and job.queue != "index":
        seqs = [thread.length - 1] if thread.length > 1 else [thread.length]
    messages = (
        await core_of(handle).get_many(Message, [(id, seq) for seq in seqs]) if thread is not None and seqs else []
    )
    names = "queue ns item status attempts error run_at owner"
    return {
        **picked(job, names, leased="leased_until", created="created_at", at="updated_at"),
        "thread": thread.id if thread else None, "title": thread.title if thread else None,
        "said": [{"seq": message.seq, "text": message.text[:200]} for message in messages if message is not None],
    }  # fmt: skip


async def task(handle: AsyncMemory, *, id: str, steps: int = MAX_STEPS) -> Row:
    """Return a task, its lease owner, and its steps, newest first, each with its changes to the state."""
    row = await core_of(handle).get(Task, id)
    checkpoint = await handle.tasks.resume(id)
    if row is None or checkpoint is None:
        raise NotFound("there is no such task")
    checkpoints = await handle.tasks.history(id, max(1, min(steps, 200)))
    shown = []
    for index, step in enumerate(checkpoints):
        before = checkpoints[index - 1] if index else None
        completed_before = set(before.completed_subtasks) if before else set()
        shown.append(
            {
                **picked(step, "version step status", at="updated_at"),
                "completed": [item for item in step.completed_subtasks if item not in completed_before],
                "changes": changed(before.state if before else None, step.state),
            }
        )  # fmt: skip
    events = await handle.audit.list(subject=id, kind="task", limit=50)
    return {
        **picked(row, "ns step status owner fence", id="task_id", leased="leased_until", created="created_at",
                 at="updated_at"),
        "state": checkpoint.state, "completed": list(checkpoint.completed_subtasks), "steps": shown[::-1],
        "events": [picked(event, "action detail actor user", at="created_at") for event in events],
    }  # fmt: skip


def changed(before: object, after: object, path: str = "") -> list[Row]:
    """Return the differences between two JSON values, by path."""
    if before == after:
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        rows: list[Row] = []
        for key in dict.fromkeys((*before, *after)):
            rows += changed(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
        return rows
    return [{"path": path, "before": before, "after": after}]
