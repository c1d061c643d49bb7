"""Filters, budgets, reasons and odd questions, on every store."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memorist import UsageError
from memorist.testing import FakeClock

from .test_promises import ADA, hit_texts, thread

ODD = (
    'NEAR("a" b) OR *', "title:x AND NOT y", "a* ^b -c", "'; DROP TABLE entries; --", "100% _under_ \\", "a & b | !c:*",
    "<-> & (", "{}[]()", "日本語の本", "🚲", "🚲 bicycle 🚲", "  \n\t ", "", "\x00bicycle", "a" * 20_000, "OR",
    "the of and",
)  # fmt: skip


@pytest.mark.parametrize("query", ODD, ids=range(len(ODD)))
async def test_no_question_is_operator_syntax(memory: Any, query: str) -> None:
    await thread(memory, "My bicycle is red")
    assert set(await hit_texts(memory, query)) <= {"My bicycle is red"}


async def test_text_without_spaces_is_found_by_a_part_of_it(memory: Any) -> None:
    await thread(memory, "私は東京に住んでいます", "彼は大阪で働いています")
    assert (await hit_texts(memory, "東京"))[0] == "私は東京に住んでいます"


async def test_filters_by_kind_and_namespace(memory: Any) -> None:
    await thread(memory, "The harbour at dawn")
    await thread(memory, "The harbour at night", ns="user:bob")
    await memory.facts.set(ADA, "place", "harbour")
    assert await hit_texts(memory, "harbour", kinds=["fact"]) == ["place: harbour"]
    assert await hit_texts(memory, "harbour", kinds="message") == ["The harbour at dawn"]
    assert await hit_texts(memory, "harbour", namespaces="user:bob") == ["The harbour at night"]
    assert len(await hit_texts(memory, "harbour", namespaces=[ADA, "user:bob"])) == 3
    assert len(await hit_texts(memory, "harbour", namespaces=None)) == 3
    with pytest.raises(UsageError):
        await memory.recall("harbour", kinds="letter")


async def test_filters_by_time(memory: Any, clock: FakeClock) -> None:
    start = clock()
    for day in range(4):
        clock.set(start + timedelta(days=day))
        await thread(memory, f"Swam in the lake on day {day}")
    clock.set(start + timedelta(days=9))
    late = await hit_texts(memory, "lake", after=start + timedelta(days=1))
    assert sorted(late) == ["Swam in the lake on day 2", "Swam in the lake on day 3"]
    assert await hit_texts(memory, "lake", before=start + timedelta(days=1)) == ["Swam in the lake on day 0"]


async def test_filters_by_metadata_reach_past_the_first_candidates(memory: Any) -> None:
    for at in range(0, 300, 100):
        await thread(memory, *(f"The orchard report number {at + i}" for i in range(100)), metadata={"tag": "bulk"})
    await thread(memory, "An orchard, long ago, in a much longer and less fitting sentence", metadata={"tag": "rare"})
    hits = await hit_texts(memory, "orchard report number", where={"tag": "rare"})
    assert hits == ["An orchard, long ago, in a much longer and less fitting sentence"]
    assert await hit_texts(memory, "orchard", where={"tag": {"$in": ["none"]}}) == []


async def test_min_score_and_top_k_cut(memory: Any) -> None:
    await thread(memory, *(f"The kettle is {colour}" for colour in ("red", "blue", "green", "black")))
    hits = await memory.recall("kettle", namespaces=ADA)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(await hit_texts(memory, "kettle", top_k=2)) == 2
    assert await hit_texts(memory, "kettle", top_k=0) == []
    best = hits[0].score
    assert len(await hit_texts(memory, "kettle", min_score=best)) >= 1
    assert await hit_texts(memory, "kettle", min_score=1.01) == []


async def test_max_tokens_is_never_passed(memory: Any) -> None:
    await thread(memory, *(f"The violin lesson number {i} was about scales and patience" for i in range(12)))
    few = await hit_texts(memory, "violin lesson", max_tokens=40, top_k=20)
    many = await hit_texts(memory, "violin lesson", max_tokens=4_000, top_k=20)
    assert 0 < len(few) < len(many)
    assert sum(len(text) for text in few) // 5 <= 40
    assert await hit_texts(memory, "violin lesson", max_tokens=0) == []


async def test_each_hit_says_why(memory: Any) -> None:
    await thread(memory, "The submarine museum opened", "Nothing else")
    hit = (await memory.recall("submarine museum", namespaces=ADA))[0]
    assert hit.reasons[0].rank == 1
    assert "words" in {reason.signal for reason in hit.reasons}
    assert (hit.kind, hit.namespace, hit.source) == ("message", ADA, hit.id)


async def test_near_duplicates_are_told_once(memory: Any) -> None:
    for _ in range(3):
        await thread(memory, "The greenhouse needs new glass panes")
    await thread(memory, *(f"The greenhouse has tomato plant {name}" for name in ("Anna", "Bert", "Carl")))
    hits = await hit_texts(memory, "greenhouse", top_k=4)
    assert hits.count("The greenhouse needs new glass panes") == 1


async def test_neighbouring_chunks_of_a_document_are_one_hit(memory: Any) -> None:
    parts = [f"# Part {i}\n\n" + f"The turbine manual, section {i}. " * 60 for i in range(3)]
    document = await memory.documents.add(ADA, "\n\n".join(parts), id="manual")
    assert document.chunks >= 3
    hits = await memory.recall("turbine manual section", namespaces=ADA, kinds="document")
    assert len(hits) < document.chunks
    assert max(len(hit.text) for hit in hits) > max(
        len(piece.text) for piece in await memory.documents.chunks(ADA, "manual")
    )


async def test_what_was_said_at_a_named_time_is_found_without_a_shared_word(memory: Any, clock: FakeClock) -> None:
    now = clock()
    clock.set(now - timedelta(days=3))
    await thread(memory, "Bought a sailing boat")
    clock.set(now - timedelta(days=90))
    await thread(memory, "Sold the piano")
    clock.set(now)
    assert (await hit_texts(memory, "What happened three days ago?"))[0] == "Bought a sailing boat"


async def test_a_users_recall_looks_through_what_is_shared_and_its_own_and_past_all_others(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = ["agent:planner", "global", "workflow:nightly"]
    for ns in [*shared, "workflow:secret", "user:ada", "user:bob", "user:zoe", "user:ada2"]:
        await memory.facts.set(ns, "harbour", f"the harbour of {ns}")
    await memory.recall("warm")  # indexes all of it
    await memory.facts.set("user:bob", "late", "the harbour at night")  # waits to be indexed
    ada = memory.scope(user="ada", read=["agent:*", "workflow:nightly"])
    store = ada._core.store
    read: list[str] = []
    scan = store.scan

    async def counted(query: Any, *, now: int) -> Any:
        rows = await scan(query, now=now)
        read.extend(row.item if hasattr(row, "detail") else row.ns for row in rows if hasattr(row, "item"))
        return rows

    monkeypatch.setattr(store, "scan", counted)
    hits = await ada.recall("harbour", top_k=20)
    assert sorted(hit.namespace for hit in hits) == [*shared[:2], "user:ada", *shared[2:]]
    assert not [ns for ns in read if ns.startswith("user:") and ns != "user:ada"]
