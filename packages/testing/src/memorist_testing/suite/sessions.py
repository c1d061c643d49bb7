"""Sessions: they create or resume a thread, keep one copy of each turn, and read only what belongs to their user."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.errors import Conflict

SAID = "The zebra-striped kayak is under the pier."


class SessionTests:
    """What a session promises, on every store."""

    async def test_a_session_creates_the_thread_of_its_id(self, memory: Any) -> None:
        async with memory.session("my-id", user="ada") as talk:
            await talk.add(SAID, "Noted.")
        thread = await memory.threads.get("my-id")
        assert (thread.ns, thread.length, thread.metadata["user"]) == ("user:ada", 2, "ada")

    async def test_a_session_resumes_the_thread_of_its_id(self, memory: Any) -> None:
        await memory.threads.create("user:ada", "Kayaks", id="my-id")
        await memory.threads.append("my-id", SAID)
        async with memory.session(thread="my-id", user="ada") as talk:
            await talk.add("And the paddle?", "In the shed.")
            assert SAID in str((await talk.context("Where was that?", recall=False)).messages())
        thread = await memory.threads.get("my-id")
        assert (thread.title, thread.length) == ("Kayaks", 3)

    async def test_an_id_that_another_user_has_is_refused(self, memory: Any) -> None:
        await memory.threads.create("user:bob", id="my-id")
        with pytest.raises(Conflict):
            async with memory.session("my-id", user="ada") as talk:
                await talk.add("mine")
        assert (await memory.threads.get("my-id")).length == 0

    async def test_a_turn_is_kept_once(self, memory: Any) -> None:
        async with memory.session(user="ada") as talk:
            await talk.add(SAID, "Noted.")
            assert await memory.working.get("ada", talk.id) is None
            assert await memory.working.get("ada") is None

    async def test_a_context_costs_the_same_however_many_users_there_are(
        self, memory: Any, store_below: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await memory.facts.set("user:ada", "city", "Lisbon")
        async with memory.session(user="ada") as talk:
            await talk.add(SAID, "Noted.")
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


def _count_rows_read(store: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows that each later read of the store returns."""
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
