"""Patches of a task's state: exact for any states, and as small as what changed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.engine.tasks.patches import State, decode_patch, encode, pack, unpack
from memorist.errors import InvalidValue, TooLarge
from memorist.values import MAX_VALUE_BYTES, decode_json, encode_json

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


def state_of(value: Any) -> State:
    return State().replaced(value)[0]


def follow(before: State, value: Any) -> tuple[State, int]:
    """The next state, restored from what would be stored, and the size of that."""
    after, patch = before.replaced(value)
    if patch is None:
        return State.read(unpack(pack(after.text()))), len(after.text())
    body = pack(encode(patch))
    return before.patched(decode_patch(unpack(body))), len(body)


@settings(max_examples=300)
@given(st.lists(states, min_size=2, max_size=6))
def test_patches_follow_any_states_exactly(steps: list[Any]) -> None:
    state = state_of(steps[0])
    for value in steps[1:]:
        state, _ = follow(state, value)
        assert state.text().decode() == encode_json(value)


@settings(max_examples=200)
@given(st.lists(values, max_size=4), st.lists(values, max_size=4), values)
def test_update_and_extend_give_what_they_say(log: list[Any], more: list[Any], other: Any) -> None:
    state = state_of({"log": log, "n": 1})
    patch = state.changed({"n": other}, {"log": more})
    assert patch is not None
    text = state.patched(decode_patch(encode(patch))).text().decode()
    assert text == encode_json({"log": [*log, *more], "n": other})


def test_types_and_key_order_are_kept_although_python_calls_them_equal() -> None:
    state = state_of({"a": 1, "b": True})
    for value in ({"a": 1.0, "b": 1}, {"b": 1, "a": 1.0}, {"b": 1, "a": [1.0]}, {"a": [1.0]}, [], {"a": {}}):
        state, _ = follow(state, value)
        assert state.text().decode() == encode_json(value)


def test_growing_at_the_end_costs_what_was_added() -> None:
    log = [{"i": number, "text": "word " * 20} for number in range(1000)]
    _, size = follow(state_of({"log": log}), {"log": [*log, {"i": 1000, "text": "new"}]})
    assert size < 100


def test_a_key_both_extended_and_set_has_the_value_set() -> None:
    state = state_of({"log": [1], "n": 1})
    patch = state.changed({"log": [9]}, {"log": [2]})
    assert patch is not None and state.patched(patch).text() == b'{"log":[9],"n":1}'


def test_extending_what_is_not_a_list_of_the_state_asks_for_the_whole_state() -> None:
    assert state_of({"n": 1}).changed({}, {"n": [1]}) is None
    assert state_of([1]).changed({"n": 1}, {}) is None


@pytest.mark.parametrize("bad", [float("nan"), {1: 2}, object(), 2**70, "\ud800", {"deep": {"x": {1}}}])
def test_what_json_cannot_keep_is_refused_wherever_it_appears(bad: Any) -> None:
    state = state_of({"log": [1, 2], "n": 0})
    for value in (bad, {"n": bad}, {"log": [1, 2, bad], "n": 0}, {"log": [bad, 2], "n": 0}):
        with pytest.raises(InvalidValue):
            state.replaced(value)
    with pytest.raises(InvalidValue):
        state.changed({"n": bad}, {})
    with pytest.raises(InvalidValue):
        state.changed({}, {"log": [bad]})


def test_a_state_has_a_size_limit_in_bytes() -> None:
    half = "é" * (MAX_VALUE_BYTES // 4 + 10)
    state = state_of({"a": half})
    with pytest.raises(TooLarge):
        state_of({"a": half, "b": half})
    patch = state.changed({"b": half}, {})
    assert patch is not None
    with pytest.raises(TooLarge):
        state.patched(patch)


def test_long_texts_are_stored_compressed_and_short_ones_as_they_are() -> None:
    text = state_of({"log": ["the same words"] * 100}).text()
    assert len(pack(text)) < len(text) / 10 and decode_json(unpack(pack(text))) == decode_json(text)
    assert pack(b'{"n":1}') == unpack(b'{"n":1}') == b'{"n":1}'


def test_stored_steps_of_earlier_versions_are_still_read() -> None:
    state = State.read(unpack(b'{"log":[],"n":0,"gone":null}'))
    for body in (b'{"set":{"n":1},"add":{"log":["a"]}}', b"{}", b'{"add":{"log":["b",{"c":1.0}]},"drop":["gone"]}'):
        state = state.patched(decode_patch(unpack(body)))
    assert state.text() == b'{"log":["a","b",{"c":1.0}],"n":1}'
    assert State.read(b"null").patched(decode_patch(b"{}")).text() == b"null"
