"""Export and import on the command line."""

from __future__ import annotations

import click

from .display import progress
from .session import Session, session_of


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, writable=True))
@session_of
def export(session: Session, file: str) -> None:
    """Write everything of the org to FILE, as JSON lines."""
    with session.memory(settle=True) as memory, progress("rows written") as tick:
        done = memory.export(file, progress=tick)
    session.done({"rows": done.rows, "counts": done.counts}, f"{done.rows} rows written to {file}")


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@session_of
def import_(session: Session, file: str) -> None:
    """Load FILE; a damaged file names the line and changes nothing, doing it again changes nothing."""
    with session.memory(create=True) as memory, progress("rows loaded") as tick:
        done = memory.import_(file, progress=tick)
    session.done({"rows": done.rows, "counts": done.counts}, f"{done.rows} rows loaded from {file}")
