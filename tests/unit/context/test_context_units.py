from __future__ import annotations

from typing import Any

from memorist.context.fence import fenced_memory
from memorist.context.tokens import open_counter
from memorist.context.units import NO_RESULT, Grouper, group, units
from memorist.context.validate import anthropic_problems, openai_problems, view_problems
from memorist.messages.message import ATTACHED, Message, as_message

COUNTER = open_counter()


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def calls(*ids: str) -> dict[str, Any]:
    tool_calls = [{"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for call_id in ids]
    return {"role": "assistant", "content": None, "tool_calls": tool_calls}


def result(identity: str, content: str = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def sizes(thread: list[Any]) -> list[int]:
    return [len(unit.messages) for unit in units(thread)]


def reasons(thread: list[Any]) -> list[str]:
    return [repair.reason for repair in group(thread, COUNTER)[1]]


def test_a_call_and_all_its_results_are_one_unit() -> None:
    thread = [user("hi"), calls("a", "b"), result("b"), result("a"), {"role": "assistant", "content": "done"}]
    assert sizes(thread) == [1, 3, 1]
    assert reasons(thread) == []


def test_an_untouched_exchange_keeps_its_very_messages() -> None:
    thread = [as_message(item) for item in (calls("a"), result("a"))]
    (unit,) = units(thread)
    assert unit.messages == tuple(thread)
    assert unit.messages[0] is thread[0]


def test_an_anthropic_exchange_with_reasoning_is_one_unit() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
    thread = [{"role": "assistant", "content": [thought, use]}, user([answer, {"type": "text", "text": "go on"}])]
    assert sizes(thread) == [2]


def test_blocks_given_in_a_message_without_a_shape_are_recognised() -> None:
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    thread = [
        Message(role="assistant", content=[use]),
        Message(role="user", content=[{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]),
    ]
    (unit,) = units(thread)
    assert unit.exchange
    assert unit.messages[0].openai()[0]["tool_calls"][0]["id"] == "a"


def test_a_result_without_its_call_is_left_out_and_reported() -> None:
    thread = [user("hi"), result("nowhere"), user("still there?")]
    assert sizes(thread) == [1, 1]
    assert reasons(thread) == ["tool result without its call"]


def test_an_open_call_is_closed_with_a_result_that_says_so() -> None:
    thread = [user("hi"), calls("a", "b"), result("b"), user("well?")]
    grouped = units(thread)
    assert [message.text for message in grouped[1].messages] == ["", NO_RESULT, "ok"]
    assert reasons(thread) == ["call without a result closed"]


def test_a_result_that_came_late_is_moved_next_to_its_call() -> None:
    thread = [calls("a"), user("are you there?"), result("a", "late")]
    grouped = units(thread)
    assert [unit.text for unit in grouped] == ["late", "are you there?"]
    assert reasons(thread) == ["tool result moved next to its call"]


def test_calls_of_two_messages_answered_together_are_two_units() -> None:
    thread = [calls("a"), calls("b"), result("a", "one"), result("b", "two")]
    assert [unit.text for unit in units(thread)] == ["one", "two"]


def test_calls_that_share_an_id_get_ids_of_their_own() -> None:
    (unit,) = units([calls("x", "x"), result("x", "one"), result("x", "two")])
    ids = [call.id for call in unit.messages[0].tool_calls]
    assert len(set(ids)) == 2
    assert [message.tool_results[0].id for message in unit.messages[1:]] == ids
    assert [message.text for message in unit.messages[1:]] == ["one", "two"]


def test_empty_messages_are_left_out_and_a_pinned_one_says_it_is_empty() -> None:
    thread = [user(""), user(" \n"), {"role": "assistant", "content": None}, {**user(""), "pinned": True}]
    assert [unit.text for unit in units(thread)] == ["(empty message)"]
    assert reasons(thread) == ["empty message"] * 3


def test_one_pinned_message_pins_its_exchange() -> None:
    (unit,) = units([calls("a"), {**result("a"), "pinned": True}])
    assert unit.pinned


def test_the_retired_function_call_is_a_tool_exchange() -> None:
    old = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    assert sizes([old, {"role": "function", "name": "f", "content": "ok"}]) == [2]


RECALLED = fenced_memory("Ada likes tea.")


def test_what_was_recalled_for_a_turn_stands_before_it_in_the_cached_layout() -> None:
    message = Message(role="user", content="hi", metadata={ATTACHED: {"text": RECALLED, "tokens": 9, "counter": None}})
    (unit,) = Grouper(COUNTER, attached=True).push(message, 0)
    assert [message.text for message in unit.messages] == [RECALLED, "hi"]
    assert unit.tokens == 4 + COUNTER.count(RECALLED) + 5  # the count beside it is not believed
    (unit,) = Grouper(COUNTER).push(message, 0)
    assert [message.text for message in unit.messages] == ["hi"]


def test_the_openai_validator_knows_each_rule() -> None:
    good = [user("hi"), calls("a"), result("a")]
    assert openai_problems(good) == []
    for broken in (
        [user("hi"), calls("a")],
        [user("hi"), result("a")],
        [calls("a"), user("hi"), result("a")],
        [calls("a", "a"), result("a"), result("a")],
        [calls("")],
        [{"role": "assistant", "content": None}],
        [{"role": "assistant", "content": "x", "tool_calls": []}],
        [user("")],
        [{"role": "robot", "content": "x"}],
        [{**user("x"), "tool_calls": []}],
        [calls("a"), {"role": "tool", "tool_call_id": "a", "content": None}],
    ):
        assert openai_problems(broken), broken


def test_the_anthropic_validator_knows_each_rule() -> None:
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
    text = {"type": "text", "text": "x"}
    marked = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    assert anthropic_problems({"messages": [user("hi"), use, user([answer, text])]}) == []
    for broken in (
        [{"role": "assistant", "content": "x"}],
        [user("hi"), user("again")],
        [user("hi"), use],
        [user("hi"), use, user("no result")],
        [user("hi"), use, user([text, answer])],
        [user("hi"), use, user([answer, answer])],
        [user([answer])],
        [user("hi"), use, user([answer]), use, user([answer])],
        [user(" ")],
        [user([])],
        [user([{"type": "text", "text": ""}])],
        [user([{"text": "x"}])],
        [{"role": "system", "content": "x"}],
        [user([marked] * 5)],
    ):
        assert anthropic_problems({"messages": broken}), broken


def test_the_view_validator_sees_orphans_and_empty_messages() -> None:
    def problems(*thread: Any) -> list[str]:
        return view_problems([as_message(item) for item in thread])

    assert problems(user("hi"), calls("a"), result("a")) == []
    assert problems(calls("a"))
    assert problems(result("a"))
    assert problems(calls("a"), user("hi"), result("a"))
    assert problems(user(""))
    assert problems(user([]))
