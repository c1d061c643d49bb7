"""Implements `memorist learnings` and `memorist profile`."""

from __future__ import annotations

from typing import Any

import click

from ..errors import UsageError
from .display import human
from .grouping import group
from .session import Session, as_of_option, ending, session_of

TYPES = ("preference", "pattern", "correction")


@group()
def learnings() -> None:
    """Manage learnings: preferences, patterns and corrections."""


@learnings.command("list")
@click.option(
    "--min-confidence",
    type=float,
    default=0.0,
    show_default=True,
    help="List only learnings that are at least this certain.",
)
@click.option("--type", type=click.Choice(TYPES), help="List only this type.")
@click.option("--limit", type=int, default=50, show_default=True, help="List at most this many.")
@session_of
def list_(session: Session, /, **options: Any) -> None:
    """List the learnings about --user NAME, most used first. Without --user, list those that apply to everyone."""
    with session.memory(settle=True) as memory:
        rows = memory.learnings.list(**options)
        general = "nothing learned that applies to everyone; --user NAME shows what was learned of one"
        empty = "nothing learned yet" if memory.user else general
        session.show(rows, ("id", "type", "subject", "content", "confidence", "usage_count", "last_used"), empty=empty)


@learnings.command()
@click.argument("content")
@click.option("--type", type=click.Choice(TYPES), default="preference", show_default=True, help="The type of learning.")
@click.option("--confidence", type=float, default=0.5, show_default=True, help="How certain it is, from 0 to 1.")
@click.option("--subject", help="The person or thing it is about, if not the user.")
@click.option("--from", "valid_from", help="When it became true, as an ISO time.")
@click.option("--until", "valid_until", help="When it stops being true.")
@session_of
def add(session: Session, /, content: str, **options: Any) -> None:
    """Add a learning about --user NAME, or for everyone. Adding the same content again reinforces it."""
    with session.memory(create=True) as memory:
        learning = memory.learnings.add(content, **options)
        session.done(
            {"id": learning.id, "confidence": learning.confidence}, f"{learning.id} confidence {learning.confidence:g}"
        )


@learnings.command()
@click.argument("id")
@session_of
def delete(session: Session, id: str) -> None:
    """Delete a learning about --user NAME, or for everyone. It is not derived again."""
    with session.memory() as memory:
        whole = ending(id, [learning.id for learning in memory.learnings.list(min_confidence=0.0, limit=None)])
        is_deleted = memory.learnings.delete(whole)
    session.gone(is_deleted, whole, missing=f"no learning {id!r}")


@group()
def profile() -> None:
    """Show everything known about one user."""


@profile.command()
@click.argument("user", required=False)
@as_of_option
@session_of
def show(session: Session, user: str | None, as_of: str | None) -> None:
    """Show the facts, preferences and learnings about USER, or about --user NAME."""
    user = user or session.user
    if user is None:
        raise UsageError("whose profile? pass --user NAME")
    with session.memory(settle=True) as memory:
        card = memory.profile.get(user, as_of=as_of)
    if session.as_json:
        session.print_json(
            {
                "user": user,
                "facts": {fact.key: fact.value for fact in card.facts},
                "preferences": card.preferences,
                "learnings": [learning.content for learning in card.learnings],
            }
        )
        return
    rows: list[dict[str, object]] = [
        {"what": "fact", "name": fact.key, "value": human(fact.value), "confidence": fact.confidence}
        for fact in card.facts
    ]
    for name, value in card.preferences.items():
        rows.append({"what": "preference", "name": name, "value": human(value)})
    rows += [
        {"what": learning.type, "value": learning.content, "confidence": learning.confidence}
        for learning in card.learnings
    ]
    session.show(rows, ("what", "name", "value", "confidence"), empty=f"nothing known of {user}")
