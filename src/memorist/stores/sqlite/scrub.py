"""Rewrites the file without deleted bytes, and searches the files for bytes that must no longer exist."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from ...errors import StoreTimeout
from .connection import Connections

_TRUNCATE_SECONDS = 10.0


def scrub(connections: Connections) -> None:
    """Rewrite the file without its free pages (VACUUM), and truncate the write-ahead log."""

    def work(cursor: apsw.Cursor) -> None:
        # FTS5 only hides the terms of deleted rows. Merging all segments ('optimize') removes them.
        cursor.execute("INSERT INTO entries_text (entries_text) VALUES ('optimize')")
        _truncate(cursor)
        # secure_delete zeroes freed pages, but B-tree balancing leaves copies in others, which only VACUUM removes.
        # It renumbers the rowids of tables that have neither an integer key nor an index. The text index refers to
        # entries by rowid, and `entries` keeps its rowids because it has indexes; a test checks this.
        try:
            cursor.execute("VACUUM")
        except apsw.FullError:
            # VACUUM writes a second copy of the file, for which the ballast may be just enough.
            connections.release_ballast()
            cursor.execute("VACUUM")
        # VACUUM writes the new pages to the log. The old bytes stay in the main file until a checkpoint replaces them.
        _truncate(cursor)

    # A reader's connection, because VACUUM cannot run inside the transaction that `write` opens.
    connections.read(work)
    connections.keep_ballast()


def _truncate(cursor: apsw.Cursor) -> None:
    deadline = time.monotonic() + _TRUNCATE_SECONDS
    while True:
        # Busy means that another connection is writing, or still reads pages from the log.
        busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy is not None and busy[0] == 0:
            return
        if time.monotonic() > deadline:
            raise StoreTimeout("another process keeps reading the file, so its log cannot be emptied; try again later")
        time.sleep(0.01)


def holding(files: Sequence[Path], needles: Sequence[bytes]) -> list[str]:
    """Return the names of the files that contain any of the needles, byte for byte."""
    # A subprocess reads the files, because closing a second descriptor of an open database would drop our locks on it.
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
