"""Tests events, facts about other people, changing learnings, and the combined view of all of them, on every store."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memorist.errors import Conflict, Forbidden, InvalidValue, NotFound, UsageError
from memorist.testing.clock import FakeClock

FLIGHT = "2091-03-01T09:00:00+00:00"


@dataclasses.dataclass
class Subscription:
    """Represents an application's schema."""

    tier: str
    seats: int = 1


class MemoryViewTests:
    """Tests memories of all kinds."""

    async def test_an_event_keeps_its_fields(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        stored = await ada.events.add(
            "Ada flies to Porto", starts_at=FLIGHT, ends_at="2091-03-04T18:00:00+00:00", people=["Mia", "Tom"],
            location="Porto", subject="trip", tags=["travel"], metadata={"seat": "4A"}, confidence=0.8,
        )  # fmt: skip
        event = await ada.events.get(stored.id)
        assert event == stored
        assert (event.status, event.people, event.location, event.tags) == (
            "planned",
            ("Mia", "Tom"),
            "Porto",
            ("travel",),
        )
        assert (event.metadata, event.subject, event.version) == ({"seat": "4A"}, "trip", 1)
        assert await ada.events.get_many(["none", stored.id]) == [None, stored]

    async def test_the_same_event_is_stored_once(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        first = await ada.events.add("Lunch with Mia", starts_at=FLIGHT)
        again = await ada.events.add("lunch  with Mia", starts_at=FLIGHT)
        assert (again.id, again.version) == (first.id, 1)
        other_day = await ada.events.add("Lunch with Mia", starts_at="2091-03-02T09:00:00+00:00")
        assert other_day.id != first.id

    async def test_a_deleted_memory_keeps_its_history_and_can_be_brought_back(
        self, memory: Any, clock: FakeClock
    ) -> None:
        ada = memory.scope(user="ada")
        event = await ada.events.add("Lunch with Mia", starts_at=FLIGHT, tags=["food"])
        learning = await ada.learnings.add("Prefers tea", tags=["drinks"], metadata={"shop": "north"})
        before = clock()
        for memory_id in (f"event:{event.id}", f"learning:{learning.id}"):
            text = (await ada.memories.get(memory_id)).text
            clock.advance(timedelta(hours=1))
            assert await ada.memories.delete(memory_id) is True
            assert await ada.memories.delete(memory_id) is False
            assert await ada.memories.get(memory_id) is None
            assert memory_id not in [item.id for item in await ada.memories.list()]
            history = await ada.memories.history(memory_id)
            assert [(item.text, item.status) for item in history] == [(text, "superseded"), (text, "deleted")]
            hits = await ada.recall(text, as_of=before)
            assert text in [hit.text.split(" (")[0] for hit in hits]
            clock.advance(timedelta(hours=1))
            assert text not in [hit.text.split(" (")[0] for hit in await ada.recall(text)]
            back = await ada.memories.undo(memory_id)
            assert (back.text, back.status, len(back.tags)) == (text, "active", 1)
            assert [item.status for item in await ada.memories.history(memory_id)][-1] == "active"
        assert await ada.learnings.get_many([learning.id]) == [await ada.learnings.get(learning.id)]
        assert (await ada.learnings.get(learning.id)).metadata["shop"] == "north"

    async def test_a_deleted_learning_is_gone_until_it_is_added_again(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        learning = await ada.learnings.add("Prefers tea", confidence=0.9)
        await ada.learnings.delete(learning.id)
        assert await ada.memories.get_many([f"learning:{learning.id}"]) == [None]
        assert await ada.learnings.get(learning.id) is None
        assert await ada.learnings.get_many([learning.id]) == [None]
        assert await ada.learnings.used([learning.id]) == 0
        assert (await memory.stats()).learnings == 0
        for change in (ada.learnings.reinforce, ada.learnings.weaken):
            with pytest.raises(NotFound):
                await change(learning.id)
        with pytest.raises(NotFound):
            await ada.learnings.update(learning.id, content="Prefers coffee")
        again = await ada.learnings.add("Prefers tea", confidence=0.4)
        assert (again.id, again.status, again.confidence) == (learning.id, "active", 0.4)

    async def test_forgetting_a_user_erases_the_history_of_deleted_memories(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        event = await ada.events.add("Lunch with Mia", starts_at=FLIGHT)
        learning = await ada.learnings.add("Prefers tea")
        await ada.events.delete(event.id)
        await ada.learnings.delete(learning.id)
        await memory.forget(user="ada")
        assert await memory.memories.history(f"event:{event.id}", ns="user:ada") == []
        assert await memory.memories.history(f"learning:{learning.id}", ns="user:ada") == []

    async def test_forgetting_a_message_erases_the_history_of_what_was_derived_and_deleted(self, memory: Any) -> None:
        await memory.threads.append("talk", "I am having lunch with Mia, and I prefer tea.", create="user:ada")
        ada = memory.scope(user="ada")
        event = await ada.events.add("Lunch with Mia", starts_at=FLIGHT, source="talk#1")
        learning = await ada.learnings.add("Prefers tea", source="talk#1")
        await ada.events.delete(event.id)
        await ada.learnings.delete(learning.id)
        await memory.forget(message="talk#1")
        assert await ada.memories.history(f"event:{event.id}") == []
        assert await ada.memories.history(f"learning:{learning.id}") == []

    async def test_undoing_a_change_to_a_learning_restores_all_its_fields(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        learning = await ada.learnings.add("Prefers tea", tags=["a"], metadata={"x": 1})
        await ada.learnings.update(learning.id, type="pattern", tags=["b"], metadata={"y": 2})
        undone = await ada.memories.undo(f"learning:{learning.id}")
        assert (undone.type, undone.tags, undone.metadata) == ("preference", ("a",), {"x": 1})

    async def test_a_changed_event_keeps_its_history(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        event = await ada.events.add("Lunch with Mia", starts_at=FLIGHT)
        moved = await ada.events.update(event.id, location="Lisbon", expect=1)
        cancelled = await ada.events.cancel(event.id, reason="Mia is ill")
        assert (moved.version, cancelled.version, cancelled.reason) == (2, 3, "Mia is ill")
        versions = await ada.events.history(event.id)
        assert [(version.location, version.status) for version in versions] == [
            (None, "planned"), ("Lisbon", "planned"), ("Lisbon", "cancelled"),
        ]  # fmt: skip
        with pytest.raises(Conflict):
            await ada.events.update(event.id, location="Rome", expect=1)

    async def test_events_are_listed_by_time(self, memory: Any, clock: FakeClock) -> None:
        ada = memory.scope(user="ada")
        days = ("2091-03-09", "2091-03-10", "2091-03-01")
        for day in days:
            await ada.events.add(f"On {day}", starts_at=f"{day}T00:00:00+00:00")
        listed = await ada.events.list()
        assert [event.text for event in listed] == ["On 2091-03-01", "On 2091-03-09", "On 2091-03-10"]
        assert [event.text for event in await ada.events.list(reverse=True, limit=1)] == ["On 2091-03-10"]
        assert await ada.events.list(after=listed[0].id, limit=1) == [listed[1]]
        between = await ada.events.list(since="2091-03-05T00:00:00Z", until="2091-03-10T00:00:00Z")
        assert [event.text for event in between] == ["On 2091-03-09"]
        assert await ada.events.list(status="done") == []

    async def test_a_deleted_event_is_gone_but_for_its_history(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        event = await ada.events.add("Lunch with Mia", starts_at=FLIGHT)
        await ada.events.update(event.id, location="Lisbon")
        assert await ada.events.delete(event.id) is True
        assert await ada.events.delete(event.id) is False
        assert await ada.events.get(event.id) is None
        assert [version.status for version in await ada.events.history(event.id)][-1] == "deleted"
        with pytest.raises(NotFound):
            await ada.events.cancel(event.id)

    async def test_an_event_is_recalled_until_it_is_cancelled(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        event = await ada.events.add("Ada flies to Porto with Mia", starts_at=FLIGHT)
        assert [hit.id for hit in await ada.recall("When does Ada fly to Porto?", kinds=["event"])] == [event.id]
        await ada.events.cancel(event.id)
        assert await ada.recall("When does Ada fly to Porto?", kinds=["event"]) == []

    async def test_wrong_events_are_refused(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        for wrong in (
            {"text": " "}, {"text": "x", "status": "maybe"}, {"text": "x", "confidence": 2},
            {"text": "x", "starts_at": FLIGHT, "ends_at": "2090-01-01T00:00:00Z"}, {"text": "x", "people": "Mia"},
            {"text": "x", "tags": "a"}, {"text": "x", "metadata": {"memorist.a": 1}},
        ):  # fmt: skip
            with pytest.raises(InvalidValue):
                await ada.events.add(**wrong)
        with pytest.raises(Forbidden):
            await ada.events.add("x", ns="user:eve")
        assert await ada.events.list() == []

    async def test_a_fact_about_another_subject_has_a_key_of_its_own(self, memory: Any) -> None:
        facts = memory.facts
        await facts.set("user:ada", "birthday", "1 May")
        await facts.set("user:ada", "birthday", "2 May", subject="Mia", text="Mia's birthday is on 2 May.")
        await facts.set("user:ada", "birthday", "3 May", subject="Eva", tags=["family"], metadata={"year": 1990})
        listed = await facts.list("user:ada", prefix="birthday")
        assert {fact.key: (fact.subject, fact.value) for fact in listed} == {
            "birthday": (None, "1 May"), "birthday@Mia": ("Mia", "2 May"), "birthday@Eva": ("Eva", "3 May"),
        }  # fmt: skip
        eva = await facts.get("user:ada", "birthday@Eva")
        assert (eva.tags, eva.metadata) == (("family",), {"year": 1990})

    async def test_an_updated_fact_keeps_its_other_fields(self, memory: Any) -> None:
        facts = memory.facts
        await facts.set(
            "user:ada", "city", "Lisbon", text="Ada lives in Lisbon.", tags=["home"], valid_from="2020-01-01"
        )
        fact = await facts.update("user:ada", "city", value="Porto", reason="she moved")
        assert (fact.value, fact.text, fact.tags, fact.version, fact.reason) == (
            "Porto",
            None,
            ("home",),
            2,
            "she moved",
        )
        assert fact.valid_from is not None
        with pytest.raises(NotFound):
            await facts.update("user:ada", "shoe", value=1)
        with pytest.raises(Conflict):
            await facts.update("user:ada", "city", value="Rome", expect=1)

    async def test_an_ended_fact_is_history_and_may_be_stated_again(
        self, memory: Any, open_memory: Callable[..., Any]
    ) -> None:
        facts = memory.facts
        await facts.set("user:ada", "employer", "Acme")
        ended = await facts.end("user:ada", "employer", since="2026-01-31T00:00:00Z", reason="she left")
        assert (ended.status, ended.value, ended.valid_until.year) == ("ended", "Acme", 2026)
        assert await facts.get("user:ada", "employer") is None
        assert [version.status for version in await facts.history("user:ada", "employer")] == ["active", "ended"]
        again = await open_memory(actor="processor").facts.set("user:ada", "employer", "Acme")
        assert (again.status, again.version) == ("active", 3)
        with pytest.raises(NotFound):
            await facts.end("user:ada", "nothing")

    async def test_a_learning_can_be_reworded(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        learning = await ada.learnings.add("prefers tea", tags=["drinks"])
        reworded = await ada.learnings.update(learning.id, content="prefers green tea", confidence=0.9)
        assert (reworded.id, reworded.content, reworded.tags) == (learning.id, "prefers green tea", ("drinks",))
        plain = await ada.learnings.add("prefers tea")
        assert plain.id != learning.id
        assert {item.content for item in await ada.learnings.list()} == {"prefers green tea", "prefers tea"}

    async def test_a_learning_with_a_masked_secret_can_be_changed_and_deleted(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        learning = await ada.learnings.add("Pays with the card 4111 1111 1111 1111")
        assert "memorist.masked" in learning.metadata
        again = await ada.learnings.add("Pays with the card 4111 1111 1111 1111")
        assert (again.id, again.confidence) == (learning.id, 0.6)
        assert (await ada.learnings.update(learning.id, content="Pays in cash")).content == "Pays in cash"
        assert (await ada.memories.undo(f"learning:{learning.id}")).text == learning.content
        assert await ada.learnings.delete(learning.id)

    async def test_the_namespace_of_a_call_says_whose_learning_is_meant(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        shared, own = await memory.learnings.add("Prefers tea"), await ada.learnings.add("Prefers tea")
        id = f"learning:{own.id}"
        assert shared.id == own.id
        with pytest.raises(Forbidden):
            await ada.memories.update(id, text="Prefers coffee", ns="global")
        with pytest.raises(Forbidden):
            await ada.memories.delete(id, ns="global")
        assert await ada.learnings.get(own.id) == own
        assert (await memory.memories.update(id, text="Prefers coffee", ns="user:ada")).text == "Prefers coffee"
        assert await memory.memories.delete(id)
        assert (await ada.learnings.get(own.id)).content == "Prefers coffee"

    async def test_learnings_and_events_about_two_people_are_two_records(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        for subject in ("Mia", "Clara", None):
            await ada.learnings.add("prefers tea", subject=subject)
            await ada.events.add("sees the dentist", starts_at=FLIGHT, subject=subject)
        again = await ada.learnings.add("Prefers  tea", subject="mia")
        assert (again.subject, again.version) == ("Mia", 2)
        assert {item.subject for item in await ada.learnings.list()} == {None, "Clara", "Mia"}
        assert {event.subject for event in await ada.events.list()} == {None, "Clara", "Mia"}
        about_mia = await ada.memories.list(subject="Mia")
        assert [(item.kind, item.text) for item in about_mia] == [
            ("event", "sees the dentist"), ("learning", "prefers tea")
        ]  # fmt: skip
        await ada.learnings.add("prefers coffee, not tea", type="correction", subject="Clara", confidence=0.9)
        confidences = {item.subject: item.confidence for item in await ada.learnings.list(type="preference")}
        assert confidences == {None: 0.5, "Clara": 0.25, "Mia": pytest.approx(0.6)}

    async def test_a_memory_and_its_id_can_be_traced_and_forgotten(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        receipts = await ada.threads.append("talk", {"role": "user", "content": "I moved."}, create="user:ada")
        source = receipts[0].message.id
        await ada.facts.set("city", "Porto", source=source)
        learning = await ada.learnings.add("prefers tea", source=source)
        event = await ada.events.add("moved to Porto", source=source)
        assert [item.source for item in (learning, event)] == [source, source]
        for item in await ada.memories.list():
            for name in (item, item.id):
                assert [message.text for message in (await ada.why(name)).messages] == ["I moved."]
            assert (await memory.why(item)).kind == item.kind
        with pytest.raises(NotFound):
            await ada.why("fact:country")
        await ada.facts.set("country", "Portugal")
        assert (await ada.forget(fact="fact:country")).counts["facts"] == 1
        assert (await ada.forget(fact=await ada.memories.get("fact:city"))).counts["facts"] == 1
        assert await ada.facts.list() == []

    async def test_a_learning_has_a_period_and_a_scope(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        learning = await ada.learnings.add(
            "prefers short answers", valid_from="2091-01-01", valid_until="2091-04-01", scope="task"
        )
        id = f"learning:{learning.id}"
        item = await ada.memories.get(id)
        assert (item.valid_from.month, item.valid_until.month, item.scope) == (1, 4, "task")
        changed = await ada.memories.update(id, valid_until="2091-06-01")
        assert (changed.valid_from.month, changed.valid_until.month, changed.text) == (1, 6, "prefers short answers")
        assert [version.valid_until.month for version in await ada.memories.history(id)] == [4, 6]
        assert (await ada.memories.undo(id)).valid_until.month == 4
        with pytest.raises(InvalidValue):
            await ada.learnings.add("is early", valid_from="2091-02-01", valid_until="2091-01-01")
        with pytest.raises(InvalidValue):
            await ada.learnings.update(learning.id, valid_until="2090-01-01")
        with pytest.raises(InvalidValue):
            await ada.learnings.add("prefers tea", scope="forever")
        event = await ada.events.add("Ada flies to Porto", starts_at=FLIGHT, scope="conversation")
        assert (await ada.memories.get(f"event:{event.id}")).scope == "conversation"

    async def test_what_no_longer_holds_is_neither_recalled_nor_sent(self, memory: Any, clock: FakeClock) -> None:
        ada = memory.scope(user="ada")
        begun = clock()
        soon, later = begun + timedelta(days=1), begun + timedelta(days=2)
        await ada.facts.set("user:ada", "bicycle", "a rented blue bicycle", valid_until=soon)
        await ada.learnings.add("rides the blue bicycle to work", confidence=0.9, valid_until=soon)
        assert len(await ada.recall("blue bicycle", min_score=0)) == 2
        assert len(await ada.profile.block()) == 2
        clock.advance(2 * 86_400)
        assert await ada.recall("blue bicycle", min_score=0) == []
        assert await ada.memories.search("blue bicycle", min_score=0) == []
        assert await ada.profile.block() == []
        assert await ada.learnings.list() == []
        assert [item.status for item in await ada.memories.list()] == ["ended", "ended"]
        hits = await ada.recall("blue bicycle", min_score=0, as_of=begun)
        assert {hit.kind for hit in hits} == {"fact", "learning"}
        assert len(await ada.profile.block(as_of=begun)) == 2
        await ada.facts.update("user:ada", "bicycle", valid_until=later + timedelta(days=9))
        await ada.learnings.add("rides the blue bicycle to work")
        assert len(await ada.recall("blue bicycle", min_score=0)) == 2

    async def test_a_sentence_about_the_past_is_recalled(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        text = "Ada lived in Bergen until 2019."
        await ada.facts.set("user:ada", "location", "Bergen", text=text, valid_until="2019-12-31")
        assert [hit.text for hit in await ada.recall("When did Ada live in Bergen?", min_score=0)] == [text]
        assert await ada.profile.block() == [], "but it is not where she lives"

    async def test_all_kinds_are_listed_in_one_shape(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        await ada.facts.set("user:ada", "city", "Lisbon", text="Ada lives in Lisbon.", tags=["home"])
        event = await ada.events.add("Ada flies to Porto", starts_at=FLIGHT, subject="trip")
        learning = await ada.learnings.add("prefers tea")
        items = await ada.memories.list()
        assert [(item.id, item.text) for item in items] == [
            ("fact:city", "Ada lives in Lisbon."),
            (f"event:{event.id}", "Ada flies to Porto"),
            (f"learning:{learning.id}", "prefers tea"),
        ]
        pages = [await ada.memories.list(limit=1)]
        while pages[-1]:
            pages.append(await ada.memories.list(limit=1, after=pages[-1][-1].id))
        assert [item for page in pages for item in page] == items
        assert await ada.memories.list(reverse=True) == items[::-1]
        assert await ada.memories.list(reverse=True, limit=1, after=items[2].id) == [items[1]]
        ids = [items[2].id, "fact:none", "city", items[2].id]
        assert await ada.memories.get_many(ids) == [items[2], None, items[0], items[2]]
        assert [item.id for item in await ada.memories.list(tag="home")] == ["fact:city"]
        assert [item.kind for item in await ada.memories.list(subject="trip")] == ["event"]
        assert await memory.scope(user="eve").memories.list() == []

    async def test_a_memory_of_any_kind_is_read_changed_and_deleted_by_its_id(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        await ada.facts.set("user:ada", "city", "Lisbon")
        event = await ada.events.add("Ada flies to Porto", starts_at=FLIGHT)
        learning = await ada.learnings.add("prefers tea")
        ids = ["fact:city", f"event:{event.id}", f"learning:{learning.id}"]
        assert (await ada.memories.get("city")).id == "fact:city"
        for id in ids:
            changed = await ada.memories.update(id, text="said otherwise", tags=["new"], confidence=0.25)
            assert (changed.id, changed.text, changed.tags) == (id, "said otherwise", ("new",))
            assert changed.confidence == 0.25
            assert (await ada.memories.get(id)).text == "said otherwise"
            assert await ada.memories.delete(id) is True
            assert await ada.memories.get(id) is None
            assert await ada.memories.delete(id) is False
        with pytest.raises(NotFound):
            await ada.memories.update("fact:city", text="x")

    async def test_the_history_of_a_memory_says_what_was_superseded(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        await ada.facts.set("user:ada", "city", "Lisbon")
        await ada.memories.update("fact:city", value="Porto")
        versions = await ada.memories.history("fact:city")
        assert [(item.value, item.status) for item in versions] == [("Lisbon", "superseded"), ("Porto", "active")]
        assert [item.superseded_by for item in versions] == [versions[1].version, None]

    async def test_search_finds_memories_with_their_scores(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        await ada.facts.set("user:ada", "allergy", "peanuts", text="Ada is allergic to peanuts.")
        await ada.learnings.add("prefers tea over coffee")
        items = await ada.memories.search("What is Ada allergic to?", top_k=1)
        assert [item.id for item in items] == ["fact:allergy"] and items[0].score is not None

    async def test_forgetting_a_user_removes_events_and_their_history(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        event = await ada.events.add("Ada flies to Porto", starts_at=FLIGHT)
        await ada.events.update(event.id, location="Porto")
        erased = await memory.forget(user="ada")
        assert erased.complete
        assert await memory.events.history(event.id, ns="user:ada") == []

    async def test_words_can_be_remembered_as_they_are(self, memory: Any) -> None:
        verbatim = await memory.remember("The user prefers concise answers", user="ada", infer=False)
        assert [item.text for item in verbatim.stored] == ["The user prefers concise answers"]
        assert await memory.scope(user="eve").memories.list() == []

    async def test_remembering_names_the_secrets_it_kept_out(self, memory: Any) -> None:
        understood = await memory.remember("I live in Porto. My password is hunter2xK9!", user="ada")
        assert [refusal.reason for refusal in understood.refused] == ["password is a secret and is kept out of memory"]
        assert not any("hunter2" in item.text for item in await memory.scope(user="ada").memories.list())

    async def test_remembering_returns_what_these_words_said_and_nothing_else(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        first = await memory.remember("I live in Porto. I'm allergic to peanuts.", user="ada")
        assert {item.key for item in first.stored} == {"location", "allergy.peanuts"}
        again = await memory.remember("I'm allergic to peanuts.", user="ada")
        assert [item.key for item in again.stored] == ["allergy.peanuts"]
        assert (await memory.remember("Good morning!", user="ada")).stored == []

    async def test_the_last_change_of_a_memory_can_be_undone(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        await ada.facts.set("user:ada", "city", "Lisbon", text="Ada lives in Lisbon.", tags=["home"])
        await ada.facts.set("user:ada", "city", "Porto")
        undone = await ada.memories.undo("fact:city")
        assert (undone.value, undone.text, undone.tags) == ("Lisbon", "Ada lives in Lisbon.", ("home",))
        assert (await ada.memories.undo("fact:city")).value == "Porto", "an undo can be undone"
        await ada.facts.end("user:ada", "city")
        assert (await ada.memories.undo("fact:city")).value == "Porto"
        await ada.facts.set("user:ada", "pet", "cat")
        assert await ada.memories.undo("fact:pet") is None
        assert await ada.facts.get("user:ada", "pet") is None
        with pytest.raises(NotFound):
            await ada.memories.undo("fact:nothing")

    async def test_events_and_learnings_can_be_undone_too(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        event = await ada.events.add("Ada meets Bo", starts_at="2026-03-01T10:00:00Z", location="Porto")
        await ada.events.update(event.id, location="Lisbon")
        await ada.events.cancel(event.id, reason="ill")
        assert (await ada.memories.undo(f"event:{event.id}")).type == event.status
        assert (await ada.events.get(event.id)).location == "Lisbon"
        learning = await ada.learnings.add("Prefers tea")
        assert await ada.memories.undo(f"learning:{learning.id}") is None
        assert await ada.learnings.list(min_confidence=0.0) == []

    async def test_a_reworded_learning_has_a_history_and_can_be_put_back(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        learning = await ada.learnings.add("Prefers tea")
        id = f"learning:{learning.id}"
        await ada.memories.update(id, text="Prefers green tea", reason="more exact")
        versions = await ada.memories.history(id)
        assert [(item.text, item.status, item.reason) for item in versions] == [
            ("Prefers tea", "superseded", None), ("Prefers green tea", "active", "more exact")
        ]  # fmt: skip
        assert versions[0].superseded_by == versions[1].version
        assert (await ada.memories.undo(id)).text == "Prefers tea"
        assert (await ada.memories.undo(id)).text == "Prefers green tea", "an undo can be undone"

    async def test_facts_come_back_as_an_instance_of_a_schema(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        assert await ada.memories.typed(Subscription) is None
        await ada.facts.set("user:ada", "subscription.seats", 12)
        assert await ada.memories.typed(Subscription) is None, "a required field is missing"
        await ada.facts.set("user:ada", "subscription.tier", "gold")
        assert await ada.memories.typed(Subscription) == Subscription("gold", 12)
        assert await memory.memories.typed(Subscription, user="ada") == Subscription("gold", 12)
        with pytest.raises(UsageError):
            await ada.memories.typed(Subscription, user="ada", ns="user:ada")

    async def test_a_plan_merges_duplicates_and_can_be_undone(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        await ada.threads.append("talk", "Short answers, please", "Short!", create="user:ada")
        for source in ("talk#1", "talk#2"):
            await ada.learnings.add("Prefers short answers, please", source=source)
            await ada.learnings.add("Prefers short answers please.", source=source)
        await ada.learnings.add("Prefers long answers please.")
        before = [item.text for item in await ada.memories.list()]
        sources = {item.id: item.sources for item in await ada.memories.list()}
        plan = await memory.tidy(user="ada")
        assert [(line.op, len(line.ids)) for line in plan.lines] == [("merge", 2)]
        assert [item.text for item in await ada.memories.list()] == before
        await plan.apply()
        assert plan.applied and len(await ada.memories.list()) == 2
        assert await plan.undo() == 2
        assert sorted(item.text for item in await ada.memories.list()) == sorted(before)
        assert {item.id: item.sources for item in await ada.memories.list()} == sources

    async def test_a_plan_touches_nothing_that_changed_since(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        first = await ada.learnings.add("Prefers short answers, please")
        await ada.learnings.add("Prefers short answers please.")
        plan = await memory.tidy(user="ada")
        await ada.learnings.update(first.id, content="Prefers long answers")
        with pytest.raises(Conflict):
            await plan.apply()
        assert len(await ada.memories.list()) == 2

    async def test_memories_with_other_numbers_or_names_are_no_duplicates(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        for text in ("Has 2 meetings with Acme", "Has 3 meetings with Acme", "Has 2 meetings with Globex"):
            await ada.learnings.add(text, type="pattern")
        assert (await memory.tidy(user="ada")).lines == []

    async def test_nothing_waits_for_approval_at_first(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        assert await ada.review.list(reverse=True) == [] and await ada.review.get("nothing") is None
        assert await ada.review.get_many(["nothing"]) == [None]
        assert await ada.review.reject("nothing") is False
        with pytest.raises(NotFound):
            await ada.review.approve("nothing")
