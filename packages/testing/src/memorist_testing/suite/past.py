"""Tests time travel on every store. `as_of` uses the history to answer what was known at a given time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from memorist.errors import NotFound, UsageError
from memorist.testing.clock import FakeClock

NS = "user:ada"


async def tell(memory: Any, clock: FakeClock) -> dict[str, datetime]:
    """Say that Ada lives in Oslo, then in Porto, and then that she has left. Between the two moves, mention her cat."""
    moments = {"before": clock()}
    clock.advance(3600)
    await memory.facts.set(NS, "city", "Oslo")
    await memory.facts.set(NS, "shoe", "size 41")
    await memory.threads.append("talk", "The ferry to Nesodden was late.", create=NS)
    moments["oslo"] = clock()
    clock.advance(3600)
    await memory.facts.set(NS, "city", "Porto")
    await memory.facts.set(NS, "pet", "a cat named Miso")
    await memory.threads.append("talk", "The ferry to Gaia was on time.")
    moments["porto"] = clock()
    clock.advance(3600)
    await memory.facts.delete(NS, "city")
    await memory.facts.delete(NS, "shoe")
    moments["gone"] = clock()
    clock.advance(3600)
    return moments


class PastTests:
    """Tests `as_of` on recall, contexts, facts and profiles."""

    async def test_a_list_of_facts_is_what_it_was(self, memory: Any, clock: FakeClock) -> None:
        at = await tell(memory, clock)
        expected = {
            "before": [],
            "oslo": [("city", "Oslo"), ("shoe", "size 41")],
            "porto": [("city", "Porto"), ("pet", "a cat named Miso"), ("shoe", "size 41")],
            "gone": [("pet", "a cat named Miso")],
        }
        for name, facts in expected.items():
            assert [(fact.key, fact.value) for fact in await memory.facts.list(NS, as_of=at[name])] == facts

    async def test_a_list_of_then_has_pages_prefixes_and_filters(self, memory: Any, clock: FakeClock) -> None:
        for number in range(5):
            await memory.facts.set(NS, f"box.{number}", {"count": number})
        await memory.facts.set(NS, "lid", {"count": 9})
        then = clock()
        clock.advance(60)
        for number in range(4):
            await memory.facts.set(NS, f"box.{number}", {"count": 100})
        await memory.facts.delete(NS, "box.4")
        keys = [fact.key for fact in await memory.facts.list(NS, prefix="box.", limit=2, as_of=then)]
        assert keys == ["box.0", "box.1"]
        keys = [fact.key for fact in await memory.facts.list(NS, after="box.2", as_of=then)]
        assert keys == ["box.3", "box.4", "lid"]
        keys = [
            fact.key for fact in await memory.facts.list(NS, where={"count": {"$gte": 3}}, reverse=True, as_of=then)
        ]
        assert keys == ["lid", "box.4", "box.3"]

    async def test_a_recall_of_then_finds_old_values_and_deleted_facts(self, memory: Any, clock: FakeClock) -> None:
        at = await tell(memory, clock)

        async def texts(query: str, moment: str) -> list[str]:
            return [hit.text for hit in await memory.recall(query, namespaces=NS, kinds=["fact"], as_of=at[moment])]

        assert await texts("city", "before") == []
        assert (await texts("city", "oslo"))[0] == "city: Oslo"
        assert (await texts("city", "porto"))[0] == "city: Porto"
        assert "city: Porto" not in await texts("city", "gone")
        assert (await texts("shoe size", "porto"))[0] == "shoe: size 41"
        assert await memory.recall("shoe size", namespaces=NS, kinds=["fact"]) == []

    async def test_a_recall_of_then_has_no_later_messages(self, memory: Any, clock: FakeClock) -> None:
        at = await tell(memory, clock)
        hits = await memory.recall("the ferry", namespaces=NS, kinds=["message"], as_of=at["oslo"])
        assert [hit.text for hit in hits] == ["The ferry to Nesodden was late."]
        assert len(await memory.recall("the ferry", namespaces=NS, kinds=["message"], as_of=at["porto"])) == 2

    async def test_a_statement_was_current_until_it_was_replaced(self, memory: Any, clock: FakeClock) -> None:
        [receipt] = await memory.threads.append("talk", "Our office is in Bergen.", create=NS)
        await memory.facts.set(NS, "office", "Bergen", source=receipt.message.id)
        then = clock()
        clock.advance(3600)
        await memory.facts.set(NS, "office", "Tromsø")
        [now, *_] = await memory.recall("office", namespaces=NS, kinds=["message"])
        assert "Tromsø" in now.superseded_by
        [past, *_] = await memory.recall("office", namespaces=NS, kinds=["message"], as_of=then)
        assert (past.id, past.superseded_by) == (now.id, None)

    async def test_statements_are_marked_in_a_namespace_whose_name_contains_a_slash(
        self, memory: Any, clock: FakeClock
    ) -> None:
        ns = f"{NS}/work"
        [receipt] = await memory.threads.append("talk", "Our office is in Bergen.", create=ns)
        await memory.facts.set(ns, "office", "Bergen", source=receipt.message.id)
        await memory.facts.set(NS, "work/office", "a secret of another namespace")
        then = clock()
        clock.advance(3600)
        await memory.facts.set(ns, "office", "Tromsø")
        [now, *_] = await memory.recall("office", namespaces=ns, kinds=["message"])
        assert "Tromsø" in now.superseded_by
        [past, *_] = await memory.recall("office", namespaces=ns, kinds=["message"], as_of=then)
        assert (past.id, past.superseded_by) == (now.id, None)

    async def test_a_profile_is_what_it_was(self, memory: Any, clock: FakeClock) -> None:
        at = await tell(memory, clock)
        learning = await memory.learnings.add("Prefers short answers", user="ada", confidence=0.9)
        after = clock()
        for name, cities in (("before", []), ("oslo", ["Oslo"]), ("porto", ["Porto"]), ("gone", [])):
            profile = await memory.profile.get("ada", as_of=at[name])
            assert [fact.value for fact in profile.facts if fact.key == "city"] == cities
            assert profile.learnings == []
            lines = " ".join(line.text for line in await memory.profile.block("ada", as_of=at[name]))
            assert [city for city in ("Oslo", "Porto") if city in lines] == cities
        assert [learned.id for learned in (await memory.profile.get("ada", as_of=after)).learnings] == [learning.id]

    async def test_a_context_of_then_has_the_history_and_memory_of_then(self, memory: Any, clock: FakeClock) -> None:
        at = await tell(memory, clock)
        ada = memory.scope(user="ada")
        context = await ada.context("Was the ferry late?", thread="talk", as_of=at["oslo"])
        text = str(context.messages())
        assert "Nesodden" in text and "Oslo" in text
        assert "Gaia" not in text and "Porto" not in text and "Miso" not in text
        with pytest.raises(NotFound):
            await ada.context("Was the ferry late?", thread="talk", as_of=at["before"])

    async def test_a_learning_of_then_has_the_words_of_then(self, memory: Any, clock: FakeClock) -> None:
        ada = memory.scope(user="ada")
        learning = await ada.learnings.add("Prefers green tea", confidence=0.9)
        moments = [clock()]
        for content in ("Prefers black coffee", "Prefers hot chocolate"):
            clock.advance(86_400)
            await ada.learnings.update(learning.id, content=content, metadata={"by": "hand"})
            moments.append(clock())
        expected = ["Prefers green tea", "Prefers black coffee", "Prefers hot chocolate"]
        profiles = [await ada.profile.get(as_of=moment) for moment in moments]
        assert [row.content for profile in profiles for row in profile.learnings] == expected
        hits = [await ada.recall("prefers", kinds="learning", as_of=moment, min_score=0) for moment in moments]
        assert [hit.text for row in hits for hit in row] == expected
        versions = await ada.memories.history(f"learning:{learning.id}")
        assert [(version.text, version.version) for version in versions] == list(zip(expected, (1, 2, 3), strict=True))
        assert versions[-1].metadata == {"by": "hand"}

    async def test_what_was_forgotten_is_not_found_in_the_past(self, memory: Any, clock: FakeClock) -> None:
        at = await tell(memory, clock)
        await memory.facts.delete(NS, "pet", history=False)
        assert "pet" not in [fact.key for fact in await memory.facts.list(NS, as_of=at["porto"])]
        hits = await memory.recall("a cat named Miso", namespaces=NS, as_of=at["porto"])
        assert not [hit for hit in hits if "Miso" in hit.text]

    async def test_an_event_is_what_it_was(self, memory: Any, clock: FakeClock) -> None:
        event = await memory.events.add("Dinner at the harbour with Ben", starts_at=clock(), ns=NS)
        then = clock()
        clock.advance(3600)
        await memory.events.update(event.id, text="Dinner at the castle with Ben", ns=NS)
        [now, *_] = await memory.recall("dinner", namespaces=NS, kinds=["event"])
        assert "castle" in now.text
        [past, *_] = await memory.recall("dinner", namespaces=NS, kinds=["event"], as_of=then)
        assert "harbour" in past.text

    async def test_a_moment_is_a_time(self, memory: Any) -> None:
        with pytest.raises(UsageError):
            await memory.recall("city", as_of="yesterday")
