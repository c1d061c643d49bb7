"""Deltas: exact for any two texts, small for small changes, and cheap to find."""

import string
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.engine.tasks import segments as image_module
from memorist.engine.tasks.deltas import decode_edits, diff, encode_edits, patch
from memorist.engine.tasks.segments import Image
from memorist.errors import InvalidValue, TooLarge

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


@settings(max_examples=300)
@given(texts, texts, texts, texts)
def test_a_patch_gives_the_text_after(head: str, before: str, after: str, tail: str) -> None:
    old, new = head + before + tail, head + after + tail
    assert patch(old, decode_edits(encode_edits(diff(old, new)))) == new


@settings(max_examples=200)
@given(st.lists(values, min_size=2, max_size=6))
def test_an_image_follows_any_states_exactly(states: list[Any]) -> None:
    image, text = Image.of(states[0]), _json(states[0])
    for state in states[1:]:
        image, edits = image.follow(state)
        text = patch(text, edits)
        assert text == image.text() == _json(state)


@pytest.fixture(scope="module")
def packs_all() -> Iterator[None]:
    """Short lists and objects are compared the way long ones are."""
    usual, image_module._LONG = image_module._LONG, 0
    yield
    image_module._LONG = usual


@pytest.mark.usefixtures("packs_all")
@settings(max_examples=300)
@given(st.lists(values, min_size=1, max_size=20), st.lists(st.tuples(st.integers(0, 5), values), max_size=8))
def test_what_is_compared_in_packed_form_is_followed_exactly(log: list[Any], steps: list[tuple[int, Any]]) -> None:
    state: dict[str, Any] = {"log": log, "byname": {str(n): item for n, item in enumerate(log * 25)}}
    image, text = Image.of(state), _json(state)
    for step, value in steps:
        at = hash(_json(value)) % len(state["log"])
        match step:
            case 0:
                state["log"].append(value)
                state["byname"][f"new {len(state['byname'])}"] = value
            case 1:
                state["log"][at] = value
            case 2:
                state["log"] += [value, *state["log"]]
            case 3 if len(state["log"]) > 1:
                del state["log"][at]
            case 4:
                state["log"][at] = float(state["log"][at]) if isinstance(state["log"][at], bool) else True
            case _:
                pass
        image, edits = image.follow(state)
        text = patch(text, edits)
        assert text == image.text() == _json(state)


@pytest.mark.usefixtures("packs_all")
def test_a_list_is_not_taken_for_an_object_with_the_same_items() -> None:
    pairs = [(f"k{n}", n) for n in range(40)]
    image = Image.of(["k0", 0])
    for state in (["k0", 0], dict(pairs), [item for pair in pairs for item in pair] + ["more", 1]):
        image, _ = image.follow(state)
        image, _ = image.follow(state)
        assert image.text() == _json(state)


@pytest.mark.parametrize("count", [14, 15, 16, 17, 65534, 65535, 65536])
def test_lists_grow_past_the_borders_of_their_packed_form(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    log = ["x" * 80] * 14 + [1] * (count - 14)
    image, text = Image.of(log), _json(log)
    monkeypatch.delattr(image_module, "add_diff")  # what only grew is never searched for differences
    for _ in range(3):
        log.append(2)
        image, edits = image.follow(log)
        text = patch(text, edits)
        assert text == _json(log)
        assert len(encode_edits(edits)) < 40


@pytest.mark.usefixtures("packs_all")
@pytest.mark.parametrize("bad", [float("nan"), {1: 2}, object(), 2**63, "\ud800"])
def test_what_json_cannot_keep_is_refused_in_a_long_list_too(bad: Any) -> None:
    log = [None, {"1": 2}, "x"]
    image, _ = Image.of({"log": log}).follow({"log": [*log, 1]})
    for state in ([*log, 1, bad], [bad, *log[1:], 1], [None, bad, "x", 1]):
        with pytest.raises(InvalidValue):
            image.follow({"log": state})


def test_a_key_both_extended_and_set_has_the_value_set() -> None:
    image = Image.of({"log": ["a", "b"]})
    grown = image.grown({"log": ["c"]}, {"log": ["d"]})
    assert grown is not None
    assert grown[0].text() == '{"log":["c"]}'
    assert patch(image.text(), grown[1]) == '{"log":["c"]}'


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


def test_the_limit_is_one_of_bytes() -> None:
    image = Image.of({"log": ["é" * 1024 * 1024]})
    with pytest.raises(TooLarge):
        image.grown({}, {"log": ["é" * 1024 * 1024]})
    with pytest.raises(TooLarge):
        image.follow({"log": ["é" * 1024 * 1024, "é" * 1024 * 1024]})
