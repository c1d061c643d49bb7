"""`assemble` decides what a request contains. It reads, searches and asks nothing, so all of it is tested by values."""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import memorist.context.assemble as module
import memorist.context.reading as reading_module
from bench.rendered import measure_anthropic, measure_openai
from memorist.context.assemble import Parts, assemble, summary_task
from memorist.context.budget import TokenBudget
from memorist.context.compress import compress
from memorist.context.context import Context
from memorist.context.items import MemoryItem
from memorist.context.plan import Aid, Digest, Needs, Plan, Reach, SummaryTask, WrittenSummary
from memorist.context.policies import Chain, Fifo, SlidingWindow, Summarize
from memorist.context.reading import Reading
from memorist.context.tokens import open_counter
from memorist.context.units import Unit, group
from memorist.errors import BudgetError
from memorist.messages.message import Message

COUNTER = open_counter()


def talk(count: int, *, pinned: int = -1) -> list[Unit]:
    messages = [
        Message(
            role=("user", "assistant")[n % 2], content=f"turn {n} " + "word " * 12, thread="t", seq=n + 1,
            pinned=n == pinned,
        )
        for n in range(count)
    ]  # fmt: skip
    return group(messages, COUNTER)[0]


def parts_of(text: str = "And now?", **options: Any) -> Parts:
    units, _ = group([Message(role="user", content=text)], COUNTER)
    return Parts(counter=COUNTER, input=tuple(units), **options)


def sent_seqs(context: Context) -> list[int]:
    """The sequence numbers of the stored messages in the request."""
    return [message.seq for message in context.view if message.thread]


@pytest.mark.parametrize("layout", ["standard", "cached"])
def test_the_same_arguments_give_the_same_bytes_within_the_budget(layout: str) -> None:
    units = talk(60)
    items = [MemoryItem(f"Ada paid {n} euros in Porto.", source=f"user:ada/{n}") for n in range(20)]
    for total in range(60, 1_500, 120):
        requests = [
            assemble(units, items, TokenBudget(total), SlidingWindow(), parts_of(layout=layout)) for _ in range(2)
        ]
        first, second = (context.to_json() for context in requests)
        assert first == second
        assert requests[0].tokens <= total
        assert measure_openai(requests[0].messages(merge=False)) <= requests[0].tokens
        assert measure_anthropic(requests[0].anthropic(cache=False)) <= requests[0].tokens


def test_no_argument_is_changed() -> None:
    units, items, parts = talk(40), [MemoryItem("Ada likes tea.")], parts_of(layout="cached")
    before = (list(units), list(items), repr(parts))
    assemble(units, items, TokenBudget(600), SlidingWindow(), parts)
    assert (units, items, repr(parts)) == before


def test_the_window_of_the_cached_layout_does_not_depend_on_what_was_recalled() -> None:
    units = talk(60)
    items = [MemoryItem(f"Ada paid {n} euros in Porto.") for n in range(30)]
    windows = [
        sent_seqs(assemble(units, items[:count], TokenBudget(800), SlidingWindow(), parts_of(layout="cached")))
        for count in (0, 1, 5, 30)
    ]
    assert all(window == windows[0] for window in windows)
    assert windows[0]


def test_without_memory_the_window_has_its_room() -> None:
    units = talk(60)
    recalling = sent_seqs(assemble(units, [], TokenBudget(800), Fifo(100), parts_of(layout="cached")))
    alone = sent_seqs(assemble(units, None, TokenBudget(800), Fifo(100), parts_of(layout="cached")))
    assert len(alone) > len(recalling)


def test_what_must_be_sent_and_does_not_fit_is_named() -> None:
    with pytest.raises(BudgetError) as caught:
        assemble(talk(6, pinned=2), None, TokenBudget(20), SlidingWindow(), parts_of())
    assert caught.value.sections["pinned"] > 0


def test_a_pinned_unit_of_the_window_is_sent_once() -> None:
    units = talk(20, pinned=3)
    context = assemble(units, None, TokenBudget(2_000), SlidingWindow(), parts_of(head=(units[3],)))
    assert sent_seqs(context) == list(range(1, 21))


# What a policy needs is provided before


def test_a_summary_is_asked_for_first_and_then_only_put_in() -> None:
    units, budget, policy, parts = talk(40), TokenBudget(500), Summarize(keep=3), parts_of()
    task = summary_task(units, None, budget, policy, parts)
    assert task is not None
    assert [unit.position for unit in task.units] == list(range(1, 38))
    written = WrittenSummary(frozenset(unit.position for unit in task.units), Digest("All about words.", "model"))
    context = assemble(units, None, budget, policy, parts_of(written=written))
    assert sent_seqs(context) == [38, 39, 40]
    assert "All about words." in context.messages(merge=False)[0]["content"]
    assert context.manifest.section("history").folded == 37


def test_a_summary_replaces_exactly_what_it_was_written_of() -> None:
    units, budget = talk(40), TokenBudget(500)
    written = WrittenSummary(frozenset(range(1, 31)), Digest("All about words."))
    for memory in (None, [MemoryItem("Ada likes tea.")]):
        context = assemble(units, memory, budget, Summarize(keep=3), parts_of(written=written))
        assert {unit.position for unit in context.account.folded} == set(range(1, 31))
        assert set(sent_seqs(context)) <= set(range(31, 41))


def test_without_a_summary_that_is_shorter_the_newest_are_kept_and_the_manifest_says_so() -> None:
    written = WrittenSummary(frozenset(range(1, 38)), None)
    context = assemble(talk(40), None, TokenBudget(500), Summarize(keep=3), parts_of(written=written))
    assert context.manifest.notes == ("no shorter summary could be made",)
    assert sent_seqs(context)[-1] == 40
    assert len(sent_seqs(context)) > 3


def test_a_chain_drops_before_it_summarises_and_does_not_bring_back_what_it_dropped() -> None:
    units, budget, policy = talk(60), TokenBudget(300), Chain(Fifo(20), Summarize(keep=3))
    task = summary_task(units, None, budget, policy, parts_of())
    assert task is not None
    assert task.units[0].position == 41
    written = WrittenSummary(frozenset(unit.position for unit in task.units), Digest("Words."))
    context = assemble(units, None, budget, policy, parts_of(written=written))
    assert sent_seqs(context) == [58, 59, 60]
    assert len(context.account.dropped) == 40


class Folds:
    """A policy of a user's own that declares by an attribute that it needs a summary."""

    needs = Needs(summary=True)

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        return Reach()

    def fold(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> SummaryTask | None:
        return SummaryTask(tuple(units[:-2]), 200)

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        assert aid.written is not None
        return Plan(tuple(units[-2:]), fold=tuple(units[:-2]), digest=aid.written.digest)


def test_a_policy_of_the_callers_declares_its_needs_as_an_attribute() -> None:
    thread = [{"role": "user", "content": f"Note {n}: the harbour opens at {n} o'clock."} for n in range(30)]
    context = compress(thread, budget=2_000, policy=Folds())
    assert context.manifest.section("history").folded == 27
    assert context.account.method == "extractive"


def test_a_request_is_assembled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def counted(*arguments: Any) -> Context:
        calls.append(arguments)
        return assemble(*arguments)

    monkeypatch.setattr(reading_module, "assemble", counted)
    thread = [Message(role="user", content=f"turn {n} " + "word " * 12) for n in range(80)]
    for policy in (SlidingWindow(), Summarize(), Summarize(model=lambda *_: "Words."), Chain(Fifo(50), Summarize())):
        calls.clear()
        reading = Reading(budget=500, policy=policy, memory=["Ada likes tea."], input="And now?", layout="cached")
        reading.read_all(thread[::-1], position=len(thread))
        reading.finish()
        assert len(calls) == 1


def test_the_module_that_decides_has_no_way_to_read_or_wait() -> None:
    """No coroutine, no store, no model, no clock: nothing of it can depend on anything but the arguments."""
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef | ast.Await)]
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [name for name in imported if name.startswith(("engine", "stores", "models", "runtime", "recall"))]
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert names == {"msgspec"}


def test_the_window_starts_with_the_same_message_for_many_turns() -> None:
    rng, starts = random.Random(3), []
    units = talk(300)
    for count in range(100, 300, 2):
        items = [MemoryItem(f"Fact {rng.randrange(1000)}.") for _ in range(rng.randrange(6))]
        context = assemble(units[:count], items, TokenBudget(900), SlidingWindow(), parts_of(layout="cached"))
        starts.append(sent_seqs(context)[0])
    assert len(set(starts)) <= len(starts) // 4


# Memory that stays in the history


def trips(count: int) -> list[MemoryItem]:
    return [MemoryItem(f"On trip {n} to Porto Ada paid {n} euros for the hotel.", source=f"t{n}") for n in range(count)]


def test_memory_that_stays_in_the_history_fills_at_most_the_room_until_the_next_fold() -> None:
    items, budget = trips(200), TokenBudget(8_000)
    memory_tokens = []
    for count in (0, 60, 120, 200):
        context = assemble(
            talk(count),
            items,
            budget,
            SlidingWindow(),
            parts_of(layout="cached", fold_tokens=4_800, has_attached=False),
        )
        memory_tokens.append(context.manifest.section("memory").tokens)
        most = max(8_000 // 16, 4_800 - context.manifest.section("history").tokens)
        assert 0.85 * min(most, memory_tokens[0]) < memory_tokens[-1] <= most
    assert memory_tokens[0] > 4_000
    assert memory_tokens[-1] < 1_000


def test_a_ceiling_of_the_callers_and_a_request_on_its_own_are_not_limited_by_folds() -> None:
    units, items = talk(200), trips(200)
    for budget, fold_tokens in ((TokenBudget(8_000, memory=2_000), 4_800), (TokenBudget(8_000), None)):
        context = assemble(units, items, budget, SlidingWindow(), parts_of(layout="cached", fold_tokens=fold_tokens))
        assert context.manifest.section("memory").tokens > 1_700


def test_items_that_stand_in_the_history_count_so_that_turns_about_one_thing_do_not_fill_it() -> None:
    items, thread = trips(100), talk(100)
    memory_tokens = []
    for number in range(6):
        parts = parts_of("What did I pay?", layout="cached", fold_tokens=4_800)
        context = assemble(thread, items, TokenBudget(8_000), SlidingWindow(), parts)
        memory_tokens.append(context.manifest.section("memory").tokens)
        turn = context.attach(Message(role="user", content="What did I pay?", thread="t", seq=201 + number))
        thread += group([turn], COUNTER, attached=True)[0]
    assert memory_tokens[0] > 400
    assert sum(memory_tokens[1:]) < 150
    assert memory_tokens[2:] == [0] * 4
