"""A model that is down, slow, lying, over-long or empty, 50 ways each: nothing lost, nothing orphaned, all visible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from recollect import Memory
from recollect.engine.outbox import ATTEMPTS, Outbox
from recollect.runtime import Runtime, run_blocking
from recollect.testing import FakeClock
from recollect.testing.plugin import Run

from .conftest import OpenMemory, do
from .models import BROKEN, Scripted
from .test_session import CALL, RESULT, sentence

BUDGET = 600
CASES = [(way, number) for way in BROKEN for number in range(50)]


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
    for _ in range(ATTEMPTS + 1):
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


async def check(memory: Any, talk: Any, receipts: list[Any], count: int) -> None:
    stored = await do(memory.threads.messages(talk.thread))
    assert [message.seq for message in stored] == list(range(1, count + 1)), "a message was lost"
    states = [one.derived for one in await do(memory.wait(receipts, timeout=0))]
    assert states[0] == "failed", "the receipt hides the failure"
    problems = (await do(memory.doctor()))["problems"]
    assert any("dead letters in derive" in problem for problem in problems)
    assert await do(memory.facts.list("user:ada")) == []
    summaries = await do(memory.threads.summaries(talk.thread))
    assert summaries and all(one.method in ("extractive", "model") for one in summaries)
    assert all(one.tokens <= BUDGET for one in summaries)
    if summaries[-1].method == "extractive":
        assert any(problem.startswith("summaries: ") for problem in problems)


@pytest.fixture
def blocking_clock() -> Iterator[FakeClock]:
    yield FakeClock()


@pytest.mark.parametrize(("way", "number"), CASES)
def test_nothing_is_lost_for_a_models_sake(way: str, number: int, tmp_path: Any, blocking_clock: FakeClock) -> None:
    model = Scripted(True, BROKEN[way](number))
    memory = Memory(
        tmp_path / "m.db", clock=blocking_clock, embedder=None, counter="estimate", worker=False, model=model,
        durability="normal",
    )  # fmt: skip
    with memory:
        talk, receipts, count = run_blocking(conversation(memory, blocking_clock))
        run_blocking(check(memory, talk, receipts, count))
        assert model.asked


@pytest.mark.parametrize("way", BROKEN)
async def test_the_same_on_every_store(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock, way: str, run: Run
) -> None:
    memory = open_memory(model=Scripted(runtime.blocking, BROKEN[way](3)))
    talk, receipts, count = await conversation(memory, clock)
    await check(memory, talk, receipts, count)
