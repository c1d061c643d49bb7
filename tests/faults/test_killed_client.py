"""kill -9 of a writing client: what was acknowledged is there, once, in order."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from memorist import Memory
from tests.faults.clients import SOAK, append_on, client, heard

KILLS = 2000 if SOAK else 50


def _prepare(path: Path) -> str:
    with Memory(path, embedder=None, counter="estimate") as memory:
        memory.threads.create("global", id="t")
    return str(path)


def _check(url: str, acked: int, redone: int) -> None:
    """What is there after so many batches may have been sent again: a key keeps its message from being written twice,
    while the counter beside it, which has none, counts again."""
    with Memory(url, embedder=None, counter="estimate") as memory:
        messages = memory.threads.messages("t")
        count = memory.state.get("count", 0)
        thread = memory.threads.get("t")
    numbers = [int(message.text[1:]) for message in messages]
    assert numbers == list(range(1, len(numbers) + 1)), "lost, twice or out of order"
    assert [message.seq for message in messages] == numbers
    assert acked <= len(numbers) <= acked + 1, "an acknowledged write is gone"
    assert thread is not None and thread.length == len(numbers)
    assert len(numbers) <= count <= len(numbers) + redone, "half of a batch"


def _killed_at_random(url: str, acked: int, dice: random.Random) -> int:
    """Run a client from the number after `acked`, kill it at some moment, and say what it had acknowledged."""
    target = acked + dice.randrange(0, 25)
    with client(append_on, url, acked + 1, True, None) as (pid, hear):
        for number in heard(hear):
            acked = number
            if number >= target:
                break
        until = time.perf_counter() + dice.random() * 0.003
        while time.perf_counter() < until:
            pass
        os.kill(pid, signal.SIGKILL)
        return max([acked, *heard(hear)])


def test_a_killed_client_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    url, acked, dice = _prepare(tmp_path / "memory.db"), 0, random.Random(1)
    for kill in range(KILLS):
        acked = _killed_at_random(url, acked, dice)
        _check(url, acked, kill)
    assert acked > KILLS


def test_a_write_committed_but_not_acknowledged_is_not_done_twice(tmp_path: Path) -> None:
    url = _prepare(tmp_path / "memory.db")
    with client(append_on, url, 1, True, 3) as (_, hear):
        assert list(heard(hear)) == [1, 2]
    with client(append_on, url, 3, True, 7) as (_, hear):
        assert list(heard(hear)) == [3, 4, 5, 6]
    _check(url, 7, 1)


def test_the_harness_sees_a_naive_retry(tmp_path: Path) -> None:
    url = _prepare(tmp_path / "memory.db")
    with client(append_on, url, 1, False, 3) as (_, hear):
        assert list(heard(hear)) == [1, 2]
    with client(append_on, url, 3, False, 7) as (_, hear):
        assert list(heard(hear)) == [3, 4, 5, 6]
    with pytest.raises(AssertionError, match="twice"):
        _check(url, 7, 1)
