"""A defect planted in each stage from message to prompt is named as that stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from memorist.checking import Case, Failure, run_case
from memorist.recall import ranking

TALK = ["I live in Lisbon.", "My dentist is called Mr Brown.", "The boat is moored at pier nine."]


def failures(**fields: Any) -> list[Failure]:
    """The failures of a case that must run to its end."""
    fields = {"name": "planted", "conversation": TALK, "ask": "What is my dentist called?", **fields}
    result = run_case(Case(**fields))
    assert result.error is None
    return list(result.failures)


def only(failures: list[Failure]) -> Failure:
    [failure] = failures
    assert failure.reproduce and failure.reproduce[0].startswith("memorist ")
    return failure


def test_without_a_defect_nothing_is_lost() -> None:
    assert failures(expect={"contains": "Mr Brown", "newest": {"location": "Lisbon"}}) == []


def test_messages_that_are_dropped_were_never_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    from memorist.engine.threads.threads import Threads

    append = Threads.append

    async def losing(self: Any, thread: Any, *messages: Any, **options: Any) -> Any:
        if any("dentist" in str(message) for message in messages):
            messages = ({"role": "user", "content": "…"},)
        return await append(self, thread, *messages, **options)

    monkeypatch.setattr(Threads, "append", losing)
    failure = only(failures(expect={"contains": "Mr Brown"}))
    assert failure.stage == "never stored" and "threads list" in failure.reproduce[0]


def test_a_fact_that_no_rule_reads_was_not_extracted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.extract.extractor._stated", lambda *args, **options: iter(()))
    monkeypatch.setattr("memorist.extract.extractor._anywhere", lambda *args, **options: iter(()))
    failure = only(failures(ask="Where do I live?", expect={"newest": {"location": "Lisbon"}}))
    assert failure.stage == "not extracted" and "memorist extract 'I live in Lisbon.' --explain" in failure.reproduce


def test_a_message_that_is_not_indexed_was_not_extracted(monkeypatch: pytest.MonkeyPatch) -> None:
    from memorist.engine.derive import indexing

    analyse = indexing.analyse_drafts

    def leaving_out(drafts: Any, *args: Any, **options: Any) -> Any:
        return analyse([draft for draft in drafts if "dentist" not in draft.text], *args, **options)

    monkeypatch.setattr(indexing, "analyse_drafts", leaving_out)
    failure = only(failures(expect={"contains": "Mr Brown"}))
    assert failure.stage == "not extracted"


def plant_in_hits(monkeypatch: pytest.MonkeyPatch, change: Callable[[list[Any], bool], list[Any]]) -> None:
    """Change what recall finds for the question of the case; for other questions it works."""
    from memorist.recall.hits import Hits

    of = Hits.of

    async def changed(self: Any, pools: Any, recall_options: Any) -> Any:
        is_planted = "dentist called?" in pools[0].query.text
        if not is_planted:
            return await of(self, pools, recall_options)
        everything = await of(self, pools, msgspec.structs.replace(recall_options, top_k=300, min_score=None))
        hits = change(everything, recall_options.bare)
        floor = recall_options.min_score or 0.0
        return [hit for hit in hits if hit.score >= floor][: recall_options.top_k]

    monkeypatch.setattr(Hits, "of", changed)


def test_a_message_that_no_search_leads_to_was_not_retrieved(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_in_hits(monkeypatch, lambda hits, bare: [hit for hit in hits if "Brown" not in hit.text])
    failure = only(failures(expect={"contains": "Mr Brown"}))
    assert failure.stage == "not retrieved" and "memorist --url planted.case.db recall" in failure.reproduce[0]


def test_a_message_behind_others_was_ranked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def last(hits: list[Any], bare: bool) -> list[Any]:
        return sorted(hits, key=lambda hit: "Brown" in hit.text)

    plant_in_hits(monkeypatch, last)
    talk = [*TALK, *(f"My dentist note number {number} is called note {number}." for number in range(40))]
    failure = only(failures(conversation=talk, budget=400, expect={"contains": "Mr Brown"}))
    assert failure.stage == "ranked out" and "the request includes at most" in failure.message


def test_a_message_for_a_question_that_seems_unrelated_was_below_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = ranking.weights_file()
    tables = {
        name: msgspec.structs.replace(table, floors={"question": 1.1, "hit": 0.0})
        for name, table in shipped.tables.items()
    }
    monkeypatch.setattr(ranking, "weights_file", lambda: msgspec.structs.replace(shipped, tables=tables))
    monkeypatch.setattr(ranking, "FEW_ENTRIES", 0)
    failure = only(failures(expect={"contains": "Mr Brown"}))
    assert failure.stage == "below the floor"


def test_a_message_without_room_was_over_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "The dentist of the town is called often. " * 12
    talk = [f"My dentist is called Mr Brown. {long}", *(f"Dentist called, call {n}. {long}" for n in range(6))]

    from memorist.context import assemble

    fill = assemble.fill_memory

    def full(items: Any, room: int, *args: Any) -> Any:
        return fill(items, 60, *args)

    monkeypatch.setattr(assemble, "fill_memory", full)
    failure = only(failures(conversation=talk, budget=1000, expect={"contains": "Mr Brown"}))
    assert failure.stage == "over budget" and "--budget 1000" in failure.reproduce[0]


def test_a_message_left_out_of_the_history_was_over_budget() -> None:
    talk = ["The code word is heliotrope."]
    talk += [f"Report {number}: " + "nothing happened at the gate today. " * 20 for number in range(12)]
    case = {
        "conversation": talk,
        "ask": "Thanks!",
        "continue": True,
        "budget": 600,
        "expect": {"contains": "heliotrope"},
    }
    result = run_case(msgspec.convert({"name": "history", **case}, Case))
    failure = only(list(result.failures))
    assert failure.stage == "over budget" and "history" in failure.message
