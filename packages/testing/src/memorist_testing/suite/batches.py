"""Tests batches, whose changes are committed together. A batch reads its own writes, which nobody else can read before
the commit."""

from __future__ import annotations

from typing import Any

import pytest

from memorist import Extraction
from memorist.errors import Conflict, Forbidden
from memorist.testing.clock import FakeClock

NS = "user:ada"


class BatchTests:
    """Tests that every noun reads what the batch wrote, and that the commit has the same effect."""

    async def test_a_batch_reads_its_own_facts(self, memory: Any) -> None:
        await memory.facts.set_many(NS, {"a": 1, "b": 2, "c": 3})
        async with memory.batch() as batch:
            await batch.facts.set(NS, "a", 10)
            await batch.facts.set(NS, "d", 4)
            await batch.facts.delete(NS, "b")
            assert (await batch.facts.get(NS, "a")).value == 10
            assert await batch.facts.get(NS, "b") is None
            assert [fact and fact.value for fact in await batch.facts.get_many(NS, [*"abcd"])] == [10, None, 3, 4]
            assert [fact.key for fact in await batch.facts.list(NS)] == ["a", "c", "d"]
            assert [fact.key for fact in await batch.facts.list(NS, limit=2, reverse=True)] == ["d", "c"]
            assert [fact.key for fact in await batch.facts.list(NS, after="a", limit=1)] == ["c"]
            assert [fact.value for fact in await batch.facts.history(NS, "a")] == [1, 10]
            assert (await memory.facts.get(NS, "a")).value == 1
            assert await memory.facts.get(NS, "d") is None
        assert [fact.key for fact in await memory.facts.list(NS)] == ["a", "c", "d"]
        assert [fact.value for fact in await memory.facts.history(NS, "a")] == [1, 10]

    async def test_a_fact_set_and_deleted_in_one_batch_is_not_there(self, memory: Any) -> None:
        async with memory.batch() as batch:
            await batch.facts.set(NS, "city", "Lisbon")
            assert await batch.facts.delete(NS, "city") is True
            assert await batch.facts.delete(NS, "city") is False
        assert await memory.facts.get(NS, "city") is None
        assert [(fact.version, fact.status) for fact in await memory.facts.history(NS, "city")] == [
            (1, "active"), (2, "deleted"),
        ]  # fmt: skip

    async def test_a_fact_is_corrected_twice_in_one_batch(self, memory: Any) -> None:
        await memory.facts.set(NS, "city", "Lisbon")
        async with memory.batch() as batch:
            await batch.facts.correct(NS, "city", "Porto")
            await batch.facts.correct(NS, "city", "Faro", expect=2)
        assert [fact.value for fact in await memory.facts.history(NS, "city")] == ["Lisbon", "Porto", "Faro"]

    async def test_a_fact_deleted_and_set_again_in_one_batch_counts_on(self, memory: Any) -> None:
        await memory.facts.set(NS, "city", "Lisbon")
        async with memory.batch() as batch:
            await batch.facts.delete(NS, "city")
            await batch.facts.set(NS, "city", "Porto")
            assert (await batch.facts.get(NS, "city")).version == 3
        assert (await memory.facts.get(NS, "city")).version == 3

    async def test_a_range_of_facts_deleted_in_a_batch_is_gone_for_its_reads(self, memory: Any) -> None:
        await memory.facts.set_many(NS, {"pet.cat": 1, "pet.dog": 2, "town": 3})
        async with memory.batch() as batch:
            await batch.facts.set(NS, "pet.owl", 4)
            assert await batch.facts.delete_range(NS, "pet.", history=False) == 3
            assert [fact.key for fact in await batch.facts.list(NS)] == ["town"]
            await batch.facts.set(NS, "pet.fox", 5)
            assert [fact.key for fact in await batch.facts.list(NS)] == ["pet.fox", "town"]
            assert await batch.facts.history(NS, "pet.cat") == []
        assert [fact.key for fact in await memory.facts.list(NS)] == ["pet.fox", "town"]

    async def test_a_batch_reads_its_own_threads_and_messages(self, memory: Any) -> None:
        await memory.threads.append("old", "one", create=NS)
        async with memory.batch() as batch:
            await batch.threads.create(NS, "Plans", id="new")
            await batch.threads.append("new", "hello", "again")
            await batch.threads.append("old", "two")
            assert (await batch.threads.get("new")).title == "Plans"
            assert [thread.id for thread in await batch.threads.list(NS)] == ["new", "old"]
            assert [message.text for message in await batch.threads.messages("new")] == ["hello", "again"]
            assert [message.text for message in await batch.threads.recent("old", 1)] == ["two"]
            assert (await batch.threads.get("old")).length == 2
            assert await batch.threads.delete_messages("old", ids=["old#1", "old#7"]) == 1
            assert [message.text for message in await batch.threads.messages("old")] == ["two"]
            await batch.threads.update("new", title="More plans")
            await batch.threads.update("new", metadata={"open": True})
            assert await memory.threads.get("new") is None
        thread = await memory.threads.get("new")
        assert (thread.title, thread.metadata, thread.length) == ("More plans", {"open": True}, 2)
        assert [message.text for message in await memory.threads.messages("old")] == ["two"]

    async def test_a_thread_forked_in_a_batch_can_be_continued_there(self, memory: Any) -> None:
        await memory.threads.append("talk", "one", "two", create=NS)
        async with memory.batch() as batch:
            fork = await batch.threads.fork("talk", 1)
            await batch.threads.append(fork.id, "three")
            assert [message.text for message in await batch.threads.messages(fork.id)] == ["one", "three"]
        assert [message.text for message in await memory.threads.messages(fork.id)] == ["one", "three"]

    async def test_a_narrower_handle_of_a_batch_keeps_its_scope(self, memory: Any) -> None:
        async with memory.batch() as batch:
            ada = batch.scope(user="ada")
            await ada.facts.set("city", "Lisbon")
            await ada.events.add("Ada meets Bo", starts_at="2026-03-01T10:00:00Z")
            assert (await ada.facts.get("city")).value == "Lisbon"
            await batch.facts.set("global", "opens", 9)
        assert (await memory.facts.get(NS, "city")).value == "Lisbon"
        assert (await memory.facts.get("global", "opens")).value == 9
        assert [event.ns for event in await memory.events.list(ns=NS)] == [NS]
        with pytest.raises(Forbidden):
            async with memory.batch() as batch:
                await batch.scope(user="ada").facts.set("user:bob", "city", "Porto")
        assert await memory.facts.get("user:bob", "city") is None

    async def test_a_thread_deleted_in_a_batch_is_gone_for_its_reads(self, memory: Any) -> None:
        await memory.threads.append("talk", "one", "two", create=NS)
        async with memory.batch() as batch:
            await batch.threads.append("talk", "three")
            assert await batch.threads.delete("talk") is True
            assert await batch.threads.get("talk") is None
            assert await batch.threads.delete("talk") is False
        assert await memory.threads.get("talk") is None
        assert (await memory.threads.append("talk", "five", create=NS))[0].message.seq == 4

    async def test_a_batch_reads_its_own_state(self, memory: Any) -> None:
        await memory.state.set("n", 1)
        async with memory.batch() as batch:
            assert await batch.state.increment("n", by=2) == 3
            assert await batch.state.increment("m") == 1
            await batch.state.set("theme", "dark")
            assert await batch.state.get("theme") == "dark"
            assert await batch.state.get_many(["n", "m"]) == [3, 1]
            assert [entry.key for entry in await batch.state.list()] == ["m", "n", "theme"]
            assert await batch.state.delete("theme") is True
            assert await batch.state.delete("theme") is False
            assert await memory.state.get("n") == 1
        assert [(entry.key, entry.value) for entry in await memory.state.list()] == [("m", 1), ("n", 3)]

    async def test_a_batch_reads_its_own_learnings(self, memory: Any) -> None:
        async with memory.batch() as batch:
            learning = await batch.learnings.add("Prefers tea", user="ada")
            await batch.learnings.add("prefers TEA", user="ada")
            assert (await batch.learnings.get(learning.id, user="ada")).confidence > 0.5
            assert [item.content for item in await batch.learnings.list(user="ada")] == ["Prefers tea"]
            await batch.learnings.add("Prefers coffee", user="ada")
            assert await batch.learnings.delete(learning.id, user="ada") is True
            assert await batch.learnings.delete(learning.id, user="ada") is False
            assert await memory.learnings.list(user="ada") == []
        assert [item.content for item in await memory.learnings.list(user="ada")] == ["Prefers coffee"]

    async def test_a_batch_reads_its_own_working_memory(self, memory: Any) -> None:
        async with memory.batch() as batch:
            await batch.working.update(user="ada", scratchpad="first")
            await batch.working.record_action("open", "7", user="ada")
            assert (await batch.working.get("ada")).scratchpad == "first"
            assert await memory.working.get("ada") is None
        working = await memory.working.get("ada")
        assert (working.scratchpad, [action.action for action in working.recent_actions]) == ("first", ["open"])

    async def test_a_batch_reads_its_own_records(self, memory: Any) -> None:
        await memory.records.put_many(NS, {("a", 1): b"one", ("a", 2): b"two"})
        async with memory.batch() as batch:
            await batch.records.put(NS, ("a", 3), b"three")
            await batch.records.put(NS, ("a", 1), b"ONE")
            assert await batch.records.delete(NS, ("a", 2)) is True
            assert await batch.records.delete(NS, ("a", 2)) is False
            assert [record.data for record in await batch.records.scan(NS, ("a",))] == [b"ONE", b"three"]
            assert [record.key for record in await batch.records.scan(NS, ("a",), keys_only=True)] == [
                ("a", 1), ("a", 3),
            ]  # fmt: skip
            assert (await batch.records.get(NS, ("a", 3))).data == b"three"
            assert await batch.records.delete_range(NS, ("a",)) == 2
            assert await batch.records.scan(NS, ("a",)) == []
            await batch.records.put(NS, ("a", 4), b"four")
        assert [record.data for record in await memory.records.scan(NS, ("a",))] == [b"four"]

    async def test_a_batch_reads_its_own_documents(self, memory: Any) -> None:
        async with memory.batch() as batch:
            document = await batch.documents.add("global", "# Head\n\nA sentence.", id="page")
            assert (await batch.documents.get("global", "page")).text == document.text
            assert [item.id for item in await batch.documents.list("global")] == ["page"]
            assert await memory.documents.list("global") == []
        assert (await memory.documents.get("global", "page")).text == document.text

    async def test_a_batch_reads_its_own_checkpoints(self, memory: Any) -> None:
        async with memory.batch() as batch:
            await batch.tasks.save({"task_id": "import", "step": 1, "state": {"at": 1}})
            await batch.tasks.save({"task_id": "import", "step": 2, "state": {"at": 2}})
            assert (await batch.tasks.resume("import")).state == {"at": 2}
            assert await memory.tasks.resume("import") is None
        assert (await memory.tasks.resume("import")).step == 2

    async def test_a_checkpoint_saved_and_deleted_in_one_batch_is_not_there(self, memory: Any) -> None:
        async with memory.batch() as batch:
            await batch.tasks.save({"task_id": "import", "step": 1, "state": {"at": 1}})
            await batch.tasks.delete("import")
            assert await batch.tasks.resume("import") is None
        assert await memory.tasks.resume("import") is None
        assert await memory.tasks.list() == []

    async def test_a_batch_reads_its_own_events(self, memory: Any) -> None:
        async with memory.batch() as batch:
            event = await batch.events.add("Ada meets Bo", starts_at="2026-03-01T10:00:00Z", ns=NS)
            other = await batch.events.add("Ada rests", starts_at="2026-03-02T10:00:00Z", ns=NS)
            await batch.events.update(event.id, location="Porto", ns=NS)
            await batch.events.delete(other.id, ns=NS)
            assert (await batch.events.get(event.id, ns=NS)).location == "Porto"
            assert [row.id for row in await batch.events.list(ns=NS)] == [event.id]
            assert await memory.events.list(ns=NS) == []
        assert [row.location for row in await memory.events.list(ns=NS)] == ["Porto"]

    async def test_a_batch_loads_the_entities_it_has_invalidated(self, memory: Any) -> None:
        await memory.entities.get("customer", "7", lambda id: "old")
        async with memory.batch() as batch:
            assert await batch.entities.get("customer", "7", lambda id: "new") == "old"
            await batch.entities.invalidate("customer", "7")
            assert await batch.entities.get("customer", "7", lambda id: "new") == "new"
            assert await memory.entities.get("customer", "7", lambda id: "new") == "old"
        assert await memory.entities.get("customer", "7", lambda id: "newest") == "newest"

    async def test_a_batch_reads_its_own_memories(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        await ada.facts.set(NS, "city", "Lisbon")
        async with ada.batch() as batch:
            await batch.learnings.add("Prefers tea")
            await batch.memories.delete("fact:city")
            assert [item.kind for item in await batch.memories.list()] == ["learning"]
            assert [item.kind for item in await ada.memories.list()] == ["fact"]
        assert [item.kind for item in await ada.memories.list()] == ["learning"]

    async def test_a_batch_reads_its_own_profile(self, memory: Any) -> None:
        async with memory.batch() as batch:
            await batch.profile.set_preference("ada", "language", "Portuguese")
            await batch.facts.set(NS, "name", "Ada")
            assert (await batch.profile.get("ada")).preferences == {"language": "Portuguese"}
            assert "Ada" in str(await batch.profile.block("ada"))
            assert await memory.profile.block("ada") == []
        assert "Ada" in str(await memory.profile.block("ada"))

    async def test_a_batch_invalidates_entities_at_its_commit(self, memory: Any) -> None:
        loads: list[str] = []
        await memory.entities.get("customer", "7", loads.append)
        async with memory.batch() as batch:
            assert await batch.entities.invalidate("customer", "7") == 1
            assert await batch.entities.invalidate("customer") == 0
            await memory.entities.get("customer", "7", loads.append)
            assert loads == ["7"]
        await memory.entities.get("customer", "7", loads.append)
        assert loads == ["7", "7"]

    async def test_a_batch_approves_a_candidate_and_undoes_the_approval(self, open_memory: Any) -> None:
        memory = open_memory(extract=Extraction(admit="review"))
        await memory.wait(await memory.threads.append("talk", "I live in Oslo.", create=NS))
        ada = memory.scope(user="ada")
        (candidate,) = await ada.review.list()
        async with ada.batch() as batch:
            approved = await batch.review.approve(candidate.id)
            assert (await batch.facts.get("location")).value == "Oslo"
            assert await batch.review.list() == []
            assert await ada.facts.get("location") is None
        async with ada.batch() as batch:
            assert await batch.memories.undo(approved.id) is None
            assert [waiting.id for waiting in await batch.review.list()] == [candidate.id]
            assert await ada.review.list() == []
        assert await ada.facts.get("location") is None
        assert [waiting.id for waiting in await ada.review.list()] == [candidate.id]

    async def test_a_batch_undoes_a_request_to_forget(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        await memory.wait(await memory.threads.append("talk", "I live in Oslo.", create=NS))
        [receipt] = await memory.wait(await memory.threads.append("talk", "Please forget that I live in Oslo."))
        async with memory.batch() as batch:
            [fact] = await batch.facts.unforget(NS, receipt.ended[-1].removeprefix(f"{NS}/"))
            assert (fact.value, (await batch.facts.get(NS, "location")).value) == ("Oslo", "Oslo")
            assert await memory.facts.get(NS, "location") is None
        assert (await memory.facts.get(NS, "location")).value == "Oslo"

    async def test_a_batch_that_fails_leaves_nothing(self, memory: Any) -> None:
        with pytest.raises(ZeroDivisionError):
            async with memory.batch() as batch:
                await batch.facts.set(NS, "city", "Lisbon")
                await batch.threads.append("talk", "hello", create=NS)
                raise ZeroDivisionError
        assert await memory.facts.get(NS, "city") is None
        assert await memory.threads.get("talk") is None

    async def test_a_batch_conflicts_with_a_write_made_since_it_read(self, memory: Any) -> None:
        await memory.facts.set(NS, "city", "Lisbon")
        with pytest.raises(Conflict):
            async with memory.batch() as batch:
                await batch.facts.correct(NS, "city", "Porto", expect=1)
                await memory.facts.set(NS, "city", "Faro")
                await batch.state.set("seen", 1)
        assert (await memory.facts.get(NS, "city")).value == "Faro"
        assert await memory.state.get("seen") is None

    async def test_what_has_expired_is_gone_for_a_batch(self, memory: Any, clock: FakeClock) -> None:
        await memory.facts.set(NS, "mood", "curious", ttl=60)
        async with memory.batch() as batch:
            await batch.facts.set(NS, "town", "Faro")
            assert [fact.key for fact in await batch.facts.list(NS)] == ["mood", "town"]
            clock.advance(61)
            assert await batch.facts.get(NS, "mood") is None
            assert [fact.key for fact in await batch.facts.list(NS)] == ["town"]
