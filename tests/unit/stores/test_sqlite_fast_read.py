"""A page of plain messages is read from few columns; a thread whose messages have more is read in full, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.stores.sqlite.connection import Connections


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The scans of messages that were run."""
    scans: list[str] = []
    read_rows = Connections.read_rows

    def spy(self: Connections, sql: str, values: Any) -> list[Any]:
        if " FROM messages" in sql:
            scans.append(sql)
        return read_rows(self, sql, values)

    monkeypatch.setattr(Connections, "read_rows", spy)
    return scans


def test_a_thread_of_plain_messages_is_read_from_few_columns(tmp_path: Path, statements: list[str]) -> None:
    with Memory(tmp_path / "memory.db", embedder=None, worker=False) as memory:
        memory.threads.append("t", "Hello.", create="global")
        for _ in range(2):
            statements.clear()
            assert [message.text for message in memory.threads.recent("t", 5)] == ["Hello."]
            assert len(statements) == 1 and "metadata, " not in statements[0].partition("coalesce")[0]


def test_a_thread_with_names_is_tried_once_and_then_read_in_full(tmp_path: Path, statements: list[str]) -> None:
    with Memory(tmp_path / "memory.db", embedder=None, worker=False) as memory:
        memory.threads.append("t", {"role": "user", "name": "Ada", "content": "Hello."}, create="global")
        counts = []
        for _ in range(3):
            statements.clear()
            [message] = memory.threads.recent("t", 5)
            assert (message.name, message.text) == ("Ada", "Hello.")
            counts.append(len(statements))
    assert counts == [2, 1, 1]
