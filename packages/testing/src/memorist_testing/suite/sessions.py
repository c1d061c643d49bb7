"""Tests sessions. They create or resume a thread, store each turn once, and read only what belongs to their user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memorist.errors import Conflict, UsageError
from memorist.ids import new_id
from memorist.testing.clock import FakeClock

STATEMENT = "The zebra-striped kayak is under the pier."


async def think(talk: Any, clock: FakeClock, number: int, **options: Any) -> str:
    """Add a turn whose answer contains thinking, and return its request for Anthropic."""
    clock.advance(60)
    request = await talk.context(f"Step {number}?", recall=False, **options)
    thought = {"type": "thinking", "thinking": "hm", "signature": f"sig-{number}"}
    clock.advance(60)
    text = {"type": "text", "text": f"Step {number} it is."}
    await talk.add(f"Step {number}?", {"role": "assistant", "content": [thought, text]})
    return str(request.anthropic())


class SessionTests:
    """Tests what a session promises, on every store."""

    async def test_a_session_creates_the_thread_of_its_id(self, memory: Any) -> None:
        async with memory.session("my-id", user="ada") as talk:
            await talk.add(STATEMENT, "Noted.")
        thread = await memory.threads.get("my-id")
        assert (thread.ns, thread.length, thread.metadata["user"]) == ("user:ada", 2, "ada")

    async def test_a_session_resumes_the_thread_of_its_id(self, memory: Any) -> None:
        await memory.threads.create("user:ada", "Kayaks", id="my-id")
        await memory.threads.append("my-id", STATEMENT)
        async with memory.session(thread="my-id", user="ada") as talk:
            await talk.add("And the paddle?", "In the shed.")
            assert STATEMENT in str((await talk.context("Where was that?", recall=False)).messages())
        thread = await memory.threads.get("my-id")
        assert (thread.title, thread.length) == ("Kayaks", 3)

    async def test_an_id_that_another_user_has_is_refused(self, memory: Any) -> None:
        await memory.threads.create("user:bob", id="my-id")
        with pytest.raises(Conflict):
            async with memory.session("my-id", user="ada") as talk:
                await talk.add("mine")
        assert (await memory.threads.get("my-id")).length == 0

    async def test_a_child_has_its_own_context_and_its_brief_in_each(self, memory: Any) -> None:
        await memory.facts.set("user:ada", "city", "Lisbon")
        async with memory.session("my-id", user="ada", budget=600) as talk:
            await talk.add(STATEMENT, "Noted.")
            helper = await talk.child("Count the paddles.", system="You count.", agent="counter")
            for number in range(15):
                await helper.add(f"Shelf {number} of the shed, by the door.", f"It has {number} paddles on it.")
            context = await helper.context("Where is the kayak?")
            words = str(context.messages())
            assert "Count the paddles." in words and "kayak is under" not in words and "Lisbon" not in words
            assert context.tokens <= 600
            with pytest.raises(UsageError):
                await talk.result("I am no child.")
            result = await helper.result("15")
            async with memory.session("other", user="ada") as other:
                with pytest.raises(UsageError):
                    await other.add("x", [result.message()])

    async def test_reasoning_is_left_out_once_a_request_begins_differently(self, memory: Any, clock: FakeClock) -> None:
        """Anthropic refuses reasoning whose prefix changed: system prompt, tools, or the profile before the history."""
        async with memory.session("my-id", user="ada", system="Be brief.") as talk:
            await think(talk, clock, 1)
            assert "sig-1" in await think(talk, clock, 2)
            await memory.facts.set("user:ada", "city", "Lisbon")
            changed = await think(talk, clock, 3)
            assert "Lisbon" in changed and "sig-" not in changed and "Step 1 it is." in changed
            same = await think(talk, clock, 4)
            assert "sig-3" in same and "sig-2" not in same and "sig-1" not in same
            assert "sig-" not in await think(talk, clock, 5, system="Be kind.")
            again = await think(talk, clock, 6, system="Be kind.")
            assert "sig-5" in again and "sig-4" not in again
            # Notes follow the input, so only the answer to them was written for a request that is not repeated.
            assert "sig-6" in await think(talk, clock, 7, system="Be kind.", scratchpad="two steps left")
            assert "sig-" not in await think(talk, clock, 8, system="Be kind.")

    async def test_a_fork_that_shares_the_prefix_begins_with_the_same_bytes(self, memory: Any) -> None:
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        log = "\n".join(f"line {number} of the long log, all is well" for number in range(400))
        async with memory.session("my-id", user="ada", budget=1500, stash=200) as talk:
            for number in range(40):
                await talk.add(f"Step {number}: we look at the harbour again and write down what we see.", "Noted.")
                if number == 30:
                    await talk.context("Go on.", recall=False)
            request = {"role": "assistant", "content": None, "tool_calls": [call]}
            await talk.add("Read it.", request, {"role": "tool", "tool_call_id": "c1", "content": log}, "Done.")
            before = await talk.context("Go on.", recall=False)
            await memory.threads.fork("my-id", new_id="branch", share="prefix")
            async with memory.session("branch", user="ada", budget=1500, stash=200) as fork:
                assert (await fork.context("Go on.", recall=False)).messages() == before.messages()
            assert before.summary_message is not None and 'id="my-id#' in str(before.messages())

    async def test_a_turn_is_kept_once(self, memory: Any) -> None:
        async with memory.session(user="ada") as talk:
            await talk.add(STATEMENT, "Noted.")
            assert await memory.working.get("ada", talk.id) is None
            assert await memory.working.get("ada") is None

    async def test_a_context_costs_the_same_however_many_users_there_are(
        self, memory: Any, store_below: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await memory.facts.set("user:ada", "city", "Lisbon")
        async with memory.session(user="ada") as talk:
            await talk.add(STATEMENT, "Noted.")
            rows = _count_rows_read(store_below, monkeypatch)
            await talk.context("Which city?")
            rows.clear()
            await talk.context("Which city?")
            reads_alone, rows_alone = len(rows), sum(rows)
            for number in range(30):
                await memory.facts.set(f"user:other{number}", "city", "Porto")
                await memory.recall("city", namespaces=f"user:other{number}")
            await talk.context("Which city?")
            rows.clear()
            await talk.context("Which city?")
            assert 0 < len(rows) <= reads_alone
            assert sum(rows) <= rows_alone

    async def test_calls_for_one_user_cost_the_same_however_many_users_there_are(
        self, memory: Any, store_below: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ada = memory.scope(user="ada")

        async def converse() -> None:
            async with memory.session(new_id(), user="ada") as talk:
                await talk.add("Some more.", "Noted.")

        calls: dict[str, Callable[[], Any]] = {
            "context": lambda: ada.context("Which city?", thread="talk"),
            "recall": lambda: ada.recall("Which city?"),
            "profile": lambda: memory.profile.get("ada"),
            "append": lambda: memory.threads.append("talk", "Some more."),
            "facts.set": lambda: memory.facts.set("user:ada", "city", "Lisbon"),
            "facts.list": lambda: ada.facts.list(),
            "memories.search": lambda: ada.memories.search("city"),
            "session": converse,
        }
        await memory.threads.append("talk", STATEMENT, create="user:ada")
        rows = _count_rows_read(store_below, monkeypatch)

        async def costs() -> dict[str, tuple[int, int]]:
            measured = {}
            for name, call in calls.items():
                await memory.jobs.drain()
                await call()
                rows.clear()
                await call()
                measured[name] = len(rows), sum(rows)
            return measured

        alone = await costs()
        for number in range(30):
            await memory.facts.set(f"user:other{number}", "city", "Porto")
        among_many = await costs()
        # Less than one read or row for each of the others; Ada's own threads have grown by a few messages.
        more = {name: (alone[name], cost) for name, cost in among_many.items() if _is_more(cost, alone[name])}
        assert more == {}


def _is_more(costs: tuple[int, int], before: tuple[int, int]) -> bool:
    return costs[0] >= before[0] + 30 or costs[1] >= before[1] + 30


def _count_rows_read(store: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that collects the rows returned by each later read of the store."""
    rows: list[int] = []

    def counting(name: str) -> Any:
        read = getattr(store, name)

        async def call(*args: Any, **options: Any) -> Any:
            result = await read(*args, **options)
            rows.append(len(result) if isinstance(result, list | dict) else 1)
            return result

        return call

    for name in ("get", "get_many", "scan", "search_text", "term_counts", "search_vector"):
        if hasattr(store, name):
            monkeypatch.setattr(store, name, counting(name))
    return rows
