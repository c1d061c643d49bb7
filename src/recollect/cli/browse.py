"""`recollect browse`: look around in a memory on the terminal."""

from __future__ import annotations

import click

from .session import Session, session_of


@click.command()
@session_of
def browse(session: Session) -> None:
    """Users and other namespaces, their threads and facts, on the terminal; w says why a fact is known, q leaves."""
    with session.memory(settle=True) as memory:
        from .browser import Browser

        Browser(memory).run()
