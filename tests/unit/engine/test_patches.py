"""Patches of a task's state: exact for any states, and as small as what changed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.engine.tasks.patches import State, pack, patch_of
from memorist.errors import InvalidValue
from memorist.records import CheckpointStep
from memorist.values import decode_json, encode_json

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-100, 100)
    | st.floats(allow_nan=False, allow_infinity=False, width=16)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)
states = st.dictionaries(st.sampled_from("abcd"), values, max_size=4) | values


def stored(text: bytes) -> bytes:
    """A text as it comes back from a stored step."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return CheckpointStep(org="o", task_id="t", number=1, snapshot=True, body=pack(text), created_at=at).text


def follow(before: State, value: Any) -> tuple[State, int]:
    """The next state, restored from what would be stored, and the size of that."""
    patch = before.patch_to(value)
    if patch is None:
        text = State.of(value).text()
        return State.read(stored(text)), len(text)
    return before.patched(stored(patch)), len(pack(patch))


@settings(max_examples=300)
@given(st.lists(states, min_size=2, max_size=6))
def test_patches_follow_any_states_exactly(steps: list[Any]) -> None:
    state = State.of(steps[0])
    for value in steps[1:]:
        state, _ = follow(state, value)
        assert state.text().decode() == encode_json(value)


@settings(max_examples=200)
@given(st.lists(values, max_size=4), st.lists(values, max_size=4), values)
def test_update_and_extend_give_what_they_say(log: list[Any], more: list[Any], other: Any) -> None:
    state = State.of({"log": log, "n": 1})
    after = state.patched(stored(patch_of({"n": other}, {"log": more})))
    assert after.text().decode() == encode_json({"log": [*log, *more], "n": other})
    assert after.size() == len(after.text()) - 1


def test_types_and_key_order_are_kept_although_python_calls_them_equal() -> None:
    state = State.of({"a": 1, "b": True})
    for value in ({"a": 1.0, "b": 1}, {"b": 1, "a": 1.0}, {"b": 1, "a": [1.0]}, {"a": [1.0]}, [], {"a": {}}):
        state, _ = follow(state, value)
        assert state.text().decode() == encode_json(value)


def test_growing_at_the_end_costs_what_was_added() -> None:
    log = [{"i": number, "text": "word " * 20} for number in range(1000)]
    _, size = follow(State.of({"log": log}), {"log": [*log, {"i": 1000, "text": "new"}]})
    assert size < 100


def test_a_key_both_extended_and_set_has_the_value_set() -> None:
    state = State.of({"log": [1], "n": 1})
    assert state.patched(patch_of({"log": [9]}, {"log": [2]})).text() == b'{"log":[9],"n":1}'


def test_extending_what_is_not_a_list_of_the_state_asks_for_the_whole_state() -> None:
    assert State.of({"n": []}).can_extend(["n"])
    assert not State.of({"n": 1}).can_extend(["n"])
    assert not State.of({"n": []}).can_extend(["n", "m"])
    assert not State.of([1]).can_extend([])


@pytest.mark.parametrize("bad", [float("nan"), {1: 2}, object(), 2**70, "\ud800", {"deep": {"x": {1}}}])
def test_what_json_cannot_keep_is_refused_wherever_it_appears(bad: Any) -> None:
    state = State.of({"log": [1, 2], "n": 0})
    for value in (bad, {"n": bad}, {"log": [1, 2, bad], "n": 0}, {"log": [bad, 2], "n": 0}, {"log": [1, 2], "n": bad}):
        with pytest.raises(InvalidValue):
            follow(state, value)
    with pytest.raises(InvalidValue):
        patch_of({"n": bad}, {})
    with pytest.raises(InvalidValue):
        patch_of({}, {"log": [bad]})


@pytest.mark.parametrize("bad", [1, None, "\ud800"])
def test_what_json_cannot_keep_is_refused_as_a_key(bad: Any) -> None:
    state = State.of({"1": 2, "null": 2})
    with pytest.raises(InvalidValue):
        follow(state, {"1": 2, "null": 2, bad: 2})
    with pytest.raises(InvalidValue):
        patch_of({bad: 1}, {})


def test_long_texts_are_stored_compressed_and_short_ones_as_they_are() -> None:
    text = State.of({"log": ["the same words"] * 100}).text()
    assert len(pack(text)) < len(text) / 10 and decode_json(stored(text)) == decode_json(text)
    assert pack(b'{"n":1}') == stored(b'{"n":1}') == b'{"n":1}'


def test_stored_steps_of_earlier_versions_are_still_read() -> None:
    state = State.read(b'{"log":[],"n":0,"gone":null}')
    for body in (b'{"set":{"n":1},"add":{"log":["a"]}}', b"{}", b'{"add":{"log":["b",{"c":1.0}]},"drop":["gone"]}'):
        state = state.patched(body)
    assert state.text() == b'{"log":["a","b",{"c":1.0}],"n":1}'
    assert State.read(b"null").patched(b"{}").text() == b"null"
