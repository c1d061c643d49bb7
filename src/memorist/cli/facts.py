"""Implements `memorist facts` and `memorist memory`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..errors import NotFound
from .display import masked_note
from .grouping import InNamespace, group
from .session import Session, as_of_option, read_filter, read_json, session_of

COLUMNS = ("key", "value", "confidence", "sources", "updated_at", "expires_at")


@group()
def facts() -> None:
    """Manage facts: values in a namespace, with their history."""


@group()
def memory() -> None:
    """List facts by namespace."""


@click.command("list", cls=InNamespace)
@click.argument("namespace")
@click.option("--prefix", help="List only keys that start with this.")
@click.option("--where", help='A JSON filter, such as {"age": {"$gte": 18}}')
@click.option("--limit", type=int, help="List at most this many.")
@click.option("--after", help="Start after this key.")
@as_of_option
@session_of
def list_(session: Session, /, namespace: str, where: str | None, **options: Any) -> None:
    """List the facts in a namespace, such as user:ada, agent:reviewer or global."""
    with session.memory(settle=True) as opened:
        facts = opened.facts.list(namespace, where=read_filter(where), **options)
        session.show(facts, COLUMNS, empty=f"no facts in {namespace}")


facts.add_command(list_)
memory.add_command(list_)


def fact_command(function: Callable[..., object]) -> click.Command:
    """Add a command about one fact, whose first arguments are NAMESPACE and KEY."""
    with_key = click.argument("namespace")(click.argument("key")(session_of(function)))
    return facts.command(cls=InNamespace)(with_key)


@fact_command
@as_of_option
def get(session: Session, namespace: str, key: str, as_of: str | None) -> None:
    """Show one fact. Exits with 1 if it does not exist."""
    with session.memory(settle=True) as opened:
        session.show_record(opened.facts.get(namespace, key, as_of=as_of), missing=f"no fact {key!r} in {namespace}")


@fact_command
@click.argument("value")
@click.option("--ttl", type=float, help="Delete it after this many seconds.")
@click.option("--confidence", type=float, default=1.0, show_default=True, help="How certain it is, from 0 to 1.")
@click.option("--source", help="The id of the message that it comes from.")
@click.option("--expect", type=int, help="Write only if this is the current version; 0 means it must not exist.")
@click.option("--index", multiple=True, metavar="FIELD", help="Index this field for recall. Repeatable.")
@click.option("--no-index", is_flag=True, help="Hide the fact from recall.")
def set(
    session: Session, /, namespace: str, key: str, value: str, index: tuple[str, ...], no_index: bool, **options: Any
) -> None:
    """Write a fact. VALUE is JSON or plain text."""
    from ..gate.passing import MASKED

    with session.memory(create=True) as opened:
        fact = opened.facts.set(namespace, key, read_json(value), index=list(index) or not no_index, **options)
        masked = fact.metadata.get(MASKED, ())
        session.done(
            {"namespace": fact.ns, "key": fact.key, "version": fact.version, "masked": masked},
            f"{fact.id} version {fact.version}{masked_note(masked)}",
        )


@fact_command
def delete(session: Session, namespace: str, key: str) -> None:
    """Delete a fact but keep its history."""
    with session.memory() as opened:
        is_deleted = opened.facts.delete(namespace, key)
    session.gone(is_deleted, f"{namespace}/{key}", missing=f"no fact {key!r} in {namespace}")


@fact_command
def history(session: Session, namespace: str, key: str) -> None:
    """List every version of a fact, oldest first."""
    with session.memory(settle=True) as opened:
        versions = opened.facts.history(namespace, key)
    if not versions:
        raise NotFound(f"no fact {key!r} in {namespace}")
    session.show(versions, ("version", "status", "value", "actor", "reason", "updated_at"))


@fact_command
@click.argument("value")
@click.option("--reason", help="The reason, stored in the history.")
def correct(session: Session, namespace: str, key: str, value: str, reason: str | None) -> None:
    """Replace a wrong value with the right one."""
    with session.memory() as opened:
        fact = opened.facts.correct(namespace, key, read_json(value), reason=reason)
        session.done({"version": fact.version}, f"corrected {fact.id}, version {fact.version}")


@fact_command
@click.option("--reason", help="The reason, stored in the history.")
def reject(session: Session, namespace: str, key: str, reason: str | None) -> None:
    """Mark a fact as wrong, so that the same value is not extracted again."""
    with session.memory() as opened:
        fact = opened.facts.reject(namespace, key, reason=reason)
        session.done({"version": fact.version}, f"rejected {fact.id}")


@fact_command
@click.option("--since", metavar="TIME", help="When it stopped being true.  [default: now]")
@click.option("--reason", help="The reason, stored in the history.")
def end(session: Session, namespace: str, key: str, since: str | None, reason: str | None) -> None:
    """End a fact that was true and no longer is."""
    with session.memory() as opened:
        fact = opened.facts.end(namespace, key, since=since, reason=reason)
        session.done({"version": fact.version}, f"ended {fact.id}")


@fact_command
@click.argument("version", type=int)
def restore(session: Session, namespace: str, key: str, version: int) -> None:
    """Make an earlier VERSION of a fact the current one again."""
    with session.memory() as opened:
        fact = opened.facts.restore(namespace, key, version)
        session.done({"version": fact.version}, f"restored {fact.id}, version {fact.version}")


@fact_command
def unforget(session: Session, namespace: str, key: str) -> None:
    """Undo a request to forget something. Its key begins with `forgotten.`."""
    with session.memory() as opened:
        facts = opened.facts.unforget(namespace, key)
        session.done({"restored": [fact.id for fact in facts]}, f"restored {len(facts)}")
