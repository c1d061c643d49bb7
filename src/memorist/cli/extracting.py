"""Implements `memorist extract`, which shows which facts would be extracted from a text."""

from __future__ import annotations

from datetime import UTC, datetime

import click
import msgspec

from .session import Session, session_of


@click.command()
@click.argument("text")
@click.option("--explain", "explained", is_flag=True, help="Also show why other sentences produced no facts.")
@session_of
def extract(session: Session, text: str, explained: bool) -> int:
    """Show the facts that TEXT states about its writer, without storing them. Exits with 1 if there are none."""
    from ..extract.explain import explain

    steps = explain(text, datetime.now(UTC))
    matching = [step for step in steps if step.reading]
    rows = [msgspec.to_builtins(step) for step in (steps if explained else matching)]
    columns = ("found", "rule", "sentence", "lang", "why") if explained else ("found", "rule", "lang")
    session.show(rows, columns, empty="nothing found")
    return 0 if matching else 1
