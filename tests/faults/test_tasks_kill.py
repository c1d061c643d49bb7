"""A task killed, stopped and resumed: every effect once, and a stale worker writes nothing."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from memorist import LeaseLost, Memory
from tests.faults.clients import SOAK, client, heard
from tests.faults.workers import ITEMS, LEASE, run_task, run_task_naively, run_task_unfenced

KILLS = 500 if SOAK else 50
STOPS = 100 if SOAK else 5
SHORT = 2.0
"""Long enough to get to where it stops, short enough to wait for."""


def _prepare(path: Path) -> str:
    with Memory(path, embedder=None, counter="estimate") as memory:
        memory.threads.create("global", id="effects")
    return str(path)


def _effects(url: str) -> list[str]:
    with Memory(url, embedder=None, counter="estimate") as memory:
        return [message.text for message in memory.threads.messages("effects")]


def _check(url: str) -> None:
    effects = _effects(url)
    assert sorted(set(effects)) == ITEMS, "an effect is missing"
    assert len(effects) == len(ITEMS), "an effect was done twice"
    with Memory(url, embedder=None, counter="estimate") as memory:
        task = memory.tasks.resume("import")
        assert memory.state.get("effects") == len(ITEMS)
    assert task is not None
    assert (task.step, task.status, task.completed_subtasks) == (len(ITEMS), "done", tuple(ITEMS))
    assert task.state == {"log": ITEMS}


def _killed_at_random(url: str, dice: random.Random) -> bool:
    """Run the task and kill it one or two steps later, at some moment; whether it was still at work."""
    with client(run_task, url, LEASE, None) as (pid, hear):
        steps = dice.randrange(1, 3)
        for report in heard(hear):
            steps -= 1
            if report == "done" or isinstance(report, LeaseLost):
                return False
            if steps == 0:
                break
        until = time.perf_counter() + dice.random() * 0.004
        while time.perf_counter() < until:
            pass
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
    return True


def _finish(url: str) -> None:
    """Run what is left of the task, when the lease of the one before has ended."""
    with client(run_task, url, 60, None) as (_, hear):
        assert list(heard(hear))[-1] == "done"


def test_fifty_kills_inside_a_hundred_step_task_leave_every_effect_once(tmp_path: Path) -> None:
    dice = random.Random(3)
    kills = tasks = 0
    # A busy machine lets more steps through between two kills: then it takes a second task to come to fifty.
    while kills < KILLS:
        url = _prepare(tmp_path / f"{tasks}.db")
        finished: list[str] = []
        while len(finished) < len(ITEMS) - 4:
            kills += _killed_at_random(url, dice)
            finished = _effects(url)
            assert finished == ITEMS[: len(finished)]
        _finish(url)
        _check(url)
        tasks += 1


def test_the_harness_sees_an_effect_before_its_checkpoint(tmp_path: Path) -> None:
    url = _prepare(tmp_path / "memory.db")
    with client(run_task_naively, url, 3) as (_, hear):
        assert list(heard(hear)) == []
    with client(run_task_naively, url, -1) as (_, hear):
        assert list(heard(hear)) == ["done"]
    with pytest.raises(AssertionError, match="twice"):
        _check(url)


@pytest.mark.parametrize("steps", [1 + 19 * stop % 60 for stop in range(STOPS)])
def test_a_worker_stopped_past_its_lease_and_continued_writes_nothing(tmp_path: Path, steps: int) -> None:
    url = _prepare(tmp_path / "memory.db")
    with client(run_task, url, SHORT, steps) as (pid, hear):
        assert "stopped" in heard(hear)
        _finish(url)
        before = _effects(url)
        os.kill(pid, signal.SIGCONT)
        reports = list(heard(hear))
    assert isinstance(reports[-1], LeaseLost)
    assert _effects(url) == before
    _check(url)


def test_the_harness_sees_a_worker_that_is_not_fenced(tmp_path: Path) -> None:
    url = _prepare(tmp_path / "memory.db")
    with client(run_task_unfenced, url, 5) as (pid, hear):
        assert "stopped" in heard(hear)
        with client(run_task_unfenced, url, None) as (_, other):
            assert list(heard(other))[-1] == "done"
        os.kill(pid, signal.SIGCONT)
        assert list(heard(hear))[-1] == "done"
    with pytest.raises(AssertionError, match="twice"):
        _check(url)
