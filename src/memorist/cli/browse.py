"""`memorist browse`: a terminal view of a memory."""

from __future__ import annotations

import click

from .session import Session, session_of


@click.command()
@session_of
def browse(session: Session) -> None:
    """Browse namespaces, threads and facts on the terminal; w shows where a fact came from, q quits."""
    with session.memory(settle=True) as memory:
        from .browser import Browser

        Browser(memory).run()
