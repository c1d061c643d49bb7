"""Looking after the file: what stands under us, is it well, and are deleted bytes really gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from ...errors import CorruptRecord, StoreTimeout
from ...records import Record
from ..codec import Row, kinds
from .connection import Connections
from .rows import Reader
from .schema import migrations, schema_version
from .statements import column_names

WAL_RESET_FIXED = (3, 51, 3)
_TRUNCATE_SECONDS = 10.0


def diagnose(connections: Connections, reader: Reader, durability: str, deep: bool) -> dict[str, Any]:
    """Facts and problems; `deep` reads every page, and checks every row that has a checksum."""
    check = "integrity_check" if deep else "quick_check"
    health, version, synchronous, journal = connections.read(lambda cursor: _look(cursor, check))
    path = connections.files()[0]
    wal = Path(f"{path}-wal")
    problems = [] if health == ["ok"] else [f"{check}: {line}" for line in health[:5]]
    if deep and health == ["ok"]:
        problems += _damaged_rows(connections, reader)
    if tuple(map(int, apsw.sqlite_lib_version().split("."))) < WAL_RESET_FIXED:
        problems.append("this SQLite has the WAL-reset bug of versions before 3.51.3; upgrade apsw")
    file_system = _file_system(str(path))
    if file_system in ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"):
        problems.append(f"the file is on {file_system}: SQLite's locks are not safe there; use a local disk")
    # Elsewhere the bits do not say who may read it.
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
    """The tables in which rows do not match their checksum, and how many."""
    problems = []
    for kind in (kind for kind in kinds() if kind.table.checksum):
        bad = connections.read(partial(_count_damaged, kind=kind, decode=reader.decoder(kind)))
        if bad:
            problems.append(f"{bad} damaged rows in {kind.table.name}; restore a backup")
    return problems


def _count_damaged(cursor: apsw.Cursor, kind: type[Record], decode: Callable[[Row], Any]) -> int:
    bad = 0
    for row in cursor.execute(f"SELECT {', '.join(column_names(kind))} FROM {kind.table.name}"):
        try:
            decode(row)
        except CorruptRecord:
            bad += 1
    return bad


def _look(cursor: apsw.Cursor, check: str) -> tuple[list[str], int, str, str]:
    connection = cursor.connection
    health = [str(row[0]) for row in cursor.execute(f"PRAGMA {check}")]
    synchronous = {1: "NORMAL", 2: "FULL", 3: "EXTRA"}.get(connection.pragma("synchronous"), "OFF")
    return health, schema_version(connection), synchronous, str(connection.pragma("journal_mode"))


def _file_system(path: str) -> str:
    """The type of file system a path is on, where the system says."""
    best, kind = "", "unknown"
    try:
        mounts = Path("/proc/mounts").read_text("utf-8").splitlines()
    except OSError:
        return kind
    for line in mounts:
        _, point, name, *_ = line.split(" ")
        point = point.encode().decode("unicode_escape")
        if path.startswith(point.rstrip("/") + "/") and len(point) >= len(best):
            best, kind = point, name
    return kind


def scrub(connections: Connections) -> None:
    """Rewrite the file without its free space, and empty the WAL."""

    def work(cursor: apsw.Cursor) -> None:
        # Merging drops the terms of deleted rows, which FTS5 otherwise only hides.
        cursor.execute("INSERT INTO entries_text (entries_text) VALUES ('optimize')")
        _truncate(cursor)
        # secure_delete zeroes what is freed, but pages moved by balancing keep old copies: VACUUM leaves none.
        try:
            cursor.execute("VACUUM")
        except apsw.FullError:
            connections.release_ballast()
            cursor.execute("VACUUM")
        _truncate(cursor)

    connections.read(work)
    connections.keep_ballast()


def _truncate(cursor: apsw.Cursor) -> None:
    deadline = time.monotonic() + _TRUNCATE_SECONDS
    while True:
        busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy is not None and busy[0] == 0:
            return
        if time.monotonic() > deadline:
            raise StoreTimeout("another process keeps reading the file, so its log cannot be emptied; try again")
        time.sleep(0.01)


def holding(files: Sequence[Path], needles: Sequence[bytes]) -> list[str]:
    """Which files hold any of the needles, byte for byte."""
    # In a process of its own: closing a second descriptor on an open database would drop our locks on it.
    script = (
        "import sys, mmap, json; job = json.load(sys.stdin); out = []\n"
        "for path in job['files']:\n"
        "    with open(path, 'rb') as f:\n"
        "        data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) if f.seek(0, 2) else b''\n"
        "        if any(data.find(bytes.fromhex(n)) >= 0 for n in job['needles']): out.append(path)\n"
        "json.dump(out, sys.stdout)"
    )
    job = {"files": [str(path) for path in files], "needles": [needle.hex() for needle in needles]}
    answer = subprocess.run(
        [sys.executable, "-I", "-c", script], input=json.dumps(job), capture_output=True, text=True, check=True
    )
    return [Path(path).name for path in json.loads(answer.stdout)]
