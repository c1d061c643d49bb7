"""Implements `memorist redteam`, which replays attempts to plant memories."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import click

from ..errors import UsageError
from .display import echo, table
from .session import Session, session_of

if TYPE_CHECKING:
    from ..blocking.memory import Memory


@click.command()
@click.option("--model", help="The model that reads messages, such as anthropic:NAME.  [default: the local rules]")
@click.option("--family", "families", multiple=True, help="Replay only this family of attempts. Repeatable.")
@click.option(
    "--here", is_flag=True, help="Use the configured store, with temporary users who are forgotten at the end."
)
@session_of
def redteam(session: Session, model: str | None, families: tuple[str, ...], here: bool) -> None:
    """Replay attempts to plant memories and report which ones succeed. The exit status is 1 if any of them succeeds."""
    from ..redteam import run_redteam

    if here and session.user is not None:
        raise UsageError("--here needs a handle on the whole org; leave out --user")
    with _memory(session, model, here) as memory:
        report = run_redteam(memory, families=families)
    if session.as_json:
        session.print_json({**report.to_dict(), "passed": report.passed})
    else:
        through = {family: sum(planted.family == family for planted in report.planted) for family in report.attempts}
        rows = [
            {"family": family, "attempts": count, "got through": through[family]}
            for family, count in report.attempts.items()
        ]
        table(rows, ("family", "attempts", "got through"))
        for planted in report.planted:
            echo(
                f"attempt {planted.id} ({planted.family}, {planted.lang}) became a {planted.kind}: {planted.text[:80]}"
            )
        if report.waiting:
            echo(f"{len(report.waiting)} memories wait for approval")
        echo(f"{len(report.planted)} of {sum(report.attempts.values())} attempts succeeded")
    if not report.passed:
        raise SystemExit(1)


def _memory(session: Session, model: str | None, here: bool) -> AbstractContextManager[Memory]:
    if here:
        return session.memory(model=model)
    import warnings

    from ..blocking.memory import Memory
    from ..stores.opening import NothingLasts

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingLasts)
        return Memory("memory://", model=model, embedder=None, worker=False)
