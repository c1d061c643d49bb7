"""Facts and learnings out of what users say: surer, superseded, rejected, corrected, and never from anyone else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memorist import Message
from memorist.engine.derive.outbox import Outbox
from memorist.records import Derivation, Fact, Learning
from memorist.redteam import load_attempts
from memorist.runtime import Runtime
from memorist.stores.base import Delete
from memorist_testing.plugin import Run

from .conftest import OpenMemory, do
from .models import Scripted, item, items

DATA = Path(__file__).parents[1] / "data"
PLANTED = [{"id": attempt.id, "message": attempt.message} for attempt in load_attempts()]
INJECTIONS = [json.loads(line) for line in (DATA / "injections.jsonl").read_text("utf-8").splitlines()]


async def tell(memory: Any, *messages: Any, ns: str = "user:ada", thread: str | None = None) -> str:
    """Say it in a thread and work until it is derived."""
    if thread is None:
        thread = (await do(memory.threads.create(ns))).id
    await do(memory.threads.append(thread, *messages))
    await Outbox(memory._core.shared, memory.org).drain()
    assert thread is not None
    return thread


async def fact(memory: Any, key: str = "location") -> Any:
    return await do(memory.facts.get("user:ada", key))


async def test_a_fact_names_its_message_and_its_maker(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Lisbon.")
    location = await fact(memory)
    assert (location.value, location.sources, location.actor, location.trust) == (
        "Lisbon",
        (f"{thread}#1",),
        "processor",
        "user",
    )
    traced = await do(memory.why(location))
    assert [message.text for message in traced.messages] == ["I live in Lisbon."]


@pytest.mark.parametrize("ns", ["global", "workflow:intake", "agent:desk"])
async def test_a_thread_of_no_user_is_read_into_its_own_namespace(memory: Any, run: Run, ns: str) -> None:
    thread = await tell(memory, "I live in Lisbon.", ns=ns)
    fact = await do(memory.facts.get(ns, "location"))
    assert (fact.value, fact.sources) == ("Lisbon", (f"{thread}#1",))
    assert all((queue.waiting, queue.dead) == (0, 0) for queue in await do(memory.jobs.backlog()))


async def test_the_same_again_makes_it_surer(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Lisbon.")
    first = await fact(memory)
    await tell(memory, "As I said, I live in Lisbon.", thread=thread)
    second = await fact(memory)
    assert first.confidence < second.confidence < 1
    assert second.sources == (f"{thread}#1", f"{thread}#2")


async def test_a_contradiction_takes_its_place_and_history_keeps_both(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Lisbon.")
    await tell(memory, "I moved to Porto.", thread=thread)
    assert [version.value for version in await do(memory.facts.history("user:ada", "location"))] == ["Lisbon", "Porto"]
    assert (await fact(memory)).sources == (f"{thread}#2",)


async def test_a_rejected_value_stays_rejected_until_it_is_said_again(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Lisbon.")
    await do(memory.facts.reject("user:ada", "location", reason="a joke"))
    # The thread is read again from its start, as after a new version of the rules.
    await memory._core.apply(Delete(Derivation, (memory.org, thread)))
    await tell(memory, "Nothing new here.", thread=thread)
    assert await fact(memory) is None
    await tell(memory, "I live in Lisbon.", thread=thread)
    assert (await fact(memory)).sources == (f"{thread}#3",)


async def test_a_correction_finds_what_it_corrects_in_the_turn_before(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Lisbon.")
    await tell(memory, "No, it's Porto, not Lisbon.", thread=thread)
    location = await fact(memory)
    assert (location.value, location.reason.startswith("correction by en.location.")) == ("Porto", True)


async def test_agreeing_does_not_overwrite_a_name(memory: Any, run: Run) -> None:
    thread = await tell(memory, "My name is Ada.")
    await tell(memory, "Actually, yes.", "No, thanks.", "Actually, that's Great.", thread=thread)
    assert [(item.key, item.value) for item in await do(memory.facts.list("user:ada"))] == [("name", "Ada")]


async def test_two_speakers_do_not_merge_into_one_profile(memory: Any, run: Run) -> None:
    thread = (await do(memory.threads.create("user:ada", metadata={"speaker": "Ada Lovelace"}))).id
    messages = [
        {"role": "user", "name": "Ada Lovelace", "content": "I live in Porto."},
        {"role": "user", "name": "Bob", "content": "I live in Oslo. I am allergic to nuts."},
        {"role": "user", "name": "ada", "content": "I'm a vegetarian."},
    ]
    await tell(memory, *messages, thread=thread)
    facts = {item.key: item.value for item in await do(memory.facts.list("user:ada"))}
    assert facts == {"location": "Porto", "diet": "vegetarian"}


async def test_nothing_planted_becomes_a_fact_a_wish_or_a_safety_line(memory: Any, run: Run) -> None:
    for row in PLANTED:
        message = row["message"]
        if message.get("role") in ("tool", "function") or "call_id" in message:
            message = {"role": "user", "trust": "tool", "content": str(message)}
        await do(memory.threads.append(f"planted-{row['id']}", message, create="user:ada"))
    await Outbox(memory._core.shared, memory.org).drain()
    assert await memory._core.scan(Fact) == []
    assert await memory._core.scan(Learning) == []
    assert await do(memory.profile.block("ada")) == []


async def test_a_learning_said_twice_is_kept_once_and_surer(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I prefer short answers.")
    (first,) = await do(memory.learnings.list(user="ada", min_confidence=0))
    await tell(memory, "I prefer short answers.", thread=thread)
    (second,) = await do(memory.learnings.list(user="ada", min_confidence=0))
    assert second.id == first.id and second.confidence > first.confidence
    assert (second.sources, second.trust, second.actor) == ((f"{thread}#1", f"{thread}#2"), "user", "processor")


async def test_passing_messages_leave_nothing(memory: Any, run: Run) -> None:
    await tell(memory, Message(role="user", content="I live in Lisbon.", metadata={"memorist.passing": True}))
    assert await fact(memory) is None


async def test_what_a_user_quotes_from_the_web_is_not_their_word(memory: Any, run: Run) -> None:
    await tell(memory, Message(role="user", content="I live in Lisbon.", trust="web"))
    assert await memory._core.scan(Fact) == []


async def test_facts_of_an_agents_thread_belong_to_the_user_it_is_with(memory: Any, run: Run) -> None:
    thread = await do(memory.threads.create("agent:helper", metadata={"user": "ada"}))
    await tell(memory, "I live in Lisbon.", thread=thread.id)
    assert (await fact(memory)).value == "Lisbon"


async def test_a_forgotten_source_yields_nothing_again(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Lisbon.", "Fine weather.")
    await do(memory.forget(message=f"{thread}#1"))
    assert await fact(memory) is None
    await tell(memory, "Yes.", thread=thread)
    assert await fact(memory) is None


async def test_a_model_is_asked_for_users_alone(open_memory: OpenMemory, runtime: Runtime, run: Run) -> None:
    model = Scripted(runtime.blocking, items(item("location", "Lisbon", "I live in Lisbon", m="m2")))
    memory = open_memory(model=model)
    injected = [Message(role=row["role"], content=row["text"], trust=row["trust"]) for row in INJECTIONS[:20]]
    thread = await tell(memory, *injected, {"role": "assistant", "content": "I live in Paris."}, "I live in Lisbon.")
    assert len(model.asked) == 1 and "Lisbon" in model.asked[0]
    location = await fact(memory)
    assert (location.value, location.sources) == ("Lisbon", (f"{thread}#22",))


async def test_a_model_may_repair_its_answer_once(open_memory: OpenMemory, runtime: Runtime, run: Run) -> None:
    model = Scripted(runtime.blocking, '{"operations": [', items(item("location", "Lisbon", "I live in Lisbon")))
    memory = open_memory(model=model)
    await tell(memory, "I live in Lisbon.")
    assert (await fact(memory)).value == "Lisbon"
    assert len(model.asked) == 2 and await do(memory.jobs.dead()) == []


async def test_what_a_model_invents_is_refused_and_the_receipt_says_why(
    open_memory: OpenMemory, runtime: Runtime, run: Run
) -> None:
    model = Scripted(runtime.blocking, items(item("location", "Atlantis", "I live in Atlantis")))
    memory = open_memory(model=model)
    receipts = await do(memory.threads.append("talk", "I live in Lisbon.", create="user:ada"))
    (receipt,) = await do(memory.wait(receipts))
    assert (receipt.derived, receipt.read_by) == ("done", "model")
    assert receipt.refused == ("quotes words that are not in the message",)
    assert len(model.asked) == 2 and "quotes words that are not in the message" in model.asked[1], "it may repair once"
    assert await do(memory.facts.list("user:ada")) == [] and await do(memory.jobs.dead()) == []


async def test_an_item_that_was_repaired_is_taken(open_memory: OpenMemory, runtime: Runtime, run: Run) -> None:
    good = item("employer", "Acme", "I work at Acme")
    wrong = item("location", "Lisbon", "She lives in Lisbon")
    right = item("location", "Lisbon", "I live in Lisbon")
    model = Scripted(runtime.blocking, items(good, wrong), items(good, right))
    memory = open_memory(model=model)
    receipts = await do(memory.threads.append("talk", "I live in Lisbon and I work at Acme.", create="user:ada"))
    (receipt,) = await do(memory.wait(receipts))
    facts = {fact.key: fact.value for fact in await do(memory.facts.list("user:ada"))}
    assert facts == {"employer": "Acme", "location": "Lisbon"} and receipt.refused == ()
    assert len(model.asked) == 2


async def test_a_plain_function_is_a_model(open_memory: OpenMemory, run: Run) -> None:
    def answer(prompt: str) -> str:
        return items(item("location", "Lisbon", "I live in Lisbon")) if "Lisbon" in prompt else items()

    memory = open_memory(model=answer)
    await tell(memory, "I live in Lisbon.")
    assert (await fact(memory)).value == "Lisbon"


async def test_rules_can_be_asked_for_beside_a_model(open_memory: OpenMemory, runtime: Runtime, run: Run) -> None:
    model = Scripted(runtime.blocking, "never asked")
    memory = open_memory(model=model, extract="rules")
    await tell(memory, "I live in Lisbon.")
    assert (await fact(memory)).value == "Lisbon" and model.asked == []


@pytest.mark.parametrize("batch", range(4))
async def test_no_injection_becomes_a_fact_or_a_learning(memory: Any, run: Run, batch: int) -> None:
    rows = INJECTIONS[50 * batch : 50 * batch + 50]
    await tell(memory, *(Message(role=row["role"], content=row["text"], trust=row["trust"]) for row in rows))
    assert await memory._core.scan(Fact) == []
    assert await memory._core.scan(Learning) == []
