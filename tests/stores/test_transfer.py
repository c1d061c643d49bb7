"""From any store to any other by a file: what is exported there is, to the byte, what was exported here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memorist import Memory
from memorist.engine.portable import UNPORTABLE_RECORDS
from memorist.records import Job, Record
from memorist.runtime import run_blocking
from memorist.stores.base import Change, Load, Put
from memorist.stores.codec import kinds
from memorist.stores.memory import MemoryStore
from memorist.testing import FakeClock
from memorist_testing.samples import bare, full
from tests.stores import program
from tests.stores.conftest import STORES, OpenOn


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An org with something of every kind in it, and a row of each kind with every field set and with none."""
    folder, clock = tmp_path_factory.mktemp("exported"), FakeClock()
    rows: list[Record] = [_typed(make(kind, "source")) for kind in kinds() for make in (full, bare)]
    store = MemoryStore()
    with Memory(store, org="source", clock=clock, worker=False, counter="estimate") as memory:  # type: ignore[arg-type]
        program.run(memory, clock, folder / "some.jsonl")
        run_blocking(store.apply([Load(row) for row in rows], now=clock.micros))
        assert set(memory.export(folder / "first.jsonl").counts) == {
            kind.table.name for kind in kinds() if kind not in UNPORTABLE_RECORDS
        }
    return folder / "first.jsonl"


def _typed(row: Record) -> Record:
    """The row as a user could have made it: a file with other names is refused, and jobs lose what a worker acts on."""
    changes: dict[str, Any] = {name: "x" for name in row.table.key[1:] if getattr(row, name) == ""}
    changes |= {name: "user:ada" for name in ("ns",) if name in row.__struct_fields__}
    numbers = ("version", "seq", "length", "tokens", "position", "fence", "number", "first", "last")
    values = {name: getattr(row, name, None) for name in numbers}
    changes |= {name: abs(value) % 2**50 for name, value in values.items() if isinstance(value, int)}
    if isinstance(row, Job):
        changes |= {"queue": "index", "payload": None, "status": "ready", "owner": None, "leased_until": None}
        changes |= {"attempts": 0, "error": None}
    return msgspec.structs.replace(row, **changes)


@pytest.mark.parametrize("target_name", STORES)
@pytest.mark.parametrize("source_name", STORES)
def test_a_file_goes_through_two_stores_unchanged(
    source_name: str, target_name: str, exported: Path, open_on: OpenOn, org: str, tmp_path: Path
) -> None:
    source = open_on(source_name, org=f"{org}-here")
    source.import_(exported)
    source.export(tmp_path / "here.jsonl")
    target = open_on(target_name, org=f"{org}-there")
    target.import_(tmp_path / "here.jsonl")
    target.export(tmp_path / "there.jsonl")
    assert (tmp_path / "here.jsonl").read_bytes() == exported.read_bytes()
    assert (tmp_path / "there.jsonl").read_bytes() == exported.read_bytes()


def test_the_comparison_sees_a_store_that_numbers_anew(
    exported: Path, org: str, clock: FakeClock, tmp_path: Path
) -> None:
    class Renumbering(MemoryStore):
        """The planted bug: rows that are loaded are written as if they were new."""

        async def apply(self, changes: Sequence[Change], *, now: int) -> list[Any]:
            return await super().apply([Put(c.record) if isinstance(c, Load) else c for c in changes], now=now)

    with Memory(Renumbering(), org=org, clock=clock, worker=False) as memory:  # type: ignore[arg-type]
        memory.import_(exported)
        memory.export(tmp_path / "here.jsonl")
    assert (tmp_path / "here.jsonl").read_bytes() != exported.read_bytes()
