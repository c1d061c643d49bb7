"""`doctor --deep` looks at every kind of row that has a checksum, on every store."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from memorist.records import Record
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Load
from memorist.stores.codec import kinds
from memorist.stores.sqlite import SqliteStore
from memorist_testing.samples import NOW, full

CHECKED = [kind for kind in kinds() if kind.table.checksum]


@pytest.mark.parametrize("kind", CHECKED, ids=lambda kind: kind.table.name)
def test_a_changed_row_of_any_kind_is_found(tmp_path: Path, kind: type[Record]) -> None:
    store = SqliteStore(str(tmp_path / "a.db"), runtime=BlockingRuntime())
    run_blocking(store.open())
    run_blocking(store.apply([Load(full(kind, "o"))], now=NOW))
    assert run_blocking(store.diagnose(deep=True))["problems"] == []
    other = apsw.Connection(str(tmp_path / "a.db"))
    other.execute(f"UPDATE {kind.table.name} SET created_at = created_at + 1")
    other.close()
    assert any(
        f"1 damaged rows in {kind.table.name}" in problem
        for problem in run_blocking(store.diagnose(deep=True))["problems"]
    )
    run_blocking(store.close())
