"""The write-ahead log starts over: no read leaves a snapshot behind that would keep it growing."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist import Memory
from memorist.stores.sqlite.connection import Connections

LIMIT = 12_000_000


def log_after_reads_and_writes(path: Path) -> int:
    with Memory(path, durability="normal", worker=False, embedder=None) as memory:
        memory.threads.create("global", id="t")
        memory.facts.set("global", "k", 1)
        for n in range(20):
            assert memory.facts.get("global", "k") is not None
            memory.facts.list("global", where={"value": 1}, limit=1)
            memory.threads.append("t", *[{"role": "user", "content": f"{n} {'x' * 4000}"} for _ in range(250)])
        return Path(f"{path}-wal").stat().st_size


def test_the_log_stays_small_while_a_process_reads_and_writes(tmp_path: Path) -> None:
    assert log_after_reads_and_writes(tmp_path / "a.db") < LIMIT


def test_a_statement_left_open_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cursors: list[object] = []

    def leaks(self: Connections, sql: str, values: object) -> object:
        cursor = self._connect().cursor()
        cursors.append(cursor)
        row = cursor.execute(sql, values).fetchone()
        return [] if row is None else [row]

    monkeypatch.setattr(Connections, "read_rows", leaks)
    assert log_after_reads_and_writes(tmp_path / "a.db") > LIMIT
