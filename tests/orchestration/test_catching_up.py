"""What a user has just said is known to the next recall, context and profile, before any worker has run."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.engine.derive import catching_up
from memorist.engine.derive.retracting import Retracting
from memorist.engine.threads.receipts import receipt_states
from memorist.records import Job
from memorist.runtime import Runtime
from memorist_testing.plugin import Run

from .conftest import OpenMemory, do
from .models import Scripted, items


async def say(memory: Any, *texts: str) -> str:
    """Append what a user says to a new thread; nothing is derived yet."""
    thread = (await do(memory.threads.create("user:ada"))).id
    await do(memory.threads.append(thread, *texts))
    return str(thread)


async def waiting(memory: Any) -> int:
    return len(await memory._core.scan(Job, "derive"))


async def test_the_next_context_holds_what_was_just_said(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(user="ada")
    await say(memory, "I'm allergic to peanuts.", "Never use emojis.", "I live in Lisbon.", "I moved to Porto.")
    context = await do(memory.context("Suggest a snack.", budget=1000))
    at = memory._core.at()
    porto = f"Lives in Porto (since {at.day} {at:%b})"
    assert {line.text for line in context.profile} == {"Allergic to peanuts", porto, "Never use emojis"}
    assert await waiting(memory) == 0


async def test_so_do_the_profile_and_the_next_recall(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(user="ada")
    await say(memory, "My name is Ada.")
    (line,) = await do(memory.profile.block())
    assert "Ada" in line.text
    await say(memory, "I live in Lisbon.")
    hits = await do(memory.recall("Where do I live?", kinds="fact"))
    assert [hit.text for hit in hits][:1] == ["Lives in Lisbon"]


async def test_the_fact_that_replaced_a_statement_ranks_before_it(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(user="ada")
    await say(memory, "I live in Lisbon.", *(f"Tell me about topic {n}, please." for n in range(15)))
    await say(memory, "Actually I moved to Porto.")
    hits = await do(memory.recall("Where do I live?"))
    assert [hit.text for hit in hits][:2] == ["Lives in Porto", "I live in Lisbon."]
    assert "Porto" in (hits[1].superseded_by or "")
    (stated, *_) = await do(memory.recall("Where do I live?", kinds="message"))
    assert stated.text == "I live in Lisbon." and "Porto" in (stated.superseded_by or "")
    past = {hit.text: hit.score for hit in await do(memory.recall("Where did I use to live before?"))}
    assert past["I live in Lisbon."] > hits[1].score, "a question about the past asks for what was replaced"


async def test_a_large_backlog_is_left_to_the_worker(
    open_memory: OpenMemory, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catching_up, "MAX_MESSAGES", 2)
    memory = open_memory(user="ada")
    await say(memory, "I live in Lisbon.", "My name is Ada.", "I'm allergic to nuts.")
    assert await do(memory.recall("Where do I live?", kinds="fact")) == []
    assert await waiting(memory) == 1


async def test_a_model_is_not_asked_before_an_answer(open_memory: OpenMemory, run: Run, runtime: Runtime) -> None:
    model = Scripted(runtime.blocking, items())
    memory = open_memory(user="ada", model=model)
    await say(memory, "I live in Lisbon.")
    await do(memory.recall("Where do I live?"))
    assert model.asked == []
    assert await waiting(memory) == 1


async def test_a_message_that_cannot_be_read_fails_no_answer(
    open_memory: OpenMemory, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory(user="ada")

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr("memorist.engine.derive.reading.extract", broken)
    await say(memory, "I live in Lisbon.")
    assert [hit.text for hit in await do(memory.recall("Lisbon"))] == ["I live in Lisbon."]
    assert await waiting(memory) == 1
    assert memory._core.shared.problems["extractor"] == "RuntimeError"


async def receipt(memory: Any, thread: str, seq: int) -> dict[str, Any]:
    return dict((await receipt_states(memory._core, thread))(seq))


async def test_each_thread_that_one_recall_reads_has_receipts_of_its_own(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(user="ada")
    foreign = await say(memory, "Mieszkam w Warszawie i bardzo lubię koty oraz zimę.")
    readable = await say(memory, "I live in Lisbon.")
    await do(memory.recall("Where do I live?"))
    assert (await receipt(memory, foreign, 1))["derived"] == "unread"
    assert (await receipt(memory, readable, 1))["derived"] == "done"


async def test_what_a_failed_attempt_worked_out_is_not_in_the_receipts_of_the_next_thread(
    open_memory: OpenMemory, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory(user="ada")
    monkeypatch.setattr("memorist.engine.threads.appending.may_ask_to_forget", lambda message: False)
    await say(memory, "I live in Lisbon.", "I work as a nurse.")
    await do(memory.recall("Where do I live?"))
    for thread, request in {"a": "Forget that I live in Lisbon.", "b": "Forget that I work as a nurse."}.items():
        await do(memory.threads.append(thread, request, create="user:ada"))
    record, calls = Retracting.record, list[str]()

    async def breaks(self: Retracting, item: Any, message: Any, changes: Any) -> Any:
        calls.append(message.thread)
        changes = await record(self, item, message, changes)
        if len(calls) == 1:
            raise RuntimeError("no")
        return changes

    monkeypatch.setattr(Retracting, "record", breaks)
    await do(memory.recall("Where do I live?"))
    assert calls[:2] == ["a", "b"]
    assert (await receipt(memory, "b", 1))["ended"] == ("user:ada/role", "user:ada/forgotten.i_work_as_a_nurse")
    await do(memory.facts.unforget("user:ada", "forgotten.i_work_as_a_nurse"))
    assert (await do(memory.facts.get("user:ada", "role"))).value == "nurse"
