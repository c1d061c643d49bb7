"""`memorist move-org`: moves an org to another database."""

from __future__ import annotations

import click
import msgspec

from .display import progress, url_without_password
from .session import Session, confirm, session_of


@click.command("move-org")
@click.option("--to", "target", metavar="URL", required=True, help="The database to move the org to.")
@click.option("--delete", is_flag=True, help="Remove the rows from the old database at the end.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@session_of
def move_org(session: Session, target: str, delete: bool, yes: bool) -> None:
    """Copy the org to the database at URL, freeze it, copy what changed meanwhile, and switch.

    Reads continue throughout. Writes are refused from the freeze on; after the switch the error names the new URL, on
    which programs must be opened then. If a move fails the old database takes writes again. Only an org on Postgres can
    be frozen; the new database may be any store.
    """
    from ..engine.moving import move_org as moving
    from ..opening import runtime_for
    from ..runtime import run_blocking
    from ..stores.opening import open_store

    with session.memory() as memory, progress("rows copied") as tick:
        core = memory._core
        if not yes:
            confirm(f"Move org {core.org}? Its programs must be opened on the new URL then.")
        store = open_store(target, None, runtime_for(True), "full")
        try:
            run_blocking(core.shared.open())
            run_blocking(store.open())
            place = url_without_password(target)
            move = moving(core.store, store, core.org, place=place, now=core.now, delete=delete, progress=tick)
            done = run_blocking(move)
        finally:
            run_blocking(store.close())
    told = f"{done.rows} rows of {done.org} are at {done.to}, {done.frozen} of them copied while writers waited"
    session.done(msgspec.to_builtins(done), told)
