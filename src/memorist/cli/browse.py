"""Implements `memorist browse`, a terminal view of a memory."""

from __future__ import annotations

import click

from .session import Session, session_of


@click.command()
@session_of
def browse(session: Session) -> None:
    """Browse namespaces, threads and facts in the terminal. Press w to see where a fact came from, q to quit."""
    with session.memory(settle=True) as memory:
        from .browser import Browser

        Browser(memory).run()
