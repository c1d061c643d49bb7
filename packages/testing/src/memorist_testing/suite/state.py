"""Tests state and batches through the public API."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.errors import Conflict, InvalidValue, NotFound, UsageError
from memorist.testing.clock import FakeClock

from ..plugin import Together


class StateTests:
    """State."""

    async def test_state_is_read_as_it_was_set(self, memory: Any) -> None:
        assert await memory.state.get("k") is None
        assert await memory.state.get("k", "none") == "none"
        await memory.state.set("k", {"a": [1]})
        assert await memory.state.get("k") == {"a": [1]}
        assert await memory.state.delete("k") is True
        assert await memory.state.delete("k") is False

    async def test_none_is_a_value(self, memory: Any) -> None:
        await memory.state.set("k", None)
        assert await memory.state.get("k", "default") is None

    async def test_state_is_compared_and_set(self, memory: Any) -> None:
        first = await memory.state.set("k", 1, expect=0)
        assert (await memory.state.set("k", 2, expect=first.version)).version == 2
        with pytest.raises(Conflict):
            await memory.state.set("k", 3, expect=first.version)
        assert (await memory.state.entry("k")).value == 2

    async def test_a_counter_counts(self, memory: Any) -> None:
        assert [await memory.state.increment("n") for _ in range(3)] == [1, 2, 3]
        assert await memory.state.increment("n", -10) == -7
        assert await memory.state.get("n") == -7
        for by in (1.5, True, "1"):
            with pytest.raises(InvalidValue):
                await memory.state.increment("n", by)

    async def test_state_with_a_ttl_ends(self, memory: Any, clock: FakeClock) -> None:
        await memory.state.set("k", 1, ttl=10)
        await memory.state.increment("n", ttl=10)
        clock.advance(5)
        assert await memory.state.increment("n", ttl=10) == 2
        clock.advance(5)
        assert await memory.state.get("k") is None
        assert await memory.state.increment("n") == 1

    async def test_state_of_a_user_is_that_users(self, memory: Any) -> None:
        ada, eve = memory.scope(user="ada"), memory.scope(user="eve")
        await ada.state.set("k", "ada's")
        await eve.state.increment("n")
        assert await eve.state.get("k") is None
        assert await memory.state.get("k") is None
        assert await ada.state.get("n") is None

    async def test_many_callers_lose_no_count(self, memory: Any, together: Together) -> None:
        async def count() -> None:
            for _ in range(10):
                await memory.state.increment("n")

        await together([count] * 8)
        assert await memory.state.get("n") == 80

    async def test_a_batch_commits_all_kinds_together(self, memory: Any) -> None:
        async with memory.batch() as batch:
            await batch.threads.create("global", id="t")
            await batch.threads.append("t", "hello")
            await batch.facts.set("global", "k", 1)
            await batch.state.increment("n")
            assert await memory.facts.get("global", "k") is None
        assert [message.text for message in await memory.threads.recent("t")] == ["hello"]
        assert (await memory.facts.get("global", "k")).value == 1
        assert await memory.state.get("n") == 1

    async def test_a_batch_left_by_an_error_writes_nothing(self, memory: Any) -> None:
        with pytest.raises(ZeroDivisionError):
            async with memory.batch() as batch:
                await batch.facts.set("global", "k", 1)
                raise ZeroDivisionError
        assert await memory.facts.get("global", "k") is None

    async def test_a_batch_refused_by_the_store_writes_nothing(self, memory: Any) -> None:
        await memory.facts.set("global", "there", 1)
        with pytest.raises(Conflict):
            async with memory.batch() as batch:
                await batch.state.set("k", 1)
                await batch.facts.set("global", "there", 2, expect=9)
        assert await memory.state.get("k") is None
        with pytest.raises(NotFound):
            async with memory.batch() as batch:
                await batch.state.set("k", 1)
                await batch.threads.append("none", "x")
        assert await memory.state.get("k") is None

    async def test_one_key_twice_in_a_batch_is_refused(self, memory: Any) -> None:
        await memory.threads.create("global", id="t")
        with pytest.raises(UsageError):
            async with memory.batch() as batch:
                await batch.threads.append("t", "a", key="k")
                await batch.threads.append("t", "b", key="k")
        assert await memory.threads.messages("t") == []

    async def test_a_known_key_in_a_batch_leaves_its_other_changes(self, memory: Any) -> None:
        await memory.threads.create("global", id="t")
        for n in range(3):
            async with memory.batch() as batch:
                await batch.threads.append("t", "a", key="k")
                await batch.threads.append("t", f"b{n}")
                await batch.state.increment("n")
        assert await memory.state.get("n") == 3
        assert [m.content for m in await memory.threads.messages("t")] == ["a", "b0", "b1", "b2"]
