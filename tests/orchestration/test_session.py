"""Sessions: turns committed whole, prefixes that stay the same, folding with hysteresis, and what lasts."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory, ModelError, UsageError
from memorist.engine.derive.outbox import Outbox
from memorist.engine.health import Turns
from memorist.engine.sessions.session import worth_keeping
from memorist.runtime import Runtime
from memorist.testing import FakeClock
from memorist_testing.plugin import Run

from .conftest import OpenMemory, do
from .models import Scripted, down

CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}


def sentence(number: int) -> str:
    return f"In note {number} the crew of boat {number * 7} mended {number + 3} nets near pier {number * 11} at noon."


async def test_plain_text_alternates_between_user_and_assistant(memory: Any, run: Run) -> None:
    talk = memory.session(user="ada")
    await do(talk.add("Hello there, I am Ada.", "Hi Ada!"))
    await do(talk.add("I live in Lisbon."))
    messages = await do(memory.threads.recent(talk.thread))
    assert [(m.role, m.text) for m in messages] == [
        ("user", "Hello there, I am Ada."),
        ("assistant", "Hi Ada!"),
        ("user", "I live in Lisbon."),
    ]


async def test_tool_turns_and_lists_are_taken_whole(memory: Any, run: Run) -> None:
    talk = memory.session(user="ada")
    await do(talk.add("How is the weather?", CALL, RESULT, {"role": "assistant", "content": "Sunny."}))
    await do(talk.add([{"role": "user", "content": "Thanks a lot for that"}]))
    assert [m.role for m in await do(memory.threads.recent(talk.thread))] == [
        "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    with pytest.raises(UsageError):
        await do(talk.add())


async def test_the_same_turn_under_a_key_is_added_once(memory: Any, run: Run) -> None:
    talk = memory.session(user="ada")
    await do(talk.add("I live in Lisbon.", "Nice.", key="turn-1"))
    again = await do(talk.add("I live in Lisbon.", "Nice.", key="turn-1"))
    assert all(receipt.replayed for receipt in again)
    assert len(await do(memory.threads.recent(talk.thread))) == 2


async def test_a_session_goes_on_with_a_thread_and_ends_once(memory: Any, run: Run) -> None:
    thread = await do(memory.threads.create("user:ada"))
    ends: list[Any] = []
    turns: list[Any] = []
    talk = memory.session(thread.id, user="ada", on_turn_end=turns.append, on_session_end=ends.append)
    await do(talk.add("I live in Lisbon.", "Noted."))
    ended = await do(talk.end())
    assert (ended.thread, ended.turns) == (thread.id, 1)
    assert await do(talk.end()) is ended
    assert ends == [ended] and [turn.text for turn in turns] == ["I live in Lisbon."]
    assert (await do(memory.facts.get("user:ada", "location"))).value == "Lisbon"
    with pytest.raises(UsageError, match="ended"):
        await do(talk.add("more"))


async def test_it_is_a_context_manager_and_a_failing_block_does_not_end_it(
    memory: Any, runtime: Runtime, run: Run
) -> None:
    ends: list[Any] = []
    talk = memory.session(user="ada", on_session_end=ends.append)
    with pytest.raises(ZeroDivisionError):
        if runtime.blocking:
            with talk:
                talk.add("I live in Lisbon.", "Noted.")
                raise ZeroDivisionError
        async with talk:
            await talk.add("I live in Lisbon.", "Noted.")
            raise ZeroDivisionError
    assert ends == []
    if runtime.blocking:
        with talk:
            assert talk.thread
    else:
        async with talk:
            assert talk.thread
    assert len(ends) == 1


async def test_small_talk_feeds_nothing_and_is_counted(memory: Any, run: Run) -> None:
    talk = memory.session(user="ada", should_persist=lambda turn: "Lisbon" not in turn.text)
    await do(talk.add("I live in Lisbon.", "Noted."))
    await do(talk.add("I work as a nurse.", "Noted."))
    state = await do(talk.state())
    assert (state.turns, state.persisted, state.passing, state.messages) == (2, 1, 1, 4)
    assert (state.session_id, state.thread, state.max_tokens, state.folded_to) == (talk.id, talk.thread, 8000, 0)
    await do(talk.end())
    assert await do(memory.facts.get("user:ada", "location")) is None
    assert (await do(memory.facts.get("user:ada", "role"))).value == "nurse"
    assert (await do(memory.stats())).turns == Turns(persisted=1, passing=1)


async def test_working_memory_holds_no_copy_of_a_turn(memory: Any, run: Run) -> None:
    talk = memory.session(user="ada")
    await do(talk.add("I live in Lisbon.", "Noted."))
    assert await do(memory.scope(user="ada").working.get(session=talk.id)) is None


async def test_the_next_requests_prefix_is_the_last_request(memory: Any, run: Run) -> None:
    await do(memory.facts.set("user:ada", "city", "Lisbon"))
    await do(memory.facts.set("user:ada", "dog", "a beagle called Rex"))
    talk = memory.session(user="ada", system="Be brief.", budget=4000)
    questions = ["Which city do I live in, Lisbon?", "What is my dog called?", "And what do I do?"]
    before: list[Any] = []
    for question in questions:
        request = (await do(talk.context(question))).messages()
        assert request[: len(before)] == before, "the prefix changed"
        if not before:
            assert "Lisbon" in str(request)
        await do(talk.add(question, "An answer."))
        before = request


async def test_what_was_recalled_is_not_read_as_the_users_word(memory: Any, run: Run) -> None:
    await do(memory.facts.set("user:ada", "note", "I live in Atlantis near the harbour"))
    talk = memory.session(user="ada")
    question = "Where is the harbour near which I live?"
    await do(talk.context(question))
    await do(talk.add(question, "No idea."))
    await Outbox(memory._core.shared, memory.org).drain()
    assert await do(memory.facts.get("user:ada", "location")) is None


async def test_a_long_thread_is_folded_and_then_left_alone_for_a_while(memory: Any, run: Run) -> None:
    talk = memory.session(user="ada", budget=600)
    folds: list[int] = []
    for number in range(40):
        context = await do(talk.context(sentence(number), recall=False))
        assert context.tokens <= 600
        folds.append((await do(talk.state())).folded_to)
        await do(talk.add(sentence(number), "Noted."))
    changes = [after for before, after in pairwise(folds) if after != before]
    assert 1 <= len(changes) <= 12 and changes == sorted(changes)
    summaries = await do(memory.threads.summaries(talk.thread))
    assert [summary.last for summary in summaries] == changes
    assert {summary.method for summary in summaries} == {"extractive"}
    assert len(await do(memory.threads.messages(talk.thread))) == 80


async def test_a_failing_model_folds_by_extraction_and_says_so(
    open_memory: OpenMemory, runtime: Runtime, run: Run
) -> None:
    memory = open_memory(model=Scripted(runtime.blocking, down(1)), extract="rules")
    talk = memory.session(user="ada", budget=600)
    for number in range(20):
        await do(talk.context(sentence(number), recall=False))
        await do(talk.add(sentence(number), "Noted."))
    summaries = await do(memory.threads.summaries(talk.thread))
    assert summaries and {summary.method for summary in summaries} == {"extractive"}
    assert any(problem.startswith("summaries: the model failed") for problem in (await do(memory.doctor())).problems)


async def test_ending_archives_a_long_talk(memory: Any, run: Run) -> None:
    talk = memory.session(user="ada")
    for number in range(20):
        await do(talk.add(sentence(number), "Noted."))
    ended = await do(talk.end())
    assert ended.summary is not None and ended.summary.last > 0
    kinds = {hit.kind for hit in await do(memory.recall("which crew mended nets near the pier", top_k=30))}
    assert "summary" in kinds


async def test_the_same_question_sees_what_was_written_since(memory: Any, run: Run) -> None:
    await do(memory.facts.set("user:ada", "city", "Lisbon"))
    talk = memory.session(user="ada")
    first = (await do(talk.context("Which city?"))).messages()
    assert "Lisbon" in str(first)
    assert (await do(talk.context("Which city?"))).messages() == first
    await do(memory.facts.set("user:ada", "city", "Porto"))
    later = str((await do(talk.context("Which city?"))).messages())
    assert "Porto" in later and "Lisbon" not in later
    await do(memory.facts.delete("user:ada", "city"))
    assert "Porto" not in str((await do(talk.context("Which city?"))).messages())


async def test_a_request_is_hashed_once_although_it_is_compared_twice(
    memory: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memorist.context import context

    hashed: list[object] = []
    pieces_of = context.pieces_of
    monkeypatch.setattr(context, "pieces_of", lambda *args: hashed.append(args) or pieces_of(*args))
    talk = memory.session(user="ada")
    for number in range(4):
        await do(talk.context(sentence(number), system=f"Prompt {number // 2}."))
        await do(talk.add(sentence(number), "Noted."))
    assert len(hashed) == 4


async def test_the_first_turn_is_one_transaction_with_its_thread(
    memory: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, commits = memory._core.store, []
    apply = store.apply

    async def counting(changes: Any, **options: Any) -> Any:
        commits.append(changes)
        return await apply(changes, **options)

    monkeypatch.setattr(store, "apply", counting)
    for talk in (memory.session(user="ada"), memory.session("own-id", user="ada")):
        for number in (1, 2):
            commits.clear()
            receipts = await do(talk.add(sentence(number), "Noted."))
            assert len(commits) == 1 and receipts[0].message.seq == 2 * number - 1


async def test_a_retrieval_that_expired_is_not_served_again(memory: Any, clock: FakeClock, run: Run) -> None:
    await do(memory.facts.set("user:ada", "city", "Lisbon", ttl=5))
    talk = memory.session(user="ada")
    assert "Lisbon" in str((await do(talk.context("Which city?"))).messages())
    clock.advance(6)
    assert "Lisbon" not in str((await do(talk.context("Which city?"))).messages())


@pytest.mark.parametrize("text", ["hi", "Thanks!", "OK, bye.", ""])
def test_small_talk_is_not_worth_keeping(text: str) -> None:
    from memorist import Message
    from memorist.engine.sessions.session import Turn

    assert not worth_keeping(Turn((Message(role="user", content=text),), 1))
    assert worth_keeping(Turn((Message(role="user", content=f"{text} my name is Ada"),), 1))


def test_ending_waits_for_a_worker_that_has_the_talk_in_hand(tmp_path: Path) -> None:
    started, release = threading.Event(), threading.Event()

    def slow(prompt: str) -> str:
        started.set()
        release.wait(30)
        raise ModelError("down", retryable=False)  # the rules stand in

    with (
        Memory(tmp_path / "a.db", worker=False) as memory,
        Memory(tmp_path / "a.db", worker=False, model=slow) as other,
    ):
        talk = memory.session(user="ada")
        talk.add("I live in Lisbon.", "Noted.")
        worker = threading.Thread(target=other.jobs.drain)
        worker.start()
        started.wait(30)
        threading.Timer(0.3, release.set).start()
        talk.end()
        location = memory.facts.get("user:ada", "location")
        worker.join()
    assert location is not None and location.value == "Lisbon"


async def test_asking_alone_writes_no_thread(memory: Any, run: Run) -> None:
    await do(memory.facts.set("user:ada", "tree", "a persimmon"))
    talk = memory.session(user="ada")
    first_context = await do(talk.context("Which tree is mine?"))
    assert "persimmon" in str(first_context.messages())
    assert (await do(talk.state())).messages == 0
    await do(talk.end())
    assert await do(memory.threads.get(talk.thread)) is None
    assert await do(memory.threads.list("user:ada")) == [] == await do(memory.threads.list("global"))
    talk = memory.session(user="ada")
    first_context = await do(talk.context("Which tree is mine?"))
    await do(talk.add("Which tree is mine?", "A persimmon."))
    assert (await do(talk.context("And where is it?"))).messages()[
        : len(first_context.messages())
    ] == first_context.messages()
    assert [thread.id for thread in await do(memory.threads.list("user:ada"))] == [talk.thread]
    begun = await do(memory.session(user="ada").start())
    assert (await do(memory.threads.get(begun.thread))).length == 0
