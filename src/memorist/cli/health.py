"""Implements `memorist stats`, `namespaces`, `watch`, `doctor` and `migrate`."""

from __future__ import annotations

import os

import click
import msgspec

from ..agents.errors_log import clear_errors, last_errors
from ..agents.hook import default_url
from ..errors import NotFound, Unsupported
from ..scope import NAMESPACE_KINDS, NamespaceKind
from ..values import JsonObject
from .display import cell, echo
from .session import Session, session_of


@click.command()
@click.option(
    "--price",
    type=(float, float),
    metavar="IN OUT",
    help="Prices per million input and output tokens, to show the cost of extraction per 1,000 messages.",
)
@session_of
def stats(session: Session, price: tuple[float, float] | None) -> None:
    """Count records by kind, and show how much is indexed and how many tokens extraction has used."""
    with session.memory(settle=True) as memory:
        numbers = msgspec.to_builtins(memory.stats())
    if price is not None:
        spent = numbers["reading"]
        tokens = (spent["input_tokens_per_1000"], spent["output_tokens_per_1000"])
        spent["price_per_1000"] = round(sum(count * each for count, each in zip(tokens, price, strict=True)) / 1e6, 4)
    session.fields(numbers)


@click.command()
@click.argument("kind", required=False, type=click.Choice(NAMESPACE_KINDS))
@click.option("--prefix", help="List only namespaces that start with this; after a KIND, only ids.")
@click.option("--limit", type=int, help="List at most this many.")
@click.option("--after", help="Start after this namespace.")
@session_of
def namespaces(
    session: Session, kind: NamespaceKind | None, prefix: str | None, limit: int | None, after: str | None
) -> None:
    """List the namespaces that are not empty. KIND is user, agent, workflow or global."""
    with session.memory() as memory:
        namespaces = memory.namespaces(kind, prefix=prefix, limit=limit, after=after)
    session.show([{"namespace": name} for name in namespaces], ["namespace"], empty="no namespace holds anything")


@click.command()
@click.argument("namespaces", nargs=-1)
@click.option("--kind", "kinds", multiple=True, help="Print only changes of this kind, such as fact. Repeatable.")
@click.option("--for", "seconds", type=float, help="Stop after this many seconds without a change.")
@session_of
def watch(session: Session, namespaces: tuple[str, ...], kinds: tuple[str, ...], seconds: float | None) -> None:
    """Print every process's changes as they are committed: the kind and namespace, never the content."""
    with session.memory() as memory, memory.watch(namespaces or None, kinds=kinds or None) as changes:
        while notices := changes.next(timeout=seconds):
            for notice in notices:
                if session.as_json:
                    session.print_json(notice)
                else:
                    echo(f"{cell(notice.kind)}  {cell(notice.namespace)}")


@click.command()
@click.option("--deep", is_flag=True, help="Read every page of the store.")
@click.option("--retry-dead", is_flag=True, help="Retry dead letters first.")
@click.option("--clear-hooks", is_flag=True, help="Clear the recorded errors of coding agents' hooks first.")
@session_of
def doctor(session: Session, deep: bool, retry_dead: bool, clear_hooks: bool) -> int:
    """Check the store and print its details and problems. Exits with 1 if there are problems.

    Errors of coding agents' hooks are among the problems. Without --url, and without a memory in this folder, the
    command checks the memory that the coding agents share.
    """
    if clear_hooks:
        clear_errors()
    session = _existing(session)
    with session.memory() as memory:
        revived = memory.jobs.retry_dead() if retry_dead else 0
        diagnosis = memory.doctor(deep=deep)
    report = {"store": diagnosis.store, **diagnosis.details, **msgspec.to_builtins(diagnosis)}
    del report["details"]
    if retry_dead:
        report["revived"] = revived
    problems = [*report.pop("problems"), *_hook_problems()]
    if session.as_json:
        session.print_json({**report, "problems": problems})
    else:
        session.fields({**report, "queues": "\n".join(map(_queue, report["queues"]))})
        echo(f"\n{click.style('all well', fg='green')}" if not problems else click.style("\nproblems:", fg="red"))
        for problem in problems:
            echo(f"- {cell(problem)}")
    return 1 if problems else 0


def _existing(session: Session) -> Session:
    """Return the session for the memory to check: the one that was named or is in this folder, or that of the coding
    agents."""
    if session.url_option is not None or os.path.exists(session.url):
        return session
    if os.path.exists(default_url()):
        return session.at(default_url())
    if problems := _hook_problems():
        raise NotFound("the coding agents have no memory yet; " + "; ".join(problems))
    return session


def _hook_problems() -> list[str]:
    """Return the errors in the hooks of coding agents, because the agents themselves do not show them."""
    return [
        f"hook {error['event']} of {error['agent']} at {error['at']}: {error['error']}" for error in last_errors()[-5:]
    ]


def _queue(queue: JsonObject) -> str:
    """Return the state of a queue in words, without counts of zero."""
    counts = [f"{queue['waiting']} waiting"]
    counts += [f"{queue[name]} {name}" for name in ("failing", "dead") if queue[name]]
    if queue["lag_seconds"] >= 1:
        counts.append(f"{queue['lag_seconds']:.0f} s behind")
    reasons = [*queue["reasons"], *queue["errors"]]
    return f"{queue['queue']}: {', '.join(counts)}{' (' + '; '.join(reasons) + ')' if reasons else ''}"


@click.command()
@click.option(
    "--partitions",
    type=click.IntRange(1),
    metavar="N",
    help="On an empty Postgres database, create each table with N hash partitions by org.",
)
@session_of
def migrate(session: Session, partitions: int | None) -> None:
    """Bring the store's schema up to date. Opening the store also does this if you have the rights."""
    if partitions is not None:
        _create_partitioned(session.url, partitions)
    with session.memory(create=True) as memory:
        diagnosis = memory.doctor()
    schema = diagnosis.details.get("schema", "none needed")
    session.done({"store": diagnosis.store, "schema": schema}, f"{diagnosis.store}: schema {schema}")


def _create_partitioned(url: str, partitions: int) -> None:
    from ..runtime import run_blocking, runtime_for
    from ..stores.base import Partitions
    from ..stores.opening import open_store

    store = open_store(url, None, runtime_for(True), "full")
    if not isinstance(store, Partitions):
        raise Unsupported(f"only Postgres has partitions, not {store.name}")
    try:
        run_blocking(store.create_partitioned(partitions))
    finally:
        run_blocking(store.close())
