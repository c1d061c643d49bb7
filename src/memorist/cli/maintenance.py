"""Implements the commands for maintenance, forgetting and provenance: `process`, `reindex`, `worker`, `forget`,
`scrub`, `why` and `audit`."""

from __future__ import annotations

import signal
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..errors import StoreError, UsageError
from .display import ago, cell, echo, human, progress, url_without_password
from .session import Session, confirm, plain, session_of

if TYPE_CHECKING:
    from .. import Erasure, Memory
    from ..types import Report


@click.command()
@click.argument("names", nargs=-1)
@session_of
def process(session: Session, names: tuple[str, ...]) -> None:
    """Run processors by name: gc, facts, reindex, summarizer, limiter, archiver, dedup, tidier.

    Without a name, runs gc, facts and reindex.
    """
    with session.memory() as memory, progress("processing") as tick:
        reports = memory.process(*names, progress=tick)
    session.show(
        [msgspec.to_builtins(report) for report in reports], ("processor", "seen", "changed", "counts", "notes")
    )


@click.command()
@session_of
def reindex(session: Session) -> None:
    """Rebuild index entries that another version, stemmer or embedder wrote.

    You can keep using the memory in the meantime. If a run is interrupted, the next one continues where it stopped.
    """
    with session.memory() as memory, progress("reindexing") as tick:
        [report] = memory.process("reindex", progress=tick)
    session.done(msgspec.to_builtins(report), f"{report.changed} entries rebuilt")


@click.command()
@click.option("--once", is_flag=True, help="Stop when no job is ready.")
@click.option(
    "--lease",
    type=float,
    default=60.0,
    show_default=True,
    help="Seconds until another worker takes over from a dead one.",
)
@click.option("--every", type=float, default=300.0, show_default=True, help="Seconds between maintenance runs.")
@click.option(
    "--process",
    "names",
    multiple=True,
    default=("gc",),
    show_default=True,
    help="A processor to run on that schedule. Repeatable.",
)
@session_of
def worker(session: Session, once: bool, lease: float, every: float, names: tuple[str, ...]) -> None:
    """Index new messages, extract facts from them and clean up, until stopped.

    The worker serves all orgs, or only the one in --org. You can start any number of workers on any machines.
    It logs to standard error and prints the number of jobs at the end.
    """
    if lease <= 0 or every <= 0:
        raise UsageError("--lease and --every must be above 0 seconds")
    stop: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: stop.append(got))
    count, cleaned = 0, 0.0
    with session.memory() as memory:
        if not once:
            orgs = "all orgs" if memory.org == "default" else f"the org {memory.org}"
            _say(
                session,
                f"working for {orgs} on {url_without_password(session.url)}; {', '.join(names)} every {every:g} s; "
                "Ctrl-C stops",
            )
        while not stop:
            try:
                claimed = memory.jobs.drain(seconds=_TURN_SECONDS, lease=lease)
                if time.monotonic() - cleaned > every and not once:
                    _say_cleaned(session, memory.process(*names))
                    cleaned = time.monotonic()
            except StoreError as problem:
                if once:
                    raise
                # The store may be back soon: keep trying instead of ending the worker.
                echo(f"memorist: {cell(str(problem))}; trying again", err=True)
                claimed = 0
                time.sleep(1)
            count += claimed
            if claimed:
                _say(session, f"{claimed} jobs done, {_waiting(memory)} waiting")
            elif once:
                break
            else:
                time.sleep(0.2)
    session.done({"jobs": count}, f"{count} jobs done")


_TURN_SECONDS = 5.0
"""The time that a worker spends on jobs before it checks for signals and due maintenance."""


def _say(session: Session, what: str) -> None:
    """Print a line with the time on standard error, unless --json is set."""
    if not session.as_json:
        echo(f"{click.style(time.strftime('%H:%M:%S'), dim=True)} {cell(what)}", err=True)


def _say_cleaned(session: Session, reports: list[Report]) -> None:
    for report in reports:
        if report.changed:
            _say(session, f"{report.processor}: {report.changed} of {report.seen}")


def _waiting(memory: Memory) -> int:
    return sum(backlog.waiting for backlog in memory.jobs.backlog())


@click.command()
@click.option("--thread", help="Forget a conversation, by its id.")
@click.option("--message", help="Forget one message, by its id.")
@click.option("--fact", help="Forget a fact: NAMESPACE/KEY.")
@click.option("--source", help="Forget everything that came from this source.")
@click.option("--physical", is_flag=True, help="Also rewrite the SQLite file and verify it. On a server, use scrub.")
@click.option("--shred", is_flag=True, help="Also destroy the user's encryption key (needs MEMORIST_KEY_FILE).")
@click.option("--preview", is_flag=True, help="Show how much would be removed, without removing anything.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@session_of
def forget(session: Session, /, physical: bool, shred: bool, preview: bool, yes: bool, **target: Any) -> int:
    """Delete something and everything derived from it, and print what was deleted.

    Choose one thing to forget. With --user NAME, that is the user and everything known about them. Exits with 1 if
    nothing of it is stored (--physical rewrites the file even then), or if --physical found traces afterwards.
    """
    user = session.user
    named = [value for value in (user, *target.values()) if value is not None]
    if len(named) != 1:
        raise UsageError("choose one thing to forget: pass --user, --thread, --message, --fact or --source")
    if not yes and not preview and not session.as_json:
        what = "it" if user is None else f"the user {user} and everything known about them"
        confirm(f"This cannot be undone. Forget {what}?")
    # What a user's own handle may not write (learnings of an org, copies elsewhere) goes too.
    with session.memory(user=None) as memory:
        erasure = memory.forget(user=user, **target, physical=physical, shred=shred, preview=preview)
    absent = not erasure.counts and not erasure.shredded
    if session.as_json:
        session.print_json(msgspec.to_builtins(erasure))
    else:
        verb = "would be removed" if preview else "removed"
        if erasure.counts:
            session.show([{"kind": kind, verb: count} for kind, count in erasure.counts.items()], ("kind", verb))
        if absent:
            click.echo(f"Nothing like that is stored in the org {cell(session.org)}. Use --org NAME for another one.")
        if erasure.shredded:
            _say_shredded(len(erasure.shredded), preview)
        if physical and not preview:
            _say_verified(erasure)
    return 1 if absent or erasure.verified is False else 0


def _say_shredded(count: int, preview: bool) -> None:
    keys = "1 key" if count == 1 else f"{count} keys"
    if preview:
        click.echo(f"{keys} would be destroyed.")
        return
    were = "was" if count == 1 else "were"
    click.echo(f"{keys} {were} destroyed. Copies of this user's data in backups and exports can no longer be read.")


def _say_verified(erasure: Erasure) -> None:
    """Print that the files were rewritten, those in which traces were found, and those that were not searched."""
    click.echo("The store's files were rewritten without the bytes of deleted rows.")
    for location in erasure.found:
        click.echo(f"still found in: {cell(location)}")
    for location in erasure.unchecked:
        click.echo(f"not verified: {cell(location)}")
    if erasure.verified:
        click.echo(f"searched: {cell(', '.join(erasure.checked))}")
        click.echo("no trace left in the files")


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@session_of
def scrub(session: Session, yes: bool) -> int:
    """Rewrite the store's files without the bytes of deleted rows, for every org. This command is for operators.

    On Postgres, each table is locked while it is rewritten. This needs the rights of the tables' owner, and the
    write-ahead log needs a superuser. On Redis, each server writes all its data once. Exits with 1 if some files may
    still contain deleted bytes.
    """
    if not yes and not session.as_json:
        confirm("This rewrites the files of every org and may take locks. Go on?")
    with session.memory(all_orgs=True) as memory:
        report = memory.scrub()
    rewritten = [f"rewritten: {location}" for location in report.done]
    session.report(report, [*rewritten, *(f"not rewritten: {location}" for location in report.left)])
    return 1 if report.left else 0


@click.command()
@click.argument("item")
@session_of
def why(session: Session, item: str) -> None:
    """Show where ITEM came from: a fact (NAMESPACE/KEY), a learning, a summary or a message, by its id.

    With --user NAME, ITEM can be an id that `memorist memories list` shows, such as fact:city, or just city.
    """
    with session.memory(settle=True) as memory:
        lineage = memory.why(item)
    if session.as_json:
        session.print_json(msgspec.to_builtins(lineage))
        return
    click.echo(cell(f"{lineage.kind} {lineage.item} by {lineage.actor or 'unknown'}"))
    if (correction := lineage.correction) is not None:
        reason = f": {correction.reason}" if correction.reason else ""
        click.echo(
            cell(
                f"corrected by {correction.actor} {ago(correction.corrected_at, datetime.now(UTC))}, "
                f"from {human(correction.before)!r} to {human(correction.value)!r}{reason}"
            )
        )
    rows = [{**plain(step), "text": step.message.text if step.message is not None else ""} for step in lineage.sources]
    session.show(rows, ("depth", "kind", "id", "actor", "trust", "text"), empty="no sources: it was written directly")


@click.command()
@click.option("--subject", help="List only events about this id.")
@click.option("--limit", type=int, default=100, show_default=True, help="List at most this many.")
@session_of
def audit(session: Session, subject: str | None, limit: int) -> None:
    """List who changed what and when, newest first.

    With --user, list what happened to that user's records, whoever did it.
    """
    with session.memory() as memory:
        entries = memory.audit.list(subject=subject, limit=limit, reverse=True)
        session.show(
            entries, ("created_at", "action", "subject", "actor", "user", "source", "detail"), empty="no events"
        )
