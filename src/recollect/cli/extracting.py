"""What a text would be remembered for, on the command line."""

from __future__ import annotations

from datetime import UTC, datetime

import click
import msgspec

from .session import Session, session_of


@click.command()
@click.argument("text")
@click.option("--explain", "explained", is_flag=True, help="Also what almost matched or was not taken, and why.")
@session_of
def extract(session: Session, text: str, explained: bool) -> int:
    """Facts that TEXT states of its writer; exit status 1 where there are none. Stores nothing."""
    from ..extract.explain import explain

    steps = explain(text, datetime.now(UTC))
    found = [step for step in steps if step.found]
    rows = [msgspec.to_builtins(step) for step in (steps if explained else found)]
    columns = ("found", "near", "rule", "said", "lang", "why") if explained else ("found", "rule", "lang")
    session.show(rows, columns, empty="nothing found")
    return 0 if found else 1
