"""What was written is found by the next recall, and what was taken back is not: on every store."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.engine.derive.indexing import BATCH_ENTRIES
from memorist.records import Job
from memorist.runtime import run_blocking
from memorist.stores.base import Put
from memorist.testing import FakeClock

ADA = "user:ada"


async def hit_texts(memory: Any, query: str, **options: Any) -> list[str]:
    """The texts of the hits, best first."""
    return [hit.text for hit in await memory.recall(query, **{"namespaces": ADA, **options})]


async def thread(memory: Any, *texts: str, ns: str = ADA, **fields: Any) -> str:
    """A thread with these messages."""
    id = (await memory.threads.create(ns)).id
    await memory.threads.append(id, *({"role": "user", "content": text, **fields} for text in texts))
    return str(id)


async def test_the_next_recall_finds_what_was_just_written(memory: Any) -> None:
    id = await thread(memory, "My bicycle is red")
    assert await hit_texts(memory, "bicycle") == ["My bicycle is red"]
    await memory.threads.append(id, {"role": "user", "content": "The bicycle was stolen"})
    assert "The bicycle was stolen" in await hit_texts(memory, "bicycle stolen")
    await memory.facts.set(ADA, "bicycle_brand", "Bianchi")
    assert await hit_texts(memory, "bicycle brand", kinds="fact") == ["bicycle brand: Bianchi"]
    await memory.facts.set(ADA, "bicycle_brand", "Gazelle")
    assert await hit_texts(memory, "bicycle brand", kinds="fact") == ["bicycle brand: Gazelle"]
    await memory.learnings.add("prefers bicycles to cars", type="preference", user="ada")
    assert await hit_texts(memory, "cars", kinds="learning") == ["prefers bicycles to cars"]
    await memory.documents.add(ADA, "A bicycle pump needs a gasket.", title="Pumps")
    assert await hit_texts(memory, "gasket", kinds="document") == ["A bicycle pump needs a gasket."]


async def test_the_next_recall_does_not_find_what_was_deleted(memory: Any) -> None:
    first = await thread(memory, "The heron nests here", "The heron flew")
    second = await thread(memory, "Another heron")
    await memory.facts.set(ADA, "bird", "heron")
    learning = await memory.learnings.add("likes the heron", type="preference", user="ada")
    document = await memory.documents.add(ADA, "On the heron.", id="heron-page")
    assert len(await hit_texts(memory, "heron")) == 6
    await memory.threads.delete_messages(first, ids=[f"{first}#1"])
    assert "The heron nests here" not in await hit_texts(memory, "heron")
    await memory.threads.delete(second)
    assert "Another heron" not in await hit_texts(memory, "heron")
    await memory.facts.delete(ADA, "bird")
    await memory.learnings.delete(learning.id, user="ada")
    await memory.documents.delete(ADA, document.id)
    assert await hit_texts(memory, "heron") == ["The heron flew"]


async def test_scores_after_a_deletion_are_those_of_a_memory_that_never_had_it(memory: Any) -> None:
    async def scores(ns: str) -> list[tuple[str, float]]:
        return [(hit.text, round(hit.score, 5)) for hit in await memory.recall("Where is the heron?", namespaces=ns)]

    texts = ("The heron nests by the lake.", "A boat is moored near the lake.", "My sister paints herons.")
    await thread(memory, *texts)
    dropped_thread = await thread(memory, "The lake freezes in winter.", "Herons eat fish.", "I bought a heron print.")
    await scores(ADA)
    await memory.threads.delete(dropped_thread)
    await thread(memory, *texts, ns="user:eve")
    assert await scores(ADA) == await scores("user:eve")


async def test_a_filter_by_time_does_not_change_the_score_of_the_best_hit(memory: Any, clock: FakeClock) -> None:
    await thread(memory, "The heron nests by the lake.", "My sister paints herons.")
    clock.advance(60)
    start = clock().isoformat()
    clock.advance(60)
    await thread(memory, "A heron nests near the boat.", "The lake freezes in winter.")
    question = "Where do herons nest near a boat?"
    whole = {hit.text: hit.score for hit in await memory.recall(question, namespaces=ADA)}
    [first, *_] = await memory.recall(question, namespaces=ADA, after=start)
    assert first.score == pytest.approx(whole[first.text])


async def test_what_expired_is_not_found(memory: Any, clock: FakeClock) -> None:
    await memory.facts.set(ADA, "badge", "colour turquoise", ttl=60)
    await memory.facts.set(ADA, "door", "colour turquoise too")
    assert len(await hit_texts(memory, "turquoise")) == 2
    clock.advance(61)
    assert await hit_texts(memory, "turquoise") == ["door: colour turquoise too"]


async def test_what_was_rejected_is_not_found(memory: Any) -> None:
    await memory.facts.set(ADA, "allergy", "peanuts")
    assert await hit_texts(memory, "peanuts") == ["Allergic to peanuts"]
    await memory.facts.reject(ADA, "allergy", reason="a mistake")
    assert await hit_texts(memory, "peanuts") == []


async def test_what_was_forgotten_is_not_found(memory: Any) -> None:
    other_thread = await thread(memory, "The lighthouse keeper")
    secret_thread = await thread(memory, "The lighthouse secret")
    assert len(await hit_texts(memory, "lighthouse")) == 2
    await memory.forget(thread=secret_thread)
    assert await hit_texts(memory, "lighthouse secret") == ["The lighthouse keeper"]
    await memory.forget(user="ada")
    assert await hit_texts(memory, "lighthouse") == []
    assert await memory.threads.get(other_thread) is None


async def test_a_changed_message_order_leaves_neighbours_alone(memory: Any) -> None:
    id = await thread(memory, "Where did the parcel go?", "To Lisbon.", "Thanks", "By the way, we moved.")
    assert "To Lisbon." in await hit_texts(memory, "Where did the parcel go?")
    await memory.threads.delete_messages(id, ids=[f"{id}#1"])
    assert "Where did the parcel go?" not in await hit_texts(memory, "parcel")


async def test_two_handles_see_what_the_other_writes_and_deletes(memory: Any, open_memory: Any) -> None:
    other = open_memory()
    id = await thread(memory, "A walnut table")
    assert await hit_texts(other, "walnut") == ["A walnut table"]
    await thread(other, "A walnut chair")
    assert sorted(await hit_texts(memory, "walnut")) == ["A walnut chair", "A walnut table"]
    await other.threads.delete(id)
    assert await hit_texts(memory, "walnut") == ["A walnut chair"]
    assert await hit_texts(other, "walnut") == ["A walnut chair"]


async def test_however_many_jobs_are_dead_what_is_new_is_found(memory: Any, clock: FakeClock) -> None:
    core = memory._core
    dead = [
        Job(
            org=core.org, queue="index", ns=ADA, item=f"fact:{n:04}", status="dead", run_at=clock(), created_at=clock(),
            updated_at=clock(),
        )
        for n in range(BATCH_ENTRIES + 1)
    ]  # fmt: skip
    applied = core.apply(*(Put(job) for job in dead))
    if core.runtime.blocking:
        run_blocking(applied)
    else:
        await applied
    await thread(memory, "The lighthouse stands on the point")
    assert await hit_texts(memory, "lighthouse") == ["The lighthouse stands on the point"]


async def test_an_exact_repeat_is_told_once_and_hits_are_best_first(memory: Any) -> None:
    crossed, question = "The caravan crossed the desert", "Which caravan crossed the desert?"
    await thread(memory, crossed, "A caravan was seen", "Nothing of note", crossed, "The desert was hot", crossed)
    for limit in range(1, 8):
        scores = [hit.score for hit in await memory.recall(question, namespaces=ADA, top_k=limit)]
        assert scores == sorted(scores, reverse=True)
    hits = await memory.recall(question, namespaces=ADA, top_k=6)
    assert [hit.text for hit in hits].count(crossed) == 1


async def test_what_the_user_corrected_is_marked_and_stands_below(memory: Any) -> None:
    await memory.threads.create(ADA, id="moves")
    await memory.threads.append("moves", "I live in Lisbon.")
    await memory.facts.set(ADA, "location", "Lisbon", source="moves#1")
    await memory.recall("where does she live?", namespaces=[ADA])
    await memory.facts.correct(ADA, "location", "Porto", reason="she moved")
    hits = await memory.recall("where does she live?", namespaces=[ADA])
    message = next(hit for hit in hits if hit.kind == "message")
    fact = next(hit for hit in hits if hit.kind == "fact")
    assert "Porto" in str(message.superseded_by) and fact.superseded_by is None
    assert hits.index(fact) < hits.index(message)
