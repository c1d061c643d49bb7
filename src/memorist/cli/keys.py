"""Implements `memorist keys`, which manages the API keys of the server."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from .grouping import group
from .session import Session, session_of

if TYPE_CHECKING:
    from ..server.auth import Keys

T = TypeVar("T")
COLUMNS = ("id", "org", "user", "roles", "created_at", "expires_at", "note")


@group()
def keys() -> None:
    """Manage the server's API keys."""


def _with(session: Session, work: Callable[[Keys], Coroutine[object, None, T]]) -> T:
    from ..server.auth import Keys

    return session.run_on_all_orgs(lambda memory: work(Keys(memory)), user=None)


@keys.command()
@click.option("--role", "roles", multiple=True, help="A role: reader, writer, forget, operator or admin. Repeatable.")
@click.option(
    "--actor",
    default="user",
    show_default=True,
    help="The actor recorded in the audit trail for its writes, such as agent:planner.",
)
@click.option("--read", "read", multiple=True, help="Another namespace that the key may read. Repeatable.")
@click.option("--write", "write", multiple=True, help="Another namespace that the key may write. Repeatable.")
@click.option("--note", default="", help="What the key is for.")
@click.option("--ttl", type=float, help="Seconds until the key expires.")
@session_of
def create(session: Session, /, roles: tuple[str, ...], **options: Any) -> None:
    """Create a key and print it once. It is limited to --user NAME, or covers the whole org without --user."""
    roles = roles or ("reader", "writer")
    key = _with(session, lambda all_: all_.create(org=session.org, user=session.user, roles=roles, **options))
    session.done(msgspec.to_builtins(key), key.key)


@keys.command("list")
@session_of
def list_(session: Session) -> None:
    """List keys with their id, user, roles, note and times, but without the secret."""
    key_rows = _with(session, lambda all_: all_.list())
    rows = [{**msgspec.to_builtins(key), "roles": ", ".join(key.roles)} for key in key_rows]
    session.show([{name: row[name] for name in COLUMNS} for row in rows], COLUMNS, empty="no keys")


@keys.command()
@click.argument("id")
@session_of
def rotate(session: Session, id: str) -> None:
    """Replace the secret of a key. The old secret stops working at once."""
    key = _with(session, lambda all_: all_.rotate(id))
    session.done(msgspec.to_builtins(key), key.key)


@keys.command()
@click.argument("id")
@session_of
def revoke(session: Session, id: str) -> None:
    """Revoke a key."""
    session.gone(_with(session, lambda all_: all_.revoke(id)), id, missing=f"no key {id!r}")
