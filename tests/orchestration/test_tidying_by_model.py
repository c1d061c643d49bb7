"""Tidying up with a model: its proposals are checked, applied and undone as one step, and no failure costs the plan."""

from __future__ import annotations

import json
import re
from typing import Any

from memorist import Extraction
from memorist.extract.writer.tidying import MAX_MEMORIES
from memorist.runtime import Runtime
from memorist_testing.plugin import Run

from .conftest import OpenMemory, do
from .models import Scripted, down


def proposals(*lines: tuple[str, list[str], str | None, str | None]) -> Any:
    """An answer to a prompt: each memory is named by a word of its sentence."""

    def answer(prompt: str) -> str:
        def number(word: str) -> str:
            return next(m[1] for line in prompt.splitlines() if word in line and (m := re.match(r"(k\d+) ", line)))

        items = [
            {"op": op, "ids": [number(word) for word in words], "because": because and number(because), "text": text,
             "reason": "moved"}
            for op, words, because, text in lines
        ]  # fmt: skip
        return json.dumps({"proposals": items})

    return answer


async def ada(memory: Any) -> list[Any]:
    return sorted(
        (item.id, item.text, item.status, item.value) for item in await do(memory.memories.list(ns="user:ada"))
    )


async def test_a_contradiction_ends_and_comes_back_in_one_step(
    open_memory: OpenMemory, runtime: Runtime, run: Run
) -> None:
    answer = proposals(
        ("end", ["Lisbon"], "Porto", None),
        ("end", ["peanuts"], "Porto", None),
        ("learn", ["short", "bullet", "plain"], None, "Prefers short and plain answers in bullet points."),
    )
    memory = open_memory(model=Scripted(runtime.blocking, answer), extract="rules")
    for key, value, text in (
        ("home", "Lisbon", "Ada lives in Lisbon."),
        ("allergy", "peanuts", "Ada is allergic to peanuts."),
        ("city", "Porto", "Ada moved to Porto."),
    ):
        await do(memory.facts.set("user:ada", key, value, text=text))
    for text in ("Wants short answers.", "Likes bullet points.", "Asks for plain words."):
        await do(memory.learnings.add(text, user="ada"))
    before = await ada(memory)
    plan = await do(memory.tidy(user="ada"))
    assert [line.op for line in plan.lines] == ["end", "learn"]
    assert plan.plan.refused == ["end fact:allergy: must not be missed"]
    assert await ada(memory) == before, "a plan changes nothing"
    await do(plan.apply())
    texts = [text for _, text, _, _ in await ada(memory)]
    assert "Ada lives in Lisbon." not in texts and "Prefers short and plain answers in bullet points." in texts
    assert await do(plan.undo()) == 2
    assert await ada(memory) == before


async def test_a_model_that_is_down_costs_only_its_own_proposals(
    open_memory: OpenMemory, runtime: Runtime, run: Run
) -> None:
    model = Scripted(runtime.blocking, down(4))
    memory = open_memory(model=model, extract="rules")
    assert (await do(memory.tidy(user="ada"))).plan.refused == []
    assert model.asked == [], "there is nothing to ask about"
    for text in ("Prefers short answers, please", "Prefers short answers please.", "Likes tea."):
        await do(memory.learnings.add(text, user="ada"))
    plan = await do(memory.tidy(user="ada"))
    assert [line.op for line in plan.lines] == ["merge"]
    (reason,) = plan.plan.refused
    assert reason.startswith("the model was not asked about everything: ")


async def test_the_model_sees_every_memory(open_memory: OpenMemory, runtime: Runtime, run: Run) -> None:
    model = Scripted(runtime.blocking, '{"proposals": []}')
    memory = open_memory(model=model, extract="rules")
    for number in range(MAX_MEMORIES + 1):
        await do(memory.facts.set("user:ada", f"shelf_{number}", number, text=f"Shelf {number} holds {number} books."))
    await do(memory.tidy(user="ada"))
    shelf_lines = [line for prompt in model.asked for line in prompt.splitlines() if "Shelf" in line]
    assert len(model.asked) == 2 and len(shelf_lines) == MAX_MEMORIES + 1


async def test_tidying_counts_towards_the_daily_tokens_and_stops_there(
    open_memory: OpenMemory, runtime: Runtime, run: Run
) -> None:
    model = Scripted(runtime.blocking, proposals(), tokens=60)
    memory = open_memory(model=model, extract=Extraction(daily_tokens=100))
    await do(memory.facts.set("user:ada", "city", "Porto"))
    for _ in range(2):
        assert (await do(memory.tidy(user="ada"))).plan.refused == []
    assert (await do(memory.stats())).reading.tokens_today == 120
    [reason] = (await do(memory.tidy(user="ada"))).plan.refused
    assert "used up its tokens" in reason and len(model.asked) == 2


async def test_closing_a_memory_leaves_the_callers_model_open(open_memory: OpenMemory, runtime: Runtime) -> None:
    class Watched(Scripted):
        is_closed = False

        async def close(self) -> None:
            self.is_closed = True

    model = Watched(runtime.blocking, proposals())
    memory = open_memory(model=model)
    await do(memory.facts.set("user:ada", "city", "Porto"))
    await do(memory.tidy(user="ada"))
    await do(memory.close())
    assert len(model.asked) == 1 and not model.is_closed
