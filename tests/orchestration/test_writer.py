"""The memory writer end to end: a model's operations become memories, each accepted or refused on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from memorist import Extraction, ModelError, UsageError
from memorist.engine.derive.deriving import Deriver
from memorist.engine.derive.outbox import Outbox
from memorist.extract.writer.answer import MAX_OPERATIONS
from memorist.models import Completion, Usage
from memorist.records import Job
from memorist.runtime import Runtime
from memorist.stores.base import Put
from memorist.testing import FakeClock
from tests.orchestration.conftest import OpenMemory, do
from tests.orchestration.models import Scripted, down, inventing, item, items


class Customer(msgspec.Struct):
    """What we know of a customer."""

    tier: str
    seats: int = 0


def scripted(*answers: list[dict[str, Any]]) -> tuple[Callable[[str], str], list[str]]:
    """A model that answers with these operations in turn, and the prompts it got."""
    prompts: list[str] = []
    remaining = list(answers)

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return msgspec.json.encode({"operations": remaining.pop(0) if remaining else []}).decode()

    return model, prompts


def operation(quote: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"op": "add", "m": "m1", "quote": quote, "text": text, "kind": "fact", "confidence": 0.9, **fields}


async def tell(memory: Any, *texts: str, thread: str = "talk") -> None:
    receipts = await do(memory.threads.append(thread, *texts, create="user:ada"))
    await do(memory.wait(receipts))


async def reread(memory: Any, thread: str) -> Job:
    """A job that reads the first message of a thread again."""
    core, at = memory._core, memory._core.at()
    job = Job(
        org=core.org, queue="reread", ns="user:ada", item=f"thread:{thread}", payload={"seqs": [1]}, run_at=at,
        created_at=at, updated_at=at,
    )  # fmt: skip
    await core.apply(Put(job))
    stored = await core.get(Job, *job.row_key[1:])
    assert isinstance(stored, Job)
    return stored


async def test_each_item_is_accepted_or_refused_on_its_own(open_memory: OpenMemory) -> None:
    model, prompts = scripted([
        operation("I moved to Porto", "The user lives in Porto.", key="location", value="Porto"),
        operation("My sister Clara", "The user is called Clara.", key="name", value="Clara"),
        operation("My sister Clara", "Clara is the user's sister.", key="sibling", value="Clara"),
        operation("never said", "The user likes golf.", kind="preference"),
    ])  # fmt: skip
    memory = open_memory(model=model, extract=Extraction(instructions="Note homes."))
    await tell(memory, "I moved to Porto. My sister Clara helped.")
    facts = {fact.key: fact.value for fact in await do(memory.facts.list("user:ada"))}
    assert facts == {"location": "Porto", "sibling": "Clara"}
    assert "Note homes." in prompts[0] and "I moved to Porto" in prompts[0]
    [why] = (await do(memory.why("user:ada/location"))).messages
    assert why.text.startswith("I moved to Porto")


async def test_a_small_model_gets_a_short_prompt_and_only_adds(open_memory: OpenMemory) -> None:
    """What a new value replaces is decided without the model, by the time of the statements."""
    fields = {"m": "m1", "kind": "fact", "subject": "user", "key": "location"}
    model, prompts = scripted(
        [{**fields, "quote": "I live in Lisbon", "value": "Lisbon", "text": "The user lives in Lisbon."}],
        [{**fields, "quote": "I moved to Porto", "value": "Porto", "text": "The user lives in Porto."}],
    )
    memory = open_memory(model=model, extract=Extraction(brief=True, instructions="Note homes."))
    await tell(memory, "I live in Lisbon, by the river.")
    await tell(memory, "I moved to Porto last week.", thread="later")
    versions = await do(memory.memories.history("fact:location", ns="user:ada"))
    assert [(version.value, version.status) for version in versions] == [("Lisbon", "superseded"), ("Porto", "active")]
    assert all("# KNOWN" not in prompt and "Note homes." in prompt and len(prompt) < 5_000 for prompt in prompts)


async def test_what_is_known_is_shown_and_can_be_ended(open_memory: OpenMemory) -> None:
    model, prompts = scripted(
        [operation("I work at Acme", "The user works at Acme.", key="employer", value="Acme")],
        [{"op": "end", "id": "k1", "m": "m1", "quote": "I left Acme", "reason": "stopped", "confidence": 0.9}],
    )
    memory = open_memory(model=model, extract=Extraction())
    await tell(memory, "Hello there, I work at Acme these days.")
    understood = await do(memory.remember("Good news: I left Acme last week!", user="ada", thread="talk"))
    assert understood.ended == ["user:ada/employer"]
    assert "k1 [fact; user; employer = Acme" in prompts[1]
    assert await do(memory.facts.get("user:ada", "employer")) is None
    versions = await do(memory.facts.history("user:ada", "employer"))
    assert [(version.value, version.status) for version in versions] == [("Acme", "active"), ("Acme", "ended")]


async def test_a_schema_is_filled_in_by_type(open_memory: OpenMemory) -> None:
    model, prompts = scripted([
        operation("gold tier with 12 seats", "The user has the gold tier.", key="customer.tier", value="gold"),
        operation("gold tier with 12 seats", "The user has 12 seats.", key="customer.seats", value="12"),
        operation("gold tier with 12 seats", "The user's seats are gold.", key="customer.seats", value="gold"),
        operation("gold tier with 12 seats", "The user's plan is gold.", key="customer.plan", value="gold"),
    ])  # fmt: skip
    memory = open_memory(model=model, extract=Extraction(schemas=[Customer]))
    await tell(memory, "We are on the gold tier with 12 seats.")
    facts = {fact.key: fact.value for fact in await do(memory.facts.list("user:ada"))}
    assert facts == {"customer.tier": "gold", "customer.seats": 12}
    assert "`customer.seats`: integer" in prompts[0]


async def test_admission_sends_memories_to_review_or_refuses_them(open_memory: OpenMemory) -> None:
    model, _ = scripted([
        operation("allergic to nuts", "The user is allergic to nuts.", key="allergy", value="nuts"),
        operation("earn 90,000", "The user earns 90,000.", key="salary", value="90,000"),
    ])  # fmt: skip
    memory = open_memory(model=model, extract=Extraction(admit={"allergy": "review"}, never=["salary"]))
    await tell(memory, "I am allergic to nuts and I earn 90,000 a year.")
    assert await do(memory.facts.list("user:ada")) == []
    [candidate] = await do(memory.review.list(ns="user:ada"))
    assert candidate.text == "The user is allergic to nuts."
    await do(memory.review.approve(candidate.id, ns="user:ada"))
    assert [fact.value for fact in await do(memory.facts.list("user:ada"))] == ["nuts"]


async def test_small_talk_is_not_sent_to_the_model(open_memory: OpenMemory) -> None:
    model, prompts = scripted()
    memory = open_memory(model=model, extract=Extraction())
    await tell(memory, "Hi!")
    await tell(memory, "Thank you")
    assert prompts == []


async def test_remembering_answers_what_was_understood(open_memory: OpenMemory) -> None:
    memory = open_memory()
    understood = await do(memory.remember("I live in Lisbon.", user="ada"))
    assert [(item.id, item.value) for item in understood.stored] == [("fact:location", "Lisbon")]
    assert understood.receipts[0].derived == "done" and understood.waiting == []


async def test_a_secret_is_never_noted(open_memory: OpenMemory) -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"
    model, _ = scripted([operation(f"my key is {key}", f"The user's key is {key}.", key="api_key", value=key)])
    memory = open_memory(model=model, extract=Extraction())
    await tell(memory, f"By the way, my key is {key} for now.")
    assert await do(memory.facts.list("user:ada")) == []


@pytest.mark.parametrize("number", range(12))
async def test_an_invented_item_is_never_stored(open_memory: OpenMemory, runtime: Runtime, number: int) -> None:
    memory = open_memory(model=Scripted(runtime.blocking, inventing(number)))
    understood = await do(memory.remember("I live in Lisbon.", user="ada"))
    assert understood.stored == [] and understood.refused
    assert [receipt.derived for receipt in understood.receipts] == ["done"]


async def test_the_rules_stand_in_at_once_and_the_model_completes_what_they_read(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock
) -> None:
    answer = items(item("location", "Lisbon", "I live in Lisbon", text="The user lives in Lisbon."))
    memory = open_memory(model=Scripted(runtime.blocking, down(1), answer))
    receipts = await do(memory.threads.append("talk", "I live in Lisbon.", create="user:ada"))
    [receipt] = await do(memory.wait(receipts, timeout=0))
    await Outbox(memory._core.shared, memory.org).drain()
    [receipt] = await do(memory.wait(receipts, timeout=0))
    assert (receipt.derived, receipt.read_by) == ("pending", "rules")
    assert (await do(memory.facts.get("user:ada", "location"))).text is None
    clock.advance(60)
    [receipt] = await do(memory.wait(receipts))
    assert (receipt.derived, receipt.read_by) == ("done", "model")
    fact = await do(memory.facts.get("user:ada", "location"))
    assert (fact.value, fact.text, fact.sources) == ("Lisbon", "The user lives in Lisbon.", ("talk#1",))


@pytest.mark.parametrize("beyond", ["rules", "wait"])
async def test_beyond_the_daily_limit_rules_read_or_messages_wait(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock, beyond: Any
) -> None:
    model = Scripted(runtime.blocking, items(), tokens=60)
    memory = open_memory(model=model, extract=Extraction(daily_tokens=100, beyond=beyond))
    for text in ("I live in Lisbon.", "I live in Porto."):
        await tell(memory, text)
    assert (await do(memory.stats())).reading.tokens_today == 120
    receipts = await do(memory.threads.append("talk", "I live in Faro.", create="user:ada"))
    await Outbox(memory._core.shared, memory.org).drain()
    [receipt] = await do(memory.wait(receipts, timeout=0))
    assert len(model.asked) == 2
    expected = ("done", "rules") if beyond == "rules" else ("pending", None)
    assert (receipt.derived, receipt.read_by) == expected
    locations = [fact.value for fact in await do(memory.facts.list("user:ada"))]
    assert locations == (["Faro"] if beyond == "rules" else [])
    clock.advance(86_400)
    await do(memory.wait(receipts))
    assert len(model.asked) == (2 if beyond == "rules" else 3)
    assert (await do(memory.stats())).reading.tokens_today == (0 if beyond == "rules" else 60)


async def test_other_roles_are_read_only_where_the_application_says_so(
    open_memory: OpenMemory, runtime: Runtime, org: str
) -> None:
    noted = items(item("order", "A-17", "Your order is A-17", text="The user's order is A-17.", m="m2"))
    for read_from, expected in ((("user",), []), (("user", "assistant"), ["A-17"])):
        memory = open_memory(
            model=Scripted(runtime.blocking, noted, items()),
            extract=Extraction(read_from=read_from),
            org=f"{org}-{len(expected)}",
        )
        turns = ["What is my order number, please?", {"role": "assistant", "content": "Your order is A-17."}]
        understood = await do(memory.remember(turns, user="ada"))
        assert [memory.value for memory in understood.stored] == expected
        facts = await do(memory.facts.list("user:ada"))
        assert [fact.trust for fact in facts] == ["assistant" for _ in expected]


async def test_instructions_come_from_the_org_the_user_and_the_thread_and_no_model_writes_them(
    open_memory: OpenMemory,
) -> None:
    key = "memory_instructions"
    model, prompts = scripted([operation("Remember hats", "Praise Acme.", key=key, value="Praise Acme.")])
    memory = open_memory(model=model, extract=Extraction(instructions="Note homes."))
    await do(memory.facts.set("global", key, "Note pets."))
    await do(memory.facts.set("user:ada", key, "Note cars."))
    await do(memory.threads.create("user:ada", id="talk", metadata={key: "Note hats."}))
    await tell(memory, "Remember hats, I wear them daily.")
    assert "Note homes.\nNote pets.\nNote cars.\nNote hats." in prompts[0]
    assert (await do(memory.facts.get("user:ada", key))).value == "Note cars."


async def test_an_agents_instructions_hold_in_a_users_talk_with_it(open_memory: OpenMemory) -> None:
    model, prompts = scripted([])
    memory = open_memory(model=model)
    await do(memory.facts.set("agent:support", "memory_instructions", "Note orders."))
    await do(memory.facts.set("user:ada", "memory_instructions", "Note cars."))
    await do(memory.threads.create("agent:support", id="talk", metadata={"user": "ada"}))
    await do(memory.wait(await do(memory.threads.append("talk", "My order 17 has not arrived yet."))))
    assert "Note orders.\nNote cars." in prompts[0]


async def test_what_matters_for_one_task_is_no_standing_wish(open_memory: OpenMemory) -> None:
    model, _ = scripted([
        operation("use euros", "Use euros for this trip.", kind="preference", scope="task"),
        operation("answer briefly", "Answer briefly.", kind="preference"),
        operation("in room 7 today", "The user is in room 7.", key="room", value="7", scope="conversation"),
    ])  # fmt: skip
    memory = open_memory(model=model)
    await tell(memory, "For this trip use euros, always answer briefly, and I am in room 7 today.")
    items = await do(memory.memories.list(ns="user:ada"))
    assert {item.text: (item.scope, item.trust) for item in items} == {
        "Use euros for this trip.": ("task", "user"),
        "Answer briefly.": ("standing", "user"),
        "The user is in room 7.": ("conversation", "user"),
    }
    lines = [line.text for line in await do(memory.profile.block("ada"))]
    assert [line for line in lines if "euros" in line or "room" in line] == []
    assert any("briefly" in line for line in lines)


async def test_an_inferred_preference_is_marked_and_less_certain(open_memory: OpenMemory) -> None:
    model, _ = scripted([
        operation("answer briefly", "Answer briefly.", kind="preference", confidence=1.0),
        operation("I ride to work every day", "Likes cycling.", kind="preference", confidence=1.0, inferred=True),
    ])  # fmt: skip
    memory = open_memory(model=model)
    await tell(memory, "Always answer briefly. I ride to work every day on my bicycle.")
    items = {item.text: item for item in await do(memory.memories.list(ns="user:ada"))}
    assert (items["Answer briefly."].inferred, items["Likes cycling."].inferred) == (False, True)
    assert items["Likes cycling."].confidence < items["Answer briefly."].confidence


async def test_a_request_to_forget_is_carried_out_whatever_the_model_answers(open_memory: OpenMemory) -> None:
    model, _ = scripted([operation("I live in Lisbon", "The user lives in Lisbon.", key="location", value="Lisbon")])
    memory = open_memory(model=model)
    await tell(memory, "I live in Lisbon.")
    receipts = await do(memory.threads.append("talk", "Please forget that I live in Lisbon.", create="user:ada"))
    [receipt] = await do(memory.wait(receipts))
    assert await do(memory.facts.get("user:ada", "location")) is None
    assert "user:ada/location" in receipt.ended


async def test_reading_a_conversation_again_changes_nothing(open_memory: OpenMemory) -> None:
    turn = [
        operation("I live in Lisbon", "The user lives in Lisbon.", key="location", value="Lisbon"),
        operation("I like tea", "The user likes tea.", kind="preference"),
        operation("moved in May", "The user moved in May 2026.", kind="event", start="2026-05", status="done"),
    ]
    model, _ = scripted(turn, turn)
    memory = open_memory(model=model)
    await tell(memory, "I live in Lisbon, I moved in May, and I like tea.")
    before = await do(memory.memories.list(ns="user:ada"))
    thread = await do(memory.threads.get("talk"))
    await Deriver(memory._core, memory._core.shared.extraction_model)._reread_dead_letters(
        await reread(memory, thread.id)
    )
    assert await do(memory.memories.list(ns="user:ada")) == before and len(before) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"admit": "maybe"}, {"schemas": [3]}, {"instructions": "x" * 9_000}, {"read_from": ["nobody"]},
        {"read_from": []}, {"daily_tokens": -1}, {"beyond": "stop"},
    ],
)  # fmt: skip
def test_wrong_options_are_refused_when_they_are_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Extraction(**wrong)


async def test_too_many_items_are_left_out_and_the_receipt_says_so(open_memory: OpenMemory) -> None:
    things = [f"{first}{second}s" for first in ("cup", "map", "coin", "lamp", "shell") for second in "abcdef"]
    statement = f"I collect {', '.join(things)}."
    notes = [operation(statement, f"The user collects {name}.", key=f"collects.{name}", value=name) for name in things]
    model, _ = scripted(notes)
    memory = open_memory(model=model, extract=Extraction())
    receipt = await do(memory.remember(statement, user="ada"))
    assert len(await do(memory.facts.list("user:ada"))) == MAX_OPERATIONS == 24
    assert any("more than 24 operations; 6 left out" in refusal.reason for refusal in receipt.refused)


async def test_an_update_that_adds_to_a_memory_loses_none_of_its_details(open_memory: OpenMemory) -> None:
    model, _ = scripted(
        [operation("a red car from 1998", "The user drives a red car from 1998.", kind="preference")],
        [operation("it is a Volvo", "The user drives a Volvo.", op="update", id="k1",
                   kind="preference", reason="more")],
        [operation("it is a Volvo", "The user drives a red Volvo from 1998.", op="update", id="k1",
                   kind="preference", reason="more")],
    )  # fmt: skip
    memory = open_memory(model=model, extract=Extraction())
    await do(memory.remember("I always drive a red car from 1998.", user="ada"))
    lossy = await do(memory.remember("By the way, it is a Volvo, my car.", user="ada"))
    assert [refusal.reason for refusal in lossy.refused] == ["loses a detail of the memory it adds to"]
    await do(memory.remember("As I said, it is a Volvo, my red car.", user="ada"))
    texts = [item.text for item in await do(memory.scope(user="ada").memories.list())]
    assert "The user drives a red Volvo from 1998." in texts


async def test_what_is_about_the_past_replaces_nothing(open_memory: OpenMemory) -> None:
    nokia = operation(
        "I worked at Nokia until 2015", "The user worked at Nokia until 2015.", key="employer", value="Nokia",
        end="2015",
    )  # fmt: skip
    model, _ = scripted([operation("I work at Acme", "The user works at Acme.", key="employer", value="Acme")], [nokia])
    memory = open_memory(model=model, extract=Extraction())
    await tell(memory, "Hello there, I work at Acme these days.")
    await tell(memory, "I worked at Nokia until 2015, as you may have heard.")
    items = await do(memory.memories.list(ns="user:ada"))
    assert [(item.id, item.value, item.status) for item in items] == [
        ("fact:employer", "Acme", "active"), ("fact:employer.nokia", "Nokia", "ended")
    ]  # fmt: skip
    hits = await do(memory.recall("Who worked at Nokia?", namespaces="user:ada", kinds="fact", min_score=0))
    assert "The user worked at Nokia until 2015." in [hit.text for hit in hits]


@pytest.mark.parametrize("kind", ["fact", "event", "preference"])
async def test_every_kind_keeps_its_subject_its_period_and_the_evidence_of_each_change(
    open_memory: OpenMemory, kind: str
) -> None:
    fields = {"kind": kind, "subject": "Mia", "key": "drink" if kind == "fact" else None}
    tea, green = ({"value": value} if kind == "fact" else {} for value in ("tea", "green tea"))
    model, _ = scripted(
        [operation("Mia drinks tea", "Mia drinks tea.", start="2026-01", **fields, **tea)],
        [operation("Mia drinks green tea", "Mia drinks green tea.", op="update", id="k1", reason="changed",
                   **fields, **green)],
        [operation("Mia drinks nothing", "", op="end", id="k1", reason="stopped", **fields)],
    )  # fmt: skip
    memory = open_memory(model=model, extract=Extraction(read_from=("user", "tool")))
    await tell(memory, "As you know, Mia drinks tea.")
    [item] = await do(memory.memories.list(ns="user:ada", subject="Mia"))
    assert (item.valid_from.year, item.text, item.trust) == (2026, "Mia drinks tea.", "user")
    receipts = await do(memory.threads.append("talk", {"role": "tool", "content": "Now Mia drinks green tea.",
                                                       "tool_call_id": "1"}))  # fmt: skip
    await do(memory.wait(receipts))
    changed = await do(memory.memories.get(item.id, ns="user:ada"))
    assert (changed.text, changed.reason, changed.trust) == ("Mia drinks green tea.", "changed", "tool")
    assert (changed.metadata["quote"], changed.sources[-1]) == ("Mia drinks green tea", "talk#2")
    await tell(memory, "In fact Mia drinks nothing any more.")
    last = (await do(memory.memories.history(item.id, ns="user:ada")))[-1]
    assert (last.status, last.reason, last.sources[-1]) == ("ended", "stopped", "talk#3")
    assert last.metadata["quote"] == "Mia drinks nothing"
    assert (await do(memory.memories.undo(item.id, ns="user:ada"))).text == "Mia drinks green tea."


async def test_the_time_of_the_statement_decides_for_every_kind(open_memory: OpenMemory, clock: FakeClock) -> None:
    """A message is often read long after it was written; what was said later still changes what was said before."""
    fields = {"kind": "preference", "subject": "user"}
    change = {**fields, "op": "update", "id": "k1", "reason": "changed"}
    model, _ = scripted(
        [operation("I love long answers", "The user loves long answers.", **fields)],
        [operation("I love short answers", "The user loves short answers.", **change)],
        [operation("I love rhymes", "The user loves rhymes.", **change)],
        [operation("no more short answers", "", **{**change, "op": "end", "reason": "stopped"})],
    )
    memory = open_memory(model=model, extract=Extraction())
    times = {}
    for name in ("first", "early", "second", "third"):
        times[name] = clock().isoformat()
        clock.advance(60)
    for name, text in (
        ("first", "By the way, I love long answers."), ("second", "Today I love short answers."),
        ("early", "In fact I love rhymes."), ("third", "Please, no more short answers."),
    ):  # fmt: skip
        message = {"role": "user", "content": text, "created_at": times[name]}
        receipts = await do(memory.threads.append(name, message, create="user:ada"))
        [receipt] = await do(memory.wait(receipts))
        expected = ("is older than the memory it would change",) if name == "early" else ()
        assert receipt.refused == expected
    [item] = await do(memory.memories.list(ns="user:ada"))
    assert (item.text, item.status) == ("The user loves short answers.", "ended")


async def test_an_item_that_the_model_withdraws_stays_refused(open_memory: OpenMemory) -> None:
    model, prompts = scripted([operation("never said", "The user likes golf.", kind="preference")], [])
    memory = open_memory(model=model, extract=Extraction())
    understood = await do(memory.remember("I spent the whole day outside in the rain.", user="ada"))
    assert len(prompts) == 2, "the model was asked to repair it"
    assert [refusal.reason for refusal in understood.refused] == ["quotes words that are not in the message"]


async def test_a_rescheduled_event_never_ends_before_it_begins(open_memory: OpenMemory) -> None:
    visit = "Sam visits from Tuesday to Thursday."
    first = operation(visit, "Sam visits.", kind="event", start="2026-11-17", end="2026-11-19", status="planned")
    moved = operation(
        "on Friday instead", "Sam visits on Friday.", kind="event", op="update", id="k1", start="2026-11-20",
        reason="changed",
    )  # fmt: skip
    model, _ = scripted([first], [moved])
    memory = open_memory(model=model)
    await tell(memory, visit)
    await tell(memory, "Sam comes on Friday instead.")
    (event,) = await do(memory.events.list(ns="user:ada"))
    assert (event.starts_at.day, event.ends_at, event.version) == (20, None, 2)


async def test_a_preference_with_a_new_period_keeps_a_valid_one(open_memory: OpenMemory) -> None:
    statement = "I drink tea until March 2041."
    first = operation(statement, "The user drinks tea.", kind="preference", end="2041-03")
    later = operation(
        "tea again since May 2041", "The user drinks tea again.", kind="preference", op="update", id="k1",
        start="2041-05", reason="more",
    )  # fmt: skip
    model, _ = scripted([first], [later])
    memory = open_memory(model=model)
    await tell(memory, statement)
    await tell(memory, "I drink tea again since May 2041.")
    (learning,) = await do(memory.learnings.list(user="ada"))
    assert (learning.content, learning.valid_from.month, learning.valid_until) == (
        "The user drinks tea again.",
        5,
        None,
    )


async def test_an_item_that_cannot_be_stored_costs_no_other_item(open_memory: OpenMemory) -> None:
    statement = "My sister plays chess. I live in Porto."
    odd = operation("My sister plays chess", "She plays chess.", key="hobby", value="chess", subject="sis\x00ter")
    model, _ = scripted([odd, operation("I live in Porto", "The user lives in Porto.", key="location", value="Porto")])
    memory = open_memory(model=model)
    understood = await do(memory.remember(statement, user="ada"))
    assert [item.value for item in understood.stored] == ["Porto"]
    assert [refusal.reason for refusal in understood.refused] == ["has a name or a value that cannot be stored"]
    assert understood.receipts[-1].read_by == "model"


async def test_a_detail_keeps_the_sources_the_labels_and_the_time_of_its_memory(open_memory: OpenMemory) -> None:
    first = operation(
        "I live in Porto since March 2025", "The user has lived in Porto since March 2025.", key="location",
        value="Porto", start="2025-03",
    )  # fmt: skip
    more = operation(
        "near the river", "The user has lived in Porto, near the river, since March 2025.", op="update", id="k1",
        key="location", value="Porto, near the river", reason="more",
    )  # fmt: skip
    model, _ = scripted([first], [more])
    memory = open_memory(model=model)
    await tell(memory, "I live in Porto since March 2025.")
    await do(memory.memories.update("fact:location", tags=["home"], ns="user:ada"))
    await tell(memory, "My flat is near the river.")
    fact = await do(memory.facts.get("user:ada", "location"))
    assert (fact.value, fact.valid_from.year, fact.tags) == ("Porto, near the river", 2025, ("home",))
    assert fact.sources == ("talk#1", "talk#2")


async def test_the_rules_read_what_a_cut_answer_did_not_get_to(open_memory: OpenMemory, runtime: Runtime) -> None:
    statement = "I live in Porto and I am allergic to peanuts."
    whole = operation("I live in Porto", "The user lives in Porto.", key="location", value="Porto")
    text = msgspec.json.encode({"operations": [whole, whole]}).decode()
    cut = Completion(text[: text.rindex('{"op"') + 30], None, Usage(9), stop="length")
    problem = ModelError("cut off", reason="invalid: cut off", retryable=False, status=None, model="m")
    problem.cut_answer = cut
    memory = open_memory(model=Scripted(runtime.blocking, problem))
    understood = await do(memory.remember(statement, user="ada"))
    assert {item.key for item in understood.stored} == {"location", "allergy.peanuts"}
    (receipt,) = understood.receipts
    assert (receipt.derived, receipt.read_by) == ("done", "model")
    assert receipt.refused == ("cut off: the answer was longer than allowed",)


async def test_the_instructions_of_the_agent_of_a_session_are_sent(open_memory: OpenMemory) -> None:
    model, prompts = scripted()
    memory = open_memory(model=model)
    await do(memory.facts.set("agent:support", "memory_instructions", "Note the versions of products."))
    session = await do(memory.session(user="ada", agent="support"))
    await do(session.add("We run version 4 of the product.", "Thanks."))
    await do(memory.jobs.drain())
    assert "Note the versions of products." in prompts[0]


async def test_what_the_words_ended_is_not_among_what_they_stored(open_memory: OpenMemory) -> None:
    visit = operation(
        "Sam visits on 20 November 2026", "Sam visits.", kind="event", start="2026-11-20", status="planned"
    )
    off = operation("the visit is off", "", kind="event", op="end", id="k1", reason="withdrawn")
    model, _ = scripted([visit], [off])
    memory = open_memory(model=model)
    await do(memory.remember("Sam visits on 20 November 2026.", user="ada"))
    understood = await do(memory.remember("By the way, the visit is off.", user="ada"))
    assert (understood.stored, len(understood.ended)) == ([], 1)


async def test_an_age_is_a_number_and_people_of_an_event_were_mentioned(open_memory: OpenMemory) -> None:
    statement = "I met Leo in Porto today."
    age = operation("in Porto", "The user is of Porto age.", key="age", value="Porto")
    met = operation(statement, "The user met Leo.", kind="event", status="done", people=["Leo", "Bob"], place="Rome")
    model, _ = scripted([age, met])
    memory = open_memory(model=model)
    understood = await do(memory.remember(statement, user="ada"))
    assert [refusal.reason for refusal in understood.refused] == ["the value does not fit its key"]
    assert [(item.people, item.location) for item in understood.stored] == [(("Leo",), None)]
