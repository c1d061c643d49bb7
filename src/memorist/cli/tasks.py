"""Implements `memorist tasks`."""

from __future__ import annotations

import click

from .grouping import group
from .session import Session, session_of

COLUMNS = ("task_id", "ns", "step", "status", "completed_subtasks", "owner", "leased_until", "updated_at")


@group()
def tasks() -> None:
    """Manage resumable tasks."""


@tasks.command("list")
@click.argument("namespace", required=False)
@click.option("--limit", type=int, default=100, show_default=True, help="List at most this many.")
@session_of
def list_(session: Session, namespace: str | None, limit: int) -> None:
    """List the tasks in all namespaces, or in one."""
    with session.memory() as memory:
        rows = memory.tasks.list(namespace, limit=limit)
        session.show(rows, COLUMNS, empty=f"no tasks in {namespace}" if namespace else "no tasks")


@tasks.command()
@click.argument("task")
@session_of
def show(session: Session, task: str) -> None:
    """Show the checkpoint of a task."""
    with session.memory() as memory:
        session.show_record(memory.tasks.resume(task), missing=f"no task {task!r}")


@tasks.command()
@click.argument("task")
@session_of
def delete(session: Session, task: str) -> None:
    """Delete a task and its history."""
    with session.memory() as memory:
        is_deleted = memory.tasks.delete(task)
    session.gone(is_deleted, task, missing=f"no task {task!r}")
