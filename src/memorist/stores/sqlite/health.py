"""Reports SQLite's version, the file's settings and size, and the integrity of its content, for `doctor`."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import apsw

from ...errors import CorruptRecord
from ...records import Record
from ...values import JsonObject
from ..codec import Row, kinds
from .connection import Connections
from .rows import Reader
from .schema import migrations, schema_version
from .statements import column_names

WAL_RESET_FIXED = (3, 51, 3)
_DAMAGE = apsw.CorruptError, apsw.SQLError
"""The errors that SQLite raises for a damaged page. The second is for FTS5's own pages."""


def diagnose(connections: Connections, reader: Reader, durability: str, deep: bool) -> JsonObject:
    """Return a report on the file and its problems.

    `deep` reads every page and checks every row that has a checksum.
    """
    check = "integrity_check" if deep else "quick_check"
    health, version, synchronous, journal = connections.read(lambda cursor: _look(cursor, check))
    path = connections.files()[0]
    wal = Path(f"{path}-wal")
    problems = [] if health == ["ok"] else [f"{check}: {line}" for line in health[:5]]
    if deep and health == ["ok"]:
        problems += _damaged_rows(connections, reader)
    # Before 3.51.3, a checkpoint that coincides with a write of another connection may damage the file.
    if tuple(map(int, apsw.sqlite_lib_version().split("."))) < WAL_RESET_FIXED:
        problems.append("this SQLite has the WAL-reset bug of versions before 3.51.3; upgrade apsw")
    file_system = _file_system(str(path))
    if file_system in ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"):
        problems.append(f"the file is on {file_system}: SQLite's locks are not safe there; use a local disk")
    # On other systems, the mode bits do not show who may read a file.
    if os.name == "posix" and path.stat().st_mode & 0o077:
        problems.append("the file can be read by other users; chmod 600 it")
    return {
        "store": "sqlite",
        "sqlite": apsw.sqlite_lib_version(),
        "file": path.name,
        "bytes": path.stat().st_size,
        "wal_bytes": wal.stat().st_size if wal.exists() else 0,
        "file_system": file_system,
        "journal_mode": journal,
        "durability": durability,
        "synchronous": synchronous,
        "schema": version,
        "newest_schema": migrations()[-1].number,
        "integrity": "ok" if health == ["ok"] else "damaged",
        "problems": problems,
    }


def _damaged_rows(connections: Connections, reader: Reader) -> list[str]:
    """Return the tables in which rows do not match their checksums, with the number of such rows."""
    problems = []
    for record_type in (each for each in kinds() if each.table.checksum):
        bad = connections.read(partial(_count_damaged, record_type=record_type, decode=reader.decoder(record_type)))
        if bad:
            problems.append(f"{bad} damaged rows in {record_type.table.name}; restore a backup")
    return problems


def _count_damaged(cursor: apsw.Cursor, record_type: type[Record], decode: Callable[[Row], object]) -> int:
    bad = 0
    for row in cursor.execute(f"SELECT {', '.join(column_names(record_type))} FROM {record_type.table.name}"):
        try:
            decode(row)
        except CorruptRecord:
            bad += 1
    return bad


def _look(cursor: apsw.Cursor, check: str) -> tuple[list[str], int, str, str]:
    connection, health = cursor.connection, list[str]()
    cursor.execute("BEGIN")
    try:
        # FTS5 caches the list of its index segments per connection. A query refreshes that cache, but a check does not,
        # and would report a segment that another connection has merged as damage. So a query runs first, in the same
        # snapshot. Each uses its own cursor, because a cursor that met damage raises the same error on its next use.
        with suppress(*_DAMAGE):
            connection.execute("SELECT rowid FROM entries_text WHERE entries_text MATCH 'any' LIMIT 1").fetchall()
        try:
            health += (str(row[0]) for row in connection.execute(f"PRAGMA {check}"))
        except _DAMAGE:
            health.append("the check stopped at a damaged page; restore a backup")
    finally:
        cursor.execute("ROLLBACK")  # not COMMIT, at which FTS5 would read the damaged pages again
    synchronous = {1: "NORMAL", 2: "FULL", 3: "EXTRA"}.get(connection.pragma("synchronous"), "OFF")
    return health, schema_version(connection), synchronous, str(connection.pragma("journal_mode"))


def _file_system(path: str) -> str:
    """Return the type of file system that contains a path, or "unknown" if there is no /proc/mounts."""
    best, file_system = "", "unknown"
    try:
        mounts = Path("/proc/mounts").read_text("utf-8").splitlines()
    except OSError:
        return file_system
    # Mounts nest, so the longest mount point above the path is the one that holds it.
    for line in mounts:
        _, point, name, *_ = line.split(" ")
        point = point.encode().decode("unicode_escape")  # the kernel writes a space as \040
        if path.startswith(point.rstrip("/") + "/") and len(point) >= len(best):
            best, file_system = point, name
    return file_system
