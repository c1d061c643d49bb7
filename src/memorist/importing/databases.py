"""Reads the databases of other tools (SQLite files and Postgres servers) without changing them.

A file may be hostile. So only ordinary tables in its schema are read, by quoted names, and its views, virtual tables
and functions are not used.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from ..errors import StoreUnavailable, UsageError
from ..extras import install_command
from .files import SQLITE, SourceFiles, damaged

PAGE_ROWS = 500
BROKEN = (sqlite3.Error, OverflowError, UnicodeError)
"""The errors that the SQLite module raises for a damaged file."""


class Database(Protocol):
    """Represents a database to read from."""

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """These are the tables of the database with their columns."""
        ...

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[Sequence[object]]:
        """Stream the rows of a query, in which `?` is a bound parameter."""
        ...


def is_database(source: SourceFiles) -> bool:
    """Return whether the source is a SQLite file or the URL of a Postgres server."""
    return source.url is not None or source.head().startswith(SQLITE)


@contextmanager
def opened(source: SourceFiles) -> Iterator[Database]:
    """Open a SQLite file or connect to a Postgres server, read-only."""
    if source.url is not None:
        with _postgres(source.url) as database:
            yield database
    else:
        with sqlite_file(source.path) as database:
            yield database


def quoted(name: str) -> str:
    """Return a quoted table or column name, valid in SQLite and Postgres."""
    return '"' + name.replace('"', '""') + '"'


def has(database: Database, table: str, *columns: str) -> bool:
    """Return whether a table exists with at least these columns."""
    return set(columns) <= set(database.tables.get(table, ()))


@contextmanager
def sqlite_file(path: Path) -> Iterator[Database]:
    """Open a SQLite file read-only. Raises CorruptRecord if it is damaged."""
    file = _connected(path)
    try:
        yield _Sqlite(file)
    except BROKEN as cause:
        damaged("the database", f"SQLite cannot read it ({type(cause).__name__})", cause)
    finally:
        file.close()


def _connected(path: Path) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        # A reader's generator is resumed by different threads, one at a time.
        file = sqlite3.connect(uri, uri=True, check_same_thread=False)
        # Invalid UTF-8 becomes lone surrogates, which are then rejected and reported with their row.
        file.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0"):
            file.execute(f"PRAGMA {pragma}")
        file.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BROKEN as cause:
        damaged("the database", f"SQLite cannot open it ({type(cause).__name__})", cause)
    return file


class _Sqlite:
    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file
        named = file.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        real = [str(name) for name, sql in named if not str(sql).upper().startswith("CREATE VIRTUAL")]
        self.tables = {name: self._columns(name) for name in real}

    def _columns(self, table: str) -> list[str]:
        return [str(row[1]) for row in self._file.execute(f"PRAGMA table_info({quoted(table)})")]

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[Sequence[object]]:
        cursor = self._file.execute(query, values)
        while page := cursor.fetchmany(PAGE_ROWS):
            yield from page


@contextmanager
def _postgres(url: str) -> Iterator[Database]:
    try:
        import psycopg
    except ImportError as cause:
        raise UsageError(f"reading from Postgres needs the driver; run: {install_command('postgres')}") from cause
    try:
        with psycopg.connect(url, autocommit=False) as connection:
            connection.execute("SET TRANSACTION READ ONLY")
            yield _Postgres(connection)
    except psycopg.OperationalError as cause:
        raise StoreUnavailable("the Postgres server to import from cannot be reached") from cause
    except psycopg.Error as cause:
        damaged("the database", f"Postgres cannot read it ({type(cause).__name__})", cause)


class _Postgres:
    def __init__(self, connection: Any) -> None:
        self._connection = connection
        tables = connection.execute(
            "SELECT c.table_name, c.column_name FROM information_schema.columns c JOIN information_schema.tables t "
            "USING (table_schema, table_name) WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' "
            "ORDER BY 1, c.ordinal_position"
        ).fetchall()
        self.tables: dict[str, list[str]] = {}
        for table, column in tables:
            self.tables.setdefault(table, []).append(column)
        self._cursors = 0

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[Sequence[object]]:
        self._cursors += 1
        # A server-side cursor, so that rows are fetched in pages.
        with self._connection.cursor(name=f"importing_{self._cursors}") as cursor:
            cursor.itersize = PAGE_ROWS
            cursor.execute(query.replace("%", "%%").replace("?", "%s"), values)
            yield from cursor
