"""Implements `memorist state`."""

from __future__ import annotations

import click

from .grouping import group
from .session import Session, read_json, session_of


@group()
def state() -> None:
    """Manage state: small values and counters under keys."""


@state.command()
@click.argument("key")
@session_of
def get(session: Session, key: str) -> None:
    """Show one value. Exits with 1 if it does not exist."""
    with session.memory() as memory:
        session.show_record(memory.state.entry(key), missing=f"no state {key!r}")


@state.command()
@click.argument("key")
@click.argument("value")
@click.option("--ttl", type=float, help="Delete it after this many seconds.")
@click.option("--expect", type=int, help="Write only if this is the current version; 0 means it must not exist.")
@session_of
def set(session: Session, key: str, value: str, ttl: float | None, expect: int | None) -> None:
    """Write a value. VALUE is JSON or plain text."""
    with session.memory(create=True) as memory:
        entry = memory.state.set(key, read_json(value), ttl=ttl, expect=expect)
        session.done({"key": key, "version": entry.version}, f"{key} version {entry.version}")


@state.command()
@click.argument("key")
@session_of
def delete(session: Session, key: str) -> None:
    """Delete a key."""
    with session.memory() as memory:
        is_deleted = memory.state.delete(key)
    session.gone(is_deleted, key, missing=f"no state {key!r}")


@state.command()
@click.argument("key")
@click.option("--by", type=int, default=1, show_default=True, help="The amount to add; it may be negative.")
@click.option("--ttl", type=float, help="Delete the counter this many seconds after it is created.")
@session_of
def increment(session: Session, key: str, by: int, ttl: float | None) -> None:
    """Add to a counter and print its new value."""
    with session.memory(create=True) as memory:
        value = memory.state.increment(key, by, ttl=ttl)
        session.done({"key": key, "value": value}, str(value))
