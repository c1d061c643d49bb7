"""Each write, sync and truncation of a scenario fails in turn: with EIO, with ENOSPC, or the process ends there."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memorist import UnknownOutcome
from tests.faults.clients import SOAK, client, heard
from tests.faults.disk import Disk, Event, watched
from tests.faults.scenario import STEPS, end_at, open_memory, run_steps, state_of


def _count(path: Path) -> int:
    with watched() as disk:
        run_steps(path, lambda name: None)
        return len([event for event in disk.log if event.kind != "delete"])


def _failing(disk: Disk, at: int, error: Callable[[], Exception]) -> None:
    writes = 0

    def before(event: Event) -> None:
        nonlocal writes
        writes += event.kind != "delete"
        if writes == at and event.kind != "delete":
            raise error()

    disk.before = before


@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError], ids=["EIO", "ENOSPC"])
def test_a_failed_write_is_reported_and_leaves_no_half(ram_path: Path, error: type[Exception]) -> None:
    reported = 0
    for at in range(1, _count(ram_path / "count.db") + 1, 1 if SOAK else 3):
        path, acked = ram_path / f"{at}.db", []
        with watched() as disk:
            _failing(disk, at, error)
            errors = run_steps(path, acked.append)
        reported += bool(errors)
        with open_memory(path) as memory:
            state = state_of(memory)
        assert not state["half"], f"at {at}: {errors}"
        for name in acked:
            if name != "delete" or "append" in acked:
                assert state[name], f"at {at}: {name} was acknowledged and is gone"
        for name, kind in errors.items():
            if name in STEPS and kind not in (UnknownOutcome.__name__, "NotFound"):
                assert not state[name], f"at {at}: {name} was refused with {kind} and is there"
    assert reported > 5


def test_an_end_at_any_write_loses_nothing_acknowledged(ram_path: Path) -> None:
    for at in range(1, _count(ram_path / "count.db") + 1, 1 if SOAK else 5):
        with client(end_at, str(ram_path), at) as (_, hear):
            acked = list(heard(hear))
        with open_memory(ram_path / f"{at}.db") as memory:
            state = state_of(memory)
        assert not state["half"]
        missing = [name for name in acked if not state[name]]
        assert missing == []
