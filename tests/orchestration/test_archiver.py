"""The archiver: history older than a while becomes a summary, in threads still in use too; the rest stays raw."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memorist import Archiver, Summarizer
from memorist.engine.core import Core
from memorist.engine.derive.folding import Folding, old_units
from memorist.records import Entry, Job, Link, Summary
from memorist.runtime import Runtime
from memorist.scope import Scope
from memorist.testing import FakeClock
from memorist_testing.plugin import Run, Together

from .conftest import OpenMemory, do
from .models import Scripted, down
from .test_broken_models import check_pairs
from .test_processors import counted
from .test_session import sentence

DAY = 86400
NOTED = {"role": "assistant", "content": "Noted."}


def call(number: int) -> dict[str, Any]:
    tool_call = {"id": f"c{number}", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [tool_call]}


def result(number: int) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": f"sunny over pier {number}"}


async def talked(memory: Any, clock: FakeClock, days: int = 36, each: int = 2) -> str:
    """A thread in which something was said on each of so many days; the last day is today."""
    thread: str = (await do(memory.threads.create("user:ada"))).id
    for day in range(days):
        if day:
            clock.advance(DAY)
        exchanges = [(sentence(day * each + turn), NOTED) for turn in range(each)]
        await do(memory.threads.append(thread, *(message for turn in exchanges for message in turn)))
    return thread


async def archived(memory: Any, **options: Any) -> tuple[int, int]:
    (report,) = await do(memory.process(Archiver(**options)))
    return report.seen, report.changed


async def raw(memory: Any, thread: str) -> list[Any]:
    """What a context would still read word for word."""
    past = await do(memory.threads.summaries(thread))
    messages: list[Any] = await do(memory.threads.messages(thread, after=past[-1].last if past else 0))
    return messages


async def test_the_old_part_of_a_thread_in_use_is_folded_and_the_rest_stays_raw(
    memory: Any, clock: FakeClock, run: Run
) -> None:
    thread = await talked(memory, clock)
    assert await archived(memory) == (1, 1)
    (summary,) = await do(memory.threads.summaries(thread))
    limit = clock() - timedelta(days=30)
    messages = await do(memory.threads.messages(thread))
    assert len(messages) == 144, "the messages stay readable"
    assert summary.last == max(message.seq for message in messages if message.created_at <= limit)
    assert (summary.first, summary.ns) == (1, "user:ada")
    assert min(message.created_at for message in await raw(memory, thread)) > limit


async def test_contexts_show_the_summary_and_stay_within_their_budget(memory: Any, clock: FakeClock, run: Run) -> None:
    thread = await talked(memory, clock)
    await archived(memory)
    (summary,) = await do(memory.threads.summaries(thread))
    context = await do(memory.context("What was mended?", thread=thread, budget=20_000, recall=False))
    text = str(context.messages())
    assert summary.text.splitlines()[0] in text and sentence(0) not in [m["content"] for m in context.messages()]
    for budget in (100, 200, 400, 800, 1600):
        assert (await do(memory.context("Nets?", thread=thread, budget=budget))).tokens <= budget


async def test_a_second_run_has_nothing_to_do(memory: Any, clock: FakeClock, run: Run) -> None:
    thread = await talked(memory, clock)
    await archived(memory)
    before = await do(memory.threads.summaries(thread))
    assert await archived(memory) == (0, 0)
    assert await do(memory.threads.summaries(thread)) == before


async def test_what_grows_old_is_taken_into_the_next_summary(memory: Any, clock: FakeClock, run: Run) -> None:
    thread = await talked(memory, clock)
    await archived(memory)
    clock.advance(DAY)
    await do(memory.threads.append(thread, "The nets are fine today.", NOTED))
    assert await archived(memory) == (1, 1)
    first, second = await do(memory.threads.summaries(thread))
    assert second.sources == (first.id,) and second.last == first.last + 4
    clock.advance(3600)
    assert await archived(memory) == (0, 0), "nothing more has grown old"


async def test_a_thread_at_rest_is_folded_whole_and_goes_on_later(memory: Any, clock: FakeClock, run: Run) -> None:
    thread = await talked(memory, clock, days=2, each=5)
    assert await archived(memory) == (0, 0)
    clock.advance(40 * DAY)
    assert await archived(memory) == (1, 1)
    assert await raw(memory, thread) == []
    assert await memory._core.scan(Job, "archive") == []
    await do(memory.threads.append(thread, *(sentence(number) for number in range(50, 60))))
    assert await archived(memory) == (0, 0)
    assert len(await raw(memory, thread)) == 10
    clock.advance(31 * DAY)
    assert await archived(memory) == (1, 1)
    assert await raw(memory, thread) == []


async def test_what_no_summary_would_shorten_stays_raw_and_is_not_looked_at_again(
    memory: Any, clock: FakeClock, run: Run
) -> None:
    thread: str = (await do(memory.threads.create("user:ada"))).id
    await do(memory.threads.append(thread, "Hello."))
    clock.advance(40 * DAY)
    assert await archived(memory) == (1, 0)
    assert await archived(memory) == (0, 0)
    assert len(await raw(memory, thread)) == 1


async def test_imported_history_is_as_old_as_its_messages(memory: Any, clock: FakeClock, run: Run) -> None:
    thread: str = (await do(memory.threads.create("user:ada"))).id
    long_ago = clock() - timedelta(days=400)
    history = [{"role": "user", "content": sentence(i), "created_at": long_ago + timedelta(days=i)} for i in range(20)]
    await do(memory.threads.append(thread, *history))
    await do(memory.threads.append(thread, "And today I say hello."))
    assert await archived(memory) == (1, 1)
    assert [message.text for message in await raw(memory, thread)] == ["And today I say hello."]


async def test_tool_calls_and_their_results_are_never_parted(memory: Any, clock: FakeClock, run: Run) -> None:
    thread: str = (await do(memory.threads.create("user:ada"))).id
    for number in range(12):
        await do(memory.threads.append(thread, sentence(number), call(number)))
        clock.advance(DAY)  # the result comes a day after its call
        await do(memory.threads.append(thread, result(number), NOTED))
    for _ in range(40):
        await archived(memory)
        remaining = await raw(memory, thread)
        assert not remaining or remaining[0].role == "user", "a summary ends before a turn"
        check_pairs((await do(memory.context("And?", thread=thread, budget=20_000, recall=False))).messages())
        clock.advance(DAY)
    assert await raw(memory, thread) == []


async def test_a_call_that_waits_for_its_result_stays_raw(memory: Any, clock: FakeClock, run: Run) -> None:
    thread = await talked(memory, clock, days=1, each=8)
    await do(memory.threads.append(thread, "How is the weather?", call(1)))
    clock.advance(90 * DAY)
    assert await archived(memory) == (1, 1)
    assert [message.role for message in await raw(memory, thread)] == ["user", "assistant"]
    await do(memory.threads.append(thread, result(1), NOTED))
    context = await do(memory.context("And?", thread=thread, budget=4000, recall=False))
    assert [m["role"] for m in context.messages()][-4:] == ["assistant", "tool", "assistant", "user"]


async def test_two_machines_at_once_write_one_summary(
    memory: Any, clock: FakeClock, together: Together, run: Run
) -> None:
    threads = [await talked(memory, clock, days=3, each=6) for _ in range(3)]
    clock.advance(40 * DAY)
    await together([lambda: archived(memory) for _ in range(4)])
    clock.advance(DAY)  # what gave way is looked at when its lease has ended
    await archived(memory)
    for thread in threads:
        assert len(await do(memory.threads.summaries(thread))) == 1


async def test_an_archiver_that_dies_leaves_its_thread_to_the_next(memory: Any, clock: FakeClock, run: Run) -> None:
    thread = await talked(memory, clock)
    await do(memory.process("reindex"))
    limit = memory._core.now() - 30 * DAY * 1_000_000
    assert await memory._core.store.claim("archive", owner="dead", now=limit, lease=600_000_000, org=memory.org)
    assert await archived(memory) == (0, 0)
    clock.advance(601)
    assert await archived(memory) == (1, 1)
    assert len(await do(memory.threads.summaries(thread))) == 1


async def test_a_long_thread_is_folded_in_several(
    memory: Any, clock: FakeClock, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memorist.engine.derive import folding

    monkeypatch.setattr(folding, "MAX_MESSAGES", 40)
    monkeypatch.setattr(folding, "RESULT_MESSAGES", 10)
    thread = await talked(memory, clock, days=50)
    assert await archived(memory) == (1, 1)
    summaries = await do(memory.threads.summaries(thread))
    assert [summary.last for summary in summaries] == [40, 80]
    assert [summary.sources for summary in summaries] == [(), (summaries[0].id,)]


async def test_the_cost_follows_what_grew_old_not_what_is_stored(
    memory: Any, clock: FakeClock, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = await talked(memory, clock, days=1, each=50)
    clock.advance(29 * DAY)
    await do(memory.threads.append(thread, *(sentence(number) for number in range(300))))
    clock.advance(2 * DAY)
    await archived(memory)
    await do(memory.process("reindex"))
    clock.advance(DAY)
    rows: list[int] = []
    monkeypatch.setattr(memory._core.store, "scan", counted(memory._core.store.scan, rows))
    assert await archived(memory) == (0, 0)
    assert sum(rows) == 0
    clock.advance(26 * DAY)
    assert await archived(memory) == (0, 0)
    assert sum(rows) == 0


async def test_a_model_that_is_down_costs_no_summary(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock, run: Run
) -> None:
    memory = open_memory(model=Scripted(runtime.blocking, down(3)), extract=None)
    thread = await talked(memory, clock)
    assert await archived(memory) == (1, 1)
    (summary,) = await do(memory.threads.summaries(thread))
    assert summary.method == "extractive"
    assert any(problem.startswith("summaries: ") for problem in (await do(memory.doctor())).problems)


async def test_a_folded_message_can_be_forgotten_and_the_rest_is_archived_anew(
    memory: Any, clock: FakeClock, run: Run
) -> None:
    thread: str = (await do(memory.threads.create("user:ada"))).id
    secret = "The code of the vault of the harbour is seven hundred and nine."
    await do(memory.threads.append(thread, *(sentence(number) for number in range(8)), secret, NOTED))
    clock.advance(31 * DAY)
    await do(memory.threads.append(thread, "Good morning."))
    await archived(memory)
    (summary,) = await do(memory.threads.summaries(thread))
    assert "vault" in summary.text
    assert [m.id for m in (await do(memory.why(summary.id))).messages], "its messages are known"
    await do(memory.forget(message=f"{thread}#9"))
    assert await do(memory.threads.summaries(thread)) == []
    assert await memory._core.scan(Link, "", thread, "message", "10") == []
    assert await archived(memory) == (1, 1)
    (again,) = await do(memory.threads.summaries(thread))
    assert "vault" not in again.text and again.last == summary.last
    assert not any("vault" in entry.terms for entry in await memory._core.scan(Entry, "user:ada"))


async def test_what_is_forgotten_while_a_model_summarises_is_not_in_the_summary(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock, run: Run
) -> None:
    memory = open_memory(extract=None)
    forgets: list[Any] = []

    class Slow(Scripted):
        async def complete(self, *args: Any, **options: Any) -> Any:
            if forgets:
                await do(forgets.pop()())
            return await super().complete(*args, **options)

    thread = await talked(memory, clock, days=1, each=20)
    clock.advance(40 * DAY)
    await do(memory.process("reindex"))
    model = Slow(runtime.blocking, "The crew mended nets near the pier at noon.")
    forgets.append(lambda: memory.forget(message=f"{thread}#3"))
    await archived(memory, model=model)
    assert [sentence(1) in prompt for prompt in model.asked] == [True, False], "the thread was read again"
    assert len(await do(memory.threads.summaries(thread))) == 1
    await do(memory.threads.append(thread, *(sentence(number) for number in range(20, 40))))
    clock.advance(40 * DAY)
    forgets.append(lambda: memory.forget(thread=thread))
    await archived(memory, model=model)
    assert await memory._core.scan(Summary) == [] and forgets == []


async def test_what_is_forgotten_while_a_thread_is_folded_for_its_size_is_not_in_the_summary(
    open_memory: OpenMemory, runtime: Runtime, run: Run, clock: FakeClock
) -> None:
    memory = open_memory(extract=None)
    thread = await talked(memory, clock, days=1, each=30)

    class Slow(Scripted):
        async def complete(self, *args: Any, **options: Any) -> Any:
            await do(memory.forget(message=f"{thread}#3"))
            return await super().complete(*args, **options)

    model = Slow(runtime.blocking, "The crew mended nets near the pier at noon.")
    (report,) = await do(memory.process(Summarizer(model, max_tokens=400)))
    assert report.changed == 0 and model.asked
    assert await do(memory.threads.summaries(thread)) == []


async def test_an_append_while_a_model_summarises_does_not_cost_the_summary(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock, run: Run
) -> None:
    memory = open_memory(extract=None)
    thread = await talked(memory, clock)

    class Slow(Scripted):
        async def complete(self, *args: Any, **options: Any) -> Any:
            await do(memory.threads.append(thread, "One more thing."))
            await do(memory.process("reindex"))
            return await super().complete(*args, **options)

    model = Slow(runtime.blocking, "The crew mended nets near the pier at noon.")
    assert await archived(memory, model=model) == (1, 1)
    (summary,) = await do(memory.threads.summaries(thread))
    assert summary.method == "model"


async def test_a_deleted_thread_ends_its_job(memory: Any, clock: FakeClock, run: Run) -> None:
    thread = await talked(memory, clock, days=1)
    await do(memory.process("reindex"))
    (job,) = await memory._core.scan(Job, "archive")
    await do(memory.threads.delete(thread))
    clock.advance(40 * DAY)
    assert await archived(memory) == (0, 0)
    core = Core(memory._core.shared, Scope(memory.org, None, "processor"))
    assert await Folding(core).archive(job, memory._core.now()) is False
    assert await memory._core.scan(Summary) == []


async def test_a_message_with_a_result_and_a_turn_of_its_own_is_not_halved(
    memory: Any, clock: FakeClock, run: Run
) -> None:
    from memorist.context.units import group

    calls = [{"type": "tool_use", "id": id, "name": "weather", "input": {}} for id in ("c1", "lost")]
    question = {"role": "assistant", "content": calls}
    results = [{"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}, {"type": "text", "text": "And now?"}]
    thread: str = (await do(memory.threads.create("user:ada"))).id
    border = clock()
    await do(memory.threads.append(thread, "Weather?", question, {"role": "user", "content": results}))
    clock.advance(DAY)
    await do(memory.threads.append(thread, NOTED))
    units, _ = group(await do(memory.threads.messages(thread)), memory._core.shared.counter)
    assert [(unit.position, unit.last) for unit in units] == [(1, 1), (2, 3), (3, 3), (4, 4)]
    assert old_units(units, border) < 2


async def test_a_result_far_behind_its_call_holds_both_together(memory: Any, clock: FakeClock, run: Run) -> None:
    from memorist.context.units import group

    thread: str = (await do(memory.threads.create("user:ada"))).id
    border = clock()
    await do(memory.threads.append(thread, sentence(0), NOTED, sentence(1), call(1), "Never mind for now.", NOTED))
    clock.advance(DAY)
    await do(memory.threads.append(thread, result(1), sentence(2)))
    units, _ = group(await do(memory.threads.messages(thread)), memory._core.shared.counter)
    assert old_units(units, border) == 2
    assert old_units(units, clock()) == len(units)
