"""The raw floor: the bare driver doing the same durable work, with the same pragmas, tables and columns."""

from __future__ import annotations

import time
from typing import Any

import apsw

from memorist.messages.message import Message
from memorist.stores.sqlite.statements import column_names

PRAGMAS = (
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = {sync}; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; "
    "PRAGMA cache_size = -16000; PRAGMA journal_size_limit = 33554432; PRAGMA wal_autocheckpoint = 1000"
)

INSERT = (
    "INSERT INTO messages (org, thread, seq, role, content, name, extra, shape, metadata, importance, pinned, trust, "
    "tokens, counter, created_at, expires_at, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class BareSqlite:
    """A hand-written loop over apsw: one transaction per message, sequence from the thread's row."""

    def __init__(self, path: str, durability: str) -> None:
        self.connection = apsw.Connection(path)
        list(self.connection.execute(PRAGMAS.format(sync="FULL" if durability == "full" else "NORMAL")))
        self.cursor = self.connection.cursor()
        self.insert = INSERT
        self.columns = ", ".join(column_names(Message))
        self.path = path

    def append(self, thread: str, content: str) -> None:
        now = time.time_ns() // 1000
        run = self.cursor.execute
        run("BEGIN IMMEDIATE")
        (seq,) = run(
            "UPDATE threads SET length = length + 1, tokens = tokens + ?, updated_at = ?, version = version + 1 "
            "WHERE org = 'default' AND id = ? RETURNING length",
            (80, now, thread),
        ).fetchone()
        row = ("default", thread, seq, "user", content, None, None, None, None, None, 0, None, 80, None, now, None, 1)
        run(self.insert, row)
        run("COMMIT")

    def recent(self, thread: str, n: int) -> list[Any]:
        sql = f"SELECT {self.columns} FROM messages WHERE org = ? AND thread = ? ORDER BY seq DESC LIMIT ?"
        return self.cursor.execute(sql, ("default", thread, n)).fetchall()

    def copy_facts(self, memory: Any) -> None:
        """The same facts as a memory has."""
        self.cursor.execute("ATTACH ? AS other", (memory._core.store.path,))
        self.cursor.execute("INSERT INTO facts SELECT * FROM other.facts")
        self.cursor.execute("DETACH other")

    def fact(self, ns: str, key: str) -> Any:
        sql = 'SELECT * FROM facts WHERE org = ? AND ns = ? AND "key" = ?'
        return self.cursor.execute(sql, ("default", ns, key)).fetchone()

    def close(self) -> None:
        self.connection.close()
