"""Embedders that fail, change or come late never keep recall from working."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from memorist import Memory

from .conftest import Failing, WordHashes
from .test_promises import ADA, hit_texts, thread


async def test_a_failing_embedder_leaves_recall_lexical_and_is_told_by_doctor(open_memory: Any) -> None:
    memory = open_memory(embedder=Failing("away"))
    await thread(memory, "The caravan crossed the desert")
    assert await hit_texts(memory, "caravan") == ["The caravan crossed the desert"]
    problems = (await memory.doctor()).problems
    assert any(problem.startswith("embedder: ModelError") for problem in problems)
    assert not any("caravan" in problem for problem in problems)


async def test_vectors_come_once_the_embedder_is_back(open_memory: Any) -> None:
    away = open_memory(embedder=Failing("word-hashes"))
    await thread(away, "The caravan crossed the desert")
    assert await hit_texts(away, "caravan") == ["The caravan crossed the desert"]
    back = open_memory(embedder=WordHashes())
    assert not await by_vector(back, "caravan desert")
    await back.process("reindex")
    assert await by_vector(back, "caravan desert")


async def test_another_embedder_is_detected_and_reembeds(open_memory: Any) -> None:
    old = open_memory(embedder=WordHashes("old"))
    await thread(old, "The caravan crossed the desert", "An oasis at noon")
    assert await by_vector(old, "caravan desert")
    new = open_memory(embedder=WordHashes("new", 16))
    assert (await hit_texts(new, "caravan"))[0] == "The caravan crossed the desert"
    assert not await by_vector(new, "caravan desert")
    assert any("vectors of" in problem and "old" in problem for problem in (await new.doctor()).problems)
    await new.process("reindex")
    assert await by_vector(new, "caravan desert")
    assert not any("vectors of" in problem for problem in (await new.doctor()).problems)


def test_doctor_finds_no_damage_while_two_embedders_embed_anew(url: Any, org: str) -> None:
    """Two programs with different embedders on one store: each makes the other's vectors anew, again and again."""
    options: dict[str, Any] = {"org": org, "counter": "estimate", "worker": False, "extract": None}
    with (
        Memory(url, embedder=WordHashes("one"), **options) as first,
        Memory(url, embedder=WordHashes("two", 16), **options) as two,
        Memory(url, embedder=None, **options) as looking,
    ):
        first.threads.create(ADA, id="talk")
        first.threads.append("talk", *(f"The caravan number {i} crossed the desert" for i in range(40)))
        first.jobs.drain()
        before = set(looking.doctor(deep=True).problems)
        with ThreadPoolExecutor(2) as pool:
            anew = [pool.submit(_embed_anew, memory) for memory in (first, two)]
            looks = 0
            problems: set[str] = set()
            while looks < 5 or not all(work.done() for work in anew):
                problems |= set(looking.doctor(deep=True).problems)
                looks += 1
            for work in anew:
                work.result()
        problems |= set(looking.doctor(deep=True).problems)
        assert {problem for problem in problems - before if "vectors of" not in problem} == set()
        assert len(looking.recall("caravan desert", namespaces=ADA, top_k=10)) == 10


def _embed_anew(memory: Memory) -> None:
    for number in range(12):
        memory.facts.set(ADA, f"palms {number}", f"An oasis of {number} palms")
        memory.process("reindex")
        memory.recall("caravan", namespaces=ADA)


async def test_without_an_embedder_nothing_is_embedded(open_memory: Any) -> None:
    memory = open_memory(embedder=None)
    await thread(memory, "The caravan crossed the desert")
    assert await hit_texts(memory, "caravan") == ["The caravan crossed the desert"]
    assert not await by_vector(memory, "caravan")


async def test_a_question_is_embedded_once_and_messages_in_batches(open_memory: Any) -> None:
    embedder = WordHashes()
    memory = open_memory(embedder=embedder)
    await thread(memory, *(f"Sentence number {i}" for i in range(50)))
    await memory.recall("sentence", namespaces=ADA)
    assert embedder.calls == 2


async def by_vector(memory: Any, query: str) -> bool:
    """Whether vectors had a say in the first hit."""
    hits = await memory.recall(query, namespaces=ADA)
    return hits[0].cosine is not None
