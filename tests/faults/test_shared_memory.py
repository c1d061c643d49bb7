"""Several processes on one working document and on one missing entity."""

from contextlib import ExitStack
from pathlib import Path

from memorist import Memory
from memorist.records import WorkingDocument
from memorist.runtime import run_blocking
from tests.faults.clients import SOAK, client, heard, processes
from tests.faults.workers import ask_for_entity, update_share, update_share_naively

PROCESSES, THREADS = 4, 5
WRITES = 5000 if SOAK else 500


def _version(url: str) -> int:
    with Memory(url, embedder=None, counter="estimate") as memory:
        row = run_blocking(memory._core.get(WorkingDocument, "ada", ""))
        assert row is not None
        return row.version


def test_ten_thousand_concurrent_partial_updates_are_all_kept(tmp_path: Path) -> None:
    url, writers = str(tmp_path / "memory.db"), PROCESSES * THREADS
    Memory(url, embedder=None, counter="estimate").close()
    with ExitStack() as stack:
        pipes = [
            stack.enter_context(client(update_share, url, me, THREADS, writers, WRITES))[1] for me in range(PROCESSES)
        ]
        assert [list(heard(hear)) for hear in pipes] == [[[]]] * PROCESSES
    assert _version(url) == writers * WRITES


def test_the_harness_sees_a_lost_update(tmp_path: Path) -> None:
    url = str(tmp_path / "memory.db")
    Memory(url, embedder=None, counter="estimate").close()
    with ExitStack() as stack:
        pipes = [
            stack.enter_context(client(update_share_naively, url, me, 1, PROCESSES, 200))[1] for me in range(PROCESSES)
        ]
        lost = [line for hear in pipes for answer in heard(hear) for line in answer]
    assert lost


def _loads(tmp_path: Path, cached: bool) -> int:
    url, log = str(tmp_path / "memory.db"), tmp_path / "loads"
    Memory(url, embedder=None, counter="estimate").close()
    barrier = processes.Barrier(8)
    with ExitStack() as stack:
        pipes = [stack.enter_context(client(ask_for_entity, url, 25, str(log), cached, barrier))[1] for _ in range(8)]
        answers = [answer for hear in pipes for batch in heard(hear) for answer in batch]
    assert answers == [{"id": "7"}] * 200
    return len(log.read_bytes())


def test_two_hundred_callers_in_eight_processes_share_one_load(tmp_path: Path) -> None:
    assert _loads(tmp_path, cached=True) == 1


def test_the_harness_counts_every_load(tmp_path: Path) -> None:
    assert _loads(tmp_path, cached=False) == 200
