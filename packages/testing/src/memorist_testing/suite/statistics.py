"""Tests that the statistics of a namespace match its entries, whatever was changed or deleted."""

from __future__ import annotations

from typing import Any

from memorist.testing.clock import FakeClock

NS = "user:ada"


async def count_indexed(memory: Any, clock: FakeClock) -> int:
    """Return the number of entries that `stats` counts once the workers have nothing left to do."""
    await memory.jobs.drain()
    clock.advance(120)
    await memory.jobs.drain()
    return int((await memory.stats()).indexed)


class StatisticsTests:
    """Tests the counts that ranking relies on."""

    async def test_a_fact_set_often_counts_once(self, memory: Any, clock: FakeClock) -> None:
        for number in range(5):
            await memory.facts.set(NS, "city", f"town number {number}")
            assert await count_indexed(memory, clock) == 1
        await memory.facts.set_many(NS, {"pet": "a cat", "job": "nurse"})
        assert await count_indexed(memory, clock) == 3

    async def test_what_is_deleted_counts_no_more(self, memory: Any, clock: FakeClock) -> None:
        await memory.facts.set_many(NS, {"city": "Lisbon", "pet": "a cat"})
        learning = await memory.learnings.add("Prefers tea", user="ada")
        await memory.documents.add(NS, "The lease ends in May.", id="lease")
        await memory.threads.append("talk", "We met in Porto.", "And in Faro.", create=NS)
        assert await count_indexed(memory, clock) == 6
        await memory.facts.delete(NS, "city")
        assert await count_indexed(memory, clock) == 5
        await memory.learnings.delete(learning.id, user="ada")
        await memory.documents.delete(NS, "lease")
        assert await count_indexed(memory, clock) == 3
        await memory.threads.delete_messages("talk", ids=["talk#1"])
        assert await count_indexed(memory, clock) == 2
        await memory.threads.delete("talk")
        await memory.facts.reject(NS, "pet")
        assert await count_indexed(memory, clock) == 0

    async def test_what_has_expired_counts_no_more(self, memory: Any, clock: FakeClock) -> None:
        await memory.facts.set_many(NS, {"pet": "a cat", "job": "nurse"})
        await memory.facts.set(NS, "city", "Lisbon", ttl=1000)
        await memory.threads.create(NS, id="talk", ttl=5000)
        await memory.threads.append("talk", "We met in Porto.", "And in Faro.")
        assert await count_indexed(memory, clock) == 5
        clock.advance(3600)
        assert await count_indexed(memory, clock) == 4
        clock.advance(7200)
        await memory.process("gc")
        assert await count_indexed(memory, clock) == 2

    async def test_deleted_entries_are_subtracted_in_the_same_commit(self, memory: Any, clock: FakeClock) -> None:
        await memory.documents.add(NS, "The lease ends in May.", id="lease")
        await memory.threads.append("talk", "We met in Porto.", "And in Faro.", "The sun shone.", create=NS)
        await memory.threads.append("other", "We met in Rome.", create=NS)
        assert await count_indexed(memory, clock) == 5
        await memory.documents.delete(NS, "lease")
        assert (await memory.stats()).indexed == 4
        await memory.threads.delete("talk")
        assert (await memory.stats()).indexed == 1
        assert await count_indexed(memory, clock) == 1

    async def test_what_is_forgotten_counts_no_more(self, memory: Any, clock: FakeClock) -> None:
        await memory.facts.set(NS, "city", "Lisbon")
        await memory.threads.append("talk", "We met in Porto.", "And in Faro.", create=NS)
        assert await count_indexed(memory, clock) == 3
        await memory.forget(message="talk#1")
        assert await count_indexed(memory, clock) == 2
        await memory.forget(thread="talk")
        assert (await memory.stats()).indexed == 1
