"""What a user takes back ends: every pair of statements in `retractions.jsonl`, on every store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memorist.errors import NotFound, StoreUnavailable
from memorist.languages import languages
from memorist.runtime import Runtime
from memorist.stores.base import Load
from memorist.testing import FakeClock
from memorist_testing.plugin import Run

from .conftest import OpenMemory, do
from .models import Scripted, down, items
from .test_deriving import fact, tell

DATA = Path(__file__).parents[1] / "data" / "retractions.jsonl"
PAIRS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


async def test_every_retraction_ends_its_fact(memory: Any, run: Run) -> None:
    stand: list[str] = []
    for number, pair in enumerate(pair for pair in PAIRS if pair["lang"] in languages()):
        ns = f"user:u{number}"
        thread = await tell(memory, pair["before"], ns=ns)
        before = await do(memory.facts.get(ns, pair["key"]))
        assert before is not None and before.value is not False, pair
        await tell(memory, pair["after"], ns=ns, thread=thread)
        after = await do(memory.facts.get(ns, pair["key"]))
        if after is not None and after.value is not False:
            stand.append(pair["after"])
    assert stand == []


async def test_an_ended_fact_keeps_its_history_and_names_the_message_that_ended_it(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Lisbon.")
    await tell(memory, "I don't live in Lisbon anymore.", thread=thread)
    assert await fact(memory) is None
    history = await do(memory.facts.history("user:ada", "location"))
    assert [(version.value, version.status) for version in history] == [("Lisbon", "active"), (None, "retracted")]
    assert history[-1].sources == (f"{thread}#1", f"{thread}#2")
    assert "retraction by en.location." in history[-1].reason


async def test_only_what_was_named_ends(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Porto. My girlfriend is called Hannah. I'm allergic to nuts and eggs.")
    statement = "I don't live in Lisbon anymore. Hannah and I split up. I'm not allergic to eggs anymore."
    await tell(memory, statement, thread=thread)
    assert (await fact(memory)).value == "Porto"
    assert await fact(memory, "relation.girlfriend") is None
    assert await fact(memory, "allergy.eggs") is None
    assert (await fact(memory, "allergy.nuts")).value == "nuts"


async def test_leaving_an_employer_or_a_person_ends_only_what_is_named(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I work at Acme. My sister is called Carla. I live in Porto.")
    await tell(memory, "I left Globex.", "Forget about Porto.", thread=thread)
    assert (await fact(memory, "employer")).value == "Acme"
    assert (await fact(memory)).value == "Porto"
    await tell(memory, "I left Acme last week.", "Forget about Carla.", thread=thread)
    assert await fact(memory, "employer") is None
    assert await fact(memory, "relation.sister.carla") is None
    assert (await fact(memory)).value == "Porto"


async def test_said_and_taken_back_in_one_go_leaves_nothing_and_said_again_stands(memory: Any, run: Run) -> None:
    await tell(memory, "Hello.", "I no longer work at Bosch.", "I work at Bosch.", "I quit my job at Bosch.")
    assert await fact(memory, "employer") is None
    await tell(memory, "I live in Oslo.")
    await tell(memory, "I moved away from Oslo.", "No, I live in Oslo.")
    assert (await fact(memory)).value == "Oslo"


async def test_a_receipt_says_when_the_language_is_not_known(memory: Any, run: Run) -> None:
    thread = (await do(memory.threads.create("user:ada"))).id
    receipts = await do(memory.threads.append(thread, "Mieszkam od dawna w Krakowie z rodziną.", "I live in Oslo."))
    settled = await do(memory.wait(receipts))
    assert [receipt.derived for receipt in settled] == ["unread", "done"]
    assert (await fact(memory)).value == "Oslo"


async def test_patterns_stand_in_for_a_model_that_answers_badly(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(model=lambda prompt: "no JSON at all")
    thread = (await do(memory.threads.create("user:ada"))).id
    receipts = await do(memory.threads.append(thread, "I live in Oslo."))
    (settled,) = await do(memory.wait(receipts, timeout=5))
    location = await fact(memory)
    assert (location.value, settled.derived) == ("Oslo", "failed")
    assert "by en.location." in location.reason
    assert any("dead letters" in problem for problem in (await do(memory.doctor())).problems)


async def test_a_request_to_forget_ends_what_it_names_and_the_receipt_says_so(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Oslo.", "I'm allergic to nuts.", "From now on, please answer in French.")
    (receipt,) = await do(memory.threads.append(thread, "Please forget that I live in Oslo."))
    assert receipt.ended == ("user:ada/location", "user:ada/forgotten.i_live_in_oslo")
    assert (receipt.derived, receipt.indexed) == ("done", True)
    assert await fact(memory) is None
    assert (await fact(memory, "allergy.nuts")).value == "nuts"
    hits = await do(memory.recall("Where do I live? Oslo", namespaces="user:ada"))
    assert all(hit.superseded_by for hit in hits if "Oslo" in hit.text)
    assert "Oslo" not in str(await do(memory.profile.block("ada")))


async def test_a_request_to_forget_can_be_undone(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Oslo.")
    (receipt,) = await do(memory.threads.append(thread, "Please forget that I live in Oslo."))
    (restored,) = await do(memory.facts.unforget("user:ada", receipt.ended[-1].partition("/")[2]))
    assert (restored.value, restored.sources) == ("Oslo", (f"{thread}#1",))
    hits = await do(memory.recall("Where do I live? Oslo", namespaces="user:ada"))
    assert not next(hit for hit in hits if hit.text == "I live in Oslo.").superseded_by


async def test_a_request_to_forget_is_undone_as_a_whole_or_not_at_all(
    memory: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = await tell(memory, "I live in Oslo.")
    (receipt,) = await do(memory.threads.append(thread, "Please forget that I live in Oslo."))
    key, store = receipt.ended[-1].partition("/")[2], memory._core.store
    apply, commits = store.apply, list[Any]()

    async def breaking_off(changes: Any, *, now: int) -> Any:
        commits.append(changes)
        if any(isinstance(change, Load) and change.record.key == key for change in changes):
            raise StoreUnavailable("the connection is gone")
        return await apply(changes, now=now)

    with monkeypatch.context() as patched:
        patched.setattr(store, "apply", breaking_off)
        with pytest.raises(StoreUnavailable):
            await do(memory.facts.unforget("user:ada", key))
    assert commits and await fact(memory) is None
    (restored,) = await do(memory.facts.unforget("user:ada", key))
    assert restored == await fact(memory)
    with pytest.raises(NotFound):
        await do(memory.facts.unforget("user:ada", key))


async def test_forgetting_what_was_just_said_ends_a_wish_and_undoing_brings_it_back(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Oslo.", "From now on, please answer in French.")
    (receipt,) = await do(memory.threads.append(thread, "Forget that."))
    assert await do(memory.learnings.list(user="ada", min_confidence=0)) == []
    assert (await fact(memory)).value == "Oslo"
    await do(memory.facts.unforget("user:ada", receipt.ended[-1].partition("/")[2]))
    (wish,) = await do(memory.learnings.list(user="ada", min_confidence=0))
    assert wish.content == "From now on, please answer in French"


async def test_what_was_forgotten_by_words_may_be_said_again(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Oslo.")
    await do(memory.threads.append(thread, "Please forget that I live in Oslo."))
    await tell(memory, "I live in Oslo.", thread=thread)
    assert (await fact(memory)).value == "Oslo"


async def test_a_request_to_forget_something_never_stored_marks_the_messages_about_it(memory: Any, run: Run) -> None:
    thread = await tell(memory, "Last weekend's fishing trip was wonderful, I enjoy fishing trips so much!", "Hm.")
    (receipt,) = await do(memory.threads.append(thread, "Please forget that I enjoy fishing trips."))
    assert receipt.ended == ("user:ada/forgotten.i_enjoy_fishing_trips",)
    assert await do(memory.facts.list("user:ada")) == []
    hits = await do(memory.recall("fishing trips", namespaces="user:ada"))
    assert hits and all(hit.superseded_by for hit in hits if "fishing" in hit.text)


async def test_a_request_to_forget_marks_no_message_behind_a_memory_that_stays(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I'm allergic to peanuts.", "I'm allergic to shrimp.")
    (receipt,) = await do(memory.threads.append(thread, "Forget that I'm allergic to shrimp."))
    assert receipt.ended[:-1] == ("user:ada/allergy.shrimp",)
    hits = await do(memory.recall("allergic to peanuts or shrimp", namespaces="user:ada", kinds="message", min_score=0))
    marked = {hit.text for hit in hits if hit.superseded_by}
    assert marked == {"I'm allergic to shrimp.", "Forget that I'm allergic to shrimp."}


async def test_a_request_to_forget_marks_no_message_that_shares_only_a_common_word(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I love my cat.", "It looks like rain, I need an umbrella.")
    await do(memory.threads.append(thread, "Forget that I love dogs.", "Forget that I like jazz."))
    hits = await do(memory.recall("love my cat, rain, umbrella", namespaces="user:ada", kinds="message", min_score=0))
    assert [hit.text for hit in hits if hit.superseded_by and "Forget" not in hit.text] == []


async def test_a_request_to_forget_a_wish_need_not_repeat_its_words(memory: Any, run: Run) -> None:
    thread = await tell(memory, "Please always answer in French.")
    (receipt,) = await do(memory.threads.append(thread, "Forget that I want answers in French."))
    assert len(receipt.ended) == 2
    assert await do(memory.learnings.list(user="ada")) == []
    await do(memory.facts.unforget("user:ada", receipt.ended[-1].partition("/")[2]))
    assert len(await do(memory.learnings.list(user="ada"))) == 1


async def test_a_request_to_forget_an_event_takes_it_out_of_recall_until_it_is_undone(memory: Any, run: Run) -> None:
    thread = await tell(memory, "Hello.")
    trip = await do(memory.events.add("Trip to Rome with Clara", ns="user:ada"))
    (receipt,) = await do(memory.threads.append(thread, "Forget my trip to Rome."))
    assert receipt.ended == (f"user:ada/{trip.id}", "user:ada/forgotten.my_trip_to_rome")
    assert await do(memory.recall("trip to Rome", namespaces="user:ada", kinds="event")) == []
    await do(memory.facts.unforget("user:ada", "forgotten.my_trip_to_rome"))
    assert (await do(memory.events.get(trip.id, ns="user:ada"))).status == "done"
    assert [hit.id for hit in await do(memory.recall("trip to Rome", namespaces="user:ada", kinds="event"))] == [
        trip.id
    ]


async def test_a_cancelled_event_that_is_mentioned_again_takes_place(memory: Any, clock: FakeClock) -> None:
    fields = {"starts_at": "2030-05-01T12:00Z", "ns": "user:ada"}
    lunch = await do(memory.events.add("Lunch with Clara", source="talk#1", **fields))
    await do(memory.events.cancel(lunch.id, ns="user:ada"))
    assert (await do(memory.events.add("Lunch with Clara", source="talk#1", **fields))).status == "cancelled"
    clock.advance(60)
    assert (await do(memory.events.add("Lunch with Clara", source="talk#2", **fields))).status == lunch.status


async def test_the_receipt_names_what_a_statement_has_ended(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Oslo.")
    receipts = await do(memory.threads.append(thread, "I don't live in Oslo anymore."))
    (receipt,) = await do(memory.wait(receipts))
    assert receipt.ended == ("user:ada/location",)
    _, last = await do(memory.memories.history("fact:location", ns="user:ada"))
    assert (last.status, last.text) == ("ended", "location")
    assert (await do(memory.memories.undo("fact:location", ns="user:ada"))).value == "Oslo"


async def test_a_wish_that_is_taken_back_and_said_again_in_one_batch_is_read_once(
    memory: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.engine.threads.appending.may_ask_to_forget", lambda message: False)
    thread = await tell(memory, "Never use emojis.")
    await do(memory.threads.append(thread, "Forget that I never want emojis used.", "Never use emojis."))
    await do(memory.jobs.drain())
    assert [queue.waiting for queue in await do(memory.jobs.backlog())] == [0, 0]
    [learning] = await do(memory.learnings.list(user="ada"))
    assert (learning.status, learning.trust, learning.sources[-1]) == ("active", "user", f"{thread}#3")


async def test_two_requests_for_the_same_wish_in_one_batch_end_it_once(
    memory: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.engine.threads.appending.may_ask_to_forget", lambda message: False)
    thread = await tell(memory, "Never use emojis.")
    request = "Forget that I never want emojis used."
    await do(memory.threads.append(thread, request, request))
    await do(memory.jobs.drain())
    assert [queue.waiting for queue in await do(memory.jobs.backlog())] == [0, 0]
    assert await do(memory.learnings.list(user="ada")) == []


async def test_a_request_that_the_rules_carried_out_for_an_absent_model_can_still_be_undone(
    open_memory: OpenMemory, clock: FakeClock, runtime: Runtime
) -> None:
    model = Scripted(runtime.blocking, items(), down(1), items())
    memory = open_memory(model=model)
    await do(memory.facts.set("user:ada", "location", "Lisbon"))
    thread = await tell(memory, "I spent the weekend in the mountains with a friend.")
    receipts = await do(memory.threads.append(thread, "Forget that I live in Lisbon."))
    await do(memory.jobs.drain())
    [waiting] = await do(memory.wait(receipts, timeout=0))
    ended = ("user:ada/location", "user:ada/forgotten.i_live_in_lisbon")
    assert (waiting.derived, waiting.ended) == ("pending", ended)
    clock.advance(7_200)
    await do(memory.jobs.drain())
    [receipt] = await do(memory.wait(receipts))
    assert len(model.asked) == 3 and (receipt.read_by, receipt.ended) == ("model", ended)
    [fact] = await do(memory.facts.unforget("user:ada", "forgotten.i_live_in_lisbon"))
    assert fact.value == "Lisbon"


async def test_a_request_that_was_undone_before_the_model_came_back_ends_nothing_again(
    open_memory: OpenMemory, clock: FakeClock, runtime: Runtime
) -> None:
    memory = open_memory(model=Scripted(runtime.blocking, items(), down(1), items()))
    added = await do(memory.learnings.add("Never use emojis", user="ada", type="preference"))
    thread = await tell(memory, "I spent the weekend in the mountains with a friend.")
    receipts = await do(memory.threads.append(thread, "Forget that I never want emojis used."))
    await do(memory.jobs.drain())
    [waiting] = await do(memory.wait(receipts, timeout=0))
    assert waiting.ended[0] == f"user:ada/{added.id}"
    await do(memory.facts.unforget("user:ada", waiting.ended[-1].removeprefix("user:ada/")))
    clock.advance(7_200)
    await do(memory.jobs.drain())
    [learning] = await do(memory.learnings.list(user="ada"))
    assert learning.status == "active"
