"""Tasks on the command line."""

from __future__ import annotations

import click

from .session import Session, session_of

COLUMNS = ("task_id", "ns", "step", "status", "completed_subtasks", "owner", "leased_until", "updated_at")


@click.group()
def tasks() -> None:
    """Resumable tasks."""


@tasks.command("list")
@click.argument("namespace", default="global")
@session_of
def list_(session: Session, namespace: str) -> None:
    """Tasks of a namespace."""
    with session.memory() as memory:
        session.show(memory.tasks.list(namespace), COLUMNS, empty=f"no tasks in {namespace}")


@tasks.command()
@click.argument("task")
@session_of
def show(session: Session, task: str) -> int:
    """Where a task stands."""
    with session.memory() as memory:
        return session.one(memory.tasks.get(task), missing=f"no task {task!r}")


@tasks.command()
@click.argument("task")
@session_of
def delete(session: Session, task: str) -> int:
    """Remove a task and its history."""
    with session.memory() as memory:
        gone = memory.tasks.delete(task)
    if not gone:
        click.echo(f"recollect: no task {task!r}", err=True)
        return 1
    session.done({"deleted": True}, f"deleted {task}")
    return 0
