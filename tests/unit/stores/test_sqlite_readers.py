"""A connection is in the pool, or is the writer, whatever a read raised: closing and forking wait for all others."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from memorist import CorruptRecord, StoreError, StoreUnavailable
from memorist.stores.sqlite.connection import Connections


@pytest.fixture
def connections(tmp_path: Path) -> Connections:
    opened = Connections(str(tmp_path / "memory.db"), "normal")
    opened.open()
    return opened


def _at_rest(connections: Connections) -> bool:
    return len(connections._idle) == len(connections._all) - 1


def test_a_read_that_fails_gives_its_connection_back(connections: Connections) -> None:
    def broken(cursor: apsw.Cursor) -> None:
        cursor.execute("SELECT 1 UNION SELECT 2")
        raise RuntimeError

    with pytest.raises(TypeError):
        connections.read_rows("SELECT ?", (object(),))
    with pytest.raises(StoreError):
        connections.read_rows("SELECT no_such_column", ())
    with pytest.raises(RuntimeError):
        connections.read(broken)
    assert _at_rest(connections)
    assert connections.read_rows("SELECT 1", ()) == [(1,)]
    connections.close()


def test_a_connection_that_could_not_be_set_up_is_not_kept(connections: Connections, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.rename(tmp_path / "away.db")
    (tmp_path / "other.db").write_bytes((tmp_path / "away.db").read_bytes())
    (tmp_path / "other.db").rename(path)
    with pytest.raises((StoreUnavailable, CorruptRecord)):
        connections.read_rows("SELECT 1", ())
    assert _at_rest(connections)
    connections.close()


def test_opening_twice_makes_no_second_writer(connections: Connections) -> None:
    connections.open()
    assert _at_rest(connections)
    connections.close()
    connections.open()
    assert connections.read_rows("SELECT 1", ()) == [(1,)]
    connections.close()


def test_a_scan_with_a_limit_is_prepared_once(connections: Connections) -> None:
    actions: list[int] = []

    def note(action: int, *_: object) -> int:
        actions.append(action)
        return apsw.SQLITE_OK

    sql = "SELECT last FROM summaries WHERE org = ? ORDER BY org DESC LIMIT ?"
    connections.read_rows(sql, ("default", 1))
    connections._idle[-1].connection.authorizer = note  # SQLite calls it whenever it prepares a statement
    connections.read_rows(sql, ("default", 1))
    assert actions
    actions.clear()
    for limit in (1, 2, 3):
        connections.read_rows(sql, ("default", limit))
    assert not actions
    connections.close()
