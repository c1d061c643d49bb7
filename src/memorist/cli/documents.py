"""Implements `memorist documents`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from .grouping import InNamespace, group
from .session import Session, ending, session_of

COLUMNS = ("id", "title", "chunks", "source")


@group()
def documents() -> None:
    """Manage documents: long texts that recall can search."""


@documents.command(cls=InNamespace)
@click.argument("namespace")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
@click.option("--title", help="The title, if you add one file.  [default: the file name]")
@click.option(
    "--source", help="The source, if you add one file. Adding it again replaces the document.  [default: the path]"
)
@session_of
def add(session: Session, namespace: str, files: tuple[Path, ...], title: str | None, source: str | None) -> None:
    """Add Markdown, HTML, PDF, Word or plain text files, or - for standard input."""
    if len(files) > 1 and (title or source):
        raise click.UsageError("--title and --source are for one file")
    with session.memory(create=True) as memory:
        rows = []
        for path in files:
            content = sys.stdin.buffer.read() if str(path) == "-" else path
            document = memory.documents.add(namespace, content, title=title, source=source or str(path))
            rows.append({name: getattr(document, name) for name in COLUMNS})
        session.show(rows, COLUMNS)


@documents.command("list", cls=InNamespace)
@click.argument("namespace")
@session_of
def list_(session: Session, namespace: str) -> None:
    """List the documents in a namespace."""
    with session.memory() as memory:
        columns = (*COLUMNS, "updated_at")
        rows = [{name: getattr(document, name) for name in columns} for document in memory.documents.list(namespace)]
        session.show(rows, columns, empty=f"no documents in {namespace}")


@documents.command(cls=InNamespace)
@click.argument("namespace")
@click.argument("id")
@session_of
def delete(session: Session, namespace: str, id: str) -> None:
    """Delete a document and its chunks."""
    with session.memory() as memory:
        whole = ending(id, [document.id for document in memory.documents.list(namespace)])
        is_deleted = memory.documents.delete(namespace, whole)
    session.gone(is_deleted, whole, missing=f"no document {id!r} in {namespace}")
