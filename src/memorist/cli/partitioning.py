"""`memorist partition`: splits the tables of a Postgres store by org."""

from __future__ import annotations

import click
import msgspec

from ..errors import Unsupported, UsageError
from .display import progress
from .session import Session, session_of


@click.command()
@click.argument("parts", type=int, required=False)
@click.option("--table", metavar="NAME", help="Split this table only.")
@click.option("--undo", is_flag=True, help="Give up a split that has not ended.")
@session_of
def partition(session: Session, parts: int | None, table: str | None, undo: bool) -> None:
    """Split each table into PARTS hash partitions by org, on Postgres.

    Programs read and write meanwhile: rows are copied in small batches, changes follow by a trigger, and the new table
    takes the name of the old one under a lock of well under a second. It needs the rights of the tables' owner and free
    disk for a second copy of the largest table. If it is interrupted, run it again.
    """
    from ..runtime import run_blocking
    from ..stores.base import Partitions

    if (parts is None) is not undo:
        raise UsageError("name the number of partitions, or --undo")
    with session.memory(all_orgs=True) as memory, progress("rows copied") as tick:
        shared = memory._core.shared
        store = shared.store
        if not isinstance(store, Partitions):
            raise Unsupported(f"only Postgres has partitions, not {store.name}")
        run_blocking(shared.open())
        if parts is None:
            names = run_blocking(store.undo_partition())
            session.done({"undone": names}, f"given up: {', '.join(names) or 'nothing was under way'}")
            return
        done = run_blocking(store.partition(parts, table=table, progress=tick))
    rows, longest = sum(one.rows for one in done), max((one.locked_seconds for one in done), default=0.0)
    told = f"{len(done)} tables are split into {parts}, {rows} rows copied; the longest lock took {longest:.3f} s"
    session.done({"tables": msgspec.to_builtins(done), "longest_lock_seconds": longest}, told)
