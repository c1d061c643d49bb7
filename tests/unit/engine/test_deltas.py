"""Deltas: exact for any two texts, small for small changes, and cheap to find."""

import string
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.engine.deltas import decode_edits, diff, encode_edits, patch
from recollect.engine.image import Image
from recollect.errors import InvalidValue, TooLarge

texts = st.text(alphabet='ab{}[],":é\u0000', max_size=120)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
keys = st.text(alphabet=string.ascii_letters + 'é"', max_size=3)
values = st.recursive(
    scalars | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=20,
)


def _json(state: Any) -> str:
    return msgspec.json.encode(state).decode()


@settings(max_examples=300, deadline=None)
@given(texts, texts, texts, texts)
def test_a_patch_gives_the_text_after(head: str, before: str, after: str, tail: str) -> None:
    old, new = head + before + tail, head + after + tail
    assert patch(old, decode_edits(encode_edits(diff(old, new)))) == new


@settings(max_examples=200, deadline=None)
@given(st.lists(values, min_size=2, max_size=6))
def test_an_image_follows_any_states_exactly(states: list[Any]) -> None:
    image, text = Image.of(states[0]), _json(states[0])
    for state in states[1:]:
        image, edits = image.follow(state)
        text = patch(text, edits)
        assert text == image.text() == _json(state)


def test_types_and_key_order_are_kept_although_python_calls_them_equal() -> None:
    image = Image.of({"a": 1, "b": True})
    for state in ({"a": 1.0, "b": 1}, {"b": 1, "a": 1.0}):
        image, _ = image.follow(state)
        assert image.text() == _json(state)


@pytest.mark.parametrize("place", ["first", "last", "nested", "both ends"])
def test_a_small_change_in_a_long_repetitive_state_is_a_small_delta(place: str) -> None:
    log = [{"role": "user", "content": f"message {i:05d} " + "x" * 70} for i in range(500)]
    before = {"head": 1, "inner": {"log": log, "seen": 1}, "log": log, "tail": 1}
    after = msgspec.json.decode(_json(before))
    if place in ("first", "both ends"):
        after["head"] = 2
    if place in ("last", "both ends"):
        after["log"].append({"role": "assistant", "content": "new"})
        after["tail"] = 2
    if place == "nested":
        after["inner"]["log"][250]["content"] = "changed"
        after["inner"]["seen"] = 2
    _, edits = Image.of(before).follow(after)
    assert patch(_json(before), edits) == _json(after)
    assert len(encode_edits(edits)) < 200


def test_growing_at_the_end_costs_what_was_added() -> None:
    image = Image.of({"n": 0, "log": []})
    image, _ = image.follow({"n": 1, "log": ["a"]})
    grown = image.grown({"n": 2}, {"log": ["b", "c"]})
    assert grown is not None
    after, edits = grown
    assert after.text() == '{"n":2,"log":["a","b","c"]}'
    assert patch(image.text(), edits) == after.text()


@pytest.mark.parametrize("start", [[], ["a"]])
def test_extending_an_empty_and_a_full_list(start: list[str]) -> None:
    image = Image.of({"log": start})
    for items in ([], ["b"], ["c", "d"]):
        grown = image.grown({}, {"log": items})
        assert grown is not None
        start = start + items
        image, _ = grown
        assert image.text() == _json({"log": start})


def test_a_key_that_is_not_one_piece_asks_for_the_whole_state() -> None:
    image = Image.of({"inner": {"a": 1}, "n": 1})
    assert image.grown({"new": 1}, {}) is None
    assert image.grown({"inner": {"a": 2}}, {}) is None


@pytest.mark.parametrize("bad", [float("nan"), {1: 2}, object(), 2**70, "\ud800", {"deep": {"x": {1}}}])
def test_what_json_cannot_keep_is_refused_wherever_it_appears(bad: Any) -> None:
    good = {"log": [1, 2], "other": {"x": 1}}
    image = Image.of(good)
    for state in (bad, {"log": [1, 2, bad], "other": {"x": 1}}, {"log": [1, 2], "other": {"x": bad}}):
        with pytest.raises(InvalidValue):
            image.follow(state)
        with pytest.raises(InvalidValue):
            Image.of(state)
    with pytest.raises(InvalidValue):
        image.grown({}, {"log": [bad]})


def test_a_state_has_a_size_limit() -> None:
    big = "x" * (3 * 1024 * 1024)
    image = Image.of({"a": big})
    with pytest.raises(TooLarge):
        image.follow({"a": big, "b": big})
