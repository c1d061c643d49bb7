"""Tests that index entries contain the version of the analysis that produced them, and are rebuilt when it changes."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.recall import analyze
from memorist.testing.clock import FakeClock

from .statistics import count_indexed

NS = "user:ada"
SENTENCES = ("The sailing boats are moored in Split.", "Mira keeps the keys.", "The engine was repaired in March.")


def _fold_to_upper_case(word: str, language: str) -> str:
    return f"{word.upper()}X"


def _earlier(patch: pytest.MonkeyPatch) -> None:
    """Analyse text like an earlier version, whose terms have nothing in common with the current ones."""
    patch.setattr(analyze, "analysis_version", lambda: "0/earlier")
    patch.setattr(analyze, "_stem", _fold_to_upper_case)
    for terms in analyze._TERMS_BY_WORD.values():
        terms.clear()


async def _fill(memory: Any) -> None:
    await memory.threads.append("talk", *SENTENCES, create=NS)
    await memory.facts.set(NS, "city", "sailing in Porto")
    await memory.documents.add(NS, "Sailing lessons begin at nine.", title="Lessons")
    await memory.jobs.drain()


async def _write_as_earlier(memory: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _earlier(patch)
        await _fill(memory)
    for terms in analyze._TERMS_BY_WORD.values():
        terms.clear()


async def _texts(memory: Any) -> set[str]:
    """Return the results of a search for another form of the word, without the turn after it."""
    hits = await memory.recall("Who sails?", namespaces=NS)
    return {hit.text for hit in hits if "sailing" in hit.text.lower()}


class ReindexingTests:
    """`reindex`."""

    async def test_entries_of_an_earlier_analysis_are_made_again(self, memory: Any) -> None:
        await _write_as_earlier(memory)
        [report] = await memory.process("reindex")
        assert report.changed == 5
        [again] = await memory.process("reindex")
        assert again.changed == 0
        assert await _texts(memory) == {SENTENCES[0], "city: sailing in Porto", "Sailing lessons begin at nine."}

    async def test_a_small_memory_is_made_again_by_the_next_recall(self, memory: Any) -> None:
        await _write_as_earlier(memory)
        assert len(await _texts(memory)) == 3
        [report] = await memory.process("reindex")
        assert report.changed == 0

    async def test_a_memory_that_was_made_again_ranks_like_a_new_one(
        self, memory: Any, open_memory: Any, org: str
    ) -> None:
        await _write_as_earlier(memory)
        await memory.process("reindex")
        hits = await memory.recall("When was the engine repaired?", namespaces=NS)
        other = open_memory(org=f"{org}-fresh")
        await _fill(other)
        fresh = await other.recall("When was the engine repaired?", namespaces=NS)
        assert [(hit.id, round(hit.score, 6)) for hit in hits if hit.kind != "document"] == [
            (hit.id, round(hit.score, 6)) for hit in fresh if hit.kind != "document"
        ]

    async def test_doctor_says_what_is_outdated(self, memory: Any) -> None:
        await _write_as_earlier(memory)
        assert any("memorist reindex" in problem for problem in (await memory.doctor()).problems)
        await memory.process("reindex")
        assert not any("memorist reindex" in problem for problem in (await memory.doctor()).problems)

    async def test_what_was_deleted_meanwhile_is_not_indexed_again(self, memory: Any, clock: FakeClock) -> None:
        await _write_as_earlier(memory)
        await memory.facts.delete(NS, "city")
        await memory.process("reindex")
        assert await _texts(memory) == {SENTENCES[0], "Sailing lessons begin at nine."}
        assert await count_indexed(memory, clock) == 4
