"""Tests recall on every store: its parameters, its filters, and the contents of a hit."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memorist.context.policies import Fifo
from memorist.errors import InvalidFilter, InvalidNamespace, UsageError
from memorist.testing.clock import FakeClock

NS = "user:ada"
OTHER_NS = "workflow:garden"
FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"age": {"$eq": 9}}, {"dog"}),
    ({"age": {"$gt": 9}}, {"cat"}),
    ({"age": {"$gte": 9}}, {"dog", "cat"}),
    ({"age": {"$lt": 10}}, {"dog"}),
    ({"age": {"$lte": 10}}, {"dog", "cat"}),
    ({"age": {"$in": [9, 11]}}, {"dog"}),
    ({"age": {"$nin": [9], "$exists": True}}, {"cat"}),
    ({"age": {"$ne": 9, "$exists": True}}, {"cat"}),
    ({"tags": {"$contains": "tame"}}, {"dog", "cat"}),
    ({"home.city": "Rome"}, {"dog"}),
    ({"$and": [{"age": 9}, {"tags": {"$contains": "tame"}}]}, {"dog"}),
    ({"$or": [{"age": 9}, {"home.city": "Oslo"}]}, {"dog", "cat"}),
    ({"$not": {"home.city": "Rome"}, "age": {"$exists": True}}, {"cat"}),
]
"""Filters on the two animals, each with the animals it finds."""
ANIMALS: dict[str, dict[str, Any]] = {
    "dog": {"age": 9, "tags": ["tame", "loud"], "home": {"city": "Rome"}},
    "cat": {"age": 10, "tags": ["tame"], "home": {"city": "Oslo"}},
}


class FindingTests:
    """`memory.recall`."""

    async def test_a_fact_set_again_is_as_new_as_its_last_version(self, memory: Any, clock: FakeClock) -> None:
        await memory.threads.create(NS, id="talk")
        await memory.facts.set(NS, "location", "London")
        assert [hit.text for hit in await memory.recall("Where is the location?", namespaces=NS, kinds=["fact"])]
        for text, now in (("Actually, I live in Lisbon now.", "Lisbon"), ("Budget stays; so does the cat.", "Porto")):
            clock.advance(3600)
            await memory.threads.append("talk", {"role": "user", "content": text})
            clock.advance(3600)
            await memory.facts.set(NS, "location", now)
        hits = await memory.recall("Where do I live? What is my location?", namespaces=NS)
        fact = next(hit for hit in hits if hit.kind == "fact")
        assert (fact.text, fact.superseded_by) == ("Lives in Porto", None)
        assert fact.created_at == (await memory.facts.get(NS, "location")).updated_at

    async def test_only_a_newer_version_of_the_same_fact_marks_a_hit_whatever_the_words_say(self, memory: Any) -> None:
        messages = [
            ("user", "I live in Oslo, near the old harbour."),
            ("assistant", "Oslo near the old harbour, noted."),
            ("user", "We no longer live with plants: we moved house plants to the balcony in Oslo."),
            ("user", "The harbour budget is 40,000."),
            ("user", "The harbour budget is 32,500 now."),
        ]
        await memory.threads.create(NS, id="t")
        receipts = await memory.threads.append("t", *({"role": role, "content": text} for role, text in messages))
        hits = await memory.recall("Oslo harbour budget", namespaces=NS, top_k=2)
        assert len(hits) == 2 and [hit.superseded_by for hit in hits] == [None, None]
        await memory.facts.set(NS, "city", "Oslo", source=receipts[0].message.id)
        await memory.facts.set(NS, "city", "Porto")
        for top_k in (1, 2, 5, 20):
            marks = {hit.id: hit.superseded_by for hit in await memory.recall("Oslo", namespaces=NS, top_k=top_k)}
            assert len(marks) <= top_k
            assert "Porto" in str(marks.pop("t#1", "Porto")) and not any(marks.values())

    async def test_a_hit_says_what_it_is_and_why_it_was_found(self, memory: Any, org: str) -> None:
        await memory.threads.append("t", "Hello.", "The persimmon tree is ill.", create=NS)
        [hit, *_] = await memory.recall("persimmon tree", namespaces=NS)
        assert (hit.kind, hit.id, hit.text) == ("message", "t#2", "The persimmon tree is ill.")
        assert (hit.namespace, hit.org, hit.source, hit.superseded_by, hit.cosine) == (NS, org, "t#2", None, None)
        assert hit.created_at == (await memory.threads.message("t#2")).created_at
        assert 0 < hit.score <= 1 and hit.reasons[0].signal and hit.reasons[0].rank == 1

    async def test_kinds_and_namespaces_limit_what_is_found(self, memory: Any) -> None:
        await memory.threads.append("t", "A persimmon fell.", create=NS)
        await memory.facts.set(NS, "tree", "persimmon")
        await memory.documents.add(OTHER_NS, "How to prune a persimmon.", title="Pruning")
        await memory.scope(user="ada").learnings.add("likes persimmon jam")
        for kinds, expected in (
            (None, {"message", "fact", "document", "learning"}), ("fact", {"fact"}),
            (["message", "document"], {"message", "document"}), (["learning"], {"learning"}),
        ):  # fmt: skip
            assert {hit.kind for hit in await memory.recall("persimmon", kinds=kinds)} == expected
        for spaces, expected in ((OTHER_NS, {OTHER_NS}), ([NS, OTHER_NS], {NS, OTHER_NS}), ("workflow:*", {OTHER_NS})):
            assert {hit.namespace for hit in await memory.recall("persimmon", namespaces=spaces)} == expected
        with pytest.raises(UsageError):
            await memory.recall("persimmon", kinds=["vegetable"])
        with pytest.raises(InvalidNamespace):
            await memory.recall("persimmon", namespaces="garden")

    async def test_hits_come_best_first_and_in_pages(self, memory: Any) -> None:
        for n in range(6):
            await memory.facts.set(NS, f"tree{n}", " ".join(["persimmon", *["oak"] * n]))
        whole = await memory.recall("persimmon oak", namespaces=NS)
        assert len(whole) == 6 and [hit.score for hit in whole] == sorted((hit.score for hit in whole), reverse=True)
        assert await memory.recall("persimmon oak", namespaces=NS, top_k=2) == whole[:2]
        paged = await memory.recall("persimmon oak", namespaces=NS, top_k=2, offset=2)
        assert [hit.id for hit in paged] == [hit.id for hit in whole[2:4]]
        assert await memory.recall("persimmon oak", namespaces=NS, top_k=0) == []
        assert 0 < len(await memory.recall("persimmon oak", namespaces=NS, max_tokens=12)) < 6
        assert await memory.recall("persimmon oak", namespaces=NS, min_score=1.1) == []
        for wrong in ({"top_k": -1}, {"offset": -1}, {"max_tokens": -1}, {"top_k": True}, {"min_score": "high"}):
            with pytest.raises(UsageError):
                await memory.recall("persimmon", **wrong)

    async def test_hits_can_be_limited_to_a_span_of_time(self, memory: Any, clock: FakeClock) -> None:
        times = []
        for day in range(3):
            await memory.threads.append("t", f"persimmon of day {day}", create=NS)
            times.append(clock())
            clock.advance(timedelta(days=1))
        after = await memory.recall("persimmon", namespaces=NS, after=times[0])
        assert {hit.id for hit in after} == {"t#2", "t#3"}
        between = await memory.recall("persimmon", namespaces=NS, after=times[0].isoformat(), before=times[2])
        assert [hit.id for hit in between] == ["t#2"]

    @pytest.mark.parametrize(("where", "expected"), FILTERS, ids=[str(where) for where, _ in FILTERS])
    async def test_a_filter_reads_metadata_and_values(self, memory: Any, where: Any, expected: set[str]) -> None:
        for name, fields in ANIMALS.items():
            await memory.facts.set(NS, name, {"name": name, **fields})
            message = {"role": "user", "content": f"An animal called {name}.", "metadata": {"name": name, **fields}}
            await memory.threads.append("t", message, create=NS)
            await memory.documents.add(OTHER_NS, f"About an animal: the {name}.", title=name, metadata=fields)
        await memory.facts.set(NS, "animal", "a heron")
        hits = await memory.recall("animal dog cat heron", where=where, top_k=50)
        assert {name for name in ANIMALS for hit in hits if name in hit.text} == expected
        assert {hit.kind for hit in hits} == {"fact", "message", "document"}
        assert {fact.key for fact in await memory.facts.list(NS, where=where)} == expected

    async def test_a_filter_of_recall_reads_the_fields_that_lists_read(self, memory: Any) -> None:
        for name, fields in ANIMALS.items():
            await memory.facts.set(NS, name, fields, confidence=0.9 if name == "dog" else 0.4)
            message = {"role": "user", "content": f"An animal called {name}.", "metadata": fields}
            await memory.threads.append("t", message, create=NS)
        await memory.facts.set(NS, "bird", "heron")
        for where, expected in (
            ({"confidence": {"$gt": 0.5}, "key": {"$ne": "bird"}}, {"dog"}), ({"value.age": 10}, {"cat"}),
            ({"value": "heron"}, {"bird"}), ({"key": {"$in": ["bird", "cat"]}}, {"bird", "cat"}),
            ({"value.home.city": {"$exists": False}}, {"bird"}),
        ):  # fmt: skip
            hits = await memory.recall("dog cat bird heron", kinds="fact", where=where)
            assert {hit.id.partition("/")[2] for hit in hits} == expected, where
            assert {fact.key for fact in await memory.facts.list(NS, where=where)} == expected, where
        [hit] = await memory.recall("animal", kinds="message", where={"metadata.home.city": "Oslo"})
        assert hit.id == "t#2"
        refused: list[dict[str, Any]] = [{"age": {"$near": 9}}, {"$nor": []}, {"age": {"$in": 9}}]
        for wrong in refused:
            with pytest.raises(InvalidFilter):
                await memory.recall("animal", where=wrong)

    async def test_a_filter_of_recall_reads_the_metadata_and_tags_of_every_memory(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        for berths in (2, 4):
            about: dict[str, Any] = {"tags": [f"berths {berths}"], "metadata": {"berths": berths, "value": "hull"}}
            await ada.facts.set(f"boat.{berths}", f"a boat with {berths} berths", **about)
            await ada.events.add(f"Sailed the boat with {berths} berths", **about)
            await ada.learnings.add(f"prefers a boat with {berths} berths", **about)
        wheres: list[dict[str, Any]] = [
            {"berths": {"$gte": 3}}, {"metadata.berths": 4}, {"tags": {"$contains": "berths 4"}},
        ]  # fmt: skip
        for where in wheres:
            hits = await ada.recall("boat", where=where)
            assert sorted(hit.kind for hit in hits) == ["event", "fact", "learning"], where
            assert all("4 berths" in hit.text for hit in hits), where
        # A fact's value comes before a field of the same name in its metadata.
        assert await ada.recall("boat", kinds="fact", where={"value": "hull"}) == []

    async def test_a_reserved_name_in_a_value_is_only_data(self, memory: Any) -> None:
        await memory.facts.set(NS, "boat", {"name": "the boat Gull", "memorist.superseded": ["anything"]})
        [hit] = await memory.recall("boat", namespaces=NS)
        assert (hit.id, hit.superseded_by) == (f"{NS}/boat", None)

    async def test_a_fact_is_not_sent_beside_the_message_it_was_taken_from(self, memory: Any) -> None:
        texts = ("My persimmon tree stands in Porto.", "The persimmon is pruned next Tuesday.", "The persimmon is ill.")
        await memory.threads.append("t", *texts, create=NS)
        await memory.facts.set(NS, "persimmon.place", "Porto", source="t#1")
        await memory.facts.set(NS, "persimmon.pruned", "2040-01-03", source="t#2")
        await memory.facts.set(NS, "persimmon.age", 9, source="t#3")
        question = "What of the persimmon?"
        beside = await memory.context(question, thread="t")
        fates = {fate.item.source.rpartition("/")[2]: (fate.fate, fate.reason) for fate in beside.recalled}
        left_out = ("dropped", "in the history, in the message it was taken from")
        assert fates["persimmon.place"] == left_out and left_out[1] in beside.explain()
        assert "persimmon place" not in beside.memory_text
        # What the message does not say in these words is sent: a date that was worked out, a value of the program's.
        assert "persimmon pruned: 2040-01-03" in beside.memory_text and "persimmon age: 9" in beside.memory_text
        for options in ({}, {"thread": "t", "policy": Fifo(2)}):
            without = await memory.context(question, **options)
            assert "persimmon place: Porto" in without.memory_text
