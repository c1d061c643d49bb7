"""`memorist state`."""

from __future__ import annotations

import click

from .grouping import group
from .session import Session, read_json, session_of


@group()
def state() -> None:
    """Small key-values and counters."""


@state.command()
@click.argument("key")
@session_of
def get(session: Session, key: str) -> None:
    """Show one value; exit status 1 if there is none."""
    with session.memory() as memory:
        session.show_record(memory.state.entry(key), missing=f"no state {key!r}")


@state.command()
@click.argument("key")
@click.argument("value")
@click.option("--ttl", type=float, help="Seconds to live.")
@click.option("--expect", type=int, help="Only over this version; 0: only if there is none.")
@session_of
def set(session: Session, key: str, value: str, ttl: float | None, expect: int | None) -> None:
    """Write a value; VALUE is JSON, or plain text."""
    with session.memory(create=True) as memory:
        entry = memory.state.set(key, read_json(value), ttl=ttl, expect=expect)
        session.done({"key": key, "version": entry.version}, f"{key} version {entry.version}")


@state.command()
@click.argument("key")
@session_of
def delete(session: Session, key: str) -> None:
    """Remove a key."""
    with session.memory() as memory:
        gone = memory.state.delete(key)
    session.gone(gone, key, missing=f"no state {key!r}")


@state.command()
@click.argument("key")
@click.option("--by", type=int, default=1, show_default=True, help="How much; may be negative.")
@click.option("--ttl", type=float, help="Seconds to live, from when the counter is made.")
@session_of
def increment(session: Session, key: str, by: int, ttl: float | None) -> None:
    """Add to a counter and print its new value."""
    with session.memory(create=True) as memory:
        value = memory.state.increment(key, by, ttl=ttl)
        session.done({"key": key, "value": value}, str(value))
