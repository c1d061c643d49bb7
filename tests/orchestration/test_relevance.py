"""What is recalled for a request: nothing for small talk, no acknowledgements or repeats, and no less for a cache."""

from __future__ import annotations

from typing import Any

import pytest

from memorist import Recall
from memorist_testing.plugin import Run

from .conftest import OpenMemory, do

SECRET = "The harbour gate opens with the blue lever."
QUESTION = "Which lever opens the harbour gate?"


async def talked(memory: Any, *texts: str) -> str:
    thread = (await do(memory.threads.create("user:ada"))).id
    await do(memory.threads.append(thread, *texts))
    return str(thread)


@pytest.mark.parametrize("greeting", ["hello", "Hi, how are you?", "Ok, got it. Thanks!", "Bonjour, ça va ?"])
async def test_small_talk_recalls_nothing(open_memory: OpenMemory, run: Run, greeting: str) -> None:
    memory = open_memory(user="ada")
    await talked(memory, SECRET, "Noted.", "Hello, say hello to my friend.", "Hello!")
    context = await do(memory.context(greeting, budget=4000))
    assert context.recalled == () and context.memory_message is None


async def test_acknowledgements_and_repeats_are_not_sent(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(user="ada", extract=None)
    for _ in range(3):
        await talked(memory, SECRET, "Ok, got it.", QUESTION)
    context = await do(memory.context(QUESTION, budget=4000, recall=Recall(min_score=0.0)))
    assert [item.text for item in context.memory_items] == [SECRET]


async def test_items_below_the_floor_are_left_out_though_there_is_room(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(user="ada", extract=None)
    await talked(memory, SECRET, "I planted tulips on Sunday.")
    hits = {hit.text: hit.score for hit in await do(memory.recall(QUESTION))}
    floor = hits[SECRET]
    context = await do(memory.context(QUESTION, budget=4000, recall=Recall(min_score=floor)))
    assert [item.text for item in context.memory_items] == [text for text, score in hits.items() if score >= floor]


@pytest.mark.parametrize("budget", [1200, 3000, 8000])
async def test_the_cached_layout_sends_what_the_standard_one_sends(
    open_memory: OpenMemory, run: Run, budget: int
) -> None:
    memory = open_memory(user="ada", extract=None)
    await talked(memory, SECRET, *(f"The harbour gate number {n} has a lever of its own colour." for n in range(8)))
    thread = await talked(memory, *(f"Turn {n}: " + "we talk about other matters at length " * 6 for n in range(200)))
    recalled = {}
    for layout in ("standard", "cached"):
        context = await do(memory.context(QUESTION, thread=thread, budget=budget, layout=layout))
        assert context.tokens <= budget
        recalled[layout] = {item.text for item in context.memory_items if "harbour" in item.text}
    assert SECRET in recalled["cached"]
    assert recalled["cached"] == recalled["standard"]


async def test_the_window_does_not_depend_on_what_a_turn_recalls(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(user="ada", extract=None)
    await talked(memory, SECRET)
    thread = await talked(memory, *(f"Turn {n}: " + "we talk about other matters at length " * 6 for n in range(200)))
    starts = set()
    for question in ("hello", QUESTION):
        context = await do(memory.context(question, thread=thread, budget=2000))
        starts.add(context.history[0].seq)
    assert len(starts) == 1


async def test_contexts_and_sessions_have_the_same_defaults(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(user="ada", extract=None)
    await talked(memory, SECRET)
    thread = await talked(memory, "Hi.", "Hello.", "I repair boats.", "Interesting work.")
    plain = await do(memory.context(QUESTION, thread=thread))
    session = await do(memory.session(thread).context(QUESTION))
    assert plain.messages() == session.messages()
    assert (plain.layout, plain.account.budget_tokens) == (session.layout, session.account.budget_tokens)


TOLD = (
    "I repair wooden boats on the west pier in Bergen.", "My sister Ingrid plays the violin in an orchestra.",
    "Our dog Momo is afraid of thunder.", "I baked sourdough with rye flour on Sunday.",
    "The orchard behind our house has nine plum trees.", "I lost my grey scarf on the tram.",
)  # fmt: skip
UNKNOWN = (
    "What is the capital of Mongolia?", "Explain quantum tunnelling in simple words.",
    "Write a function that reverses a linked list.", "How many moons does Jupiter have?",
)  # fmt: skip


@pytest.mark.parametrize("embedder", [None, "default"])
@pytest.mark.parametrize("copies", [1, 30])
async def test_a_question_that_nothing_is_known_about_gets_nothing(
    open_memory: OpenMemory, run: Run, embedder: str | None, copies: int
) -> None:
    memory = open_memory(user="ada", extract=None, embedder=embedder)
    await talked(memory, *(f"{text} That was on day {day}." for day in range(copies) for text in TOLD))
    for question in UNKNOWN:
        assert (await do(memory.context(question, budget=4000))).memory_items == ()
    context = await do(memory.context("What is our dog afraid of?", budget=4000))
    assert "Momo" in context.memory_items[0].text


async def test_a_personal_question_to_a_large_memory_that_does_not_know_gets_nothing(
    open_memory: OpenMemory, run: Run
) -> None:
    memory = open_memory(user="ada", extract=None, embedder="default")
    await talked(memory, *(f"{text} That was on day {day}." for day in range(30) for text in TOLD))
    for question in ("What is my blood type?", "Which insurance covers my car?", "Who painted my bedroom walls?"):
        assert (await do(memory.context(question, budget=4000))).memory_items == ()


async def test_a_personal_question_to_a_small_memory_gets_the_few_things_that_the_user_stated(
    open_memory: OpenMemory, run: Run
) -> None:
    memory = open_memory(user="ada", extract=None, embedder="default")
    await talked(
        memory, "Peanuts make my throat swell.", "Why do leaves turn red?", "Tell me the boiling point of tin."
    )
    texts = [item.text for item in (await do(memory.context("What should I cook tonight?", budget=4000))).memory_items]
    assert "Peanuts make my throat swell." in texts and "Why do leaves turn red?" not in texts
