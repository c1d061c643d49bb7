"""Requests that are looked at and not sent, versions that come back, pinning, corrections that were replaced."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memorist import Conflict, Memory, NotFound
from memorist.context.prefix import shared_prefix
from memorist.engine.facts.corrections import replaced_corrections
from memorist.engine.sessions.assembling import Request
from memorist.engine.sessions.rehearsing import Rehearsal, Supposed, facts_at, supposing, turns_of
from memorist.runtime import run_blocking
from memorist.stores.memory import MemoryStore


class _Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def _memory(**options: Any) -> Memory:
    return Memory(MemoryStore(), embedder=None, counter="estimate", worker=False, clock=_Clock(), **options)


def test_a_rehearsal_counts_no_use_and_supposes_a_fact() -> None:
    with _memory(user="ada") as memory:
        memory.learnings.add("Prefers short answers", confidence=0.9)
        memory.facts.set("user:ada", "location", "Porto")
        core = memory._core
        facts = run_blocking(supposing(core, "user:ada", "location", "Lisbon"))
        context = run_blocking(Rehearsal(core, Supposed(facts=facts)).assemble(Request(input="Where do I live?")))
        assert any("Lisbon" in line.text for line in context.profile)
        assert not any("Porto" in line.text for line in context.profile)
        assert memory.facts.get("user:ada", "location").value == "Porto"  # type: ignore[union-attr]  # it is there
        assert memory.learnings.list()[0].usage_count == 0
        memory.context("Where do I live?")
        assert memory.learnings.list()[0].usage_count == 1


def test_a_rehearsal_stops_at_a_turn_and_knows_the_facts_of_then() -> None:
    with _memory(user="ada") as memory:
        thread = memory.threads.create("user:ada").id
        memory.facts.set("user:ada", "location", "Lisbon")
        for n in range(1, 6):
            memory.threads.append(thread, {"role": "user" if n % 2 else "assistant", "content": f"said {n}"})
        then = memory.threads.message(f"{thread}#3")
        memory.facts.set("user:ada", "location", "Porto")
        core = memory._core
        assert then is not None and then.created_at is not None
        facts = run_blocking(facts_at(core, ["user:ada"], then.created_at))
        supposed = Supposed(facts=facts, thread=thread, until=3, at=then.created_at)
        context = run_blocking(Rehearsal(core, supposed).assemble(Request(input="said 3", thread=thread)))
        assert [message.text for message in context.history] == ["said 1", "said 2"]
        assert any("Lisbon" in line.text for line in context.profile)
        assert [message.seq for message in run_blocking(turns_of(core, thread))] == [5, 3, 1]


def test_the_shared_prefix_ends_where_two_requests_part() -> None:
    with _memory(user="ada") as memory:
        thread = memory.threads.create("user:ada").id
        memory.threads.append(thread, {"role": "user", "content": "first"}, {"role": "assistant", "content": "yes"})
        counter = memory._core.shared.counter
        options: Any = {"thread": thread, "system": "Be brief.", "recall": False, "layout": "cached"}
        before = memory.context("second", **options)
        memory.threads.append(thread, {"role": "user", "content": "second"}, {"role": "assistant", "content": "no"})
        after = memory.context("third", **options)
        prefix = shared_prefix(before, after, counter)
        assert (prefix.section, prefix.seq, prefix.whole) == ("history", 3, False)
        assert 0 < prefix.tokens < after.tokens and prefix.share == prefix.tokens / after.tokens
        assert shared_prefix(after, after, counter).whole
        assert shared_prefix(None, after, counter).tokens == 0


def test_a_version_comes_back_with_its_confidence_and_may_be_derived_again() -> None:
    with _memory() as memory:
        ada = "user:ada"
        derived = memory.scope(actor="processor")
        derived.facts.set(ada, "location", "Porto", confidence=0.62, source="t#1")
        memory.facts.correct(ada, "location", "Lisbon", expect=1)
        derived.facts.set(ada, "location", "Porto", confidence=0.62, source="t#1")
        assert memory.facts.get(ada, "location").value == "Lisbon"  # type: ignore[union-attr]  # it is there
        back = memory.facts.restore(ada, "location", 1, expect=2)
        assert (back.value, back.confidence, back.sources, back.version) == ("Porto", 0.62, ("t#1",), 3)
        memory.facts.correct(ada, "location", "Faro")
        with pytest.raises(Conflict):
            memory.facts.restore(ada, "location", 1, expect=3)
        with pytest.raises(NotFound):
            memory.facts.restore(ada, "location", 99)
        with pytest.raises(Conflict):
            memory.facts.correct(ada, "location", "Evora", expect=1)


def test_a_derivation_over_a_correction_is_found() -> None:
    with _memory(extract="auto") as memory:
        thread = memory.threads.create("user:ada").id
        memory.threads.append(thread, {"role": "user", "content": "I live in London."})
        memory.jobs.drain()
        memory.facts.correct("user:ada", "location", "Lisbon")
        assert run_blocking(replaced_corrections(memory._core)) == []
        memory.threads.append(thread, {"role": "user", "content": "I live in Porto."})
        memory.jobs.drain()
        replaced = run_blocking(replaced_corrections(memory._core))
        assert [(replacement.fact.value, replacement.correction.value) for replacement in replaced] == [
            ("Porto", "Lisbon")
        ]
        assert any("replaced a correction" in problem for problem in memory.doctor().problems)


def test_a_message_is_pinned_and_let_go() -> None:
    with _memory() as memory:
        thread = memory.threads.create("user:ada").id
        memory.threads.append(thread, *({"role": "user", "content": f"note {n} " * 20} for n in range(30)))
        assert memory.threads.pin(f"{thread}#1").pinned
        context = memory.context("now", thread=thread, budget=400, recall=False)
        assert context.history[0].seq == 1
        memory.threads.pin(f"{thread}#1", pinned=False)
        assert memory.context("now", thread=thread, budget=400, recall=False).history[0].seq > 1
        with pytest.raises(NotFound):
            memory.threads.pin(f"{thread}#99")


def test_what_was_corrected_back_is_true_again() -> None:
    with _memory(extract="auto") as memory:
        thread = memory.threads.create("user:ada").id
        for city in ("Lisbon", "Porto"):
            memory.threads.append(thread, {"role": "user", "content": f"I live in {city}."})
            memory.jobs.drain()
        marks = {hit.text: hit.superseded_by for hit in memory.recall("Where does Ada live?", kinds="message")}
        assert marks["I live in Lisbon."] is not None
        memory.facts.correct("user:ada", "location", "Lisbon")
        memory.jobs.drain()
        marks = {hit.text: hit.superseded_by for hit in memory.recall("Where does Ada live?", kinds="message")}
        assert "Porto" not in (marks["I live in Lisbon."] or "")
        assert marks["I live in Porto."] is not None
