"""What is accepted can be sent; what is stored already and cannot is put right in the view, and said."""

from pathlib import Path
from typing import Any

import pytest

from memorist import Memory, compress
from memorist.context.tokens import open_counter
from memorist.context.units import group
from memorist.errors import InvalidValue, MemoristError, TooLarge
from memorist.messages.message import Message, as_message

USE = {"type": "tool_use", "id": "u1", "name": "look", "input": {}}
FLAWED: dict[str, dict[str, Any]] = {
    "function as text": {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": "f"}]},
    "calls as a dict": {"role": "assistant", "content": None, "tool_calls": {"id": "1", "function": {"name": "f"}}},
    "call as text": {"role": "assistant", "content": "x", "tool_calls": ["f"]},
    "call without a name": {"role": "assistant", "content": "x", "tool_calls": [{"id": "1", "function": {}}]},
    "integer id": {"role": "assistant", "content": None, "tool_calls": [{"id": 7, "function": {"name": "f"}}]},
    "integer result id": {"role": "tool", "tool_call_id": 7, "content": "x"},
    "list arguments": {
        "role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": [1]}}]
    },
    "thinking without text": {"role": "assistant", "content": [{"type": "thinking"}, {"type": "text", "text": "hi"}]},
    "redacted without data": {"role": "assistant", "content": [{"type": "redacted_thinking"}]},
    "text without text": {"role": "user", "content": [{"type": "text"}]},
    "text that is a number": {"role": "user", "content": [{"type": "text", "text": 3}]},
    "part without a type": {"role": "user", "content": [{"text": "x"}]},
    "part that is a number": {"role": "user", "content": [3]},
    "use without a name": {"role": "assistant", "content": [{"type": "tool_use", "id": "u1", "input": {}}]},
    "use with an integer id": {"role": "assistant", "content": [{**USE, "id": 1}]},
    "use with text as input": {"role": "assistant", "content": [{**USE, "input": "x"}]},
    "result with an integer id": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": 1}]},
    "result that is an object": {
        "role": "user", "content": [{"type": "tool_result", "tool_use_id": "u1", "content": {"a": 1}}]
    },
    "image without a url": {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
    "image without a source": {"role": "user", "content": [{"type": "image"}]},
}  # fmt: skip
SOUND: list[dict[str, Any]] = [
    {"role": "assistant", "content": "x", "tool_calls": None},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}]},
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]},
    {"role": "user", "content": ["plain", {"type": "text", "text": "x"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u1"}, {"type": "text", "text": ""}]},
    {"role": "user", "content": [{"type": "image_url", "image_url": "https://x/y.png"}]},
    {"role": "user", "content": [{"type": "made_up_next_year", "anything": 1}]},
]


@pytest.mark.parametrize("flaw", sorted(FLAWED))
def test_a_message_that_no_provider_takes_is_refused_with_the_reason(flaw: str) -> None:
    with pytest.raises(InvalidValue, match="no provider would accept this message"):
        as_message(FLAWED[flaw])
    with pytest.raises(InvalidValue):
        compress([FLAWED[flaw]], budget=500)


@pytest.mark.parametrize("message", SOUND, ids=range(len(SOUND)))
def test_what_a_provider_takes_is_accepted_and_can_be_sent(message: dict[str, Any]) -> None:
    context = compress([{"role": "user", "content": "hello"}, message, {"role": "user", "content": "go"}], budget=5000)
    assert context.messages()
    assert context.anthropic()["messages"]


def stored(raw: dict[str, Any]) -> Message:
    """A message as a store may hold it: accepted by an earlier version, or imported."""
    fields = {name: raw[name] for name in ("role", "content")}
    extra = {name: value for name, value in raw.items() if name not in fields}
    kinds = str(raw["content"])
    shape = "anthropic" if any(kind in kinds for kind in ("tool_", "thinking", "'image'")) else None
    return Message(**fields, extra=extra, shape=shape)


@pytest.mark.parametrize("flaw", sorted(FLAWED))
def test_a_flawed_message_that_is_stored_is_put_right_and_said(flaw: str) -> None:
    from memorist.context.reading import Reading

    reading = Reading(budget=2000, input="And now?")
    reading.feed([stored(FLAWED[flaw]), Message(role="user", content="first")], more=False, position=1)
    context = reading.finish()
    assert context.messages(merge=False)[-1]["content"] == "And now?"
    assert context.anthropic()["messages"]
    assert "repaired" in {entry.action for entry in context.manifest.entries}


def test_a_tool_schema_or_input_too_deep_to_write_is_our_error() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(TooLarge):
        compress(["hi"], budget=500, tools=[{"name": "f", "input_schema": deep}])
    with pytest.raises(MemoristError):
        compress([{"role": "assistant", "content": [{**USE, "input": deep}]}], budget=500)
    # Taken apart by hand: freeing so deep a nest at once overflows the stack of the interpreter.
    while deep:
        deep = deep.pop("a")


def test_a_thread_with_what_was_accepted_can_always_be_sent(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", worker=False) as memory:
        memory.threads.create("user:ada", id="t")
        for message in SOUND:
            memory.threads.append("t", message)
        for budget in (50, 200, 1000):
            assert memory.context("And now?", thread="t", budget=budget).anthropic()["messages"]


def test_a_count_that_comes_from_outside_is_counted_again() -> None:
    forged = Message(role="user", content="word " * 500, tokens=0)
    units, _ = group([forged], open_counter())
    assert units[0].tokens > 500
