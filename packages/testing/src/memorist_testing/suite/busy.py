"""Tests recall, context and profile alongside a busy writer. They answer from the data that existed when the call
began."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from memorist.engine.derive import catching_up, indexing
from memorist.records import Derivation, NamespaceStats
from memorist.stores.base import Change, Put

NS = "user:ada"
MAX_WRITES = 60
"""A call that lets the writer in this often is trying to keep up with it, and would never end."""
Write = Callable[[int], Coroutine[Any, Any, Any]]


class BusyWriter:
    """Writes once before each commit of an indexer or deriver, which is the worst moment and the same in every run."""

    def __init__(self, memory: Any, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        self.writes = 0
        self._write = write
        self._inside = False
        store = memory._core.store
        self._apply = store.apply
        monkeypatch.setattr(store, "apply", self._interfere)

    async def _interfere(self, changes: Sequence[Change], *, now: int) -> Any:
        if not self._inside and any(_moves_watermark(change) for change in changes):
            assert self.writes < MAX_WRITES, "the call follows the writer"
            self.writes += 1
            self._inside = True
            try:
                await self._write(self.writes)
            finally:
                self._inside = False
        return await self._apply(changes, now=now)


class BusyTests:
    """Tests what a caller receives while somebody else keeps writing."""

    async def test_recall_finds_what_existed_while_a_thread_grows(
        self, memory: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await memory.threads.create(NS, id="talk")
        await memory.threads.append("talk", {"role": "user", "content": "The heron stands in the reeds."})

        async def write(number: int) -> None:
            await memory.threads.append("talk", {"role": "user", "content": f"Entry {number} of the log."})

        writer = BusyWriter(memory, write, monkeypatch)
        for _ in range(3):
            assert "heron" in (await memory.recall("Where is the heron?", namespaces=NS))[0].text
        assert 0 < writer.writes < 10

    async def test_recall_does_not_index_for_another_process_without_end(
        self, memory: Any, open_memory: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A writer that is faster than the index would make each recall take longer than the one before."""
        other = open_memory()
        await other.threads.create(NS, id="log")
        first = {"role": "user", "content": "The heron stands in the reeds."}
        await other.threads.append("log", first, *(f"Row {n} of the log." for n in range(400)))

        async def write(number: int) -> None:
            await other.threads.append("log", {"role": "user", "content": f"Kingfisher {number} of the log."})

        with monkeypatch.context() as patch:
            writer = BusyWriter(memory, write, patch)
            assert "heron" in (await memory.recall("Where is the heron?", namespaces=NS))[0].text
            stats = await memory._core.get(NamespaceStats, NS)
            assert stats.entries == indexing.FIRST_BATCH_ENTRIES
            assert "Row 399 " in (await memory.recall("What is in row 399?", namespaces=NS))[0].text
            # What this process has written itself is found at once, whoever writes beside it.
            await memory.threads.append("log", {"role": "user", "content": "The bittern booms at dusk."})
            assert "bittern" in (await memory.recall("What booms at dusk?", namespaces=NS))[0].text
        assert 0 < writer.writes < 20
        kingfishers = await memory.recall("kingfisher", namespaces=NS, top_k=30)
        assert sum("Kingfisher" in hit.text for hit in kingfishers) == writer.writes

    async def test_recall_searches_a_busy_thread_without_indexing_it_each_time(
        self, memory: Any, open_memory: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Messages that are not indexed yet are found by their words, in any form, and under the same rules."""
        monkeypatch.setattr(catching_up, "REST_FACTOR", 10_000)
        other = open_memory()
        await other.threads.create(NS, id="log")
        await other.threads.append("log", *(f"Row {n} of the log." for n in range(30)))
        await memory.recall("row 3", namespaces=NS)
        hidden = {"role": "user", "content": "Herons are private.", "metadata": {"private": True}}
        secret = "The heron's key is sk-proj-q7Wm2Zx9Lk4Vb8Nc1Rt6Yu3Io5Pa0Sd9f2a."
        rows = [f"Line {n} of the log." for n in range(30)]
        await other.threads.append("log", *rows, "Two cities, and a café at the river.", hidden, secret)
        stats = await memory._core.get(NamespaceStats, NS)
        for question, answer in (("Which city?", "cities"), ("Is there a cafe?", "café"), ("line 7", "Line 7 ")):
            assert answer in (await memory.recall(question, namespaces=NS))[0].text
        assert [hit.text for hit in await memory.recall("herons", namespaces=NS)] == [secret]
        assert await memory.recall("sk-proj-q7Wm2Zx9Lk4Vb8Nc1Rt6Yu3Io5Pa0Sd9f2a", namespaces=NS) == []
        assert await memory.recall("cities", namespaces=NS, kinds=["fact"]) == []
        assert await memory.recall("cities", namespaces=NS, before="2001-01-01") == []
        assert await memory._core.get(NamespaceStats, NS) == stats
        await other.threads.delete("log")
        assert await memory.recall("cities", namespaces=NS) == []

    async def test_own_words_are_indexed_and_derived_beside_a_backlog(
        self, open_memory: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(catching_up, "REST_FACTOR", 10_000)
        memory, other = open_memory(extract="rules"), open_memory()
        await other.threads.create(NS, id="log")
        for _ in range(2):
            await other.threads.append("log", *(f"Row {n} of the log." for n in range(30)))
            await memory.recall("row 3", namespaces=NS)
        await memory.threads.append("log", {"role": "user", "content": "My name is Ada Byron."})
        await memory.recall("Who am I?", namespaces=NS)
        assert (await memory.facts.get(NS, "name")).value == "Ada Byron"
        assert (await memory._core.get(NamespaceStats, NS)).entries >= 61

    async def test_recall_finds_what_existed_while_facts_are_added(
        self, memory: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await memory.facts.set(NS, "bird", "heron")

        async def write(number: int) -> None:
            await memory.facts.set(NS, f"measurement-{number:04}", number)

        writer = BusyWriter(memory, write, monkeypatch)
        for _ in range(3):
            assert "heron" in (await memory.recall("Which bird?", namespaces=NS))[0].text
        assert 0 < writer.writes < 10

    async def test_recall_returns_while_one_fact_changes_all_the_time(
        self, memory: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await memory.facts.set(NS, "bird", "heron")
        await memory.recall("Which bird?", namespaces=NS)
        await memory.facts.set(NS, "counter", 0)

        async def write(number: int) -> None:
            await memory.facts.set(NS, "counter", number)

        writer = BusyWriter(memory, write, monkeypatch)
        assert "heron" in (await memory.recall("Which bird?", namespaces=NS))[0].text
        assert 0 < writer.writes < MAX_WRITES

    async def test_facts_of_what_existed_are_known_while_a_thread_grows(
        self, open_memory: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = open_memory(extract="rules")
        await memory.threads.create(NS, id="talk")
        await memory.threads.append("talk", {"role": "user", "content": "My name is Ada Byron."})

        async def write(number: int) -> None:
            await memory.threads.append("talk", {"role": "user", "content": f"Entry {number} of the log."})

        writer = BusyWriter(memory, write, monkeypatch)
        context = await memory.scope(user="ada").context("Who am I?", thread="talk", budget=4_000)
        assert "Ada Byron" in str(context.openai())
        assert 0 < writer.writes < 20

    async def test_nothing_is_left_unread_once_the_writer_stops(
        self, open_memory: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = open_memory(extract="rules")
        await memory.threads.create(NS, id="talk")
        await memory.threads.append("talk", {"role": "user", "content": "My name is Ada Byron."})

        async def write(number: int) -> None:
            await memory.threads.append("talk", {"role": "user", "content": f"I live in Porto. Kingfisher {number}."})

        with monkeypatch.context() as patch:
            writer = BusyWriter(memory, write, patch)
            await memory.recall("Who am I?", namespaces=NS)
        hits = await memory.recall("kingfisher", namespaces=NS, kinds=["message"])
        assert len(hits) == writer.writes
        assert (await memory.facts.get(NS, "location")).value == "Porto"
        await memory.jobs.drain()
        assert [queue.waiting for queue in await memory.jobs.backlog()] == [0, 0]


def _moves_watermark(change: Change) -> bool:
    return isinstance(change, Put) and isinstance(change.record, NamespaceStats | Derivation)
