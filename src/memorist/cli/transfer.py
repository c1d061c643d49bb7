"""Implements `memorist export` and `memorist import`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..errors import UsageError
from ..values import JsonObject
from .display import ago, bar, cell, echo, progress, table
from .session import Session, confirm, session_of

if TYPE_CHECKING:
    from .. import Memory
    from ..types import ImportReport

KINDS = (
    "auto", "chatgpt", "claude", "openai-agents", "langgraph", "mem0", "letta", "mcp", "graphiti", "messages",
    "obsidian", "markdown",
)  # fmt: skip
"""The choices for `--from`. They are repeated here so that `--help` does not import the readers, and a test compares
them."""
FORMATS = ("memorist", "openai", "anthropic", "markdown", "langgraph")


@click.command()
@click.argument("path", metavar="PATH", type=click.Path(writable=True))
@click.option("--to", type=click.Choice(FORMATS), default="memorist", show_default=True, help="The format to write.")
@click.option("--namespace", metavar="NS", help="Export only this namespace (not available for the format memorist).")
@session_of
def export(session: Session, path: str, to: str, namespace: str | None) -> None:
    """Export the whole org to PATH, as JSON lines that `import` can load, or with --to for another tool.

    The formats openai and anthropic write JSON lines with one thread per line, markdown writes a folder, and langgraph
    writes a SQLite file for its saver and its store. If PATH is -, JSON lines go to standard output.
    """
    if path == "-":
        if to != "memorist" or namespace is not None:
            raise click.UsageError("only JSON lines of the whole org can go to standard output; name a file")
        with session.memory(settle=True) as memory:
            for lines in memory.export_lines():
                click.echo(lines, nl=False)
        return
    options: JsonObject = {"to": to, "namespace": namespace}
    with session.memory(settle=True) as memory, progress("rows written") as tick:
        report = memory.export(path, progress=tick, **options)
    session.done({"rows": report.rows, "counts": report.counts}, f"{report.rows} rows written to {path}")


@click.command("import")
@click.argument("path", metavar="PATH")
@click.option("--from", "kind", type=click.Choice(KINDS), help="The tool that wrote the data; auto recognises it.")
@click.option("--namespace", metavar="NS", help="The namespace to import into.  [default: each user's own, or user:me]")
@click.option("--map", "mapping", metavar="FILE", help="A mapping of users and namespaces, as TOML or JSON.")
@click.option("--map-user", "users", metavar="THERE=HERE", multiple=True, help="Map a user of the source to one here.")
@click.option("--source", metavar="NAME", help="The source name, for `forget --source`.  [default: KIND:FILE]")
@click.option("--dry-run", is_flag=True, help="Show what would be imported without writing anything.")
@click.option("--strict", is_flag=True, help="Import nothing if anything cannot be imported.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@session_of
def import_(
    session: Session,
    /,
    path: str,
    kind: str | None,
    users: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    **options: Any,
) -> int:
    """Import PATH, a file that `export` wrote, or with --from the data of another tool.

    With --from, the command first shows how much it would import. Importing again adds only what is missing, even
    after an interrupted import. If some items cannot be imported, the command lists each with its position and the
    reason, and exits with 1.
    """
    if kind is None:
        _load(session, path)
        return 0
    options |= {"kind": kind, "users": _pairs(users)}
    asks = not yes and not session.as_json
    with session.memory(create=True) as memory:
        if dry_run or asks:
            report = _run(memory, path, "reading", {**options, "dry_run": True})
            status = _tell(session, report)
            if dry_run or not any(report.found.values()):
                session.wrote_nothing()
                return status
            confirm("Import it?")
        return _tell(session, _run(memory, path, "importing", options), brief=asks)


def _load(session: Session, file: str) -> None:
    """Load a file that export wrote."""
    click.Path(exists=True, dir_okay=False).convert(file, None, click.get_current_context())
    with session.memory(create=True) as memory, progress("rows loaded") as tick:
        report = memory.import_(file, progress=tick)
    session.done({"rows": report.rows, "counts": report.counts}, f"{report.rows} rows loaded from {file}")


def _pairs(options: tuple[str, ...]) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in options]
    if not all(there and sign and here for there, sign, here in pairs):
        raise UsageError("--map-user takes THERE=HERE, such as --map-user alice@example.com=alice")
    return {there: here for there, _, here in pairs}


def _run(memory: Memory, path: str, label: str, options: JsonObject) -> ImportReport:
    with bar(label) as tick:
        return memory.import_from(path, progress=tick, **options)


def _tell(session: Session, report: ImportReport, *, brief: bool = False) -> int:
    """Print a report and return the exit status, which is 1 if an item could not be imported or the source is empty."""
    status = 1 if report.failed or not any(report.found.values()) else 0
    if session.as_json:
        session.print_json(msgspec.to_builtins(report))
        return status
    if report.dry_run:
        echo(cell(_sentence(report)))
    else:
        session.done({}, _sentence(report))
    if not brief and report.samples:
        rows = [msgspec.structs.asdict(sample) for sample in report.samples]
        table(rows, ("what", "id", "namespace", "at", "text"))
    if report.problems and (report.dry_run or not brief):
        echo(cell(f"{report.failed} cannot be imported:"))
        table([msgspec.structs.asdict(problem) for problem in report.problems], ("place", "reason"))
    if not report.dry_run and any(report.added.values()):
        echo(cell(f"undo it with: memorist forget --source {report.source!r}"))
    return status


def _sentence(report: ImportReport) -> str:
    counted = report.found if report.dry_run else report.added
    counts = ", ".join(f"{count:,} {what}" for what, count in counted.items() if count) or "nothing"
    already_there = sum(report.known.values())
    parts = [f"{report.kind}: {counts} {'would be imported' if report.dry_run else 'imported'}"]
    if already_there:
        parts.append(f"{already_there:,} were here already")
    if report.failed:
        parts.append(f"{report.failed:,} cannot be imported")
    if report.dry_run:
        spaces = [ns for ns in report.namespaces if ns]
        parts.append(f"into {', '.join(spaces[:3])}{' and others' if len(spaces) > 3 else ''}" if spaces else "")
    if report.first_at is not None and report.last_at is not None:
        from datetime import UTC, datetime

        now = datetime.now(UTC)
        parts.append(f"from {ago(report.first_at, now)} to {ago(report.last_at, now)}")
    return "; ".join(part for part in parts if part)
