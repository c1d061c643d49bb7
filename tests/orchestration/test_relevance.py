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
    found = {}
    for layout in ("standard", "cached"):
        context = await do(memory.context(QUESTION, thread=thread, budget=budget, layout=layout))
        assert context.tokens <= budget
        found[layout] = {item.text for item in context.memory_items if "harbour" in item.text}
    assert SECRET in found["cached"]
    assert found["cached"] == found["standard"]


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
