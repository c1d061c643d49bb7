"""Clocks jump and stand still: order never comes from them, and what has expired is not served."""

import random
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.testing import FakeClock
from tests.faults.clients import SOAK

JUMPS = (-86_400, -3_600, -2, 0, 2, 3_600, 86_400)
TIMES = 500 if SOAK else 20


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Any:
    with Memory(tmp_path / "memory.db", embedder=None, counter="estimate", clock=clock, durability="normal") as memory:
        yield memory


def test_messages_keep_the_order_they_came_in(memory: Memory, clock: FakeClock) -> None:
    dice = random.Random(3)
    memory.threads.create("global", id="t")
    for n in range(TIMES * 3):
        clock.advance(dice.choice(JUMPS))
        memory.threads.append("t", str(n))
    messages = memory.threads.messages("t")
    assert [message.text for message in messages] == [str(n) for n in range(TIMES * 3)]
    assert [message.text for message in memory.threads.recent("t", 2)] == [str(TIMES * 3 - 2), str(TIMES * 3 - 1)]
    # The planted bug: whoever orders by time gets another order.
    by_time = sorted(messages, key=lambda message: message.created_at or clock())
    assert [message.text for message in by_time] != [message.text for message in messages]


def test_versions_count_on_while_the_clock_goes_back(memory: Memory, clock: FakeClock) -> None:
    for n in range(1, TIMES + 1):
        assert memory.facts.set("global", "k", n).version == n
        clock.advance(-3_600)
    assert [fact.value for fact in memory.facts.history("global", "k")] == list(range(1, TIMES + 1))


def test_what_expired_is_not_served_whatever_the_jump(memory: Memory, clock: FakeClock) -> None:
    dice, start = random.Random(5), clock()
    for n in range(TIMES):
        clock.set(start)
        memory.facts.set("global", f"k{n}", n, ttl=60)
        memory.state.set(f"k{n}", n, ttl=60)
        clock.advance(dice.choice(JUMPS))
        alive = (clock() - start).total_seconds() < 60
        assert (memory.facts.get("global", f"k{n}") is not None) is alive
        assert (memory.state.get(f"k{n}") is not None) is alive


def test_a_frozen_clock_stops_nothing(memory: Memory) -> None:
    memory.threads.create("global", id="t")
    for n in range(TIMES):
        memory.threads.append("t", str(n))
        memory.facts.set("global", "k", n)
    assert memory.threads.get("t") is not None
    assert [message.seq for message in memory.threads.messages("t")] == list(range(1, TIMES + 1))


def test_an_idempotency_key_holds_across_jumps(memory: Memory, clock: FakeClock) -> None:
    memory.threads.create("global", id="t")
    for jump in JUMPS:
        clock.advance(jump)
        [receipt] = memory.threads.append("t", "once", key="k")
        assert receipt.message.seq == 1
