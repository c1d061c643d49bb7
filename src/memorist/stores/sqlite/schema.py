"""Brings a file's schema up to date. Each migration runs in a transaction that also records it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import apsw

from ..migrations import Migration, migrations_in, refuse_newer


def migrations() -> list[Migration]:
    """Return every migration, in order."""
    return migrations_in(Path(__file__).parent / "migrations")


def migrate(connection: apsw.Connection) -> list[str]:
    """Apply the missing migrations, and return their names.

    A file with more migrations than this version knows is not changed, and it is used if they only added to the schema.
    """
    all_migrations = migrations()
    version, newest = schema_version(connection), all_migrations[-1].number
    if version > newest:
        needs: Any = connection.execute("SELECT max(needs) FROM migrations").get
        refuse_newer(version, int(needs or 0), newest)
    return [
        migration.name for migration in all_migrations if migration.number > version and _apply(connection, migration)
    ]


def _apply(connection: apsw.Connection, migration: Migration) -> bool:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have applied it while this one waited for the lock.
        missing = schema_version(connection) < migration.number
        if missing:
            # In SQLite, CREATE and ALTER TABLE are part of the transaction, so half a migration is never visible.
            connection.execute(migration.sql)
            connection.execute(
                "INSERT INTO migrations (number, name, needs, applied_at) VALUES (?, ?, ?, ?)",
                (migration.number, migration.name, migration.needs, time.time_ns() // 1000),
            )
            # The version is in the file's header, so it is committed or rolled back with the tables.
            connection.execute(f"PRAGMA user_version = {migration.number}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return missing


def schema_version(connection: apsw.Connection) -> int:
    """Return the number of the last migration applied."""
    return int(connection.pragma("user_version"))
