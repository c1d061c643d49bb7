"""A model that is down, slow, lying, over-long or empty, 50 ways each: nothing lost, nothing orphaned, all visible.

The cases are spread over the stores, blocking and awaited; `MEMORIST_SOAK=1` runs every case on each of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from memorist.engine.derive.outbox import MAX_ATTEMPTS, Outbox
from memorist.runtime import Runtime
from memorist.testing import FakeClock
from memorist_testing.plugin import Run

from .conftest import STORES, OpenMemory, do
from .models import WAYS, broken
from .slow_server import SlowServer, slow_server
from .test_session import CALL, RESULT, sentence

BUDGET = 600
SOAK = os.environ.get("MEMORIST_SOAK") == "1"
PLACES = [(store, how) for store in STORES for how in ("awaited", "stepped")]


def cases() -> Iterator[tuple[str, str, str, int]]:
    """Store, way of running, way of breaking and number: each location gets a share of every way to break, or all."""
    for start, way in enumerate(WAYS):
        for number in range(50):
            for store, how in PLACES if SOAK else [PLACES[(start + number) % len(PLACES)]]:
                yield store, how, way, number


CASES = list(cases())


async def conversation(memory: Any, clock: FakeClock) -> tuple[Any, list[Any], int]:
    """Twelve turns with tools over a budget that makes the thread fold; the session, its receipts, what was sent."""
    talk = memory.session(user="ada", budget=BUDGET, should_persist=lambda turn: turn.number == 1)
    receipts, count = await do(talk.add("I live in Lisbon.", "Noted.")), 2
    for number in range(12):
        context = await do(talk.context(sentence(number)))
        assert context.tokens <= BUDGET
        check_pairs(context.messages())
        turn = [{"role": "user", "content": sentence(number)}, {"role": "assistant", "content": "Noted. " * 20}]
        if number % 3 == 0:
            turn[1:1] = [CALL, RESULT]  # type: ignore[list-item]
        await do(talk.add(*turn))
        count += len(turn)
    await do(talk.end())
    for _ in range(MAX_ATTEMPTS + 1):
        await Outbox(memory._core.shared, memory.org).drain()
        clock.advance(1000)
    return talk, receipts, count


def check_pairs(messages: list[dict[str, Any]]) -> None:
    """Every tool result follows its call, every call has its result."""
    open_: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_
            open_.discard(message["tool_call_id"])
        else:
            assert not open_
        open_ |= {call["id"] for call in message.get("tool_calls") or ()}
    assert not open_


async def check(memory: Any, way: str, talk: Any, receipts: list[Any], count: int) -> None:
    stored = await do(memory.threads.messages(talk.thread))
    assert [message.seq for message in stored] == list(range(1, count + 1)), "a message was lost"
    state = (await do(memory.wait(receipts, timeout=0)))[0]
    is_away = way in ("down", "slow")
    # Messages wait for a model that may come back; an answer that is no good is given up.
    assert (state.derived, state.read_by) == ("pending" if is_away else "failed", "rules"), "the receipt hides it"
    problems = (await do(memory.doctor())).problems
    expected_problem = "jobs in derive failed and will be tried again" if is_away else "dead letters in derive"
    assert any(expected_problem in problem for problem in problems)
    facts = await do(memory.facts.list("user:ada"))
    assert all("by en." in (fact.reason or "") for fact in facts), "a broken model was believed"
    summaries = await do(memory.threads.summaries(talk.thread))
    assert summaries and all(summary.method in ("extractive", "model") for summary in summaries)
    assert all(summary.tokens <= BUDGET for summary in summaries)
    if summaries[-1].method == "extractive":
        assert any(problem.startswith("summaries: ") for problem in problems)


@pytest.fixture(scope="session")
def slow() -> Iterator[SlowServer]:
    """A server that answers too late."""
    with slow_server() as server:
        yield server


@pytest.mark.parametrize(("location", "runtime", "way", "number"), CASES, indirect=["location", "runtime"])
async def test_nothing_is_lost_for_a_models_sake(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock, slow: SlowServer, way: str, number: int, run: Run
) -> None:
    model = broken(way, number, blocking=runtime.blocking, server=slow)
    before = slow.asked
    memory = open_memory(model=model, durability="normal")
    await check(memory, way, *await conversation(memory, clock))
    assert slow.asked > before if way == "slow" else model.asked
    if way == "slow":
        await model.close()
