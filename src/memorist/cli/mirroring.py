"""Implements `memorist mirror`, which synchronises notes of coding agents with AGENTS.md, CLAUDE.md and MEMORY.md."""

from __future__ import annotations

from pathlib import Path

import click

from ..agents.mirror import Choice, Side, import_file, instruction_files, remove_section
from ..agents.mirror import mirror as mirror_file
from ..agents.notes import NOTE_KINDS
from ..agents.projects import project_of
from ..errors import NotFound
from .agents import ROOT, agents_session
from .display import echo
from .grouping import Suggesting
from .session import Session, session_of

FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.group(cls=Suggesting)
def mirror() -> None:
    """Keep coding agents' notes in step with AGENTS.md, CLAUDE.md or MEMORY.md."""


@mirror.command("import")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@ROOT
@session_of
def import_(session: Session, files: tuple[Path, ...], root: Path) -> None:
    """Import the rules in instruction files as notes of the repository. You can safely import a file again.

    Without FILES, the command reads the repository's AGENTS.md, CLAUDE.md and MEMORY.md.
    """
    project = project_of(root)
    paths = list(files) or instruction_files(project.root)
    if not paths:
        raise NotFound(f"there is no AGENTS.md, CLAUDE.md or MEMORY.md in {project.root}")
    with agents_session(session).memory(create=True, embedder=None, extract=None) as memory:
        rows = [{"file": path.name, "imported": import_file(memory, project, path)} for path in paths]
    session.show(rows, ["file", "imported"])


@mirror.command("list")
@ROOT
@session_of
def list_(session: Session, root: Path) -> None:
    """List the repository's notes with their keys."""
    project = project_of(root)
    with agents_session(session).memory(embedder=None, extract=None) as memory:
        facts = [fact for fact in memory.facts.list(project.namespace) if fact.tags]
    rows = [
        {"key": fact.key, "kind": fact.tags[0], "text": str(fact.value), "namespace": fact.ns, "at": fact.updated_at}
        for fact in facts
    ]
    session.show(rows, ["key", "kind", "text", "at"])


@mirror.command()
@FILE
@click.option(
    "--kind", "kinds", type=click.Choice(NOTE_KINDS), multiple=True, help="Mirror notes of this kind. Repeatable."
)
@click.option(
    "--note", "keys", multiple=True, metavar="KEY", help="Mirror this note, by its key in `memorist mirror list`."
)
@click.option("--prefer", type=click.Choice(["file", "memory"]), help="Which side wins if both changed.")
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@ROOT
@session_of
def sync(
    session: Session, file: Path, kinds: tuple[str, ...], keys: tuple[str, ...], prefer: Side | None, dry_run: bool,
    root: Path,
) -> None:  # fmt: skip
    """Synchronise the marked section of FILE with the repository's notes, in both directions.

    Edits to the section update the notes, and changed notes update the section. If a line changed on both sides, the
    command shows it, leaves it alone and exits with 1, unless you choose a side with --prefer. FILE remembers which
    notes you choose with --kind and --note; until you do, it mirrors all notes.
    """
    project = project_of(root)
    choice = Choice(kinds, keys) if kinds or keys else None
    path = file if file.is_absolute() else root / file
    with agents_session(session).memory(create=True, embedder=None, extract=None) as memory:
        report = mirror_file(memory, project, path, choice, prefer=prefer, dry_run=dry_run)
    if session.as_json:
        session.print_json(report)
    else:
        if dry_run and report.diff:
            echo(report.diff)
        for conflict in report.conflicts:
            echo(f"{conflict.key} changed on both sides; use --prefer file or --prefer memory")
            echo(f"  in the file:   {conflict.in_file or '(deleted)'}")
            echo(f"  in the memory: {conflict.in_memory or '(deleted)'}")
        for line in report.refused:
            echo(f"not stored, because it contains a secret or names an ignored path: {line[:40]}…", err=True)
        verb = "would be" if dry_run else "were"
        echo(
            f"{report.written} notes in {file}; {len(report.imported)} {verb} imported from it, "
            f"{len(report.deleted)} {verb} deleted, {len(report.conflicts)} conflicts"
        )
    if report.conflicts:
        raise SystemExit(1)


@mirror.command()
@FILE
@ROOT
@session_of
def remove(session: Session, file: Path, root: Path) -> None:
    """Remove the section from FILE. The notes stay in the memory."""
    path = file if file.is_absolute() else root / file
    with agents_session(session).memory(embedder=None, extract=None) as memory:
        was_there = remove_section(memory, project_of(root), path)
    session.gone(was_there, f"the section of {file}", missing=f"there is no section of ours in {file}")
