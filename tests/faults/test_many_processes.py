"""Eight processes on one file: no error, nothing lost, nothing twice, every thread dense."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from tests.faults.clients import (
    SOAK,
    heard,
    open_first,
    open_first_naively,
    processes,
    write_share,
    write_share_naively,
)

CLIENTS = 8
WRITES = 400_000 if SOAK else 5_000
THREADS = 200
ROUNDS = 500 if SOAK else 20


def _all_at_once(target: Callable[..., None], *args: Any) -> list[list[Any]]:
    """What each of eight clients said."""
    pipes, started = [], []
    for me in range(CLIENTS):
        hear, speak = processes.Pipe(duplex=False)
        client_args = [me if arg == "me" else arg for arg in args]
        started.append(processes.Process(target=target, args=(*client_args, speak), daemon=True))
        started[-1].start()
        speak.close()
        pipes.append(hear)
    reports = [list(heard(hear)) for hear in pipes]
    for process in started:
        process.join()
    return reports


def _check(url: str, reports: list[list[Any]]) -> None:
    errors = [item for share in reports for item in share if isinstance(item, str) and item != "ready"]
    assert errors == []
    acknowledged = sorted(item for share in reports for item in share[-1])
    with Memory(url, embedder=None, counter="estimate") as memory:
        threads = sorted({thread for thread, _, _ in acknowledged})
        stored = [(thread, m.seq, m.text) for thread in threads for m in memory.threads.messages(thread)]
    assert sorted(stored) == acknowledged, "lost or twice"
    for thread in threads:
        numbers = [seq for name, seq, _ in acknowledged if name == thread]
        assert numbers == list(range(1, len(numbers) + 1)), "not dense"


def _prepare(path: Path) -> str:
    with Memory(path, embedder=None, counter="estimate") as memory:
        for name in ("hot", *(f"t{n}" for n in range(THREADS))):
            memory.threads.create("global", id=name)
    return str(path)


def test_eight_processes_on_one_hot_thread_and_many_others(tmp_path: Path) -> None:
    url = _prepare(tmp_path / "memory.db")
    reports = _all_at_once(write_share, url, "me", WRITES // CLIENTS, THREADS)
    _check(url, reports)
    with Memory(url, embedder=None, counter="estimate") as memory:
        assert memory.state.get("count") == CLIENTS * ((WRITES // CLIENTS + 9) // 10)


def test_the_harness_sees_a_read_then_write(tmp_path: Path) -> None:
    url = _prepare(tmp_path / "memory.db")
    reports = _all_at_once(write_share_naively, url, "me", 100, THREADS)
    with pytest.raises(AssertionError, match="lost or twice"):
        _check(url, reports)


def test_eight_processes_open_a_new_file_at_once(tmp_path: Path) -> None:
    reports = _all_at_once(open_first, str(tmp_path), ROUNDS, processes.Barrier(CLIENTS))
    assert [item for share in reports for item in share if item != "ok"] == []
    assert sum(len(share) for share in reports) == CLIENTS * ROUNDS
    for number in range(ROUNDS):
        with Memory(tmp_path / f"{number}.db", embedder=None, counter="estimate") as memory:
            assert [message.seq for message in memory.threads.messages("t")] == list(range(1, CLIENTS + 1))


def test_the_harness_sees_an_open_without_a_lock(tmp_path: Path) -> None:
    reports = _all_at_once(open_first_naively, str(tmp_path), 20, processes.Barrier(CLIENTS))
    assert any(item != "ok" for share in reports for item in share)
