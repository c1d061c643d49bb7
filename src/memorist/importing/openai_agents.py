"""Reads sessions of the OpenAI Agents SDK: its SQLite and SQLAlchemy tables, with their branches.

A session becomes a thread, and each of its branches becomes the thread `<session>/<branch>`. Items are stored
unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .databases import Database, has, is_database, opened, quoted
from .files import SourceFiles, decoded
from .items import Item, MessageItem, Problem, ThreadItem, moment, moment_or_none

COLUMNS = ("id", "session_id", "message_data", "created_at")
MAIN = "main"


def recognises(source: SourceFiles) -> bool:
    """Return whether the source is a database with a table of session items, whatever the table's name."""
    if not is_database(source):
        return False
    with opened(source) as database:
        return bool(_tables(database))


def read(source: SourceFiles) -> Iterator[Item]:
    """Yield the sessions one after another."""
    with opened(source) as database:
        for table in _tables(database):
            yield from _sessions(database, table)


def _tables(database: Database) -> list[str]:
    return [table for table in database.tables if has(database, table, *COLUMNS)]


def _sessions(database: Database, table: str) -> Iterator[Item]:
    last: tuple[object, Any] | None = None
    for session, branch, id, data, at in database.rows(_query(database, table)):
        thread = str(session) if branch == MAIN else f"{session}/{branch}"
        if (session, branch) != last:
            last = (session, branch)
            metadata = {} if branch == MAIN else {"session": str(session), "branch": str(branch)}
            yield ThreadItem(thread, None, None, metadata, moment_or_none(at), f"the session of row {id} of {table}")
        yield _item(thread, id, data, at, f"row {id} of {table}")


def _query(database: Database, table: str) -> str:
    source, columns = quoted(table), "m.session_id, {branch}, m.id, m.message_data, m.created_at"
    if not has(database, "message_structure", "message_id", "session_id", "branch_id", "sequence_number"):
        return f"SELECT {columns.format(branch=_text(MAIN))} FROM {source} m ORDER BY m.session_id, m.id"
    branch = f"coalesce(s.branch_id, {_text(MAIN)})"
    return (
        f"SELECT {columns.format(branch=branch)} FROM {source} m "
        "LEFT JOIN message_structure s ON s.message_id = m.id AND s.session_id = m.session_id "
        f"ORDER BY m.session_id, {branch}, coalesce(s.sequence_number, m.id), m.id"
    )


def _text(value: str) -> str:
    return f"'{value}'"


def _item(thread: str, id: object, data: Any, at: object, position: str) -> Item:
    try:
        item = decoded(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data))
        if not isinstance(item, Mapping):
            raise ValueError("it is not an object")
        return MessageItem(thread, str(id), dict(item), moment(at), {"id": str(id)}, position)
    except (ValueError, TypeError) as problem:
        return Problem(position, str(problem) if isinstance(problem, ValueError) else "its data is not text")
