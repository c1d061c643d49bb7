"""Tests users' own words on every store. Nothing false is stored, nobody else's words count, and no text is altered."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

NS = "user:ada"
LITERAL = "Never rename `__init__` or `_b` in 《围城》; a < b && c > d stays as it is."


async def _tell(memory: Any, *messages: Any) -> Any:
    """Append messages to the thread "talk", and return their receipts once everything has been derived from them."""
    receipts = await memory.threads.append("talk", *messages, create=NS)
    return await memory.wait(receipts)


async def _facts(memory: Any) -> dict[str, Any]:
    return {fact.key: fact.value for fact in await memory.facts.list(NS)}


class StatementTests:
    """Tests the local rules on every store."""

    async def test_agreeing_does_not_overwrite_a_name(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        await _tell(memory, "My name is Ada.")
        await _tell(memory, "Actually, yes.", "No, thanks.", "Actually, that's Great.")
        assert await _facts(memory) == {"name": "Ada"}

    async def test_two_speakers_do_not_merge_into_one_profile(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        await memory.threads.create(NS, id="talk", metadata={"speaker": "Ada Lovelace"})
        await _tell(
            memory,
            {"role": "user", "name": "Ada Lovelace", "content": "I live in Porto."},
            {"role": "user", "name": "Bob", "content": "I live in Oslo. I am allergic to nuts. Call me Bobby."},
            {"role": "user", "name": "ada", "content": "I'm a vegetarian."},
        )
        assert await _facts(memory) == {"location": "Porto", "diet": "vegetarian"}
        assert "nuts" not in str(await memory.profile.block("ada"))

    async def test_literals_arrive_as_they_were_written(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        await _tell(
            memory, "Always start names of functions with '__init__' and the names of variables with '_b'.", LITERAL
        )
        [wish] = await memory.learnings.list(user="ada", min_confidence=0)
        assert "'__init__'" in wish.content and "'_b'" in wish.content
        [hit] = await memory.recall("rename in 《围城》", namespaces=NS, top_k=1)
        assert hit.text == LITERAL
        text = str(
            (await memory.scope(user="ada").context("What must never be renamed in 《围城》?", budget=2000)).messages()
        )
        assert LITERAL in text and "'__init__'" in text.replace("\\'", "'")

    async def test_a_request_to_forget_is_carried_out_stores_nothing_and_can_be_undone(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        await _tell(memory, "I live in Oslo.", "I'm allergic to nuts.")
        [receipt] = await _tell(memory, "Please forget that I live in Oslo.")
        assert receipt.ended[0] == f"{NS}/location" and await _facts(memory) == {"allergy.nuts": "nuts"}
        hits = await memory.recall("Where do I live? Oslo", namespaces=NS)
        assert all(hit.superseded_by for hit in hits if "Oslo" in hit.text)
        await memory.facts.unforget(NS, receipt.ended[-1].partition("/")[2])
        assert await _facts(memory) == {"allergy.nuts": "nuts", "location": "Oslo"}

    async def test_a_request_to_forget_everything_ends_all_memories_of_the_user_and_can_be_undone(
        self, open_memory: Any
    ) -> None:
        memory = open_memory(extract="rules")
        await memory.facts.set("user:bob", "location", "Rome")
        await _tell(memory, "I live in Oslo.", "I'm allergic to nuts.", "From now on, please answer in French.")
        trip = await memory.events.add("Trip to Rome with Clara", ns=NS)
        await _tell(memory, "My bicycle has a flat tyre.")
        [wish] = await memory.learnings.list(user="ada")
        [receipt] = await _tell(memory, "Please forget everything you know about me.")
        ended = {f"{NS}/location", f"{NS}/allergy.nuts", f"{NS}/{wish.id}", f"{NS}/{trip.id}"}
        assert set(receipt.ended[:-1]) == ended and receipt.ended[-1] == f"{NS}/forgotten.everything"
        assert await _facts(memory) == {} and await memory.learnings.list(user="ada") == []
        assert await memory.profile.block("ada") == []
        hits = await memory.recall("Oslo nuts French bicycle tyre", namespaces=NS, min_score=0)
        assert len(hits) >= 4 and all(hit.superseded_by for hit in hits)
        assert (await memory.facts.get("user:bob", "location")).value == "Rome"
        await memory.facts.unforget(NS, "forgotten.everything")
        assert await _facts(memory) == {"allergy.nuts": "nuts", "location": "Oslo"}
        assert len(await memory.learnings.list(user="ada")) == 1
        hits = await memory.recall("Oslo nuts French bicycle tyre", namespaces=NS, kinds="message", min_score=0)
        assert not any(hit.superseded_by for hit in hits if "forget" not in hit.text)

    async def test_whether_a_hit_is_superseded_does_not_depend_on_how_many_are_asked_for(
        self, open_memory: Any
    ) -> None:
        memory = open_memory(extract="rules")
        await _tell(memory, "I live in Oslo.", "I walked along the harbour in Oslo.")
        await _tell(memory, "I moved to Porto.")
        marks = []
        for top_k in (1, 2, 20):
            hits = await memory.recall(
                "Where do I live? Oslo", namespaces=NS, kinds="message", top_k=top_k, min_score=0
            )
            assert len(hits) <= top_k
            marks.append({hit.text: bool(hit.superseded_by) for hit in hits})
        assert marks[-1]["I live in Oslo."] and not marks[-1]["I walked along the harbour in Oslo."]
        assert all(fewer.items() <= marks[-1].items() for fewer in marks)

    async def test_messages_of_a_request_alternate(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        await _tell(memory, "I live in Oslo.", "I'm allergic to nuts.", {"role": "assistant", "content": "Noted."})
        context = await memory.scope(user="ada").context("What must I not eat?", thread="talk", budget=2000)
        roles = [message["role"] for message in context.messages()]
        assert all(first != second for first, second in pairwise(roles)), roles
