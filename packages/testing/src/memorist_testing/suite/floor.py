"""Tests the relevance floor on every store. Nothing is found for small talk and unknown subjects, but known subjects
are found."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.engine.sessions.assembling import Recall

NS = "user:ada"
SECRET = "The harbour gate opens with the blue lever."
QUESTION = "Which lever opens the harbour gate?"
STATEMENTS = (
    "I repair wooden boats on the west pier in Bergen.", "My sister Ingrid plays the violin in an orchestra.",
    "Our dog Momo is afraid of thunder.", "I baked sourdough with rye flour on Sunday.",
    "The orchard behind our house has nine plum trees.", "I lost my grey scarf on the tram.",
)  # fmt: skip
SMALL_TALK = ("hello", "Hi, how are you?", "Good morning!", "Ok, got it. Thanks!", "Bonjour, ça va ?")
UNKNOWN_QUESTIONS = (
    "What is the capital of Mongolia?", "Explain quantum tunnelling in simple words.",
    "Write a function that reverses a linked list.", "How many moons does Jupiter have?",
    "What is the name of the tallest tower behind the old station?",
)  # fmt: skip
"""Questions about subjects that were never mentioned. One shares a word with a message."""
KNOWN_ANSWERS = {
    "What is our dog afraid of?": "Momo", "Which instrument does my sister play?": "violin", "plum trees": "orchard",
    "Where did I lose my scarf?": "tram", "sourdough": "rye", "Who repairs boats in Bergen?": "west pier",
}  # fmt: skip


async def tell(memory: Any, copies: int) -> None:
    """Say the same few things day after day, along with small talk."""
    for day in range(copies):
        texts = [f"{text} That was on day {day}." for text in STATEMENTS]
        await memory.threads.append("t", "Hello!", *texts, "Ok, got it.", create=NS)


class FloorTests:
    """Tests what `recall` and `context` leave out without a `min_score`."""

    @pytest.mark.parametrize("embedder", [None, "default"])
    @pytest.mark.parametrize("copies", [1, 20])
    async def test_an_unknown_subject_finds_nothing_and_a_known_one_is_found(
        self, open_memory: Any, embedder: str | None, copies: int
    ) -> None:
        memory = open_memory(embedder=embedder)
        await tell(memory, copies)
        for question in UNKNOWN_QUESTIONS:
            assert await memory.recall(question, namespaces=NS) == [], question
            assert (await memory.context(question, budget=4000)).memory_items == (), question
        for question, answer in KNOWN_ANSWERS.items():
            assert answer in (await memory.recall(question, namespaces=NS))[0].text
        context = await memory.context("What is our dog afraid of?", budget=4000)
        assert "Momo" in context.memory_items[0].text

    @pytest.mark.parametrize("text", SMALL_TALK)
    async def test_small_talk_finds_nothing(self, memory: Any, text: str) -> None:
        await memory.threads.append("t", SECRET, "Hello, say hello to my friend.", "Hello!", create=NS)
        assert await memory.recall(text, namespaces=NS) == []
        assert (await memory.context(text, budget=4000)).memory_items == ()

    async def test_the_floor_holds_for_every_kind_of_record(self, memory: Any) -> None:
        user = memory.scope(user="ada")
        await memory.threads.append("t", "The persimmon tree was planted by Ruth.", create=NS)
        await memory.facts.set(NS, "persimmon.age", "nine years")
        await memory.events.add("persimmon harvest", starts_at="2030-10-01T09:00:00+00:00", ns=NS)
        await memory.documents.add(NS, "A persimmon is pruned in winter.", title="Pruning")
        await user.learnings.add("likes persimmon jam")
        kinds = ["message", "fact", "event", "document", "learning"]
        for kind in kinds:
            [hit] = await memory.recall("persimmon", namespaces=NS, kinds=kind)
            assert hit.kind == kind and 0 < hit.score <= 1
            assert await memory.recall("How many moons does Jupiter have?", namespaces=NS, kinds=kind) == []
        assert {hit.kind for hit in await memory.recall("persimmon", namespaces=NS)} == set(kinds)

    async def test_a_min_score_of_zero_switches_the_floor_off(self, memory: Any) -> None:
        await tell(memory, 1)
        ranked = await memory.recall("Who fed the neighbour's dog on the moon of Jupiter?", namespaces=NS, min_score=0)
        assert "Momo" in ranked[0].text
        scores = [hit.score for hit in ranked]
        assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
        some = await memory.recall("What is our dog afraid of?", namespaces=NS, min_score=scores[0])
        assert all(hit.score >= scores[0] for hit in some) and "Momo" in some[0].text

    async def test_acknowledgements_and_exact_repeats_are_not_sent(self, memory: Any) -> None:
        for number in range(3):
            await memory.threads.append(f"t{number}", SECRET, "Ok, got it.", QUESTION, create=NS)
        texts = [hit.text for hit in await memory.recall(QUESTION, namespaces=NS)]
        assert texts.count(SECRET) == 1 and "Ok, got it." not in texts
        for recall in (True, Recall(min_score=0.0)):
            context = await memory.context(QUESTION, budget=4000, recall=recall)
            assert [item.text for item in context.memory_items] == [SECRET]
