"""Moving an org on the command line."""

from __future__ import annotations

import click
import msgspec

from ..errors import UsageError
from .display import progress
from .session import Session, session_of


@click.command("move-org")
@click.option("--to", "target", metavar="URL", required=True, help="Where the org is to live.")
@click.option("--delete", is_flag=True, help="Remove the rows at the old place when all is there.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@session_of
def move_org(session: Session, target: str, delete: bool, yes: bool) -> None:
    """Copy the org to the database at URL, freeze it, copy what changed meanwhile, and switch.

    Reads go on all the time. Writes are refused from the freeze on: in the end with the place where the org is now, on
    which its programs are to be opened. A move that fails takes writes at the old place again. Only an org on Postgres
    can be frozen; the new place may be any store.
    """
    from ..engine.moving import move_org as moving
    from ..opening import runtime_for
    from ..runtime import run_blocking
    from ..stores.opening import open_store

    with session.memory() as memory, progress("rows copied") as tick:
        core = memory._core
        if not yes and not click.confirm(f"Move org {core.org}? Its programs must be opened on the new URL then."):
            raise UsageError("not moved")
        store = open_store(target, None, runtime_for(True), "full")
        try:
            run_blocking(core.shared.open())
            run_blocking(store.open())
            move = moving(core.store, store, core.org, place=_place(target), now=core.now, delete=delete, progress=tick)
            done = run_blocking(move)
        finally:
            run_blocking(store.close())
    told = f"{done.rows} rows of {done.org} are at {done.to}, {done.frozen} of them copied while writers waited"
    session.done(msgspec.to_builtins(done), told)


def _place(url: str) -> str:
    """How the new place is told to others: without user and password."""
    head, mark, rest = url.partition("://")
    return f"{head}{mark}{rest.rpartition('@')[2].partition('?')[0]}"
