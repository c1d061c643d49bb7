"""Tests `@memory.task` on every store. The output of a function is traced to the memories that it received."""

from __future__ import annotations

import inspect
from typing import Any

from memorist.engine.sessions.assembling import Recall
from memorist.engine.sessions.inject import Remember
from memorist.testing.clock import FakeClock

NS = "user:ada"
REMEMBER_LAST = Remember("workflow:garden", key="last")


async def furnish(memory: Any) -> None:
    await memory.facts.set(NS, "tree", "a persimmon")
    web_message = {"role": "user", "content": "Persimmon trees hate lime.", "trust": "web"}
    await memory.threads.append(
        "page", {"role": "user", "content": "My persimmon tree is ill."}, web_message, create=NS
    )


async def run_task(memory: Any, thread: str | None = "reviews") -> list[Any]:
    """Run a task on the prepared data, and return the hits that it received."""
    received: list[Any] = []

    def advise(text: str, recalled: Any = ()) -> str:
        received.extend(recalled)
        return "Water it, and give it no lime."

    task = memory.task(recall=Recall(NS, top_k=3), remember=REMEMBER_LAST, thread=thread)
    output = task(advise)("what ails the persimmon tree?")
    assert (await output if inspect.isawaitable(output) else output) == "Water it, and give it no lime."
    return received


class CallingTests:
    """Tests functions with memory."""

    async def test_the_output_of_a_task_names_all_that_was_recalled_with_the_lowest_trust(self, memory: Any) -> None:
        await furnish(memory)
        hits = await run_task(memory)
        assert {hit.id for hit in hits} == {"user:ada/tree", "page#1", "page#2"}
        sources = [hit.id for hit in hits]
        fact = await memory.facts.get("workflow:garden", "last")
        assert (list(fact.sources), fact.trust, fact.value) == (sources, "web", "Water it, and give it no lime.")
        question, answer = await memory.threads.recent("reviews")
        assert (question.role, question.text, question.trust_level) == ("user", "what ails the persimmon tree?", "user")
        assert (answer.role, answer.metadata, answer.trust_level) == ("assistant", {"memorist.sources": sources}, "web")
        assert (await memory.threads.get("reviews")).ns == "global"

    async def test_a_task_that_recalls_nothing_has_the_trust_of_its_caller(self, memory: Any) -> None:
        assert await run_task(memory) == []
        fact = await memory.facts.get("workflow:garden", "last")
        assert (fact.sources, fact.trust) == ((), "user")
        assert [(m.trust_level, m.metadata) for m in await memory.threads.recent("reviews")] == [
            ("user", {}), ("assistant", {}),
        ]  # fmt: skip

    async def test_a_task_appends_to_a_thread_wherever_it_is(self, memory: Any) -> None:
        await memory.threads.create("workflow:garden", id="reviews")
        await run_task(memory)
        await run_task(memory)
        assert (await memory.threads.get("reviews")).ns == "workflow:garden"
        assert [m.role for m in await memory.threads.recent("reviews")] == ["user", "assistant"] * 2

    async def test_forgetting_any_source_of_a_task_forgets_its_output(self, memory: Any) -> None:
        await furnish(memory)
        for target in ({"message": "page#2"}, {"fact": "user:ada/tree"}):
            hits = await run_task(memory)
            assert {*target.values()} < {hit.id for hit in hits}
            await memory.forget(**target)
            assert await memory.facts.get("workflow:garden", "last") is None
            assert "lime" not in (await memory.threads.recent("reviews"))[-1].text

    async def test_a_source_forgotten_while_a_task_runs_leaves_no_fact(self, memory: Any, clock: FakeClock) -> None:
        """This also holds if the source exists again when the task ends."""
        for again in (False, True):
            await memory.facts.set(NS, "tree", "a persimmon")
            clock.advance(1)

            async def advise(text: str, recalled: Any = (), again: bool = again) -> str:
                assert [hit.id for hit in recalled] == ["user:ada/tree"]
                clock.advance(1)
                await memory.forget(fact="user:ada/tree")
                if again:
                    clock.advance(1)
                    await memory.facts.set(NS, "tree", "a plum")
                return "The persimmon wants water."

            await memory.task(recall=NS, remember=REMEMBER_LAST)(advise)("what does my persimmon want?")
            assert await memory.facts.get("workflow:garden", "last") is None
