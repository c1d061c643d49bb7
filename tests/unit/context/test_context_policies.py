from __future__ import annotations

from typing import Any

import pytest

from memorist.context.budget import TokenBudget
from memorist.context.compress import compress
from memorist.context.plan import Aid, Digest, find_roundest
from memorist.context.policies import Chain, ElideToolResults, Fifo, Importance, SlidingWindow, Summarize, VectorSwap
from memorist.context.reading import Reading
from memorist.context.tokens import open_counter
from memorist.context.units import units
from memorist.errors import BudgetError, UsageError
from memorist.messages.message import as_message

COUNTER = open_counter()
AID = Aid(COUNTER)


def talk(count: int, size: int = 12) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[index % 2], "content": f"turn {index} " + "word " * size}
        for index in range(count)
    ]


def exchange(identity: str, content: str) -> list[dict[str, Any]]:
    call = {"id": identity, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": identity, "content": content},
    ]


def kept_texts(context: Any) -> list[str]:
    return [str(message["content"]) for message in context.messages(merge=False)]


def turns(context: Any) -> list[int]:
    return [int(text.split()[1]) for text in kept_texts(context) if text.startswith("turn ")]


def test_fifo_keeps_the_newest_n_the_current_input_among_them() -> None:
    assert turns(compress(talk(9), budget=8_000, policy=Fifo(3))) == [6, 7, 8]


def test_a_sliding_window_keeps_the_newest_that_fit_without_a_gap() -> None:
    thread = talk(9)
    three, four = (sum(unit.tokens for unit in units(thread[-count:])) for count in (3, 4))
    assert turns(compress(thread, budget=three + 3, policy=SlidingWindow())) == [6, 7, 8]
    assert turns(compress(thread, budget=8_000, policy=SlidingWindow(three))) == [6, 7, 8]
    # The fourth is the assistant's: it goes too where the user's turn a provider wants first would not fit.
    assert turns(compress(thread, budget=four + 3)) == [6, 7, 8]
    led = compress(thread, budget=four + 20)
    assert turns(led) == [5, 6, 7, 8]
    assert kept_texts(led)[0] == "(earlier messages are left out)"


def test_a_window_never_looks_at_what_it_cannot_keep() -> None:
    thread: list[Any] = [*({"role": "user", "content": object()} for _ in range(50)), *talk(20)]
    context = compress(thread, budget=120)
    assert context.manifest.section("history").dropped > 50


def test_pinned_messages_survive_every_policy() -> None:
    thread = talk(30)
    thread[2]["pinned"] = True
    for policy in (
        Fifo(2),
        SlidingWindow(60),
        Summarize(threshold=0.1, keep=2),
        VectorSwap(keep=2, k=0),
        Importance(lambda unit: 0.0),
        ElideToolResults(1),
        Chain(Fifo(2), SlidingWindow()),
    ):
        assert 2 in turns(compress(thread, budget=300, policy=policy)), policy


def test_what_is_pinned_and_too_big_is_named_in_the_error() -> None:
    thread = talk(6, size=200)
    thread[1]["pinned"] = True
    with pytest.raises(BudgetError) as caught:
        compress(thread, budget=250, policy=SlidingWindow())
    assert caught.value.sections["pinned"] > 200
    assert caught.value.budget_tokens == 250


def test_the_newest_turn_is_never_dropped_silently() -> None:
    with pytest.raises(BudgetError) as caught:
        compress(talk(3, size=200), budget=100)
    assert caught.value.sections["input"] > 100


def test_summarize_waits_for_the_threshold() -> None:
    thread = talk(10)
    total = sum(unit.tokens for unit in units(thread)) + 3
    assert len(turns(compress(thread, budget=int(total / 0.7), policy=Summarize()))) == 10
    folded = compress(thread, budget=int(total / 0.9), policy=Summarize(model=lambda *_: "Ten turns of words."))
    assert turns(folded) == [6, 7, 8, 9]
    assert "Ten turns of words." in kept_texts(folded)[0]
    assert folded.manifest.section("history").folded == 6


def test_summarize_can_keep_the_last_half() -> None:
    thread = talk(10)
    folded = compress(
        thread, budget=TokenBudget(220), policy=Summarize(fraction=0.5, max_tokens=60, model=lambda *_: "Words.")
    )
    assert turns(folded) == [5, 6, 7, 8, 9]


def test_a_summary_longer_than_what_it_replaces_is_refused() -> None:
    thread = talk(8, size=3)
    context = compress(thread, budget=100, policy=Summarize(keep=5), summarize=lambda *_: Digest("very long " * 300))
    assert "very long" not in "".join(kept_texts(context))
    assert context.tokens <= 100


def test_vector_swap_brings_back_the_old_turn_the_input_is_about() -> None:
    thread = talk(30)
    thread[3]["content"] = "turn 3 the zebra enclosure opens at nine"
    thread.append({"role": "user", "content": "turn 30 when does the zebra enclosure open?"})
    context = compress(thread, budget=8_000, policy=VectorSwap(keep=4, k=2))
    assert turns(context) == [3, 27, 28, 29, 30]


def test_vector_swap_takes_a_search_of_the_callers() -> None:
    thread = talk(30)
    searches: list[tuple[str, int, int]] = []

    def search(query: str, old: Any, k: int) -> list[int]:
        searches.append((query[:7], len(old), k))
        return [5, 1]

    context = compress(thread, budget=8_000, policy=VectorSwap(keep=4, k=2), search=search)
    assert searches == [("turn 28", 26, 2)]
    assert turns(context) == [1, 5, 26, 27, 28, 29]


def test_importance_keeps_decisions_before_talk_in_the_order_they_were_said() -> None:
    thread = talk(20)
    thread[4]["content"] = "turn 4 we decided to use Postgres"
    thread[6] = {"role": "user", "content": "turn 6 my name is Ada", "importance": 1.0}
    context = compress(thread, budget=110, policy=Importance())
    positions = turns(context)
    assert positions == sorted(positions)
    assert {4, 6, 19} <= set(positions)
    assert turns(compress(thread, budget=110, policy=Importance(lambda unit: -unit.position)))[:2] == [0, 1]


def test_long_tool_results_become_a_marker_that_says_where_the_full_one_is() -> None:
    thread = [*talk(1), *exchange("a", "data " * 300), *exchange("b", "short"), *talk(1)]
    context = compress(thread, budget=8_000, policy=ElideToolResults(100))
    assert any(
        "elided: 306 tokens; the full text is message 2 of the conversation" in text for text in kept_texts(context)
    )
    assert "short" in kept_texts(context)
    assert context.manifest.section("history").elided == 1


def test_the_current_exchange_is_not_elided() -> None:
    thread = [*talk(1), *exchange("a", "data " * 300)]
    assert "data data" in kept_texts(compress(thread, budget=8_000, policy=ElideToolResults(100)))[-1]


def test_a_chain_goes_on_until_it_fits() -> None:
    thread = [*talk(4), *exchange("a", "data " * 300), *talk(9)]
    policy = Chain(ElideToolResults(50), Fifo(3))
    assert compress(thread, budget=600, policy=policy).manifest.section("history").dropped == 0
    assert turns(compress(thread, budget=150, policy=policy)) == [6, 7, 8]
    with pytest.raises(UsageError):
        Chain()


def test_plans_are_pure_and_deterministic() -> None:
    talk_units = units([*talk(20), *exchange("a", "data " * 50)])
    for policy in (Fifo(3), SlidingWindow(80), Summarize(), VectorSwap(), Importance(), ElideToolResults(10)):
        assert policy.plan(talk_units, 200, AID) == policy.plan(list(talk_units), 200, AID)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Fifo(-1),
        lambda: SlidingWindow(max_tokens=-5),
        lambda: Summarize(threshold=0),
        lambda: Summarize(fraction=1.5),
        lambda: VectorSwap(k=-1),
        lambda: ElideToolResults(True),
    ],
)
def test_a_policy_that_cannot_be_is_refused(make: Any) -> None:
    with pytest.raises(UsageError):
        make()


def test_a_window_that_moves_in_steps_starts_at_the_roundest_place() -> None:
    assert [find_roundest(*pair) for pair in [(5, 5), (5, 6), (5, 7), (5, 9), (9, 17), (0, 9), (33, 63)]] == [
        5, 6, 6, 8, 16, 0, 48,
    ]  # fmt: skip
    steady = Aid(COUNTER, steady=True)
    starts = []
    for count in range(40, 200):
        talk_units = units(talk(count))
        plan = SlidingWindow(600).plan(talk_units, 8_000, steady)
        assert [unit.position for unit in plan.keep] == list(range(plan.keep[0].position, count))
        assert {dropped.unit.position for dropped in plan.drop} == set(range(plan.keep[0].position))
        assert sum(unit.tokens for unit in plan.keep) >= 0.3 * 600
        starts.append(plan.keep[0].position)
    assert starts == sorted(starts)
    assert len(set(starts)) <= 16


def test_long_results_are_read_as_far_as_their_markers_fit() -> None:
    thread = [{"role": "user", "content": "start"}]
    for number in range(3_000):
        thread += exchange(f"c{number}", "row of a table, long " * 60)
    reading = Reading(budget=2_000, input="And now?", policy=ElideToolResults(50))
    messages = [as_message(message) for message in thread]
    at = len(messages)
    while count := reading.wants():
        page = messages[max(0, at - count) : at][::-1]
        reading.feed(page, more=len(page) == count, position=len(messages))
        at -= len(page)
    context = reading.finish()
    assert len(messages) - at < 600
    assert len(context.account.elided) > 20
    assert 1_800 < context.tokens <= 2_000
