"""Processors: each does its work once, costs little when nothing is new, and may run twice or side by side."""

from __future__ import annotations

from typing import Any

import pytest

from memorist import (
    Archiver,
    Deduplicator,
    FactExtractor,
    Summarizer,
    Tidier,
    TokenLimiter,
    TtlGarbageCollector,
    UsageError,
    VectorIndexer,
)
from memorist.engine.processors import PROCESSORS
from memorist.records import Entry
from memorist.runtime import Runtime
from memorist.testing import FakeClock
from memorist.types import Report
from memorist_testing.plugin import Run, Together

from .conftest import OpenMemory, do
from .models import Scripted, item, items
from .test_session import sentence


class Counting:
    """An embedder whose vectors hold its letter counts, and which counts its texts."""

    def __init__(self, name: str, first: str) -> None:
        self.name, self.dimensions, self.first, self.seen = name, 8, first, 0

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.seen += len(texts)
        return [[1.0 + text.count(chr(ord(self.first) + i)) for i in range(8)] for text in texts]


async def long_thread(memory: Any, turns: int = 30) -> str:
    thread = await do(memory.threads.create("user:ada"))
    for number in range(turns):
        await do(memory.threads.append(thread.id, sentence(number), {"role": "assistant", "content": "Noted."}))
    thread_id: str = thread.id
    return thread_id


async def test_the_collector_removes_what_expired(memory: Any, clock: FakeClock, run: Run) -> None:
    for number in range(5):
        await do(memory.facts.set("user:ada", f"k{number}", number, ttl=10 if number else None))
    clock.advance(11)
    (report,) = await do(memory.process(TtlGarbageCollector()))
    assert report.processor == "gc" and report.changed >= 4
    (again,) = await do(memory.process(TtlGarbageCollector()))
    assert "facts" not in again.counts
    assert (await do(memory.facts.get("user:ada", "k0"))).value == 0


@pytest.mark.parametrize("kind", [FactExtractor])
async def test_extraction_works_through_what_is_new(memory: Any, kind: Any, run: Run) -> None:
    thread = await do(memory.threads.create("user:ada"))
    await do(memory.threads.append(thread.id, "I live in Lisbon and I prefer short answers."))
    (report,) = await do(memory.process(kind()))
    assert report.seen == 1
    assert (await do(memory.facts.get("user:ada", "location"))).value == "Lisbon"
    assert len(await do(memory.learnings.list(user="ada", min_confidence=0))) == 1
    (again,) = await do(memory.process(kind()))
    assert (again.seen, again.changed) == (0, 0)


async def test_extraction_may_have_a_model_of_its_own(memory: Any, runtime: Runtime, run: Run) -> None:
    model = Scripted(runtime.blocking, items(item("location", "Porto", "the city of wine, Porto")))
    thread = await do(memory.threads.create("user:ada"))
    await do(memory.threads.append(thread.id, "I come from the city of wine, Porto."))
    await do(memory.process(FactExtractor(model)))
    assert (await do(memory.facts.get("user:ada", "location"))).value == "Porto"
    assert memory._core.shared.model is None, "the memory itself still has no model"


async def test_the_tidier_applies_a_plan_for_each_user_that_can_be_undone(memory: Any, run: Run) -> None:
    for text in ("Prefers short answers, please", "Prefers short answers please."):
        await do(memory.learnings.add(text, user="ada"))
    (dry,) = await do(memory.process(Tidier(dry_run=True)))
    assert (dry.seen, dry.changed) == (2, 0)
    (report,) = await do(memory.process("tidier"))
    assert (report.seen, report.changed) == (2, 1)
    assert len(await do(memory.learnings.list(user="ada", min_confidence=0))) == 1
    plan = report.notes[0].rpartition("plan ")[2]
    assert await do(memory.plans.undo(plan, ns="user:ada")) == 2
    assert len(await do(memory.learnings.list(user="ada", min_confidence=0))) == 2


async def test_summarizer_and_limiter_fold_what_outgrew_its_room(memory: Any, run: Run) -> None:
    thread = await long_thread(memory)
    reports = await do(memory.process(Summarizer(max_tokens=50_000), TokenLimiter(400)))
    assert [(report.processor, report.seen, report.changed) for report in reports] == [
        ("summarizer", 1, 0),
        ("limiter", 1, 1),
    ]
    (summary,) = await do(memory.threads.summaries(thread))
    remaining_tokens = [m.tokens for m in await do(memory.threads.messages(thread, after=summary.last))]
    assert sum(remaining_tokens) + summary.tokens <= 400
    (again,) = await do(memory.process(TokenLimiter(400)))
    assert (again.seen, again.changed) == (0, 0)


async def test_a_summarizers_own_model_writes_the_summary(memory: Any, runtime: Runtime, run: Run) -> None:
    thread = await long_thread(memory)
    model = Scripted(runtime.blocking, "The crew mended nets near the pier at noon.")
    await do(memory.process(Summarizer(model, max_tokens=400)))
    (summary,) = await do(memory.threads.summaries(thread))
    assert (summary.method, summary.text) == ("model", "The crew mended nets near the pier at noon.")


async def test_each_line_of_a_summary_names_the_messages_behind_it(
    open_memory: OpenMemory, runtime: Runtime, run: Run
) -> None:
    text = "Ada decided on 14 March for the launch.\nBo promised the budget of 900 euros."
    memory = open_memory(extract=None)
    await do(memory.threads.create("user:ada", id="talk"))
    assert await do(memory.threads.summary_lines("talk")) == []
    for line in (
        "Let us decide when to launch.",
        "14 March for the launch, then.",
        "Bo here: I promise the budget, 900 euros.",
    ):
        await do(memory.threads.append("talk", line))
    for number in range(40):
        await do(memory.threads.append("talk", f"The nets near pier {number} were mended again, as on other days."))
    await do(memory.process(Summarizer(Scripted(runtime.blocking, text), max_tokens=400)))
    lines = await do(memory.threads.summary_lines("talk"))
    assert [line.text for line in lines] == text.splitlines()
    assert [line.messages[0] for line in lines] == ["talk#2", "talk#3"]


async def test_the_archiver_folds_threads_that_rest(memory: Any, clock: FakeClock, run: Run) -> None:
    thread = await long_thread(memory)
    (early,) = await do(memory.process(Archiver(after="30d")))
    assert (early.seen, early.changed) == (0, 0)
    clock.advance(31 * 86400)
    (report,) = await do(memory.process(Archiver(after="30d")))
    assert (report.seen, report.changed) == (1, 1)
    assert len(await do(memory.threads.summaries(thread))) == 1
    assert len(await do(memory.threads.messages(thread))) == 60
    (again,) = await do(memory.process(Archiver(after="30d")))
    assert (again.seen, again.changed) == (0, 0)


async def test_duplicates_are_merged_and_the_surer_stays(memory: Any, run: Run) -> None:
    await do(memory.facts.set("user:ada", "Home City", "lisbon", confidence=0.4))
    await do(memory.facts.set("user:ada", "home_city", "Lisbon", confidence=0.9))
    await do(memory.facts.set("user:ada", "homecity", "Porto"))
    await do(memory.process("reindex"))
    (report,) = await do(memory.process(Deduplicator()))
    assert report.changed == 1
    assert sorted(fact.key for fact in await do(memory.facts.list("user:ada"))) == ["home_city", "homecity"]
    (again,) = await do(memory.process("dedup"))
    assert (again.seen, again.changed) == (0, 0)


async def test_another_embedder_is_noticed_and_everything_embedded_anew(open_memory: OpenMemory, run: Run) -> None:
    old, new = Counting("old", "a"), Counting("new", "h")
    first = open_memory(embedder=old)
    thread = await do(first.threads.create("user:ada"))
    await do(first.threads.append(thread.id, *(sentence(number) for number in range(12))))
    await do(first.facts.set("user:ada", "city", "Lisbon"))
    await do(first.documents.add("user:ada", "Nets are mended at noon.", title="Nets"))
    await do(first.process("reindex"))
    second = open_memory(embedder=new)
    assert any("process vectors" in problem for problem in (await do(second.doctor())).problems)
    (report,) = await do(second.process(VectorIndexer()))
    entries = await second._core.scan(Entry, "user:ada")
    assert {entry.embedder for entry in entries} == {"new"} and report.changed == len(entries) == 14
    assert not any("process vectors" in problem for problem in (await do(second.doctor())).problems)
    texts_before = new.seen
    (again,) = await do(second.process(VectorIndexer()))
    assert (again.changed, new.seen) == (0, texts_before)


async def test_an_interrupted_embedding_goes_on_where_it_stopped(
    open_memory: OpenMemory, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memorist import ModelError
    from memorist.engine import processors

    monkeypatch.setattr(processors, "PAGE_ROWS", 4)
    first = open_memory(embedder=Counting("old", "a"))
    thread = await do(first.threads.create("user:ada"))
    for number in range(12):
        await do(first.threads.append(thread.id, sentence(number)))
        await do(first.recall("net"))
    new = Counting("new", "h")

    def stops(texts: list[str]) -> list[list[float]]:
        if new.seen >= 8:
            raise ModelError("down", retryable=True)
        return new(texts)

    stops.name = "new"  # type: ignore[attr-defined]
    stops.dimensions = 8  # type: ignore[attr-defined]
    with pytest.raises(ModelError):
        await do(open_memory(embedder=stops).process("reindex"))
    done_count = [entry.embedder for entry in await first._core.scan(Entry, "user:ada")].count("new")
    assert done_count == 8
    new.seen = 0
    second = open_memory(embedder=new)
    await do(second.process("reindex"))
    assert {entry.embedder for entry in await second._core.scan(Entry, "user:ada")} == {"new"}
    assert new.seen == 4


async def test_a_chunk_is_embedded_again_as_it_was_at_first(open_memory: OpenMemory, run: Run) -> None:
    texts: list[str] = []

    def embedder(name: str) -> Any:
        def embed(inputs: list[str]) -> list[list[float]]:
            texts.extend(inputs)
            return [[1.0 + len(text), 1.0] for text in inputs]

        embed.name, embed.dimensions = name, 2  # type: ignore[attr-defined]
        return embed

    first = open_memory(embedder=embedder("old"))
    await do(first.documents.add("user:ada", "# Mending\n\nNets are mended at noon.", title="Handbook"))
    await do(first.process("reindex"))
    once, texts[:] = list(texts), []
    assert once and all(text.startswith("Handbook Mending\n") for text in once)
    await do(open_memory(embedder=embedder("new")).process("reindex"))
    assert texts == once


async def test_they_may_run_side_by_side(memory: Any, together: Together, run: Run) -> None:
    thread = await long_thread(memory)
    await together([lambda: do(memory.process("gc", "facts", TokenLimiter(400), "dedup")) for _ in range(3)])
    assert len(await do(memory.threads.summaries(thread))) == 1
    assert len(await do(memory.threads.messages(thread))) == 60
    reports = await do(memory.process("facts", TokenLimiter(400), "dedup"))
    assert [(report.seen, report.changed) for report in reports] == [(0, 0), (0, 0), (0, 0)]


async def test_any_object_with_process_is_a_processor(memory: Any, runtime: Runtime, run: Run) -> None:
    class Blocking:
        def process(self, memory_handle: Any) -> Report:
            memory_handle.facts.set("global", "seen", True)
            return Report("mine", 1, 1)

    class Awaiting:
        async def process(self, memory_handle: Any) -> Report:
            await memory_handle.facts.set("global", "seen", True)
            return Report("mine", 1, 1)

    processor: Any = Blocking() if runtime.blocking else Awaiting()
    assert [report.processor for report in await do(memory.process(processor, "gc"))] == ["mine", "gc"]
    assert (await do(memory.facts.get("global", "seen"))).value is True
    assert isinstance(await do(TtlGarbageCollector().process(memory)), Report)
    for wrong in ("nothing", object()):
        with pytest.raises(UsageError):
            await do(memory.process(wrong))


async def test_progress_is_told(memory: Any, run: Run) -> None:
    await long_thread(memory)
    progress: list[tuple[str, int]] = []
    await do(memory.process("facts", TokenLimiter(400), progress=lambda name, count: progress.append((name, count))))
    assert ("limiter", 1) in progress and any(name == "facts" for name, _ in progress)


@pytest.mark.parametrize("age", ["30", "x", "-3d", "3 y"])
def test_an_age_is_a_number_with_a_unit(age: str) -> None:
    with pytest.raises(UsageError):
        Archiver(after=age)


@pytest.mark.parametrize("name", PROCESSORS)
async def test_with_nothing_new_next_to_nothing_is_read(
    open_memory: OpenMemory, run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    memory = open_memory(embedder=Counting("letters", "a"))
    for _ in range(3):
        await long_thread(memory, 10)
    for number in range(20):
        await do(memory.facts.set(f"user:u{number}", "boats", number))
    for _ in range(2):
        await do(memory.process(name))
        await do(memory.process("facts", "reindex", "limiter", "dedup"))
    await do(memory.process(name))
    calls: list[int] = []
    for method in ("get", "get_many", "scan", "apply", "claim"):
        monkeypatch.setattr(memory._core.store, method, counted(getattr(memory._core.store, method), calls))
    (report,) = await do(memory.process(name))
    assert (report.seen, report.changed) == (0, 0)
    assert len(calls) <= 12 and sum(calls) <= 12


def counted(method: Any, calls: list[int]) -> Any:
    """The same method of a store; how many rows each call gave is noted."""

    async def call(*args: Any, **options: Any) -> Any:
        result = await method(*args, **options)
        calls.append(len(result) if isinstance(result, list) else 1)
        return result

    return call
